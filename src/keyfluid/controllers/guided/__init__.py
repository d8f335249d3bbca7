"""Guided simulation: a fine film that follows the long waves of a solved run."""
