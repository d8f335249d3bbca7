"""What to try when a keyframe is not met: keys that the method has, with values that the scene does not have yet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keyfluid.controllers.optimised.settings import AdjointSettings, OptimisedSettings, SearchNumbers, SpectralSettings
from keyfluid.controllers.optimised.stages import begins_blurred
from keyfluid.controllers.particles.settings import ParticleNumbers, ParticleSettings
from keyfluid.controllers.spacetime.settings import SpacetimeSettings
from keyfluid.controllers.target.settings import TargetNumbers, TargetSettings
from keyfluid.controls.spectral import highest_wave
from keyfluid.runs.findings import Finding
from keyfluid.scenes.build.keyframes import STORED
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.schema.scene import Scene

MOST_REMEDIES = 3
FAR = 0.25
"""Share of a target that is missing from which the fluid has not found the way, rather than not the detail."""


class Remedy(NamedTuple):
    """A key of the scene and a value for it."""

    key: str
    value: str | float | bool

    def __str__(self) -> str:
        plain = isinstance(self.value, str | bool | int)
        return f"{self.key} = {json.dumps(self.value) if plain else f'{self.value:.3g}'}"


def remedies(problem: BuiltScene, worst: Finding, history: Sequence[Mapping[str, Any]]) -> list[Remedy]:
    """The few that are most likely to help, best first."""
    wanted = [*_of_the_target(problem, worst), *_of_the_method(problem, worst, history), *_of_the_steps(problem, worst)]
    new = [remedy for remedy in dict.fromkeys(wanted) if value_at(problem.scene, remedy.key) != remedy.value]
    return new[:MOST_REMEDIES]


def value_at(scene: Scene, key: str) -> Any:
    """What a scene has at a key path such as ``keyframe[0].mass``."""
    node: Any = scene
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", key):
        node = getattr(node, name)
        node = node[int(index)] if index else node
    return node


def at_limit(problem: BuiltScene, history: Sequence[Mapping[str, Any]]) -> int | None:
    """The iterations that the last stage of a search was allowed, if it used them all."""
    if not isinstance(problem.control, OptimisedSettings):
        return None
    entries = [entry for entry in history if {"iteration", "stage", "window"} <= entry.keys()]
    last = [e for e in entries if (e["window"], e["stage"]) == (entries[-1]["window"], entries[-1]["stage"])]
    most = SearchNumbers.of(problem).iterations
    return most if last and last[-1]["iteration"] - last[0]["iteration"] >= most else None


def _of_the_target(problem: BuiltScene, worst: Finding) -> Iterator[Remedy]:
    """Where the target itself is out of reach."""
    if not worst.bounded:
        return
    entry, kind = value_at(problem.scene, worst.key.path), worst.key.body
    stored = isinstance(kind, PlacedBody) and kind.kind in STORED
    if entry.mass in ("keep", "match") or (entry.mass is None and stored):
        yield Remedy(f"{worst.key.path}.mass", "resize")
    yield Remedy("domain.resolution", 2 * problem.scene.domain.resolution)


def _of_the_method(problem: BuiltScene, worst: Finding, history: Sequence[Mapping[str, Any]]) -> Iterator[Remedy]:
    control = problem.control
    if isinstance(control, OptimisedSettings):
        yield from _optimised(problem, control, worst, history)
    elif isinstance(control, TargetSettings):
        yield from _target(problem, control, worst)
    elif isinstance(control, ParticleSettings):
        if worst.outside > worst.missing:
            yield Remedy("control.contain", max(4.0, 2 * control.contain))
        yield Remedy("control.strength", 2 * ParticleNumbers.of(control, problem.grid).strength)
    elif isinstance(control, SpacetimeSettings):
        yield Remedy("control.r", max(0.1 * control.r, 1e-3))
        yield Remedy("control.iterations", min(2 * control.iterations, 1000))
    else:
        yield Remedy("control.method", problem.scene.fluid.steered_by)


def _optimised(
    problem: BuiltScene, control: OptimisedSettings, worst: Finding, history: Sequence[Mapping[str, Any]]
) -> Iterator[Remedy]:
    numbers, usual = SearchNumbers.of(problem), problem.fluid.search(problem)
    far = bool(worst.empty_parts) or worst.missing > FAR
    if far and not usual.own_gamma and not begins_blurred(problem, numbers):
        yield Remedy("control.gamma", "blur")
    if at_limit(problem, history) is not None:
        yield Remedy("control.iterations", 2 * numbers.iterations)
    if isinstance(control, SpectralSettings):
        limit = highest_wave(problem.grid)
        if control.preset != "keyfluid":
            yield Remedy("control.preset", "keyfluid")
        elif numbers.cutoff is not None and numbers.cutoff < limit:
            yield Remedy("control.cutoff", min(2 * numbers.cutoff, limit))
    if isinstance(control, AdjointSettings) and not numbers.basis.startswith("dense"):
        finer = 0.5 * numbers.spacing
        if finer >= 1.5 * problem.grid.spacing:
            yield Remedy("control.spacing", float(f"{finer:.3g}"))
        elif not usual.own_gamma:
            yield Remedy("control.basis", "dense")
    if usual.sources and abs(worst.score["mass_ratio"] - 1) > 0.1:
        yield Remedy("control.sources", True)


def _target(problem: BuiltScene, control: TargetSettings, worst: Finding) -> Iterator[Remedy]:
    surface, numbers = problem.fluid.drawn_as == "surface", TargetNumbers.of(problem)
    if not surface and worst.outside <= worst.missing and numbers.reach < 0.6:
        yield Remedy("control.reach", 0.6)
    if not surface and worst.outside > 0.1 and control.advection != "smooth":
        yield Remedy("control.gathering", 2 * control.gathering or 1.0)
    yield Remedy("control.strength", max(3.0, 2 * numbers.strength))


def _of_the_steps(problem: BuiltScene, worst: Finding) -> Iterator[Remedy]:
    """Where the fluid crosses many cells in a step, or nothing else is known: a finer clock."""
    steps = problem.steps_per_frame
    if steps is not None and worst.score["mass_ratio"] < 0.9 and steps <= 5000:
        yield Remedy("time.steps_per_frame", 2 * steps)
