"""Keyframes by optimisation: `method = "adjoint"` [McNamara 2004] and `method = "spectral"` [Tang 2021]."""
