"""Commands on the folder of a run: show, render, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfluid.cli.summary import summary
from keyfluid.io.run.layout import PNG, VDB, numbered

if TYPE_CHECKING:
    from keyfluid.runs.frames import Frames
    from keyfluid.runs.outputs import Writable
    from keyfluid.scenes.build.problem import BuiltScene

Folder = Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)]
FrameRange = Annotated[
    str | None,
    typer.Option(
        "--frames", metavar="A-B", help="Only these frames, as far as they exist, as PNG or VDB: a part for a farm."
    ),
]


def show(
    folder: Folder, as_json: Annotated[bool, typer.Option("--json", help="Print result.json unchanged.")] = False
) -> None:
    """Sum up a run."""
    from keyfluid.errors import KeyfluidError
    from keyfluid.io.run.run_folder import RunFolder

    result = RunFolder.find(folder).result()
    if result is None:
        raise KeyfluidError(f"{folder}: has no result yet; resume it: keyfluid resume {folder}")
    if as_json:
        print(json.dumps(result))
        return
    for line in summary(result):
        print(line)


def render(
    folder: Folder,
    size: Annotated[int | None, typer.Option(min=16, max=8192, help="Longer side in pixels.")] = None,
    frame: Annotated[
        int | None,
        typer.Option(min=0, help="Draw only this frame, as NAME.NUMBER.png with the number of its VDB file."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Output folder; default: the run's.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as camera.fov=40.")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Also write every frame as a PNG.")] = False,
    frames: FrameRange = None,
    view: Annotated[
        str | None,
        typer.Option(metavar="+z|-z|...", help="With --frame: draw it as a [[picture]] sees it, to paint over."),
    ] = None,
    extinction: Annotated[
        float | None,
        typer.Option(min=1e-6, help="With --view: as in [[picture]], in 1/m; default 6 / longest side."),
    ] = None,
) -> None:
    """Draw the frames of a run again: film and filmstrip, or one still."""
    from keyfluid.cli.progress import Display
    from keyfluid.cli.writable import writable
    from keyfluid.errors import KeyfluidError
    from keyfluid.render import save_png
    from keyfluid.runs.outputs import Outputs
    from keyfluid.runs.pictures import Painter
    from keyfluid.runs.progress import Progress

    problem, stored = _opened(folder, set_ or [], ("camera.", "light.", "output.", "smoke.field"))
    if frames is not None:
        from keyfluid.cli.frame_chunk import draw_frames, frames_in

        if frame is not None or view is not None:
            raise KeyfluidError("--frames: has no meaning with --frame or --view; remove one of them")
        print(draw_frames(problem, stored, frames_in(frames, stored.store.indices()), size, output, folder))
        return
    with writable(output, folder, "render") as place:
        if view is not None:
            print(_seen(problem, stored, place, view, frame, extinction))
            return
        if frame is not None:
            there = stored.store.indices()
            if frame not in there:
                raise KeyfluidError(f"--frame {frame}: this run has frames 0 to {max(there, default=0)}")
            with place.writing(f"{_numbered(problem, frame)}.png") as target:
                save_png(target, Painter(problem, size).frame(stored, frame))
            print(target)
            return
        with Display() as display:
            outputs = Outputs(problem, stored, place, lambda what, n, of: display(Progress(n, of, what)), size)
            film = outputs.write_video()
            outputs.write_strip()
            if png:
                outputs.write_png(f"{PNG}/")
        print(film)


def export(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Output folder; default: vdb in the run's.")
    ] = None,
    names: Annotated[str | None, typer.Option(help="houdini, blender or both.")] = None,
    up: Annotated[str | None, typer.Option(help="y or z.")] = None,
    half: Annotated[
        bool | None,
        typer.Option("--half/--no-half", help="Half precision for all grids, or for none; default: output.half."),
    ] = None,
    grids: Annotated[
        str | None,
        typer.Option(metavar="KIND,...", help="Grids to write, such as density,velocity; see output.grids."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Share of the peak density below which voxels are inactive.")
    ] = None,
    usd: Annotated[bool, typer.Option("--usd", help="Also write a USD stage; see output.usd.")] = False,
    frames: FrameRange = None,
) -> None:
    """Write the frames of a run as VDB files again, with other names, axes, grids or precision."""
    from keyfluid.cli.progress import Display
    from keyfluid.cli.writable import writable
    from keyfluid.runs.outputs import Outputs
    from keyfluid.runs.progress import Progress

    values = {"names": names, "up": up, "threshold": threshold, "half": None if half is None else json.dumps(half)}
    values["grids"] = None if grids is None else json.dumps([kind.strip() for kind in grids.split(",")])
    sets = [f"output.{key}={value}" for key, value in values.items() if value is not None]
    if usd:
        sets += ["output.usd=true", "output.vdb=true"]
    problem, stored = _opened(folder, sets, ("output.",))
    own = output is None or output.resolve() == (folder / VDB).resolve()
    if frames is not None:
        from keyfluid.cli.frame_chunk import export_frames, frames_in

        chosen = frames_in(frames, stored.store.indices())
        print(export_frames(problem, stored, chosen, None if own else output, folder))
        return
    with writable(None if own else output, folder, "export") as place, Display() as display:
        outputs = Outputs(problem, stored, place, lambda what, n, of: display(Progress(n, of, what)))
        outputs.write_vdb(prefix := f"{VDB}/" if own else "")
        if problem.scene.output.usd:
            outputs.write_usd(prefix)
    print(folder / VDB if own else output)


def tidy(
    folder: Folder,
    keep: Annotated[str, typer.Option(help="film or scene; see output.keep.")] = "film",
) -> None:
    """Make the folder of a finished run smaller: drop the optimiser's memory and pack the frames, or drop them too."""
    from keyfluid.runs.estimate import size_words
    from keyfluid.runs.tidy import tidy as tidied

    after, before = tidied(folder, keep)
    print(f"{folder}: {size_words(after)}, was {size_words(before)}")


def _opened(folder: Path, sets: list[str], allowed: tuple[str, ...]):  # type: ignore[no-untyped-def]
    """The problem of a run, with keys changed that do not change the simulation, and its frames."""
    from keyfluid.errors import KeyfluidError
    from keyfluid.io.run.run_folder import RunFolder
    from keyfluid.runs.frames import Frames
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.build.problem import build

    strange = [change for change in sets if not change.startswith(allowed)]
    if strange:
        raise KeyfluidError(f"--set {strange[0]}: can't change after a run; only {', '.join(allowed)} keys can")
    place = RunFolder.find(folder)
    place.require_frames()
    problem = build(load_scene(place.scene_file, sets))
    return problem, Frames(place.frames, problem)


def _numbered(problem: BuiltScene, frame: int) -> str:
    """The name of a frame's picture, numbered as its VDB file is."""
    return numbered(problem.scene.name, problem.scene.output.start_frame + frame)


def _seen(
    problem: BuiltScene, frames: Frames, place: Writable, view: str, frame: int | None, extinction: float | None
) -> Path:
    """A frame as a [[picture]] sees it, one pixel per cell and at least 256: to paint over."""
    from keyfluid.errors import KeyfluidError
    from keyfluid.render import save_png
    from keyfluid.runs.view_picture import VIEWS, view_picture

    if problem.grid.dim == 2 or view not in VIEWS:
        raise KeyfluidError(f"--view {view}: is not a view of a 3D run; use +x, -x, +y, -y, +z or -z")
    if frame is None or frame not in frames.store.indices():
        raise KeyfluidError("--view: requires --frame with a frame of the run")
    smoke = frames[frame].densities[next(iter(problem.densities))]
    grey = view_picture(problem.grid, smoke, view, extinction)
    with place.writing(f"{_numbered(problem, frame)}.view{view}.png") as target:
        save_png(target, grey[..., None].repeat(3, -1))
    return target
