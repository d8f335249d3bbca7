"""Numba loops of runs alone."""
