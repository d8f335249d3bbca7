"""Linear solvers: each returns its solution together with a report that says whether it converged."""
