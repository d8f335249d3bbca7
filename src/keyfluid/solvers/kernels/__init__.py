"""Numba loops of solvers alone."""
