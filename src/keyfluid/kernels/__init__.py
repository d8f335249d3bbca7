"""Numba inner loops that several rooms share, and how all of them are compiled.

A room's own loops live in the room, in a folder `kernels` of its own. Nothing here knows about scenes, models or units.
"""
