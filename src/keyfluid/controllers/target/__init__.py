"""`method = "target"`: target-driven smoke [Fattal & Lischinski 2004]."""
