"""Many steps, forward and back: full storage or checkpointed under a memory budget, bit-identical either way."""

from keyfluid.rollout.forcing import Forcing, StoredForcing
from keyfluid.rollout.plan import MemoryPlan, plan_memory
from keyfluid.rollout.rollout import Gradient, Objective, Rollout

__all__ = ["Forcing", "Gradient", "MemoryPlan", "Objective", "Rollout", "StoredForcing", "plan_memory"]
