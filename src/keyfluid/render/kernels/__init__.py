"""Numba loops of pictures alone."""
