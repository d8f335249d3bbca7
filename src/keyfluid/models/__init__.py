"""A simulation step as a named list of operators."""

from keyfluid.models.smoke import DEFAULT_ORDER, MCNAMARA_ORDER, Emitter, Smoke
from keyfluid.models.stage import Stage, State, run_stages

__all__ = ["DEFAULT_ORDER", "MCNAMARA_ORDER", "Emitter", "Smoke", "Stage", "State", "run_stages"]
