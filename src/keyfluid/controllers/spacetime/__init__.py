"""`method = "spacetime"`: spacetime control of smoke [Pan & Manocha 2017].

    settings.py        units: the paper's r, K and tolerances, and what they are on this grid
    advection.py       the smoke's side: keyframes, sweeps forward and backward (eq. 3, 4 and 7)
    flow.py            the air's side: forces of a trajectory, their derivatives, buoyancy (eq. 1 and 9, appendix A)
    search.py          the advection subproblem: L-BFGS over velocities
    linear_flow.py     what velocities cost there: forces by linear equations of motion
    penalty.py         or the paper's K |v - v*|^2
    rounds.py          the outer loop (the default)
    admm.py            the paper's outer loop (algorithm 3), residual balancing, the augmented-Lagrangian variant
    gauss_newton.py    solves its Navier-Stokes subproblem by projected Gauss-Newton-CG
    multigrid.py       solves it by the full approximation scheme (algorithm 2), and switches where that fails
    levels.py          coarser grids to begin on
    horizon.py         windows of a long animation, one after the other (section 6)
    shooting.py        L-BFGS on eq. 5, the paper's comparison
    replay.py          from forces to frames
    plan.py            a scene's goals, levels and windows, and what an optimisation is made of
    controller.py      all of it behind the interface of a method

Trajectories are arrays q[place, step] with the steps innermost, in cells and steps: velocities in cells per step,
forces in cells per step^2.
"""
