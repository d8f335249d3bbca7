"""One kind of smoke: its markers, its control particles, and the targets that act on them one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from keyfluid.controllers.particles.control import WARM_UP, ControlParticles
from keyfluid.controllers.particles.kernels import redistribute
from keyfluid.controllers.particles.kernels.grid import CHUNKS
from keyfluid.controllers.particles.lattice import Densities, Lattice
from keyfluid.controllers.particles.markers import Markers
from keyfluid.controllers.particles.settings import ParticleNumbers
from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.controllers.particles.targets import Posed, TargetShape
from keyfluid.controllers.turns import Turn, acting, turns
from keyfluid.problem import Emission, Keyframe, Problem
from keyfluid.problem.kept import Meta, number, whole

FULL = 0.65
"""Share of the peak density from which smoke counts as full, for strays that look for a place."""


class Cloud:
    """`name` is the field's; `index` keeps its random numbers apart from those of other fields."""

    def __init__(
        self, problem: Problem, name: str, index: int, settings: ParticleNumbers, densities: Densities
    ) -> None:
        self.problem, self.name, self.index = problem, name, index
        self.densities, self.grid = densities, densities.lattice
        self.seed = int(problem.seed)
        self.markers = Markers(problem.dtype)
        self.control = ControlParticles(problem.dtype)
        self.marker_mass = 0.0
        self.smoke = np.zeros(self.grid.total, problem.dtype)
        """Density of the markers now, flat: 1 is full smoke where the peak is 1."""
        self.energy = 0.0
        self.teleports = 0
        self._shapes: dict[int, TargetShape] = {}
        self._turn_index = -1
        self._posed: Posed | None = None
        self._still: tuple[TargetShape, np.ndarray] | None = None
        self._due = 0.0
        self.settings = settings
        self.aim(problem.keyframes)

    def aim(self, keyframes: Sequence[Keyframe]) -> None:
        """The keyframes to go to; those that share a body are one target."""
        own = [key for key in keyframes if key.field == self.name]
        self.turns = turns(own, self.problem.frames, self.settings.release)
        for turn in self.turns:
            self.shape_of(turn).check_motion(turn.first, min(turn.last, self.problem.frames), self.problem.fps)

    def shape_of(self, turn: Turn) -> TargetShape:
        body = turn.key.body
        if id(body) not in self._shapes:
            self._shapes[id(body)] = TargetShape(body, self.problem.grid, turn.key.path)
        return self._shapes[id(body)]

    def fill(self, share: int, total_mass: float) -> None:
        """The markers of the start; `share` markers stand for `total_mass`, sources included."""
        start = self.problem.densities[self.name]
        mass = float(np.sum(start.data, dtype=np.float64)) * self.problem.grid.cell_volume
        self.marker_mass = total_mass / max(share, 1)
        self.markers.add(
            self.grid, start.array, round(mass / self.marker_mass), key(self.seed, Stream.MARKERS, 0, self.index)
        )
        self.measure()
        self.place_control(0)

    def measure(self) -> None:
        """Density of the markers where they are."""
        self.smoke = self.densities.of(self.markers.position, self.settings.marker_radius, self.marker_mass)

    def place_control(self, step: int) -> None:
        number = self.smoke * self.grid.real(1.0 / self.marker_mass)
        word = key(self.seed, Stream.CONTROL, step, self.index)
        first = self.control.count
        if self.control.place(self.markers.position, number, self.densities, self.settings, word):
            self._grow_targets(first)

    def volume(self) -> float:
        """Volume that the smoke fills at its peak density."""
        return self.marker_mass * self.markers.count / self.problem.peaks[self.name]

    def emit(self, source: Emission, number: int, step: int, dt: float) -> float:
        """Markers that a source gives in a step; returns their mass. Parts of a marker are kept for the next one."""
        volume = self.problem.grid.cell_volume
        if source.rate is not None:
            given = (source.rate * dt) * source.mask
        else:
            given = np.maximum(source.density * source.mask - self.smoke.reshape(source.mask.shape), 0.0)
        self._due += float(np.sum(given, dtype=np.float64)) * volume / self.marker_mass
        count = int(self._due)
        self._due -= count
        self.markers.add(self.grid, given, count, key(self.seed, Stream.EMIT, step, number))
        return count * self.marker_mass

    def steer(self, frame: int, step: int, time: float, dt: float) -> bool:
        """Match, attract: the control particles' velocities for a step that begins at `time`. False: nobody pulls."""
        turn = acting(self.turns, min(frame, self.problem.frames))
        if turn is None or turn.blend == 0 or self.control.count == 0:
            self.control.coast(self.settings, dt)
            return False
        fresh = self._take(turn)
        assert self._posed is not None
        dtype = self.grid.dtype
        targets = np.ascontiguousarray(self._posed.at(time).astype(dtype))
        drift = None
        if self.settings.follow and self._posed.shape.moves:
            drift = ((self._posed.at(time + dt) - targets) / dt).astype(dtype)
        swaps = self.settings.swaps * (WARM_UP if fresh else 1)
        word = key(self.seed, Stream.SWAP, step, self.index)
        self.energy = self.control.swap(targets, swaps, word)
        self.control.attract(targets, drift, self.settings, turn.blend, dt)
        return True

    def forget_target(self) -> None:
        """The next step draws new target particles."""
        self._posed, self._turn_index = None, -1

    def distance(self, frame: int, time: float, lattice: Lattice) -> np.ndarray | None:
        """Signed distance of the target that acts, on a lattice; one that does not move is measured once."""
        turn = acting(self.turns, min(frame, self.problem.frames))
        if turn is None:
            return None
        shape = self.shape_of(turn)
        if shape.moves:
            return self._distance_on(lattice, shape, time)
        if self._still is None or self._still[0] is not shape:
            self._still = (shape, self._distance_on(lattice, shape, 0.0))
        return self._still[1]

    def _distance_on(self, lattice: Lattice, shape: TargetShape, time: float) -> np.ndarray:
        return self.grid.onto(lattice, shape.signed_distance(self.grid, time).astype(self.grid.dtype))

    def redistribute(self, step: int, packed: np.ndarray, lattice: Lattice, trials: int) -> None:
        """Algorithm 2. Its text puts stray markers where control is; its printed loop ends where there is none (`until
        potential < epsilon`), and would draw on inside the shape. Here it ends where the potential is not below. With
        `even`, which the paper has not, only where the smoke was not full before the step: strays then fill thin
        places, and the shape does not become clumpy. Epsilon is `edge` times the mean potential of the control
        particles; the paper's "must be small" is so that a draw can succeed, which half of the mean always allows.
        """
        self.teleports = 0
        if trials == 0 or self.control.count == 0:
            return
        potential = self.densities.of(self.control.position, self.settings.control_radius)
        edge = self.settings.edge * float(self.grid.sample(potential, self.control.position).mean(dtype=np.float64))
        wide = self.settings.control_radius
        low = np.maximum(self.control.position.min(axis=1) - self.grid.real(wide), 0)
        high = np.minimum(self.control.position.max(axis=1) + self.grid.real(wide), self.grid.sizes)
        full = FULL * self.problem.peaks[self.name] if self.settings.even else np.inf
        moved = np.zeros(CHUNKS, np.int64)
        words = (key(self.seed, stream, step, self.index) for stream in (Stream.CHOOSE, Stream.PLACE))
        redistribute.redistribute(
            *words, trials, *self.markers.position, *self.markers.before, potential, self.smoke,
            self.grid.real(full), self.grid.inverse, self.grid.cells, self.grid.real(edge), low, high, packed,
            lattice.inverse, lattice.cells, moved,
        )  # fmt: skip
        self.teleports = int(moved.sum())

    def _take(self, turn: Turn) -> bool:
        """Make the turn's target the current one; True if its particles are new."""
        index = next(i for i, other in enumerate(self.turns) if other is turn)
        if self._posed is not None and self._turn_index >= 0:
            if self._turn_index == index:
                return False
            if self.shape_of(self.turns[self._turn_index]) is self.shape_of(turn):
                self._turn_index = index
                return False
        shape = self.shape_of(turn)
        part = 1000 * index + self.index
        self._posed = shape.fixed(shape.sample(self.control.count, self.seed, part))
        self._turn_index = index
        self.control.assign(self.seed, part)
        return True

    def _grow_targets(self, first: int) -> None:
        """As many target particles as there are control particles now."""
        if self._posed is None:
            return
        shape, part = self._posed.shape, 1000 * self._turn_index + self.index
        points = shape.extend(self._posed.rest, self.control.count, self.seed, part)
        self._posed = shape.fixed(points)
        self.control.assign_new(first)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must hold."""
        rest = self._posed.rest if self._posed is not None else np.zeros((3, 0))
        return {
            f"{self.name}.markers": self.markers.position,
            f"{self.name}.markers_before": self.markers.before,
            f"{self.name}.control": self.control.position,
            f"{self.name}.control_velocity": self.control.velocity,
            f"{self.name}.control_before": self.control.before,
            f"{self.name}.match": self.control.match,
            f"{self.name}.targets": rest,
        }

    def memory(self) -> Meta:
        return {"turn": self._turn_index, "due": self._due, "old": self.markers.old, "marker_mass": self.marker_mass}

    def restore(self, arrays: Mapping[str, np.ndarray], memory: Meta) -> None:
        get = {name: np.array(arrays[f"{self.name}.{name}"]) for name in (
            "markers", "markers_before", "control", "control_velocity", "control_before", "match", "targets",
        )}  # fmt: skip
        self.markers.position, self.markers.before = get["markers"], get["markers_before"]
        self.control.position, self.control.velocity = get["control"], get["control_velocity"]
        self.control.before, self.control.match = get["control_before"], get["match"]
        self.markers.old, self._due = whole(memory, "old"), number(memory, "due")
        self.marker_mass, self._turn_index = number(memory, "marker_mass"), whole(memory, "turn")
        if self._turn_index >= 0:
            self._posed = self.shape_of(self.turns[self._turn_index]).fixed(get["targets"])
        self.measure()
