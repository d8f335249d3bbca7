from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from keyfluid.errors import KeyfluidError
from keyfluid.render import (
    filmstrip,
    save_png,
    video_available,
    write_gif,
    write_mp4,
    write_png_sequence,
    write_webp,
)
from keyfluid.render.film import durations

COUNT = 7


def frames() -> list[np.ndarray]:
    """A square that walks over a graded ground, 33 x 40 pixels (an odd side on purpose)."""
    ground = np.zeros((33, 40, 3), np.uint8)
    ground[..., 2] = np.linspace(20, 70, 33).astype(np.uint8)[:, None]
    film = []
    for k in range(COUNT):
        frame = ground.copy()
        frame[10:16, 2 + 5 * k : 8 + 5 * k] = (240, 200 - 20 * k, 60)
        film.append(frame)
    return film


def read(path: Path) -> tuple[list[np.ndarray], list[int]]:
    pictures, times = [], []
    with Image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            film.load()
            times.append(film.info["duration"])
            pictures.append(np.asarray(film.convert("RGB")))
    return pictures, times


def test_times_add_up_without_drift() -> None:
    assert sum(durations(48, 24, tick=10)) == 2000
    assert set(durations(48, 24, tick=10)) == {40, 50}
    assert sum(durations(90, 30, tick=1)) == 3000
    with pytest.raises(KeyfluidError, match="above 0"):
        durations(3, 0.0, 10)


@pytest.mark.parametrize(("write", "name", "close"), [(write_gif, "a.gif", 8), (write_webp, "a.webp", 12)])
def test_films_come_back(tmp_path: Path, write, name: str, close: float) -> None:
    write(iter(frames()), tmp_path / name, fps=12.5)
    pictures, times = read(tmp_path / name)
    assert times == [80] * COUNT
    for wrote, got in zip(frames(), pictures):
        assert got.shape == wrote.shape
        assert np.abs(got.astype(int) - wrote).mean() < close
        assert np.abs(got[12, :].astype(int) - wrote[12, :]).mean() < 2 * close
    with Image.open(tmp_path / name) as film:
        assert film.info["loop"] == 0
    assert os.listdir(tmp_path) == [name]


def test_gif_ground_does_not_flicker(tmp_path: Path) -> None:
    write_gif(frames(), tmp_path / "a.gif", fps=10)
    pictures, _ = read(tmp_path / "a.gif")
    still = [picture[18:] for picture in pictures]
    assert all(np.array_equal(still[0], other) for other in still)
    assert len(np.unique(still[0].reshape(-1, 3), axis=0)) > 5


def test_one_frame_and_many_equal_frames_keep_the_time(tmp_path: Path) -> None:
    write_gif(frames()[:1], tmp_path / "one.gif", fps=10)
    with Image.open(tmp_path / "one.gif") as film:
        assert film.n_frames == 1
    held = frames()[:2] + [frames()[1]] * 4
    write_gif(held, tmp_path / "held.gif", fps=10)
    assert sum(read(tmp_path / "held.gif")[1]) == 600


def test_png_is_exact(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    save_png(tmp_path / "deep" / "p.png", picture)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "deep" / "p.png")), picture)
    assert write_png_sequence(frames(), tmp_path / "seq", start=1001) == COUNT
    names = sorted(os.listdir(tmp_path / "seq"))
    assert names[0] == "frame.1001.png"
    assert names[-1] == "frame.1007.png"
    assert np.array_equal(np.asarray(Image.open(tmp_path / "seq" / names[3])), frames()[3])


@pytest.mark.skipif(not video_available(), reason="MP4 requires PyAV: pip install 'keyfluid[video]'")
def test_mp4_comes_back(tmp_path: Path) -> None:
    import av

    write_mp4(iter(frames()), tmp_path / "a.mp4", fps=24)
    with av.open(str(tmp_path / "a.mp4")) as film:
        assert float(film.streams.video[0].average_rate) == 24
        got = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert len(got) == COUNT
    assert got[0].shape == (34, 40, 3)
    assert np.abs(got[3][:33].astype(int) - frames()[3]).mean() < 12


def test_mp4_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyfluid.render.film.video_available", lambda: False)
    with pytest.raises(KeyfluidError, match="PyAV"):
        write_mp4(frames(), tmp_path / "a.mp4", fps=24)


@pytest.mark.parametrize("write", [write_gif, write_webp])
def test_bad_films_are_errors(tmp_path: Path, write) -> None:
    path = tmp_path / "a.gif"
    with pytest.raises(KeyfluidError, match="at least one frame"):
        write([], path, 10)
    with pytest.raises(KeyfluidError, match="differ in size"):
        write([frames()[0], frames()[1][:-1]], path, 10)
    with pytest.raises(KeyfluidError, match="must be uint8"):
        write([np.zeros((4, 4, 3))], path, 10)
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for write in (write_gif, write_webp):
        with pytest.raises(KeyfluidError, match="can't be written"):
            write(frames(), tmp_path / "file" / "a.gif", 10)


def test_a_full_disk_leaves_the_old_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    save_png(path, frames()[0])
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    for write in (lambda: save_png(path, frames()[1]), lambda: write_gif(frames(), path, 10)):
        with pytest.raises(KeyfluidError, match="No space left on device"):
            write()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.png"]


def test_strip_puts_targets_beside_their_frames() -> None:
    red, green, blue = (np.full((10, 20, 3), c, np.uint8) for c in ((255, 0, 0), (0, 255, 0), (0, 0, 255)))
    sheet = filmstrip([red, green, red], ["0", "1", "2"], [None, blue, None], columns=3, tile=64)
    gap, pitch_x, pitch_y = 4, 68, 32 + 4 + 18

    def middle(row: int, column: int) -> tuple[int, ...]:
        return tuple(sheet[gap + row * pitch_y + 16, gap + column * pitch_x + 32])

    assert sheet.shape == (gap + 2 * pitch_y, gap + 3 * pitch_x, 3)
    assert [middle(0, c) for c in range(3)] == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    assert middle(1, 0) == (255, 0, 0)
    label = sheet[gap + 32 : gap + 32 + 20, gap : gap + 64]
    assert label.max() > 150
    with pytest.raises(KeyfluidError, match="as many labels"):
        filmstrip([red], [])


def test_strip_keeps_frame_and_target_in_one_row() -> None:
    tile = np.full((10, 10, 3), 200, np.uint8)
    sheet = filmstrip([tile, tile], ["0", "1"], [None, tile], columns=2, tile=32)
    assert sheet.shape[1] == 4 + 2 * 36
    assert sheet.shape[0] > 2 * 32
