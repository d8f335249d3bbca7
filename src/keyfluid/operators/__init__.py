"""One operator per file: forward, tangent and adjoint together."""
