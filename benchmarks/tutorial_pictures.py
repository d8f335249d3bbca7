"""Draws the pictures of the tutorial and the recipes from the scenes on those pages, and small films of them.

    python benchmarks/tutorial_pictures.py                   every scene on the pages that has a picture there
    python benchmarks/tutorial_pictures.py letter vent       only these
    python benchmarks/tutorial_pictures.py --films           docs/films/NAME.webp, of the runs that the first has left

A scene named NAME whose page shows images/tutorial_NAME.png or images/recipe_NAME.png is run as it stands there, and
five of its frames become that picture. Runs go to benchmarks/out; one thread.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import keyfluid
from keyfluid.render import filmstrip, save_png, write_webp
from keyfluid.runs.pictures import Painter

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "out" / "tutorial"
IMAGES = ROOT / "docs" / "images"
FILMS = ROOT / "docs" / "films"
TILE = 220
FILM_SIZE = 240
"""Pixels of a film's longer side."""


def scenes() -> dict[str, tuple[str, Path]]:
    """Name of a scene on a page: its text, and the picture that the page shows of it."""
    sys.path.insert(0, str(ROOT / "tests" / "docs"))
    from doc_blocks import blocks_of

    found = {}
    for page in [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "recipes").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for block in blocks_of(page.name, text):
            named = re.match(r'name = "(\w+)"', block.text)
            if block.language != "toml" or not block.runs or named is None:
                continue
            name = named[1]
            for picture in (f"tutorial_{name}.png", f"recipe_{name}.png"):
                if picture in text:
                    found[name] = (block.source, IMAGES / picture)
    return found


def drawing() -> Image.Image:
    """A fish in broad ink on white paper, for the recipe about drawings."""
    paper = Image.new("L", (800, 500), 255)
    pen = ImageDraw.Draw(paper)
    pen.ellipse((60, 90, 590, 410), outline=0, width=46)
    pen.line([(560, 250), (740, 110), (740, 390), (560, 250)], fill=0, width=46, joint="curve")
    pen.ellipse((170, 180, 240, 250), fill=0)
    pen.arc((300, 150, 440, 350), 100, 260, fill=0, width=40)
    return paper


def draw(name: str, text: str, picture: Path) -> None:
    """Five frames of a scene side by side: start, end, the keyframes' and those between."""
    scene = keyfluid.load_scene(text, ["output.vdb=false", "output.video=false"])
    began = time.process_time()
    result = keyfluid.run(scene, OUT / name, overwrite=True, threads=1)
    last = scene.time.frames
    keys = sorted({key.frame for key in scene.keyframe if key.frame < last})
    frames = sorted({0, last, *keys[:3]})
    while len(frames) < 5:
        gaps = np.diff(frames)
        widest = int(np.argmax(gaps))
        frames.insert(widest + 1, frames[widest] + int(gaps[widest]) // 2)
    painter = Painter(result.problem, 2 * TILE)
    pictures = [painter.frame(result.frames, frame) for frame in frames]
    strip = filmstrip(pictures, [f"frame {frame}" for frame in frames], columns=5, tile=TILE)
    save_png(picture, strip)
    Image.open(picture).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(picture, optimize=True)
    scores = ", ".join(f"{key['frame']}: {key['relative_error']:.3f}" for key in result.metrics["keyframes"])
    print(f"{name}: {time.process_time() - began:.0f} s; errors {scores or '-'}", flush=True)


def film(name: str) -> None:
    """A small film of a run that `draw` has made."""
    run = keyfluid.open_run(OUT / name)
    painter = Painter(run.problem, FILM_SIZE)
    FILMS.mkdir(exist_ok=True)
    path = FILMS / f"{name}.webp"
    pictures = [painter.frame(run.frames, frame.index) for frame in run.frames]
    write_webp(pictures, path, run.problem.fps, quality=60)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--films", action="store_true")
    given = parser.parse_args()
    known = scenes()
    if given.films:
        for name in given.names or known:
            film(name)
        return
    OUT.mkdir(parents=True, exist_ok=True)
    os.chdir(OUT)
    drawing().save("drawing.png")
    for name in given.names or known:
        draw(name, *known[name])


if __name__ == "__main__":
    main()
