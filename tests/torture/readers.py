"""What is fuzzed: for each reader its seeds, their mutations, and the call. Only KeyfluidError may come out."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torture import formats, mutate, seeds
from torture.scenes import CASES

Call = Callable[[bytes, Path], None]
"""(content, an empty folder to write it to): reads it as keyfluid would."""


@dataclass(frozen=True)
class Reader:
    """weight: its share of the inputs; fast readers of hostile formats get more. roams: it may open other files, as a
    scene names them."""

    name: str
    make_seeds: Callable[[], list[bytes]]
    mutation: mutate.Mutation
    call: Call
    weight: float = 1.0
    suffix: str = ".bin"
    roams: bool = False

    @cached_property
    def seeds(self) -> list[bytes]:
        return self.make_seeds()


def _with_file(suffix: str, *calls: Callable[[Path], object]) -> Call:
    numbers = iter(range(10**12))

    def call(content: bytes, folder: Path) -> None:
        # A new name each time: readers may keep what they read by path.
        path = folder / f"x{os.getpid()}-{next(numbers)}{suffix}"
        path.write_bytes(content)
        try:
            for each in calls:
                each(path)
        finally:
            path.unlink(missing_ok=True)

    return call


def _both(*calls: Callable[[Path], object]) -> Callable[[Path], object]:
    """All of these, though one refuses."""
    from keyfluid.errors import KeyfluidError

    def call(path: Path) -> None:
        refusal = None
        for each in calls:
            try:
                each(path)
            except KeyfluidError as error:
                refusal = error
        if refusal is not None:
            raise refusal

    return call


# Scenes.

_EXTRA_SCENE = """
[light]
direction = [0.3, 1.0, 0.2]
[[keyframe]]
frame = 2
text = "Hi"
fit = 0.5
"""


def _scene_seeds() -> list[bytes]:
    texts = [case.text for case in CASES.values() if case.base is None]
    return [text.encode() for text in [*dict.fromkeys(texts), CASES["none"].text + _EXTRA_SCENE]]


def _scene_words() -> tuple[str, ...]:
    found = {word for text in _scene_seeds() for word in re.findall(r"[\w-]+", text.decode())}
    return (*sorted(found), "[", "]", "[[", "]]", "{", "}", "=", ",", ".", '"', "'''", '"""', "#", "1979-05-27")


def _read_scene(content: bytes, folder: Path) -> None:
    from keyfluid.scenes import dump_scene, load_scene

    scene = load_scene(content.decode("utf-8", "surrogateescape") + "\n")
    assert load_scene(dump_scene(scene)) == scene, "a dumped scene loads as another"


def _read_overrides(content: bytes, folder: Path) -> None:
    from keyfluid.scenes import load_scene

    load_scene(CASES["target"].text, content.decode("utf-8", "surrogateescape").split("\n")[:4])


_OVERRIDES = (b"domain.resolution=64", b"keyframe[0].shape=disk\ncontrol.strength=2", b'smoke.initial={shape="disk"}',
              b"keyframe.0.center=[0.1, 0.2]\ntime.frames=13", b"output.vdb=true", b"keyframe[1].hold=2")  # fmt: skip


# Run files and folders.


def _npz(path: Path) -> None:
    from keyfluid.io.container import check_arrays, load_arrays, load_meta

    _both(load_arrays, load_meta, check_arrays)(path)


_places: list[Path] = []
"""Where `prepare` has put a run."""


def prepare(folder: Path) -> None:
    """Before the first seed of a reader of runs: a small finished run for them to damage."""
    import keyfluid

    overrides = ["control.iterations=2", "control.coarse=0"]
    keyfluid.run(CASES["spectral"].text, folder, overrides=overrides, threads=1)
    _places[:] = [folder]


def _run_folder() -> Path:
    return _places[0]


def _result_seeds() -> list[bytes]:
    return [(_run_folder() / "result.json").read_bytes(), b"{}"]


def _read_result(content: bytes, folder: Path) -> None:
    from keyfluid.cli.summary import summary
    from keyfluid.io.run.run_folder import RunFolder

    run = folder / "run"
    if not run.exists():
        shutil.copytree(_run_folder(), run)
    (run / "result.json").write_bytes(content)
    result = RunFolder.find(run).result()
    if result is not None:
        summary(result)


def _folder_seeds() -> list[bytes]:
    """NAME, a line break, and that file's content."""
    files = [path for path in sorted(_run_folder().rglob("*")) if path.is_file()]
    files = [path for path in files if path.suffix in (".npz", ".json", ".toml") or path.name.startswith(".")]
    return [f"{path.relative_to(_run_folder())}\n".encode() + path.read_bytes() for path in files]


def _mutate_folder(chance, content, others):  # type: ignore[no-untyped-def]
    name, _, data = content.partition(b"\n")
    rest = [other.partition(b"\n")[2] for other in others]
    if name.endswith(b".npz"):
        data = mutate.several((_NPZ, 3), (mutate.some_bytes, 1))(chance, data, rest)
    elif name.endswith(b".json"):
        data = mutate.several((mutate.json_tree, 3), (mutate.some_bytes, 1))(chance, data, rest)
    else:  # of the scene only damage: other numbers may ask for hours
        cut = chance.randrange(len(data) + 1)
        data = chance.choice((data[:cut], data[:cut] + bytes(len(data) - cut), b"", data[cut:]))
    if chance.random() < 0.03:
        name = chance.choice(others).partition(b"\n")[0]
    return name + b"\n" + data


def _read_folder(content: bytes, folder: Path) -> None:
    """Open, read every frame, and resume up to the first question whether to stop."""
    from keyfluid.cli.summary import summary
    from keyfluid.errors import KeyfluidError
    from keyfluid.runs.run import open_run, resume

    name, _, data = content.partition(b"\n")
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(_run_folder(), run)
    target = run / name.decode("ascii", "replace")
    if target.parent in (run, run / "frames") and not target.is_dir() and b"\0" not in name:
        target.write_bytes(data)
    refusal = None
    for what in ("open", "resume"):
        try:
            if what == "open":
                opened = open_run(run)
                for index in range(len(opened.frames)):
                    _ = opened.frames[index]
                summary(opened.metrics)
            else:
                resume(run, threads=1, should_stop=lambda: True)
        except KeyfluidError as error:
            refusal = error
    if refusal is not None:
        raise refusal


# Shapes and volumes.


def _mesh(path: Path) -> None:
    from keyfluid.shapes import load_mesh

    load_mesh(path)


def _skinned(path: Path) -> None:
    from keyfluid.shapes import load_skinned_gltf

    load_skinned_gltf(path).at(0.5)


def _sequence_seeds() -> list[bytes]:
    names = ("walk.0001.obj", "walk.0002.obj", "b.7.ply", "²1.obj", "walk.10.obj")
    patterns = ("walk.####.obj", "walk.%04d.obj", "*.obj", "b.*.ply", ".", "****.obj")
    return [json.dumps({"files": list(names), "pattern": pattern, "fps": 24.0}).encode() for pattern in patterns]


def _mutate_names(chance, content, others):  # type: ignore[no-untyped-def]
    """A pattern or a file of a sequence gets a hostile name."""
    data = json.loads(content)
    pieces = ("*", "#", "%d", "%04d", "%99999d", "[", "(", ".", "a" * 60, "*a" * 8, "1", "٣", "²", "\\", "?", "+", "%")
    word = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 12)))
    word += chance.choice((".obj", ".ply", "", ".OBJ"))
    if chance.random() < 0.5:
        data["pattern"] = word
    else:
        data["files"] = [*data["files"][:3], word]
    return json.dumps(data).encode()


def _read_sequence(content: bytes, folder: Path) -> None:
    from keyfluid.shapes import load_mesh_sequence

    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return
    place = folder / "walk"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    if not isinstance(data, dict):
        return
    names = data.get("files")
    for name in (names if isinstance(names, list) else [])[:6]:
        if _is_file_name(name):
            (place / name).write_bytes(seeds.ply_text() if name.endswith(".ply") else seeds.obj())
    pattern, fps = data.get("pattern"), data.get("fps")
    is_rate = isinstance(fps, float) or (isinstance(fps, int) and abs(fps) < 1 << 1000)  # scenes refuse larger ones
    if isinstance(pattern, str) and is_rate and "\0" not in pattern and len(pattern) < 4000:
        load_mesh_sequence(place / pattern, float(fps)).at(0.01)


def _is_file_name(name: object) -> bool:
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    try:
        return len(os.fsencode(name)) < 250
    except UnicodeEncodeError:
        return False


def _vdb(path: Path) -> None:
    from keyfluid.io.vdb import read_vdb
    from keyfluid.scenes.build.vdb_body import load_vdb

    _both(read_vdb, lambda p: load_vdb(p, None, 3))(path)


def _npy(path: Path) -> None:
    from keyfluid.shapes import load_array

    array = load_array(path)
    array.rasterize((6,) * array.values.ndim, 0.2)


def _image(path: Path) -> None:
    from keyfluid.shapes import load_image
    from keyfluid.shapes.image import load_brightness

    _both(load_image, load_brightness)(path)


def _font(path: Path) -> None:
    from keyfluid.shapes import Text

    Text("Af", font=path).ink()


def _read_text(content: bytes, folder: Path) -> None:
    from keyfluid.shapes import Text

    Text(content.decode("utf-8", "surrogateescape")).ink()


def _points(path: Path) -> None:
    from keyfluid.io.ply import read_ply

    read_ply(path)


_BYTES = (mutate.some_bytes, 1.0)
_TEXT = mutate.several((mutate.words(), 2), _BYTES)
_NPZ = mutate.several((formats.zip_entries(mutate.several((formats.npy_or_json, 3), _BYTES)), 3), _BYTES)
_GLTF = mutate.several((mutate.json_tree, 5), _BYTES)
_SCENE = mutate.several((mutate.words(_scene_words()), 4), _BYTES)
_SEQUENCE = mutate.several((mutate.json_tree, 1), (_mutate_names, 1))
_GLB = mutate.several((formats.glb(), 4), _BYTES)


def _image_mutation(chance, content, others):  # type: ignore[no-untyped-def]
    if content[:4] == b"\x89PNG" and chance.random() < 0.7:
        return mutate.several((formats.png_chunks, 1))(chance, content, others)
    return mutate.several(_BYTES)(chance, content, others)


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("scene", _scene_seeds, _SCENE, _read_scene, 3, ".toml", True),
        Reader("override", lambda: list(_OVERRIDES), _SCENE, _read_overrides, 1, ".txt", True),
        Reader("npz", seeds.npzs, _NPZ, _with_file(".npz", _npz), 2, ".npz"),
        Reader("npy", seeds.npys, mutate.several((formats.npy, 3), _BYTES), _with_file(".npy", _npy), 1, ".npy"),
        Reader("vdb", seeds.vdbs, mutate.several((formats.vdb_maps, 1), _BYTES), _with_file(".vdb", _vdb), 3, ".vdb"),
        Reader("obj", lambda: [seeds.obj(), seeds.obj_quads()], _TEXT, _with_file(".obj", _mesh), 1, ".obj"),
        Reader("ply", lambda: [seeds.ply_text(), seeds.ply_mesh()], _TEXT, _with_file(".ply", _mesh), 1, ".ply"),
        Reader("stl", lambda: [seeds.stl(), seeds.stl_text()], _TEXT, _with_file(".stl", _mesh), 1, ".stl"),
        Reader("gltf", lambda: [seeds.gltf(), seeds.gltf(True)], _GLTF, _with_file(".gltf", _mesh), 1, ".gltf"),
        Reader("glb", lambda: [seeds.glb(), seeds.glb(True)], _GLB, _with_file(".glb", _mesh), 1, ".glb"),
        Reader("skinned-gltf", lambda: [seeds.gltf(True)], _GLTF, _with_file(".gltf", _skinned), 1, ".gltf"),
        Reader("skinned-glb", lambda: [seeds.glb(True)], _GLB, _with_file(".glb", _skinned), 1, ".glb"),
        Reader("sequence", _sequence_seeds, _SEQUENCE, _read_sequence, 0.3, ".json", True),
        Reader("image", lambda: list(seeds.images().values()), _image_mutation, _with_file(".png", _image), 4, ".img"),
        Reader("font", seeds.fonts, mutate.several(_BYTES), _with_file(".ttf", _font), 1, ".ttf"),
        Reader("text", lambda: [b"Hi", "Größe\nΩ ж".encode(), b"a\tb  c"], _TEXT, _read_text, 0.3, ".txt"),
        Reader("points", lambda: [seeds.ply_points()], _TEXT, _with_file(".ply", _points), 1, ".ply"),
        Reader("result", _result_seeds, _GLTF, _read_result, 1, ".json"),
        Reader("folder", _folder_seeds, _mutate_folder, _read_folder, 0.3, ".run"),
    )
}  # fmt: skip
