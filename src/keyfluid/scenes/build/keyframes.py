"""Targets on the grid, after the mass rule.

Incompressible smoke can be carried, not diluted, so a target should be a rearrangement of the smoke present:

    resize   scaled about its centre until peak x (its volume) = smoke present at its frame
    match    its density is scaled to that mass
    keep     nothing is changed
    together of the colours of one drawing: all are scaled alike, to their smoke in all, then each to its density

Smoke that dissipates thins out and keeps its volume: sizes are those without dissipation, and densities are multiplied
by the share of its mass that is left at the frame.

    smoke.initial.mass = "first-key"   the start is resized to the first keyframe of its field, less what
             sources add until then; that keyframe keeps its size

No rearrangement of the smoke gets below the bound |sort(rho0) - sort(rho*)| / |rho*|, where emitted smoke counts as
full cells. Blur, more or less smoke than that from sources, and cells filled in part can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.grid import Grid
from keyfluid.problem import Emission, Keyframe
from keyfluid.scenes.build.obstacles import Obstacles
from keyfluid.scenes.build.report import Told, say_nothing
from keyfluid.scenes.build.sources import LEAST_STROKE, PlacedBody, Reader, place, read_source
from keyfluid.scenes.build.start_values import values_present
from keyfluid.scenes.schema.checks import start_path
from keyfluid.scenes.schema.scene import KeyframeEntry, Mask, Scene
from keyfluid.shapes import NoRoom, mass_of, rearrangement_bound

HIGH_BOUND = 0.15
STORED = ("vdb", "npy", "run")
"""Kinds of bodies that bring densities of their own."""

_CUT = 0.01


def region(
    mask: Mask, scene: Scene, grid: Grid, path: str, time: float, dtype: np.dtype, read: Reader = read_source
) -> np.ndarray:
    """1 where an entry counts, by its `mask`; 0 elsewhere."""
    try:
        share = np.clip(place(mask, scene, read).coverage(grid, time), 0.0, 1.0)
    except KeyfluidError as error:
        raise SceneError(f"{path}.mask", " ".join(str(error).split())) from None
    share = 1.0 - share if mask.outside else share
    if not share.any():
        raise SceneError(f"{path}.mask", "holds no cell of the domain; check center and size")
    return share.astype(dtype)


class FieldPlan:
    """One kind of smoke: its start, its peak density, and how much there is at a frame."""

    def __init__(
        self,
        name: str,
        scene: Scene,
        grid: Grid,
        starts: list[tuple[int, PlacedBody]],
        sources: list[Emission],
        solid: np.ndarray,
    ) -> None:
        self.name, self.scene, self.grid, self._solid = name, scene, grid, solid
        self.dissipation = scene.fluid.dissipation
        self._starts = [(i, body) for i, body in starts if scene.field_of(scene.fluid.initial[i]) == name]
        self.sources = [source for source in sources if source.field == name]
        self.peak = max(
            [scene.fluid.initial[i].density * body.peak for i, body in self._starts]
            + [source.density for source in self.sources if source.density is not None],
            default=1.0,
        )
        self.start = np.zeros(grid.cells)
        self.winds: list[tuple[np.ndarray, tuple[float, ...]]] = []
        self.warmth: list[tuple[np.ndarray, float]] = []
        """Share of each cell, and its temperature at the start."""
        self.sized: dict[str, PlacedBody] = {}
        """The starts by their key paths, after sizing."""
        self.first_key: int | None = None
        self.warnings: list[str] = []

    @property
    def bodies(self) -> list[PlacedBody]:
        """The starts, after sizing."""
        return list(self.sized.values())

    def emitted(self, frame: int) -> float:
        given = sum(s.emitted(frame, self.scene.time.fps, self.grid.spacing) for s in self.sources)
        return given - self._shared(frame)

    def _shared(self, frame: int) -> float:
        """Content that held regions have in common, as those of a source that moves from frame to frame do."""
        held = [s for s in self.sources if s.density is not None and s.start < frame]
        if len(held) < 2:
            return 0.0
        total, most = np.zeros(self.grid.cells), np.zeros(self.grid.cells)
        for source in held:
            content = source.mask * float(source.density or 0.0)
            total += content
            np.maximum(most, content, out=most)
        return mass_of(total - most, self.grid.spacing)

    def given(self, frame: int) -> float:
        """Mass of the smoke by a frame, emissions included and before any of it dissipates."""
        return mass_of(self.start, self.grid.spacing) + self.emitted(frame)

    def present(self, frame: int) -> float:
        """Mass of the smoke at a frame, emissions included."""
        return self.given(frame) * self.share_left(frame)

    def share_left(self, frame: int) -> float:
        """The share of the smoke that has not dissipated."""
        rate, fps, spacing = self.dissipation, self.scene.time.fps, self.grid.spacing
        given = self.given(frame)
        if rate == 0 or given <= 0:
            return 1.0
        start = mass_of(self.start, spacing) * math.exp(-rate * frame / fps)
        left = start + sum(source.emitted(frame, fps, spacing, rate) for source in self.sources) - self._shared(frame)
        return min(left / given, 1.0)

    def size_starts(self, keys: list[tuple[int, PlacedBody]], known: np.ndarray | None = None) -> None:
        """Draw the starts, those with mass = "first-key" last; known: their densities in a run that is edited."""
        entries = self.scene.fluid.initial
        for i, body in sorted(self._starts, key=lambda start: entries[start[0]].mass == "first-key"):
            entry, path = entries[i], start_path(self.scene, i)
            try:
                if entry.mass == "first-key":
                    if known is None:
                        body = body.resized(self.grid, self._first_key_mass(keys) / entry.density)
                elif entry.mass is not None:
                    body = body.resized(self.grid, entry.mass / entry.density)
            except SceneError:
                raise
            except KeyfluidError as error:
                key = "mass" if "mass" in type(entry).model_fields else "volume"
                advice = f"; use less {self.scene.fluid.table} or another center" if isinstance(error, NoRoom) else ""
                raise SceneError(f"{path}.{key}", f"{error}{advice}") from None
            coverage = body.coverage(self.grid)
            self.sized[path] = body
            if not coverage.any():
                raise SceneError(f"{path}.{body.kind}", "has no smoke inside the domain; check center and size")
            if entry.velocity is not None:
                self.winds.append((coverage, tuple(entry.velocity)))
            if entry.temperature is not None:
                self.warmth.append((np.clip(coverage / body.peak, 0.0, 1.0), entry.temperature))
            lost = float(coverage[self._solid].sum() / coverage.sum())
            if lost > 1 - 1e-9:
                raise SceneError(f"{path}.{body.kind}", "lies inside an obstacle; move one of them")
            if lost > _CUT:
                self.warnings.append(f"{path}: {100 * lost:.0f} % of it lies inside an obstacle and is removed")
            self.start += entry.density * np.where(self._solid, 0.0, coverage)
        if known is not None:
            self.start = known

    def _first_key_mass(self, keys: list[tuple[int, PlacedBody]]) -> float:
        """The mass of the start for which the first keyframe keeps its size."""
        scene = self.scene
        own = [(scene.keyframe[i].frame, i, body) for i, body in keys if scene.field_of(scene.keyframe[i]) == self.name]
        frame, i, body = min(own, key=lambda key: key[0])
        self.first_key = i
        wanted = self.peak / body.peak * body.mass(self.grid, frame / scene.time.fps)
        if wanted <= 0:
            raise SceneError(f"keyframe[{i}].{body.kind}", "has no mass inside the domain; check center and size")
        rest = wanted - self.given(frame)
        if rest <= 0:
            raise KeyfluidError(
                f"keyframe[{i}] has a mass of {wanted:.4g}, and sources and other starts give "
                f"{wanted - rest:.4g} "
                "by then; enlarge the keyframe or give a number"
            )
        return rest


def mass_rule(entry: KeyframeEntry, kind: str) -> str:
    """How a keyframe gets its mass; the default depends on what it is made of."""
    return entry.mass or ("keep" if kind == "run" else "match" if kind in STORED else "resize")


class TargetMaker:
    """Draws targets one entry at a time. strokes: whether texts with strokes that are too thin are looked for."""

    def __init__(
        self, scene: Scene, grid: Grid, dtype: np.dtype, told: Told = say_nothing, read: Reader = read_source
    ) -> None:
        self.scene, self.grid, self.dtype, self.told, self.read = scene, grid, dtype, told, read
        self.strokes = True
        self.count = sum((entry.until or entry.frame) - entry.frame + 1 for entry in scene.keyframe)
        self.keyframes: list[Keyframe] = []
        self.warnings: list[str] = []

    def sorted(self) -> list[Keyframe]:
        return sorted(self.keyframes, key=lambda key: key.frame)

    def add(
        self,
        index: int,
        body: PlacedBody,
        plans: Mapping[str, FieldPlan],
        solids: Obstacles | None,
        only: int | None = None,
    ) -> None:
        """The target of an entry, or with `until` one for each of its frames, all of one size; only: for one frame."""
        entry, path = self.scene.keyframe[index], f"keyframe[{index}]"
        plan = plans[self.scene.field_of(entry)]
        rule = "first-key" if plan.first_key == index else mass_rule(entry, body.kind)
        if plan.present(entry.frame) <= 0:
            raise SceneError(
                f"{path}.frame",
                f"there is no smoke of {plan.name!r} by frame {entry.frame}; add a start or start a source",
            )
        together = self._colours_beside(entry)
        if len(together) > 1 and rule == "resize":
            rule = "together"
        first_keys = {other.first_key for other in plans.values()}
        if rule == "resize" or (rule == "together" and not first_keys.intersection(together)):
            try:
                inks = [plans[self.scene.field_of(self.scene.keyframe[i])] for i in together]
                per_peak = sum(ink.given(entry.frame) / ink.peak for ink in inks) * body.peak
                body = body.resized(self.grid, per_peak, entry.frame / self.scene.time.fps)
            except KeyfluidError as error:
                raise SceneError(f"{path}.mass", " ".join(str(error).split()) + self._instead(error)) from None
        if self.strokes:
            self._warn_of_strokes(path, body)
        if any(not source.exact for source in plan.sources):
            self.warnings.append(
                f"{path}: the amount from a source that holds a density is only estimated; `rate` makes it known"
            )
        every = range(entry.frame, (entry.until or entry.frame) + 1)
        for frame in every if only is None else (min(max(only, every[0]), every[-1]),):
            self._add_frame(entry, path, body, plan, solids, rule, frame)

    def _colours_beside(self, entry: KeyframeEntry) -> list[int]:
        """The entries that are colours of the same drawing in the same place, this one among them."""
        alone = {"ink": None, "field": None}
        drawing = entry.model_copy(update=alone)
        return [
            i
            for i, other in enumerate(self.scene.keyframe)
            if other is entry
            or (other.ink and entry.ink and other.frame == entry.frame and other.model_copy(update=alone) == drawing)
        ]

    def _add_frame(
        self,
        entry: KeyframeEntry,
        path: str,
        body: PlacedBody,
        plan: FieldPlan,
        solids: Obstacles | None,
        rule: str,
        frame: int,
    ) -> None:
        self.told("drawing keyframe", len(self.keyframes) + 1, self.count)
        time = frame / self.scene.time.fps
        drawn = body.coverage(self.grid, time)
        mass = mass_of(drawn, self.grid.spacing)
        if mass <= 0:
            raise SceneError(f"{path}.{body.kind}", "has no mass inside the domain; check center, scale and content")
        left = plan.share_left(frame)
        if rule in ("match", "together"):
            drawn = drawn * (plan.present(frame) / mass)
        elif rule != "keep" or body.kind not in STORED:
            drawn = drawn * (plan.peak * left / body.peak)
        mask = None if entry.mask is None else self._region(entry.mask, path, time)
        bound = None
        if mask is None and body.kind != "run":
            values = values_present(plan.start, plan.emitted(frame), plan.peak, self.grid.spacing)
            bound = rearrangement_bound(values * left, drawn)
        covered = self._covered(path, body, drawn, solids, time)
        if frame == entry.frame:
            self._warn(path, body, bound, rule, covered, time)
        self.keyframes.append(
            Keyframe(
                frame,
                plan.name,
                drawn.astype(self.dtype),
                entry.weight,
                mask,
                entry.hold if frame == (entry.until or entry.frame) else 0,
                mass_of(drawn, self.grid.spacing),
                bound,
                path,
                body,
            )
        )

    def _instead(self, error: KeyfluidError) -> str:
        """What to do about a keyframe that has no room for the fluid; a liquid can't be thinned."""
        if not isinstance(error, NoRoom):
            return ""
        fluid = self.scene.fluid
        return f"; use less {fluid.table}" + (
            ", another center or mass = 'match'" if fluid.thinned else " or another center"
        )

    def _warn_of_strokes(self, path: str, body: PlacedBody) -> None:
        width = body.stroke_cells(self.grid)
        if width is not None and width < LEAST_STROKE:
            need = math.ceil(self.scene.domain.resolution * LEAST_STROKE / max(width, 0.05))
            self.warnings.append(
                f"{path}.text: strokes are {width:.1f} cells wide, thinner than {LEAST_STROKE:.0f}; "
                f"set domain.resolution = {need}, or make the letters larger"
            )

    def _region(self, mask: Mask, path: str, time: float) -> np.ndarray:
        return region(mask, self.scene, self.grid, path, time, self.dtype, self.read)

    def _covered(self, path: str, body: PlacedBody, drawn: np.ndarray, solids: Obstacles | None, time: float) -> float:
        """The share of a target that lies inside an obstacle; all of it can't be."""
        now = solids(time) if solids is not None else None
        covered = float(drawn[now.solid].sum() / drawn.sum()) if now is not None else 0.0
        if covered > 1 - 1e-9:
            raise SceneError(f"{path}.{body.kind}", "lies inside an obstacle at its frame; move one of them")
        return covered

    def _warn(self, path: str, body: PlacedBody, bound: float | None, rule: str, covered: float, time: float) -> None:
        if body.leaves_domain(self.grid, time)[1]:
            self.warnings.append(f"{path}: part of it lies outside the domain and is cut off")
        if bound is not None and bound > HIGH_BOUND:
            advice = {"keep": "mass = 'resize' helps", "match": "mass = 'resize' helps"}.get(
                rule, "a finer resolution or larger shapes help"
            )
            self.warnings.append(
                f"{path}: a rearrangement of the {self.scene.fluid.table} can't get its relative error below "
                f"{bound:.2f} (blur, sources and partly filled cells can); {advice}"
            )
        if covered > _CUT:
            self.warnings.append(f"{path}: {100 * covered:.0f} % of it lies inside an obstacle at its frame")
