"""The fluids, a folder each, which no other fluid imports: what a problem asks of its fluid (keyfluid.problem.Fluid).

fluid.py   the fluid itself, as frozen data: amount, distance to keyframes, limits, numbers, how it is drawn
steps.py   its model with the scene's sources and bodies in place, one step at a time
"""
