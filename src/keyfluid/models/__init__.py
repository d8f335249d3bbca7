"""Fluids, each with one step: a named list of operators that observers may watch.

state.py         named fields
operation.py     an operation of a step, observers, and the loop that runs a list of operations
tape.py          the observer that records a step for its tangent and adjoint
model.py         what fluids in steps of one length share: smoke.py, liquid.py
air.py           what thins, cools, brakes and blows; wind.py: a wind and its gusts
driven_smoke.py  smoke drawn to targets, which chooses its own steps; pull.py, inlet.py, turbulence.py: its parts
"""

from keyfluid.models.model import Model
from keyfluid.models.operation import Observer, Operation, Role
from keyfluid.models.smoke import DEFAULT_ORDER, MCNAMARA_ORDER, Emitter, Smoke, SmokeOptions
from keyfluid.models.state import State
from keyfluid.models.tape import Tape

__all__ = [
    "DEFAULT_ORDER",
    "MCNAMARA_ORDER",
    "Emitter",
    "Model",
    "Observer",
    "Operation",
    "Role",
    "Smoke",
    "SmokeOptions",
    "State",
    "Tape",
]
