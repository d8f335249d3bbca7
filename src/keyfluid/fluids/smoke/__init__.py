"""Smoke: densities carried by air."""
