"""`method = "adjoint"` [McNamara et al. 2004] and `method = "spectral"` [Tang et al. 2021]: optimised keyframes.

    for window in windows:                              controller.py; in two overlapping layers: shooting.py
        for stage in stages(window):                    minimise.py
            x = minimise(stage, carry(x))

controller     the method: windows in order, each from where the last one ended
plan           what a run will search, and what that takes
settings       [control] of both methods, and its numbers on a grid
windows        pieces of time that are solved one after the other; layers: those of shooting
stages         grids from coarse to fine, bands from long waves to short, blurs from wide to none
unknowns       what is searched in a stage: its control, where it begins, how a vector is carried to the next stage
evaluation     the objective and its gradient
minimise       one stage by L-BFGS, and the loop over a window's stages
record         what a run keeps of its search: checkpoints, log, progress, previews
shooting       windows in two layers, solved in turn until they join; window_task, workers: several at once
position       where a run stands, from its checkpoint or another run's
handover       forces that follow the air of another method's run
forces         the forces of all windows together; edited: a film's own, which act under them
replay         the film of the forces found
on_grid        a state on another grid
"""
