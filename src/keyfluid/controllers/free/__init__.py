"""Free simulation: nothing steers."""
