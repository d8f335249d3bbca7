"""Proof that a derivative is right: the checkers the test-suite uses, for users' own operators too."""

from keyfluid.verify.checks import TaylorResult, dot_defect, observed_order, random_like, taylor_test

__all__ = ["TaylorResult", "dot_defect", "observed_order", "random_like", "taylor_test"]
