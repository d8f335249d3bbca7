"""One tiny scene for every method and schedule; each takes a second or less once compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

QUIET = "[output]\nvdb = false\nvideo = false\nsize = 16\n"
EVERYTHING = "[output]\nvdb = true\nvideo = true\npng = true\nsize = 24\n"

BUSY = """
name = "busy"
[domain]
size = [1.0, 1.25]
resolution = 16
boundary = ["walls", "open"]
[time]
frames = 8
steps_per_frame = "auto"
[smoke]
initial = { shape = "disk", center = [0.4, 0.3], radius = 0.12 }
buoyancy = 2.0
[[source]]
shape = "disk"
center = [0.6, 0.2]
radius = 0.1
velocity = [0.1, 0.8]
start = 2
stop = 5
[[obstacle]]
shape = "disk"
center = [0.35, 0.7]
radius = 0.12
velocity = [0.1, 0.0]
"""

POND = """
name = "pond"
[domain]
size = [1.0, 0.75]
resolution = 16
[time]
frames = 5
fps = 12
[liquid]
initial = { shape = "disk", center = [0.42, 0.35], radius = 0.2 }
gravity = 1.0
viscosity = 0.02
[[keyframe]]
frame = 4
shape = "box"
center = [0.5, 0.35]
size = [0.4, 0.3]
"""

WORD = """
name = "word"
seed = 3
[domain]
size = [1.0, 0.75]
resolution = 20
[time]
frames = 10
steps_per_frame = "auto"
[smoke]
initial = { shape = "disk", center = [0.4, 0.35], mass = "first-key" }
[[keyframe]]
frame = 6
shape = "star"
[[keyframe]]
frame = 10
shape = "cross"
"""

BLOB = """
name = "blob"
seed = 5
[domain]
size = [1.0, 0.9, 0.8]
resolution = 12
[time]
fps = 30
frames = 6
[smoke]
initial = { shape = "sphere", center = [0.35, 0.4, 0.4], radius = 0.14 }
[[source]]
shape = "sphere"
center = [0.7, 0.3, 0.4]
radius = 0.12
rate = 20.0
stop = 3
[[keyframe]]
frame = 3
shape = "box"
center = [0.6, 0.5, 0.4]
[[keyframe]]
frame = 6
shape = "torus"
radius = 0.2
thickness = 0.08
"""

STEERED = """
name = "steered"
[domain]
resolution = 16
[time]
frames = 6
fps = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.18 }
[[keyframe]]
frame = 5
shape = "box"
center = [0.6, 0.55]
size = [0.32, 0.32]
"""

LONG = """
name = "long"
[domain]
resolution = 16
[time]
frames = 13
fps = 10
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.2 }
[[keyframe]]
frame = 3
shape = "box"
center = [0.55, 0.5]
size = [0.35, 0.35]
[[keyframe]]
frame = 6
shape = "disk"
center = [0.6, 0.6]
radius = 0.2
[[keyframe]]
frame = 9
shape = "box"
center = [0.45, 0.55]
size = [0.45, 0.28]
[[keyframe]]
frame = 12
shape = "disk"
center = [0.45, 0.45]
radius = 0.2
"""

DRIFT = """
name = "drift"
[domain]
resolution = 16
[time]
fps = 16
frames = {frames}
[smoke]
initial = {{ shape = "disk", center = [0.45, 0.5], radius = 0.2 }}
[[keyframe]]
frame = 5
shape = "disk"
center = [0.6, 0.45]
radius = 0.2
{more}
"""

SECOND = '[[keyframe]]\nframe = 10\nshape = "disk"\ncenter = [0.45, 0.55]\nradius = 0.2\n'

PLUME = """
name = "plume"
[domain]
size = [0.75, 1.0]
resolution = 16
[time]
frames = 7
fps = 12
[smoke]
initial = { shape = "disk", center = [0.35, 0.3], radius = 0.15 }
buoyancy = 1.5
"""

EDIT = """
[edit]
run = "{base}"
first = 2
last = 6
[[keyframe]]
frame = 5
run = "{base}"
move = [0.1, 0.05]
"""

UPRES = """
[upres]
factor = 2
release = 2
"""

PARTICLES = """[control]
method = "particles"
markers = 600
control_particles = 60
vortices = 20
velocity_cells = 10
vortex_radius = 0.1
"""


@dataclass(frozen=True)
class Case:
    """A scene to torture. `base` names the case whose finished run it reads, put in for {base}; `optimises`: its
    progress counts iterations, which may not be lost; threads: two start processes of their own."""

    text: str
    method: str
    optimises: bool = False
    base: str | None = None
    threads: int = 1


def _control(method: str, *lines: str) -> str:
    return "\n".join(["[control]", f'method = "{method}"', *lines, ""])


def _spectral(scene: str, *lines: str, base: str | None = None, threads: int = 1) -> Case:
    text = scene + _control("spectral", *lines) + QUIET
    return Case(text, "spectral", optimises=True, base=base, threads=threads)


def _shooting(threads: int) -> Case:
    return _spectral(
        LONG, 'schedule = "shooting"', "iterations = 4", "cutoff = 4", "coarse = 0", "rounds = 2", threads=threads
    )


CASES: dict[str, Case] = {
    "none": Case(BUSY + QUIET, "none"),
    "none-outputs": Case(BUSY.replace("frames = 8", "frames = 5") + EVERYTHING, "none"),
    "none-liquid": Case(POND + _control("none") + QUIET, "none"),
    "target": Case(WORD + _control("target", "turbulence = 0.5") + QUIET, "target"),
    "target-liquid": Case(POND + _control("target") + QUIET, "target"),
    "particles": Case(BLOB + PARTICLES + QUIET, "particles"),
    "adjoint-winds": Case(
        STEERED + _control("adjoint", "spacing = 0.2", "iterations = 6", "coarse = 0") + QUIET, "adjoint", True
    ),
    "adjoint-vortices": Case(
        STEERED + _control("adjoint", 'basis = "vortices"', "spacing = 0.2", "iterations = 5", "coarse = 0") + QUIET,
        "adjoint", True,
    ),
    "adjoint-dense": Case(
        STEERED + _control("adjoint", 'basis = "dense"', 'gamma = "blur"', "iterations = 3", "coarse = 0") + QUIET,
        "adjoint", True,
    ),
    "adjoint-liquid": Case(
        POND + _control("adjoint", "blur = [0.1, 0.05]", "iterations = 3", "sources = true", "act = [1, 4]") + QUIET,
        "adjoint", True,
    ),
    "spectral": _spectral(STEERED, "iterations = 8"),
    "spectral-bands": _spectral(STEERED, 'preset = "tang"', 'time = "step"', "iterations = 3", "cutoff = 4"),
    "spectral-coarse": _spectral(STEERED.replace("resolution = 16", "resolution = 24"), "iterations = 5", "coarse = 1"),
    "spectral-sequence": _spectral(LONG, 'schedule = "sequence"', "iterations = 3"),
    "spectral-shooting": _shooting(1),
    "spectral-shooting-2": _shooting(2),
    "spacetime": Case(
        DRIFT.format(frames=6, more="") + _control("spacetime", "iterations = 5", "r = 50.0") + QUIET,
        "spacetime", True,
    ),
    "spacetime-horizon": Case(
        DRIFT.format(frames=10, more=SECOND) + _control("spacetime", "iterations = 3", "r = 50.0", "horizon = 5")
        + QUIET,
        "spacetime", True,
    ),
    "plume": Case(PLUME + QUIET, "none"),
    "edit": _spectral(PLUME + EDIT, "iterations = 5", base="plume"),
    "preview": _spectral(STEERED.replace("resolution = 16", "resolution = 12"), "iterations = 6"),
    "start": _spectral(STEERED, "iterations = 4", 'start = "{base}"', base="preview"),
    "guided": Case(
        STEERED.replace("resolution = 16", "resolution = 24") + _control("guided", 'run = "{base}"') + QUIET, "guided",
        base="preview",
    ),
    "upres": _spectral(STEERED.replace("resolution = 16", "resolution = 12") + UPRES, "iterations = 4"),
}  # fmt: skip

METHODS = ("none", "target", "particles", "adjoint", "spectral", "spacetime", "guided")


def write_scene(name: str, path: Path, base: Path | None = None) -> Path:
    """The scene of a case as a file; `base` is the finished run that it reads, if it reads one."""
    text = CASES[name].text
    path.write_text(text if base is None else text.replace("{base}", str(base)))
    return path


def chosen(names: str = "") -> list[str]:
    """Cases by name, commas between them; none: all."""
    wanted = [name for name in names.split(",") if name]
    unknown = set(wanted) - set(CASES)
    if unknown:
        raise SystemExit(f"no such scene: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    return wanted or list(CASES)
