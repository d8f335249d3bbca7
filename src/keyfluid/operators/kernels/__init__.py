"""Numba loops of operators alone."""
