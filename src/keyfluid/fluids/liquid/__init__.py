"""Liquid: a body under a free surface."""
