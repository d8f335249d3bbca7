"""Files dropped on the page: checked by content, put beside the scene under a free name, and nothing else."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from PIL import Image
from stage_kit import write_scene
from studio_kit import Answer, RunningStudio, running_studio

from keyfluid import gallery

GALLERY = Path(gallery.__file__).parent


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    with running_studio(tmp_path_factory.mktemp("upload")) as running:
        yield running


def png(level: int = 255, side: int = 16) -> bytes:
    pixels = np.zeros((side, side), np.uint8)
    pixels[4:12, 4:12] = level
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def array(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=values.dtype == object)
    return file.getvalue()


def huge_png() -> bytes:
    """A few bytes that claim 60,000 x 60,000 pixels."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(1000)))]
    parts = [len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
             for kind, data in chunks]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def put(studio: RunningStudio, name: str, content: bytes, **more: str) -> Answer:
    scene = write_scene(studio)
    return studio.ask("PUT", "/api/file", {"scene": scene, "name": name, **more}, content)


def test_files_go_beside_the_scene_and_never_over_another(studio: RunningStudio) -> None:
    first, second = put(studio, "dot.png", png()), put(studio, "dot.png", png(128))
    assert first.json == {"name": "dot.png", "key": "image", "animated": False}
    assert second.json["name"] == "dot-2.png"
    folder = studio.folder / "scenes" / "one"
    assert (folder / "dot.png").read_bytes() == png()
    shown = studio.ask("GET", "/api/file", {"scene": "scenes/one/scene.toml", "name": "dot.png"})
    assert (shown.content, shown.headers["content-type"]) == (png(), "image/png")
    assert shown.headers["x-content-type-options"] == "nosniff"


def test_only_pictures_that_were_painted_here_are_replaced(studio: RunningStudio) -> None:
    names = [put(studio, name, png(level), replace="1").json["name"]
             for name in ("painted-1.png", "mine.png") for level in (200, 100)]  # fmt: skip
    assert names == ["painted-1.png", "painted-1.png", "mine.png", "mine-2.png"]


@pytest.mark.parametrize(
    ("name", "key", "animated"),
    [("knot.obj", "mesh", False), ("target_mouse.glb", "mesh", True), ("particles_horse.obj", "mesh", False)],
)
def test_meshes_by_our_own_reader(studio: RunningStudio, name: str, key: str, animated: bool) -> None:
    pytest.importorskip("trimesh")
    answer = put(studio, name, (GALLERY / name).read_bytes())
    assert answer.status == 200, answer.content
    assert (answer.json["key"], answer.json["animated"]) == (key, animated)


def test_arrays(studio: RunningStudio) -> None:
    assert put(studio, "smoke.npy", array(np.ones((4, 4), np.float32))).json["key"] == "npy"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b"not a picture"),
        ("a.png", png()[:40]),
        ("a.png", b"<svg onload='alert(1)'/>"),
        ("a.png", huge_png()),
        ("a.glb", b"glTF" + bytes(100)),
        ("a.obj", b"v 1 2\n"),
        ("a.vdb", bytes(200)),
        ("a.npy", array(np.array([{}], dtype=object))),
        ("a.ttf", bytes(200)),
        ("a.html", b"<script>"),
        ("a.toml", b"name = 'x'"),
        ("a", b""),
        (".png", png()),
        ("a.gltf", b'{"asset":{"version":"2.0"},"buffers":[{"uri":"../../secret.bin","byteLength":4}]}'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_what_it_says_is_refused(studio: RunningStudio, name: str, content: bytes) -> None:
    scene = studio.folder / write_scene(studio)
    before = sorted(scene.parent.iterdir())
    answer = put(studio, name, content)
    assert 400 <= answer.status < 500, answer.content
    assert "/tmp" not in answer.json["error"]["message"]
    assert sorted(scene.parent.iterdir()) == before


def test_names_can_not_lead_elsewhere(studio: RunningStudio) -> None:
    for name in ("../../x.png", "/etc/x.png", "a/b.png", "..", "scene.toml/../x.png"):
        answer = put(studio, name, png())
        if answer.status == 200:
            assert (studio.folder / "scenes" / "one" / answer.json["name"]).is_file()
            assert "/" not in answer.json["name"]
    outside = [path for path in studio.folder.rglob("*x.png") if path.parent.name != "one"]
    assert outside == []
    for name in ("../../../etc/passwd", "scene.toml", "link.png"):
        assert studio.ask("GET", "/api/file", {"scene": "scenes/one/scene.toml", "name": name}).status >= 400


def test_a_link_is_neither_followed_nor_replaced(studio: RunningStudio, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png(77))
    folder = (studio.folder / write_scene(studio)).parent
    (folder / "painted-9.png").symlink_to(secret)
    assert put(studio, "painted-9.png", png(), replace="1").json["name"] == "painted-9-2.png"
    assert secret.read_bytes() == png(77)
    scene = "scenes/one/scene.toml"
    assert studio.ask("GET", "/api/file", {"scene": scene, "name": "painted-9.png"}).status == 403


def test_a_file_that_is_too_long_is_refused_while_it_comes(studio: RunningStudio) -> None:
    assert put(studio, "long.png", bytes(65 << 20)).status == 413
