"""What a user of the Python API may write; test_api_typed.py has it checked against the installed wheel."""

from pathlib import Path

import keyfluid


def show(progress: keyfluid.Progress) -> None:
    left = "" if progress.seconds_left is None else f", {progress.seconds_left:.0f} s left"
    print(f"{progress.done} of {progress.total} {progress.unit}s{left}")


def errors(result: keyfluid.RunResult) -> dict[int, float]:
    return {key["frame"]: key["relative_error"] for key in result.metrics["keyframes"]}


def main(path: Path, folder: Path) -> dict[int, float]:
    keyfluid.set_threads(1)
    try:
        scene = keyfluid.load_scene(path, ["domain.resolution=64"])
    except keyfluid.SceneErrors as faults:
        raise SystemExit("\n".join(fault.key for fault in faults.faults)) from None
    (folder / "half.toml").write_text(keyfluid.dump_scene(keyfluid.preview(scene, scene.domain.resolution // 2)))
    result = keyfluid.run(scene, folder / "run", progress=show, should_stop=(folder / "stop").exists)
    if not result.finished:
        result = keyfluid.resume(folder / "run", threads=2)
    last = keyfluid.open_run(folder / "run").frames[-1]
    print(last.index, last.velocity.peak(), result.metrics["mass_drift"], keyfluid.build(scene).grid.cells)
    print(sorted(last.densities))
    return errors(result)
