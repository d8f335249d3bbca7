"""Numba inner loops; nothing here knows about scenes, models or units."""
