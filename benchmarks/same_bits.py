"""Does a change of the code leave every result as it was? A hash of the frames and numbers of many small runs.

    python benchmarks/same_bits.py > before.txt       at one commit
    python benchmarks/same_bits.py > after.txt        at another
    diff before.txt after.txt                         empty: bit-identical

Every bundled scene on a coarse grid, and one tiny scene for every method, schedule and fluid (tests/torture/scenes.py),
each run through, stopped half way and resumed, and where the method can, made again from a frame. One line for each:
name, SHA-256 over all arrays of all frames, SHA-256 over result.json without timings and the wording of notes, and its
errors. It uses only what is public, so the same script runs at both commits. About ten minutes on one core; names as
arguments choose scenes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyfluid
from keyfluid.io.container import load_arrays

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from torture.scenes import CASES  # noqa: E402

TIMINGS = ("seconds", "peak_memory_mb", "threads")
OPTIMISED = {
    "adjoint": ["control.iterations=3"],
    "spectral": ["control.iterations=3"],
    "spacetime": ["control.iterations=3"],
    "particles": ["control.markers=4000", "control.control_particles=300", "control.velocity_cells=20"],
}
CELLS = {2: 32, 3: 20}
QUIET = ["output.vdb=false", "output.video=false", "output.png=false", "output.size=16"]


def bundled() -> Iterator[tuple[str, Path, list[str]]]:
    """Gallery scenes, coarse, with few iterations."""
    for path in sorted((Path(keyfluid.__file__).parent / "gallery").glob("*.toml")):
        scene = keyfluid.load_scene(path)
        overrides = [f"domain.resolution={CELLS[scene.dimension]}", *QUIET, *OPTIMISED.get(scene.control.method, [])]
        yield f"gallery/{path.stem}", path, overrides


def frames_hash(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, _ = load_arrays(path)
        for name in sorted(arrays):
            total.update(f"{path.name} {name} {arrays[name].dtype} {arrays[name].shape}".encode())
            total.update(arrays[name].tobytes())
    return total.hexdigest()[:16]


def numbers(result: dict[str, Any]) -> tuple[str, str]:
    """A hash of everything but timings and the wording of notes, and the errors in words."""
    kept = {key: value for key, value in result.items() if key not in TIMINGS}
    kept["history"] = [{**entry, "note": ""} if "note" in entry else entry for entry in kept["history"]]
    digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]
    errors = " ".join(f"{key['relative_error']:.6g}" for key in result["keyframes"][:6])
    return digest, f"drift {result['mass_drift']:.6g} errors {errors or '-'}"


def report(name: str, folder: Path) -> None:
    digest, words = numbers(json.loads((folder / "result.json").read_text()))
    print(f"{name:44s} {frames_hash(folder)} {digest} {words}", flush=True)


def stopped_after(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is None


def try_all(name: str, scene: Any, overrides: list[str], place: Path, threads: int = 1) -> Path:
    """A whole run, one stopped and resumed, and one made again from a frame; returns the folder of the whole one."""
    whole = place / "whole"
    try:
        keyfluid.run(scene, whole, overrides=overrides, threads=threads)
    except keyfluid.KeyfluidError as error:
        print(f"{name:44s} {' '.join(str(error).replace(str(place), '').split())[:200]}", flush=True)
        return whole
    report(name, whole)
    half = place / "half"
    keyfluid.run(scene, half, overrides=overrides, threads=threads, should_stop=stopped_after(6))
    keyfluid.resume(half, threads=threads)
    report(f"{name} resumed", half)
    try:
        keyfluid.resume(half, from_frame=2, threads=threads)
        report(f"{name} --from 2", half)
    except keyfluid.KeyfluidError:
        pass  # methods that find all forces together
    return whole


def main() -> None:
    wanted = sys.argv[1:]
    scratch = Path(tempfile.mkdtemp())
    folders: dict[str, Path] = {}
    try:
        for name, case in CASES.items():
            place = scratch / name
            place.mkdir()
            text = case.text.replace("{base}", str(folders.get(case.base or "", "")))
            if case.base is not None and case.base not in folders:
                continue
            if not wanted or name in wanted or any(name == CASES[other].base for other in wanted if other in CASES):
                folders[name] = try_all(name, text, [], place, case.threads)
        for name, path, overrides in bundled():
            if not wanted or name in wanted:
                (scratch / name).mkdir(parents=True)
                try_all(name, path, overrides, scratch / name)
                shutil.rmtree(scratch / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
