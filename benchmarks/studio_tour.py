"""One tour of the studio in a real browser: `python benchmarks/studio_tour.py [--keep FOLDER]`.

From an empty workspace: a new 2D scene, a keyframe painted and one typed, both dragged in time, a fault shown and fixed
in the text, Preview, Run, Stop, the server killed and started again, Resume, the film scrubbed and compared with its
target, a frame painted over and solved again; a 3D scene with a dropped mesh, run and orbited; live particles with a
slider moved; a wedge of four. Then the scene's folder is run by the command line, and every frame is compared.

Writes docs/images/studio_*.png, and stops at the first thing that is not as it should be.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "tests"), str(HERE / "tests/studio")]

from studio_kit import RunningStudio, running_studio  # noqa: E402

import browser as browser_module  # noqa: E402
from browser import Browser  # noqa: E402

IMAGES = HERE / "docs/images"
MESH = HERE / "src/keyfluid/gallery/particles_horse.obj"
WIDTH, HEIGHT = 1280, 720
SAVED = "document.querySelector('[data-id=saved]').textContent.trim() === 'saved'"
VIEWER = "document.querySelector('.viewer').viewer"
LONG = 900.0
"""Seconds that a run may take on a busy machine."""


class Tour:
    """The page, and what a person does on it."""

    def __init__(self, page: Browser, folder: Path) -> None:
        self.page, self.folder = page, folder

    def shot(self, name: str, words: str) -> None:
        self.page.screenshot(IMAGES / f"studio_{name}.png", whole=False)
        assert self.page.faults == [], self.page.faults
        print(f"{name:<12} {words}", flush=True)

    def go(self, place: str, ready: str) -> None:
        self.page.ask(f"location.hash = {json.dumps('#/' + place)}")
        self.page.until(ready)

    def fill(self, selector: str, text: str) -> None:
        """Type over what a field holds."""
        self.page.until(f"document.querySelector({json.dumps(selector)})")
        self.page.ask(f"(e => {{ e.focus(); e.select?.(); }})(document.querySelector({json.dumps(selector)}))")
        self.page.type(text)

    def set_slider(self, selector: str, value: float) -> None:
        self.page.ask(
            f"(e => {{ e.value = {value}; e.dispatchEvent(new Event('input', {{bubbles: true}}));"
            f" e.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
            f"(document.querySelector({json.dumps(selector)}))"
        )

    def box(self, selector: str) -> tuple[float, float, float, float]:
        self.page.until(f"document.querySelector({json.dumps(selector)})")
        x, y, width, height = self.page.ask(
            "(e => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        return x, y, width, height

    def new_scene(self, template: str, name: str) -> Path:
        self.go("home", "document.querySelector('[data-do=new]')")
        self.page.click(f"[data-do=new][data-id={template}]")
        self.fill("#ask-name", name)
        self.page.click(".ask [data-do=yes]")
        self.page.until("document.querySelector('.group')")
        return self.folder / "scenes" / name / "scene.toml"

    def replace_text(self, old: str, new: str) -> None:
        self.page.ask(
            f"(a => {{ a.focus(); const at = a.value.indexOf({json.dumps(old)});"
            f" a.setSelectionRange(at, at + {len(old)}); }})(document.querySelector('#scene-text'))"
        )
        self.page.type(new)

    def drag_mark(self, name: str, frame: int, frames: int) -> None:
        """A keyframe's mark on the time line."""
        x, y = self.page.middle(f".mark[data-id='{name}']")
        left, _, width, _ = self.box(".ruler .track")
        self.page.drag([(x, y), (x - 8, y), (left + width * frame / frames, y)])

    def until_job(self, *states: str) -> str:
        wanted = " || ".join(f"document.querySelector('[data-id=job][data-state={state}]')" for state in states)
        self.page.until(wanted)
        return str(self.page.ask("document.querySelector('[data-id=job]').dataset.state"))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let the browser wait this long."""
    before, browser_module.PATIENCE = browser_module.PATIENCE, seconds
    try:
        yield
    finally:
        browser_module.PATIENCE = before


def draw_a_scene(tour: Tour) -> Path:
    """A painted and a typed keyframe, dragged in time; a fault, shown and fixed."""
    page = tour.page
    file = tour.new_scene("blank_2d", "tour")
    page.click("[data-do=tab-text]")
    tour.replace_text('method = "target"', 'method = "spectral"\niterations = 60')
    tour.replace_text("resolution = 96", "resolution = 64")
    page.until(SAVED)
    page.click("[data-do=tab-inspector]")
    page.press("Home")
    for _ in range(16):
        page.press("ArrowRight")
    page.click("[data-do=add-paint]")
    left, top, width, height = tour.box("[data-id=painting]")
    spot = lambda x, y: (left + x * width, top + (1 - y) * height)  # noqa: E731
    page.drag([spot(0.3, 0.55), spot(0.34, 0.68), spot(0.42, 0.72), spot(0.5, 0.66), spot(0.58, 0.72), spot(0.66, 0.68),
               spot(0.7, 0.55), spot(0.6, 0.42), spot(0.5, 0.32), spot(0.4, 0.42), spot(0.3, 0.55)])  # fmt: skip
    page.ask("document.querySelector('[data-do=paint-done]').scrollIntoView()")
    tour.shot("paint", "a keyframe painted over an onion skin of its neighbours")
    page.click("[data-do=paint-done]")
    page.until("document.querySelector(\".mark[data-id='keyframe[0]']\")")
    page.press("End")
    page.click("[data-do=add-text]")
    page.until("document.activeElement.dataset.id === 'type-in-place'")
    page.type("HI")
    page.press("Enter")
    page.until("document.querySelector(\".mark[data-id='keyframe[1]']\")")
    page.until(SAVED)
    time.sleep(2)
    tour.drag_mark("keyframe[0]", 20, 48)
    tour.drag_mark("keyframe[1]", 42, 48)
    page.until(SAVED)
    keys = tomllib.loads(file.read_text(encoding="utf-8"))["keyframe"]
    assert [(key["frame"], key.get("text")) for key in keys] == [(20, None), (42, "HI")], keys
    time.sleep(2)
    tour.shot("editor", "stage, time line and inspector")
    page.click("[data-do=tab-text]")
    tour.replace_text("resolution = 64", "resolution = 6000000")
    page.until("document.querySelector('.text-lines .fault-line')")
    tour.shot("fault", "a fault at its line, while typing")
    tour.replace_text("resolution = 6000000", "resolution = 64")
    page.until("!document.querySelector('.text-lines .fault-line')")
    page.until(SAVED)
    return file


def run_it(tour: Tour) -> None:
    """Plan, preview, run and stop."""
    page = tour.page
    page.click("[data-do=tab-run]")
    page.click("[data-do=plan]")
    with patience(LONG):
        page.until("document.querySelector('[data-id=plan-time]')?.textContent.startsWith('about')")
        page.click("[data-do=preview]")
        page.until("document.querySelector('[data-id=job][data-state=finished]')")
        tour.shot("preview", "a preview, half as fine")
        page.click("[data-do=run]")
        page.until("document.querySelector('[data-id=job]')?.dataset.state === 'running'")
        page.until("document.querySelector('[data-id=error-chart] canvas')")
        page.until("document.querySelector('[data-id=job-progress]')?.textContent.match(/iteration [3-9][0-9]/)")
        tour.shot("running", "the error of each keyframe falls while frames come in")
        page.click("#page [data-do=stop]")
        assert tour.until_job("stopped", "finished") == "stopped"


def resume_it(tour: Tour) -> str:
    """After the server was killed and started again."""
    page = tour.page
    tour.go("editor?path=scenes/tour/scene.toml&tab=run", "document.querySelector('[data-do=resume]')")
    page.click("[data-do=resume]")
    with patience(LONG):
        page.until("document.querySelector('[data-id=job][data-state=running]')")
        tour.until_job("finished")
    run = str(page.ask("location.hash") and page.ask("document.querySelector('[data-do=look]') && 'runs/tour'"))
    page.click("[data-do=look]")
    page.until(f"{VIEWER}?.screen.drawn > 0 && document.querySelector('.run-side h1')")
    return run


def look_at_it(tour: Tour) -> None:
    """Scrub, and compare with the target."""
    page = tour.page
    for key in ("Home", "ArrowRight", "ArrowRight", "End"):
        page.press(key)
    page.ask(f"{VIEWER}.frame = 42")
    for mode in ("difference", "outline"):
        drawn = page.ask(f"{VIEWER}.screen.drawn")
        page.click(f"[data-do=mode-{mode}]")
        page.until(f"{VIEWER}.screen.drawn > {drawn}")
    time.sleep(1)
    tour.shot("run", "a film beside its target, and what the numbers mean")


def fix_it(tour: Tour, run: str) -> None:
    """Paint on a frame; the run is solved again after a frame that stays."""
    page = tour.page
    tour.go(f"fix?run={run}&frame=42", "document.querySelector('[data-id=painting]')")
    left, top, width, height = tour.box("[data-id=painting]")
    spot = lambda x, y: (left + x * width, top + (1 - y) * height)  # noqa: E731
    page.drag([spot(0.25, 0.2), spot(0.5, 0.16), spot(0.75, 0.2)])
    page.until("!document.querySelector('[data-do=write-run]').disabled")
    tour.shot("fix", "a frame painted over")
    page.click("[data-do=write-run]")
    with patience(LONG):
        page.until("document.querySelector('[data-do=compare]')")
    page.click("[data-do=compare]")
    page.until("document.querySelectorAll('.screen canvas').length >= 2")
    time.sleep(3)
    tour.shot("compare", "before and after in step")


def space(tour: Tour) -> None:
    """A 3D scene with a dropped mesh."""
    page = tour.page
    tour.new_scene("blank_3d", "horse")
    page.click("[data-do=tab-text]")
    tour.replace_text("resolution = 48", "resolution = 32")
    page.until(SAVED)
    page.click("[data-do=tab-inspector]")
    page.press("End")
    x, y, width, height = tour.box("[data-id^=view-] canvas")
    data = base64.b64encode(MESH.read_bytes()).decode()
    page.ask(f"""(() => {{
      const bytes = Uint8Array.from(atob("{data}"), (sign) => sign.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "horse.obj"));
      const common = {{ dataTransfer: transfer, clientX: {x + width / 2}, clientY: {y + height / 2}, bubbles: true,
        cancelable: true }};
      const target = document.elementFromPoint({x + width / 2}, {y + height / 2});
      target.dispatchEvent(new DragEvent("dragover", common));
      target.dispatchEvent(new DragEvent("drop", common));
    }})()""")
    page.until("document.querySelector(\".mark[data-id='keyframe[0]']\")")
    page.until(SAVED)
    time.sleep(4)
    tour.shot("space", "a mesh dropped on a 3D scene")
    page.click("[data-do=tab-run]")
    page.click("[data-do=run]")
    with patience(LONG):
        tour.until_job("finished")
    page.click("[data-do=look]")
    page.until(f"{VIEWER}?.info?.dim === 3 && {VIEWER}.screen.drawn > 0")
    x, y = page.middle(".screen")
    page.drag([(x, y), (x + 120, y + 20), (x + 160, y + 30)])
    time.sleep(5)
    tour.shot("volume", "its smoke, orbited")


def live(tour: Tour) -> None:
    page = tour.page
    tour.new_scene("live_particles", "live")
    with patience(LONG):
        tour.go("live?scene=scenes/live/scene.toml", "document.querySelector('[data-id=frame]')?.textContent > 20")
    tour.set_slider("[data-knob=vortex_strength] input, input[data-knob=vortex_strength]", 6)
    with patience(LONG):
        page.until("document.querySelector('[data-id=frame]').textContent > 40")
    tour.shot("live", "particles, a slider moved")


def wedge(tour: Tour) -> None:
    page = tour.page
    tour.new_scene("two_shapes_2d", "wedge")
    page.click("[data-do=tab-text]")
    page.ask("(a => { a.focus(); a.setSelectionRange(a.value.length, a.value.length); })"
             "(document.querySelector('#scene-text'))")  # fmt: skip
    page.click("[data-do=tab-run]")
    page.click("[data-do=wedge]")
    tour.fill("[data-id=wedge-key-0]", "smoke.buoyancy")
    tour.fill("[data-id=wedge-values-0]", "0, 1, 2, 4")
    page.click("[data-id=wedge-half]")
    page.click("[data-do=wedge-run]")
    with patience(2 * LONG):
        tour.until_job("finished")
    page.click("[data-do=look]")
    page.until("document.querySelectorAll('.screen canvas, .wedge canvas, .wedge img').length >= 4")
    time.sleep(4)
    tour.shot("wedge", "four values of a key, as films in step")


def same_bits(folder: Path, run: str) -> None:
    """The scene's folder by the command line, frame by frame."""
    with tempfile.TemporaryDirectory() as place:
        scenes, out = Path(place) / "scene", Path(place) / "run"
        shutil.copytree(folder / "scenes/tour", scenes)
        command = [sys.executable, "-m", "keyfluid", "run", str(scenes / "scene.toml"), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        import keyfluid

        ours, theirs = keyfluid.open_run(folder / run), keyfluid.open_run(out)
        assert len(ours.frames) == len(theirs.frames)
        for one, other in zip(ours.frames, theirs.frames):
            assert (one.densities["density"] == other.densities["density"]).all(), one.index
            assert (one.velocity.data == other.velocity.data).all(), one.index
    print(f"bits         all {len(ours.frames)} frames of the command line's run are those of the studio's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="keep the workspace here")
    parser.add_argument("--only", nargs="*", choices=["space", "live", "wedge"], help="only these parts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = (options.keep or Path(place) / "studio").resolve()
        with Browser(Path(place) / "profile", webgl=True) as page:
            tour = Tour(page, folder)
            parts = {"space": space, "live": live, "wedge": wedge}
            if not options.only:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = str(free.getsockname()[1])
                with running_studio(folder, "--port", port) as studio:
                    enter(tour, studio)
                    page.until("document.querySelector('[data-do=new]')")
                    draw_a_scene(tour)
                    run_it(tour)
                    studio.kill()
                print("killed       the server; started again")
                with running_studio(folder, "--port", port) as studio:
                    enter(tour, studio)
                    run = resume_it(tour)
                    look_at_it(tour)
                    fix_it(tour, run)
                    for part in parts.values():
                        part(tour)
                    tour.go("home", "document.querySelector('[data-do=open]')")
                    time.sleep(8)
                    tour.shot("home", "scenes and runs with moving thumbnails")
                same_bits(folder, run)
                return
            with running_studio(folder) as studio:
                enter(tour, studio)
                for name in options.only:
                    parts[name](tour)


def enter(tour: Tour, studio: RunningStudio) -> None:
    tour.page.open("data:text/html,<p>")  # the page of a server that was killed would go on calling it
    tour.page.events.clear()
    tour.page.open(studio.address, WIDTH, HEIGHT)
    tour.page.until("document.querySelector('#page').children.length")


if __name__ == "__main__":
    main()
