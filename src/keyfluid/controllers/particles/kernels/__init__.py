"""Numba loops of this method alone."""
