"""Proof that a simulation and its derivative are right: what the test-suite uses, for your operators too.

derivatives   dot test, Taylor test, observed order
exact         exact solutions, sampled on a grid
check         all of it on this machine, as a table (`keyfluid check`)
"""

from keyfluid.verify.check import Check, print_table, run_checks
from keyfluid.verify.derivatives import TaylorResult, dot_defect, observed_order, random_like, taylor_test
from keyfluid.verify.exact import gaussian, rigid_rotation, taylor_green, turned, viscous_mode

__all__ = [
    "Check",
    "TaylorResult",
    "dot_defect",
    "gaussian",
    "observed_order",
    "print_table",
    "random_like",
    "rigid_rotation",
    "run_checks",
    "taylor_green",
    "taylor_test",
    "turned",
    "viscous_mode",
]
