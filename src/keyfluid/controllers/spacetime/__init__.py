"""`method = "spacetime"`: spacetime control of smoke by ADMM [Pan & Manocha 2017].

    settings.py        units: the paper's r, K and tolerances, and what they are on this grid
    flow.py            the Navier-Stokes subproblem: forces of a trajectory, objective, derivatives (eq. 9, appendix A)
    gauss_newton.py    solves it by projected Gauss-Newton-CG (the default)
    multigrid.py       solves it by the full approximation scheme (algorithm 2), and switches where that fails
    advection.py       the advection subproblem and its fixed point iteration (eq. 7 and 8, algorithm 1)
    admm.py            the outer loop (algorithm 3), residual balancing, the augmented-Lagrangian variant
    shooting.py        L-BFGS on eq. 5, the paper's comparison
    replay.py          from forces to frames
    horizon.py         windows of a long animation, one after the other (section 6)
    controller.py      all of it behind the interface of a method

Trajectories are arrays q[place, step] with the steps innermost, in cells and steps: velocities in cells per step,
forces in cells per step^2.
"""
