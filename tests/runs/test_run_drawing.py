"""Films drawn by several processes, and drafts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from run_scenes import BUSY

import keyfluid
from keyfluid.controllers.shell import Stopped
from keyfluid.render.kernels import surface
from keyfluid.runs import drawing
from keyfluid.runs.drawing import draw, workers_for
from keyfluid.runs.pictures import Film, Painter
from keyfluid.scenes import load_scene, preview
from keyfluid.scenes.build.problem import build


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return keyfluid.run(
        BUSY.format(frames=5) + "vdb = false\nvideo = false\n", tmp_path_factory.mktemp("drawn") / "run"
    )


def film_of(run, drawn=None):
    return Film(Painter(run.problem), run.frames, drawn)


def crew_of(monkeypatch):
    """Every film is worth two processes."""
    monkeypatch.setattr(drawing, "WORTH", -1.0)
    monkeypatch.setattr(drawing, "processes", lambda: 2)


def workers():
    """Processes that draw for this one."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            command = (stat.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and b"keyfluid.runs.drawing" in command:
            found.add(int(stat.parent.name))
    return found


def test_processes_draw_the_same_film(run, monkeypatch):
    told = []
    crew_of(monkeypatch)
    film = film_of(run, lambda done, total: told.append((done, total)))
    draw(film, lambda: None)
    assert told == [(done, 6) for done in range(1, 7)]
    monkeypatch.setattr(Painter, "frame", None)  # all are drawn
    pictures = list(film)
    monkeypatch.undo()
    for mine, theirs in zip(pictures, film_of(run), strict=True):
        assert np.array_equal(mine, theirs)
    assert not workers()


def test_a_wish_to_stop_ends_the_processes(run, monkeypatch):
    """Ctrl-C while they draw: the run hears of it between two looks."""
    crew_of(monkeypatch)
    seen = []

    def stop():
        seen.append(workers())
        raise Stopped

    film = film_of(run)
    with pytest.raises(Stopped):
        draw(film, stop)
    assert len(seen[0]) == 2
    assert not workers()
    assert film.missing


def test_few_pictures_are_drawn_here(run, monkeypatch):
    def no_crew(*_):
        raise AssertionError("processes for a film of half a second")

    monkeypatch.setattr(drawing, "Crew", no_crew)
    draw(film_of(run), lambda: None)
    assert workers_for(7.0, 100) == 1
    monkeypatch.setattr(drawing, "processes", lambda: 4)
    assert workers_for(70.0, 100) == 4
    assert workers_for(70.0, 3) == 3


LIQUID = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 12
[liquid]
initial = { shape = "sphere", radius = 0.3 }
[output]
size = 64
"""


def test_a_preview_is_drawn_as_a_draft():
    scene = load_scene(LIQUID)
    assert scene.output.film is preview(scene, 8).output.film is None
    assert preview(scene, 8, draft=True).output.film == "draft"
    assert preview(load_scene(LIQUID + 'film = "final"\n'), 8, draft=True).output.film == "final"


def test_a_draft_is_smaller_and_takes_fewer_rays(monkeypatch):
    rays = []
    trace = surface.light_rays

    def counted(image, *rest):
        rays.append(len(image))
        trace(image, *rest)

    monkeypatch.setattr(surface, "light_rays", counted)
    counts, pictures = [], []
    for film in ("final", "draft"):
        problem = build(load_scene(LIQUID, [f"output.film={film}"]))
        pictures.append(Painter(problem).fluid({"surface": problem.densities["surface"].array}, 0))
        counts.append(sum(rays))
        rays.clear()
    assert max(pictures[1].shape) == max(pictures[0].shape) // 2 == 32
    assert counts[1] <= counts[0] / 14, "a quarter of the pixels, a quarter of the rays in each"
    middle = [picture[picture.shape[0] // 2, picture.shape[1] // 2].astype(int) for picture in pictures]
    assert np.abs(middle[0] - middle[1]).max() < 12, "the same ball"


def test_a_draft_of_smoke_takes_longer_steps(monkeypatch):
    steps = []
    monkeypatch.setattr(
        "keyfluid.runs.pictures.render_volume", lambda *args, step: steps.append(step) or np.zeros((2, 2, 3), np.uint8)
    )
    text = LIQUID.replace("[liquid]", "[smoke]")
    for film in ("final", "draft"):
        problem = build(load_scene(text, [f"output.film={film}"]))
        Painter(problem).fluid({"density": problem.densities["density"].array}, 0)
    assert steps == [0.5, 1.0]


def test_a_bar_two_cells_thick_is_seen():
    """Rays that meet it end there; a smoothed mask of its cells had no inside."""
    text = LIQUID.replace("[liquid]", "[smoke]")
    bar = "obstacle=[{shape='box',size=[0.6,0.16,0.16],center=[0.5,0.8,0.5]}]"
    with_bar, without = (Painter(build(load_scene(text, sets))).empty(0).astype(int) for sets in ([bar], []))
    assert np.mean(np.abs(with_bar - without).max(axis=2) > 30) > 0.02
