"""Checks beyond types: keys that exclude each other, frames in order, files that exist, numbers per axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from keyfluid.errors import SceneError
from keyfluid.scenes.schema.bodies import SolidBody
from keyfluid.scenes.schema.check_air import check_air
from keyfluid.scenes.schema.check_bodies import check_axes, check_body, check_run, check_turn, is_animated
from keyfluid.scenes.schema.faults import nearest
from keyfluid.scenes.schema.fluid import FluidTable
from keyfluid.scenes.schema.liquid import LiquidInitial
from keyfluid.scenes.schema.scene import MOST_TARGETS, KeyframeEntry, Scene, Source
from keyfluid.scenes.schema.smoke import Initial
from keyfluid.scenes.schema.upres import Upres

LIQUID_METHODS = ("none", "adjoint", "spectral", "target", "guided")


def check(scene: Scene) -> list[SceneError]:
    """Every fault that shows without reading a file's content."""
    parts = (
        _domain, _fields, _bodies, _starts, *_OF_FLUIDS[scene.fluid.table], _sources, _obstacles, _keyframes, _pictures,
        _flows, _edit, _upres, _camera, _stage, _grids,
    )  # fmt: skip
    return [fault for part in parts for fault in part(scene)]


def start_path(scene: Scene, index: int) -> str:
    """A single start is usually written as one table, without an index."""
    path = f"{scene.fluid.table}.initial"
    return path if len(scene.fluid.initial) == 1 else f"{path}[{index}]"


def all_bodies(scene: Scene) -> Iterator[tuple[str, SolidBody]]:
    """Every body of the scene with its key path."""
    for i, start in enumerate(scene.fluid.initial):
        yield start_path(scene, i), start
    for name, entries in (
        ("source", scene.source),
        ("obstacle", scene.obstacle),
        ("keyframe", scene.keyframe),
    ):
        for i, entry in enumerate(entries):
            yield f"{name}[{i}]", entry
            if isinstance(entry, KeyframeEntry) and entry.mask is not None:
                yield f"{name}[{i}].mask", entry.mask
    for i, flow in enumerate(scene.flow):
        if flow.mask is not None:
            yield f"flow[{i}].mask", flow.mask
    for i, wind in enumerate(scene.wind):
        if wind.mask is not None:
            yield f"wind[{i}].mask", wind.mask


def _domain(scene: Scene) -> Iterator[SceneError]:
    size, dimension = scene.domain.size, scene.dimension
    if isinstance(scene.domain.boundary, list) and len(scene.domain.boundary) != dimension:
        yield SceneError(
            "domain.boundary",
            f"has {len(scene.domain.boundary)} words for {dimension} axes; give one, or one per axis",
        )
    if scene.domain.up == "z" and dimension == 2:
        yield SceneError("domain.up", '"z" needs a 3D domain; use "y", or give domain.size three numbers')
    cells = scene.domain.resolution * min(size) / max(size)
    if cells < 2:
        need = -(-2 * max(size) // min(size))
        yield SceneError(
            "domain.size",
            f"its shortest side has {cells:.2g} cells; make it longer, or domain.resolution {need:.0f}",
        )


def _fields(scene: Scene) -> Iterator[SceneError]:
    names = [field.name for field in scene.fluid.field]
    if scene.fluid.colours not in (None, "fields") and scene.fluid.field != type(scene.smoke)().field:
        yield SceneError("smoke.colours", 'stands beside smoke.field; use colours = "fields", or keep only one of them')
    if not names:
        yield SceneError("smoke.field", "is empty; name a field or leave the key out")
        return
    for i, field in enumerate(scene.fluid.field):
        path = f"smoke.field[{i}]"
        if field.name in names[:i]:
            yield SceneError(f"{path}.name", f"{field.name!r} is the name of another field; choose a new one")
        if field.name in scene.fluid.reserved:
            yield SceneError(f"{path}.name", f"{field.name!r} names another grid in VDB files; choose a new one")
        yield from _colour(scene.fluid.colour_key.format(i), field.colour)
    for i, colour in enumerate(scene.fluid.colours if isinstance(scene.fluid.colours, list) else []):
        yield from _colour(f"smoke.colours[{i}]", colour)
    for path, entry in all_bodies(scene):
        if scene.fluid.colours not in (None, "fields"):
            break  # the names are known once the pictures have been read; the scene is checked again then
        if isinstance(entry, Initial | Source | KeyframeEntry) and entry.field not in (None, *names):
            guess = nearest(str(entry.field), names)
            hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(names)}; add it as [[smoke.field]]"
            yield SceneError(f"{path}.field", f"{entry.field!r} is not a field of the smoke; {hint}")
    yield from _colour("light.colour", scene.light.colour)
    yield from _colour("light.sky_colour", scene.light.sky_colour)


def _colour(path: str, colour: str | list[float]) -> Iterator[SceneError]:
    if isinstance(colour, str) and not colour.startswith("#"):
        from PIL import ImageColor

        if colour.lower() not in ImageColor.colormap:
            guess = nearest(colour, list(ImageColor.colormap))
            hint = f"did you mean {guess!r}?" if guess else "use a CSS name or '#rrggbb'"
            yield SceneError(path, f"{colour!r} is not a colour; {hint}")


def _bodies(scene: Scene) -> Iterator[SceneError]:
    for path, body in all_bodies(scene):
        yield from check_body(path, body, scene.dimension)


def _starts(scene: Scene) -> Iterator[SceneError]:
    starts: Sequence[Initial | LiquidInitial] = scene.fluid.initial
    if not starts and not scene.source:
        what = scene.fluid.table
        yield SceneError(f"{what}.initial", f"there is no {what}; give a start here, or a [[source]]")
    sized: set[str] = set()
    for i, start in enumerate(starts):
        field = scene.field_of(start) if scene.fluid.field else ""
        if start.mass != "first-key":
            continue
        path = f"{start_path(scene, i)}.mass"
        if getattr(start, "image", None) is not None and (start.ink is not None or scene.fluid.colours is not None):
            yield SceneError(
                path, '"first-key" can\'t size a drawing of several colours; give a number, or leave it out'
            )
            continue
        if field in sized:
            yield SceneError(path, f'another start of {field!r} has mass = "first-key"; only one can')
        sized.add(field)
        if scene.edit is None and not any(scene.field_of(key) == field for key in scene.keyframe):
            yield SceneError(path, f'"first-key" needs a keyframe of {field!r}; add one, or give a number or nothing')


def _liquid(scene: Scene) -> Iterator[SceneError]:
    if scene.smoke != type(scene.smoke)():
        yield SceneError("liquid", "stands beside [smoke]; keep only one of them")
    sides = scene.domain.boundary
    if "open" in ([sides] if isinstance(sides, str) else sides):
        yield SceneError("domain.boundary", 'a liquid needs "walls" or "periodic" sides; "open" would let it leave')
    if scene.control.method not in LIQUID_METHODS:
        known = ", ".join(f'"{method}"' for method in LIQUID_METHODS)
        yield SceneError("control.method", f'"{scene.control.method}" steers no liquid; use {known}')
    if scene.wind:
        yield SceneError("wind", "blows smoke, not a liquid; remove it")
    if scene.picture:
        yield SceneError("picture", "only smoke has a look to reach; use a keyframe")
    for i, source in enumerate(scene.source):
        for key in ("density", "rate"):
            if getattr(source, key) is not None:
                yield SceneError(f"source[{i}].{key}", "a source of liquid keeps its region full; remove it")
        if source.temperature is not None:
            yield SceneError(f"source[{i}].temperature", "a liquid has no temperature; remove it")
    for i, entry in enumerate(scene.keyframe):
        if entry.mass == "match":
            yield SceneError(f"keyframe[{i}].mass", 'a liquid can\'t be thinned; use "resize" or "keep"')


_OF_FLUIDS: dict[str, tuple[Callable[[Scene], Iterator[SceneError]], ...]] = {
    "smoke": (check_air,),
    "liquid": (_liquid,),
}
"""What can't be asked of a fluid, by its table."""


def _sources(scene: Scene) -> Iterator[SceneError]:
    for i, source in enumerate(scene.source):
        path = f"source[{i}]"
        if source.rate is not None and source.density is not None:
            yield SceneError(f"{path}.rate", "stands beside density; keep only one of them")
        stop = source.stop if source.stop is not None else scene.time.frames
        if not 0 <= source.start < scene.time.frames:
            yield SceneError(f"{path}.start", f"frame {source.start} is not in 0 to {scene.time.frames - 1}; change it")
        elif stop <= source.start:
            yield SceneError(f"{path}.stop", f"frame {stop} is not after start, frame {source.start}; change it")
        if stop > scene.time.frames:
            yield SceneError(f"{path}.stop", f"frame {stop} is after the last, {scene.time.frames}; leave it out")


def _obstacles(scene: Scene) -> Iterator[SceneError]:
    for i, obstacle in enumerate(scene.obstacle):
        path = f"obstacle[{i}]"
        if isinstance(obstacle.spin, list) and scene.dimension == 2:
            yield SceneError(f"{path}.spin", "has three numbers; in 2D give one")
        if is_animated(obstacle):
            for key in ("velocity", "path", "spin"):
                if getattr(obstacle, key):
                    yield SceneError(
                        f"{path}.{key}", "stands beside an animated mesh, which moves by itself; remove it"
                    )
        if obstacle.path is None:
            continue
        for key in ("velocity", "center"):
            if getattr(obstacle, key) is not None:
                yield SceneError(f"{path}.{key}", "stands beside path, which says where it is; keep only one of them")
        if not obstacle.path:
            yield SceneError(f"{path}.path", "is empty; give at least one place")
        for k, point in enumerate(obstacle.path):
            yield from check_axes(f"{path}.path[{k}].center", point.center, scene.dimension)
            yield from check_turn(f"{path}.path[{k}].rotation", point.rotation, scene.dimension)
            if k and point.frame <= obstacle.path[k - 1].frame:
                yield SceneError(f"{path}.path[{k}].frame", "is not after the one before; put them in order of time")


def _pictures(scene: Scene) -> Iterator[SceneError]:
    if scene.picture and scene.control.method not in ("adjoint", "spectral"):
        yield SceneError(
            "picture", f'method "{scene.control.method}" looks at no pictures; use "adjoint" or "spectral"'
        )
    for i, entry in enumerate(scene.picture):
        if not 1 <= entry.frame <= scene.time.frames:
            yield SceneError(f"picture[{i}].frame", f"{entry.frame} is not one of the frames 1 to {scene.time.frames}")
        if entry.field is not None and entry.field not in {field.name for field in scene.fluid.field}:
            yield SceneError(f"picture[{i}].field", f"{entry.field!r} is not a field of the smoke")


def _flows(scene: Scene) -> Iterator[SceneError]:
    if scene.flow and scene.control.method not in ("adjoint", "spectral"):
        yield SceneError("flow", f'method "{scene.control.method}" asks for no velocities; use "adjoint" or "spectral"')
    for i, flow in enumerate(scene.flow):
        if not 1 <= flow.frame <= scene.time.frames:
            yield SceneError(f"flow[{i}].frame", f"{flow.frame} is not one of the frames 1 to {scene.time.frames}")
        yield from check_axes(f"flow[{i}].velocity", flow.velocity, scene.dimension)


def _edit(scene: Scene) -> Iterator[SceneError]:
    edit = scene.edit
    if edit is None:
        return
    if scene.control.method not in ("adjoint", "spectral"):
        yield SceneError("edit", f'method "{scene.control.method}" changes no other run; use "adjoint" or "spectral"')
    if not scene.fluid.reusable:
        yield SceneError("edit", "only runs of smoke can be edited; remove it")
    yield from check_run("edit.run", edit.run)
    last = edit.last if edit.last is not None else scene.time.frames
    if not edit.first < last <= scene.time.frames:
        yield SceneError(
            "edit.last",
            f"the window from frame {edit.first} to {last} holds no frame of the scene's {scene.time.frames}; "
            "change edit.first or edit.last",
        )
        return
    spans = [(f"keyframe[{i}]", key.frame, key.until or key.frame) for i, key in enumerate(scene.keyframe)]
    spans += [(f"picture[{i}]", picture.frame, picture.frame) for i, picture in enumerate(scene.picture)]
    spans += [(f"flow[{i}]", flow.frame, flow.frame) for i, flow in enumerate(scene.flow)]
    for path, frame, until in spans:
        if frame <= edit.first or until > last:
            yield SceneError(
                f"{path}.frame", f"lies outside the edit window, frames {edit.first + 1} to {last}; move it"
            )
    for i, key in enumerate(scene.keyframe):
        held = min((key.until or key.frame) + key.hold, scene.time.frames)
        if key.hold and held > last:
            yield SceneError(
                f"keyframe[{i}].hold", f"frame {held} lies after the edit window, which ends at {last}; shorten it"
            )


def _upres(scene: Scene) -> Iterator[SceneError]:
    if scene.upres is None:
        return
    yield from upres_keys(scene.fluid, scene.upres)
    if scene.control.method in ("none", "guided"):
        yield SceneError(
            "upres", f'method "{scene.control.method}" steers no {scene.fluid.table}; use another method, or remove it'
        )
    elif not scene.keyframe:
        yield SceneError("upres", "the film follows a run to its keyframes; add one, or remove it")
    elif scene.output.keep == "scene":
        yield SceneError("upres", 'needs the frames of the run; set output.keep to "film"')


def upres_keys(fluid: FluidTable, upres: Upres) -> Iterator[SceneError]:
    """Keys of [upres] that are set and that a film of this fluid does not have."""
    for name in fluid.no_upres:
        if getattr(upres, name) != Upres.model_fields[name].default:
            yield SceneError(f"upres.{name}", f"a film of {fluid.table} has none; remove it")


def _keyframes(scene: Scene) -> Iterator[SceneError]:
    targets = sum(max(0, (key.until or key.frame) - key.frame) + 1 for key in scene.keyframe)
    if targets > MOST_TARGETS:
        # No further checks: looking at each would take as long as drawing it.
        yield SceneError(
            "keyframe", f"asks for {targets} targets, one per frame of `until`; use at most {MOST_TARGETS}"
        )
        return
    taken: dict[tuple[str, int], str] = {}
    last = scene.time.frames
    for i, key in enumerate(scene.keyframe):
        path = f"keyframe[{i}]"
        until = key.until if key.until is not None else key.frame
        if key.frame < 1:
            yield SceneError(
                f"{path}.frame",
                f"frame {key.frame} is not after the start; describe that in smoke.initial, or use 1 to {last}",
            )
        elif key.frame > last:
            yield SceneError(
                f"{path}.frame", f"frame {key.frame} is after the last; use 1 to {last}, or raise time.frames"
            )
        elif not key.frame <= until <= last:
            yield SceneError(f"{path}.until", f"frame {until} is not in {key.frame} to {last}; change it")
        elif scene.fluid.field:
            field = scene.field_of(key)
            for frame in range(key.frame, until + 1):
                other = taken.setdefault((field, frame), path)
                if other != path:
                    yield SceneError(
                        f"{path}.frame", f"{other} has a keyframe of {field!r} at frame {frame} too; move one"
                    )
                    break
    yield from _holds(scene, taken)


def _holds(scene: Scene, taken: dict[tuple[str, int], str]) -> Iterator[SceneError]:
    for i, key in enumerate(scene.keyframe):
        if not scene.fluid.field or not key.hold:
            continue
        end = key.until if key.until is not None else key.frame
        later = [f for field, f in taken if field == scene.field_of(key) and f > end]
        if later and end + key.hold >= min(later):
            yield SceneError(
                f"keyframe[{i}].hold",
                f"{key.hold} frames reach the next keyframe, frame {min(later)}; use at most {min(later) - end - 1}",
            )


def _camera(scene: Scene) -> Iterator[SceneError]:
    camera = scene.camera
    if camera.position is not None:
        middle = [side / 2 for side in scene.domain.size]
        if camera.position == (camera.look_at if camera.look_at is not None else middle):
            yield SceneError("camera.position", "is the point it looks at; move it, or camera.look_at")
    if scene.light.direction is not None and not any(scene.light.direction):
        yield SceneError("light.direction", "is zero; give three numbers that point to the light")


def _stage(scene: Scene) -> Iterator[SceneError]:
    if scene.output.usd and not scene.output.vdb and scene.fluid.table == "smoke":
        yield SceneError("output.usd", "refers to VDB files, and output.vdb is false; set it to true")


def _grids(scene: Scene) -> Iterator[SceneError]:
    missing, instead = scene.fluid.no_grids
    for kind in scene.output.grids or ():
        if kind in missing:
            yield SceneError(
                "output.grids", f'"{kind}" is not a grid of {scene.fluid.table}; remove it, or use "{instead}"'
            )
