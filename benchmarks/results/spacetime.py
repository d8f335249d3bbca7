"""Spacetime control beside Pan & Manocha 2017: `python benchmarks/results/spacetime.py [parts] [--small]`.

Prints markdown tables and writes docs/images/spacetime_*.png. --small halves every resolution and number of steps.

fas        V-cycles: factors over sizes and steps (figure 6), cost
fas3       the same in 3D
map        V-cycles over CFL and kappa, what the watched solver does, and Gauss-Newton-CG beside it
letters    FLUID, A, R, B, 8, &, 128^2/40: iterations, errors, replay, time, memory (figures 1 and 7)
capitals   all capitals and digits, 64^2/20: errors beside their bound, and what 200 more rounds would add
others     shapes that were chosen at the end, 64^2/20
letters80  FLUID, 128^2/80
handover   FLUID, 128^2/40, and `spectral` from there on the engine's own smoke
lbfgs      the letter F by our rounds, by the paper's ADMM with both solvers, and by L-BFGS over forces to its own end
lbfgs_bunny  circle, two circles, bunny by our rounds and by L-BFGS
bunny      circle, two circles, bunny 128^2/80 with r = 1e2, 1e3, 1e4 (figures 8 and 15)
steps      the same with steps of 0.4 to 2 of the paper's scale
abc        letters A, B, C 128^2/60 (figure 9)
advection  advection optimisation alone, both operators, a bird (figure 4)
pd         one target by `target` and by this method (figure 14)
genus      3D, 64^2 x 32/40: ball, torus, figure eight (figure 12)
sphere     3D, 64^3/60: a moving ball, two values of r (figure 13)
dense      3D, 32^3/30: a keyframe at every step (figure 11)
large      3D, 64^3/40 (the size of figure 10), from rest and approached
around     smoke below a body becomes a shape above it, with buoyancy, 2D and 3D (beyond the paper)
abc3       3D, 64^3/150: letters A, B, C (figure 16)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _spacetime_cycles import fas, fas3, solver_map
from _spacetime_handover import handover
from _spacetime_letters import capitals, lbfgs, lbfgs_bunny, letters, letters80, others
from _spacetime_print import IMAGES
from _spacetime_shots import abc, advection, bunny, pd, steps
from _spacetime_volumes import abc3, around, dense, genus, large, sphere

from keyfluid.threads import set_threads
from timing import machine

PARTS = {"fas": fas, "fas3": fas3, "map": solver_map, "letters": letters, "capitals": capitals, "others": others,
         "letters80": letters80, "handover": handover, "lbfgs": lbfgs, "lbfgs_bunny": lbfgs_bunny, "bunny": bunny,
         "steps": steps, "abc": abc, "advection": advection, "pd": pd, "genus": genus, "sphere": sphere, "dense": dense,
         "large": large, "abc3": abc3, "around": around}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    set_threads(options.threads)
    print(f"{machine()}; {options.threads} threads, float32{', small' if options.small else ''}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        print(f"\n## {name}\n", flush=True)
        PARTS[name](options.small)


if __name__ == "__main__":
    main()
