"""The stage in a browser: a keyframe dragged, turned, painted, typed and dropped; obstacles on a path; a 3D scene."""

from __future__ import annotations

import base64
import io
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from PIL import Image
from stage_kit import SCENE, SPACE, ask_stage, on_screen, show_stage, unpacked, write_scene
from studio_kit import RunningStudio, running_studio

from browser import Browser

OBSTACLE = """
[[obstacle]]
shape = "box"
size = 0.15
center = [0.2, 0.8]
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    with running_studio(tmp_path_factory.mktemp("stage-page")) as running:
        yield running


@pytest.fixture(scope="module")
def browser(studio: RunningStudio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile"), webgl=True) as page:
        page.open(studio.address, 1280, 720)
        yield page


def settle(browser: Browser) -> None:
    """Until the server has drawn what the page shows."""
    browser.ask("(async () => { const seen = drawn; stage.refresh(); while (drawn === seen) await new Promise("
                "done => setTimeout(done, 10)); })()")  # fmt: skip


def test_a_keyframe_is_dragged_turned_and_nudged(studio: RunningStudio, browser: Browser) -> None:
    path = write_scene(studio)
    show_stage(browser, studio, path)
    browser.drag([on_screen(browser, point) for point in ([0.6, 0.55], [0.55, 0.6], [0.4, 0.7])])
    center = browser.ask("state.data.keyframe[0].center")
    assert center == pytest.approx([0.4, 0.7], abs=0.01)
    assert browser.ask("[stage.selected, state.labels]") == ["keyframe[0]", ["Move"]]
    browser.press("ArrowRight")
    assert browser.ask("state.data.keyframe[0].center[0]") == pytest.approx(center[0] + 1 / 64, abs=1e-3)
    settle(browser)
    knob = browser.ask(
        "(() => { const {at} = stage.views[0].handles.marks().find(mark => mark.mode === 'turn'),"
        " box = stage.views[0].canvas.getBoundingClientRect(); return [at[0] + box.left, at[1] + box.top]; })()"
    )
    browser.drag([(knob[0], knob[1]), (knob[0] - 40, knob[1] + 10), on_screen(browser, [center[0] - 0.3, center[1]])])
    assert browser.ask("state.data.keyframe[0].rotation") == pytest.approx(90, abs=8)
    settle(browser)
    # What is on the page is what the server draws for the scene as it now stands.
    text = browser.ask("state.text")
    drawn = ask_stage(studio, path, text=text).arrays["keyframe[0]"]
    shown = browser.ask("[...stage.bodies.get('keyframe[0]').arrays[''].values]")
    assert np.array_equal(np.array(shown, np.uint8).reshape(64, 64, order="F"), drawn)
    assert float(browser.ask("document.querySelector('[data-id=bound]').textContent").split()[0]) > 0
    assert browser.faults == []


def test_the_outline_follows_while_the_server_is_asked(studio: RunningStudio, browser: Browser) -> None:
    show_stage(browser, studio, write_scene(studio))
    start, end = on_screen(browser, [0.6, 0.55]), on_screen(browser, [0.45, 0.55])
    common = {"button": "left", "clickCount": 1, "pointerType": "mouse"}
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=start[0], y=start[1])
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **common)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=end[0], y=end[1], buttons=1, **common)
    assert browser.ask("stage.body.now.center[0]") == pytest.approx(0.45, abs=0.01)
    browser.until("Math.abs(stage.body.at.center[0] - 0.45) < 0.01")
    moved = browser.ask("(m => [m.e, m.f])(stage.body.moved(stage.views[0]))")
    assert moved == pytest.approx([0, 0], abs=1e-3)
    middle = browser.ask("(stage.body.facts.lower[0] + stage.body.facts.upper[0]) / 2")
    assert middle == pytest.approx(0.45, abs=0.01)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape")
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **common)
    assert browser.ask("state.labels") == []
    assert browser.ask("stage.body.now.center[0]") == pytest.approx(0.45, abs=0.2)


def test_a_keyframe_is_painted_where_the_brush_went(studio: RunningStudio, browser: Browser) -> None:
    path = write_scene(studio, SCENE.replace('shape = "star"', 'shape = "star"\nmass = "keep"'))
    show_stage(browser, studio, path)
    browser.ask("stage.go(12)")
    browser.click("[data-do=add-paint]")
    canvas = browser.ask(
        "(e => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })"
        "(document.querySelector('[data-id=painting]'))"
    )
    spot = lambda x, y: (canvas[0] + x * canvas[2], canvas[1] + (1 - y) * canvas[3])  # noqa: E731
    browser.drag([spot(0.2, 0.3), spot(0.4, 0.3), spot(0.6, 0.35)])
    browser.click("[data-do=paint-done]")
    browser.until("state.data.keyframe.length === 2")
    entry = browser.ask("state.data.keyframe[1]")
    assert (entry["frame"], entry["image"]) == (12, "painted-12.png")
    painted = np.asarray(Image.open(studio.folder / "scenes" / "one" / "painted-12.png").convert("L"))[::-1].T
    assert painted.shape == (384, 384)
    tables = [{"path": "keyframe", "insert": {**entry, "mass": "keep"}}]
    drawn = ask_stage(studio, path, changes=tables).arrays["keyframe[1]"]
    wanted = painted.reshape(64, 6, 64, 6).mean(axis=(1, 3))
    assert np.abs(drawn - wanted).max() < 12, "the painting moved"
    assert drawn.max() == 255
    browser.until("stage.selected === 'keyframe[1]' && stage.body")
    assert browser.faults == []


def test_brush_eraser_and_fill(studio: RunningStudio, browser: Browser) -> None:
    show_stage(browser, studio, write_scene(studio))
    levels = browser.ask("""(async () => {
      const { Paint, inkBox } = await import("/static/parts/paint.js");
      const host = document.createElement("div");
      host.style.cssText = "position: fixed; inset: 0";
      document.body.append(host);
      const background = new Uint8Array(100 * 50);
      background[3 + 7 * 100] = 200;
      const paint = new Paint(host, { width: 100, height: 50, background });
      await new Promise(requestAnimationFrame);
      const box = paint.canvas.getBoundingClientRect(), k = box.width / 100;
      const send = (type, x, y) => paint.canvas.dispatchEvent(
        new PointerEvent(type, { pointerId: 1, button: 0, clientX: box.x + x * k, clientY: box.y + y * k }));
      paint.canvas.setPointerCapture = () => {};
      const stroke = (...points) => {
        send("pointerdown", ...points[0]);
        points.slice(1).forEach((point) => send("pointermove", ...point));
        send("pointerup", ...points.at(-1));
      };
      const level = (x, y) => paint.pixels()[x + y * 100];
      const found = { kept: level(3, 7), box: inkBox(paint.pixels(), 100, 50) };
      paint.size = 6; paint.soft = 0;
      stroke([20, 10], [60, 10], [60, 40], [20, 40], [20, 10]);
      found.line = [level(40, 39), level(40, 25)];
      paint.tool = "fill"; stroke([40, 25]);
      found.filled = [level(40, 25), level(80, 25)];
      paint.tool = "eraser"; paint.size = 10; stroke([40, 25]);
      found.erased = [level(40, 25), level(30, 25)];
      paint.undo();
      found.undone = level(40, 25);
      paint.tool = "brush"; paint.soft = 1; paint.size = 20; stroke([85, 25]);
      found.soft = [level(85, 25), level(90, 25), level(96, 25)];
      found.png = (await paint.toPng()).type;
      paint.leave(); host.remove();
      return found;
    })()""")
    assert levels["kept"] == 200
    assert levels["box"] == {"lower": [3, 7], "upper": [4, 8]}
    assert levels["line"] == [255, 0]
    assert levels["filled"] == [255, 0]
    assert levels["erased"] == [0, 255]
    assert levels["undone"] == 255
    assert levels["soft"][0] > 220 > levels["soft"][1] > 60 > levels["soft"][2]
    assert levels["png"] == "image/png"


def test_a_text_is_typed_in_place(studio: RunningStudio, browser: Browser) -> None:
    show_stage(browser, studio, write_scene(studio))
    browser.ask("stage.go(18)")
    browser.click("[data-do=add-text]")
    browser.until("document.activeElement.dataset.id === 'type-in-place'")
    browser.type("Smoke")
    browser.until("stage.bodies.has('keyframe[1]')")
    assert browser.ask("state.data.keyframe.length") == 1, "kept before it was finished"
    browser.press("Enter")
    browser.until("state.data.keyframe.length === 2")
    entry = browser.ask("state.data.keyframe[1]")
    assert (entry["frame"], entry["text"]) == (18, "Smoke")
    browser.until("stage.body?.facts.kind === 'text' && stage.faults.length")
    # Thin letters can't hold all of the smoke; one press sizes the start to them.
    browser.click("[data-do=fix-first-key]")
    browser.until("!stage.faults.length && stage.bodies.get('smoke.initial[0]').facts.sized < 1")
    assert browser.ask("stage.body.facts.bound") < 0.9
    assert browser.faults == []


def test_a_picture_is_dropped_on_the_page(studio: RunningStudio, browser: Browser) -> None:
    path = write_scene(studio)
    show_stage(browser, studio, path)
    pixels = np.full((40, 40), 255, np.uint8)
    pixels[10:30, 10:30] = 0
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    x, y = on_screen(browser, [0.3, 0.6])
    browser.ask(f"""(() => {{
      const bytes = Uint8Array.from(atob("{base64.b64encode(file.getvalue()).decode()}"), (sign) => sign.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "ink.png", {{ type: "image/png" }}));
      const target = document.elementFromPoint({x}, {y});
      const common = {{ dataTransfer: transfer, clientX: {x}, clientY: {y}, bubbles: true, cancelable: true }};
      target.dispatchEvent(new DragEvent("dragover", common));
      target.dispatchEvent(new DragEvent("drop", common));
    }})()""")
    browser.until("state.data.keyframe.length === 2")
    entry = browser.ask("state.data.keyframe[1]")
    assert (studio.folder / "scenes" / "one" / entry["image"]).read_bytes() == file.getvalue()
    assert entry["invert"] is True, "black on white paper is ink"
    assert entry["center"] == pytest.approx([0.3, 0.6], abs=0.01)


def test_way_points_of_an_obstacle(studio: RunningStudio, browser: Browser) -> None:
    show_stage(browser, studio, write_scene(studio, SCENE + OBSTACLE))
    browser.click("[data-id='obstacle[0]']")
    browser.ask("stage.frame = 24")
    browser.click("[data-do=add-way-point]")
    browser.until("stage.body?.facts.path?.length === 2")
    browser.drag([on_screen(browser, point) for point in ([0.2, 0.8], [0.5, 0.7], [0.8, 0.8])])
    way = browser.ask("state.data.obstacle[0]")
    assert "center" not in way
    assert way["path"][0] == {"frame": 0, "center": [0.2, 0.8]}
    assert way["path"][1]["center"] == pytest.approx([0.8, 0.8], abs=0.01)


def test_space_in_four_views(studio: RunningStudio, browser: Browser, tmp_path: Path) -> None:
    show_stage(browser, studio, write_scene(studio, SPACE, "space"))
    assert browser.ask("stage.views.map(view => view.label)") == ["Front", "Side", "Top"]
    browser.ask("stage.go(8); stage.select('keyframe[0]')")
    browser.until("stage.exact")
    before = browser.ask(
        "stage.orbit.canvas.width && new Promise(done => setTimeout(() => done(stage.orbit.canvas.toDataURL()), 500))"
    )
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(before.partition(",")[2]))).convert("L"), dtype=float)
    assert picture.std() > 5, "the orbit view is blank"
    # In the side view (seen from +x) right is -z and up is y.
    browser.drag([on_screen(browser, point, 1) for point in ([0.5, 0.4], [0.5, 0.45], [0.6, 0.6])])
    assert browser.ask("state.data.keyframe[0].center") == pytest.approx([0.6, 0.6, 0.6], abs=0.02)
    assert browser.faults == []


def test_turns_are_those_of_the_engine(browser: Browser) -> None:
    from keyfluid.shapes.placement import rotation_matrix

    start = (20.0, -35.0, 50.0)
    for axis, degrees in ((0, 30.0), (1, -70.0), (2, 110.0), (1, 125.0)):
        found = browser.ask(
            f"import('/static/parts/turns.js').then(({{ turned }}) => turned({list(start)}, {axis}, {degrees}, 3))"
        )
        angles = [0.0, 0.0, 0.0]
        angles[axis] = degrees
        wanted = rotation_matrix((angles[0], angles[1], angles[2]), 3) @ rotation_matrix(start, 3)
        assert np.allclose(rotation_matrix(tuple(found), 3), wanted, atol=5e-3)


def test_outlines_are_closed_and_around_what_is_full(browser: Browser) -> None:
    """Two spots that touch at a corner, a hole, and a spot on the border: the area inside the polygons is theirs."""
    values = np.zeros((12, 10), np.uint8)
    values[1:6, 1:6] = 255
    values[3, 3] = 0
    values[6:9, 6:9] = 255
    values[11, 0:3] = 255
    flat = values.ravel(order="F").tolist()
    polygons = browser.ask(f"import('/static/parts/outline.js').then(m => m.outline(new Uint8Array({flat}), 12, 10))")
    area = 0.0
    for polygon in polygons:
        x, y = np.array(polygon).T
        area += 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    assert len(polygons) in (4, 5)
    assert area == pytest.approx((values == 255).sum() - 0.5 * len(polygons), abs=1.5)


def test_unpacked_arrays_are_those_that_were_packed() -> None:
    from keyfluid.studio.arrays import packed

    values = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert np.array_equal(unpacked(packed({"a": 1}, {"one": values})).arrays["one"], values)


def test_a_drag_in_the_editor_changes_the_file_and_keeps_its_comments(studio: RunningStudio, browser: Browser) -> None:
    path = write_scene(studio, name="edited")
    browser.ask(f"window.stage?.leave(); location.hash = '#/editor?path={path}'")
    browser.until("document.querySelector(\"[data-id='keyframe[0]'][role=option]\")")
    browser.until("document.querySelector('[data-id=view-flat] canvas')")
    found = browser.ask(
        "(b => [b.left, b.top, b.width, b.height])"
        "(document.querySelector('[data-id=view-flat] canvas').getBoundingClientRect())"
    )
    left, top, width, height = found
    side = min(width, height) - 52
    spot = lambda x, y: (left + width / 2 + (x - 0.5) * side, top + height / 2 - (y - 0.5) * side)  # noqa: E731
    browser.drag([spot(0.6, 0.55), spot(0.5, 0.5), spot(0.5, 0.5)])
    file = studio.folder / path
    browser.until("document.querySelector('[data-id=saved]').textContent.trim() === 'saved'")
    text = file.read_text()
    assert "# The word, for which the smoke is meant." in text
    assert tomllib.loads(text)["keyframe"][0]["center"] == pytest.approx([0.5, 0.5], abs=0.01)
    browser.click("[data-do=undo]")
    browser.until("document.querySelector('[data-id=saved]').textContent.trim() === 'saved'")
    browser.until("document.querySelector('[data-do=undo]').disabled")
    assert file.read_text() == SCENE
    assert browser.faults == []
