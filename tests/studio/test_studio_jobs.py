"""Jobs of the studio: queued, followed, stopped, resumed; a server that is killed stops none of them."""

from __future__ import annotations

import json
import os
import signal
import socket as sockets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("starlette")
from studio_kit import RunningStudio, running_studio

from browser import Browser
from keyfluid.errors import KeyfluidError
from keyfluid.studio.events import Events
from keyfluid.studio.job_course import Course, events_after
from keyfluid.studio.job_record import EVENTS, JobRecord, is_alive
from keyfluid.studio.jobs import Jobs
from keyfluid.studio.workspace import Workspace
from waiting import wait_until

SCENE = """
[domain]
resolution = 16
[time]
frames = {frames}
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.5], radius = 0.2 }}
[[keyframe]]
frame = {frames}
shape = "disk"
center = [0.6, 0.5]
[control]
method = "target"
[output]
vdb = false
video = false
size = 32
"""
ENDLESS = 9000


def write_scene(folder: Path, name: str, frames: int = 3, more: str = "") -> str:
    path = folder / "scenes" / name / "scene.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SCENE.format(frames=frames) + more)
    return f"scenes/{name}/scene.toml"


def job_of(studio: RunningStudio, identity: str) -> dict[str, Any]:
    return next(job for job in studio.get("jobs")["jobs"] if job["id"] == identity)


def wait_for(studio: RunningStudio, identity: str, *states: str) -> dict[str, Any]:
    wait_until(lambda: job_of(studio, identity)["state"] in states, f"{identity} is {' or '.join(states)}")
    return job_of(studio, identity)


@contextmanager
def listening(studio: RunningStudio) -> Iterator[list[dict[str, Any]]]:
    """Events as they come."""
    heard: list[dict[str, Any]] = []
    with studio.socket("events") as socket:
        heard.append(json.loads(socket.recv()))

        def listen() -> None:
            for message in socket:
                heard.append(json.loads(message))

        thread = Thread(target=listen, daemon=True)
        thread.start()
        yield heard
    thread.join()


def test_jobs_run_one_after_the_other_and_say_what_they_do(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    scene = write_scene(folder, "word")
    with running_studio(folder) as studio, listening(studio) as heard:
        plan = studio.get("plan", path=scene)
        assert (plan["cells"], plan["frames"], plan["seconds"], plan["faults"]) == ([16, 16], 3, None, [])
        assert plan["memory_mb"] > 0
        run = studio.post("jobs", kind="run", scene=scene)
        wedge = studio.post("jobs", kind="wedge", scene=scene, wedge=["smoke.buoyancy=0,1"])
        assert (run["run"], wedge["run"]) == ("runs/word", "runs/word-wedge")
        assert wedge["state"] == "queued"
        wedge = wait_for(studio, wedge["id"], "finished", "failed")
        run = job_of(studio, run["id"])
        assert (run["state"], wedge["state"]) == ("finished", "finished"), (run["message"], wedge["message"])
        assert run["ended"] <= wedge["started"]
        assert run["last"]["total"] > 0
        assert run["estimate"]["memory"] > 0
        assert (folder / "runs/word/result.json").is_file()
        assert (folder / "runs/word-wedge/wedge.json").is_file()
        wait_until(lambda: any(e.get("job", {}).get("state") == "finished" and e["job"]["id"] == wedge["id"]
                               for e in heard), "the end was published")  # fmt: skip
        lines = [e["line"] for e in heard if e["type"] == "progress" and e["id"] == run["id"]]
        assert lines == list(range(run["lines"]))
        assert [e["line"] for e in studio.get("jobs/progress", id=run["id"])["events"]] == lines
        errors = [e["errors"] for e in heard if e["type"] == "progress" and e.get("errors") and e["id"] == run["id"]]
        assert all(list(one) == ["keyframe[0]"] for one in errors)
        assert len(errors) >= 3
        frames = {(e["run"], f) for e in heard if e["type"] == "frames" for f in e["frames"]}
        assert {("runs/word", f) for f in range(4)} <= frames
        assert ("runs/word-wedge/smoke.buoyancy=1", 3) in frames
        studio.post("jobs/remove", id=run["id"])
        assert [job["id"] for job in studio.get("jobs")["jobs"]] == [wedge["id"]]
        assert [e["n"] for e in heard[1:]] == list(range(heard[0]["n"] + 1, heard[0]["n"] + len(heard)))


def test_a_killed_server_stops_nothing(tmp_path: Path) -> None:
    """kill -9 in the middle of a run: the run continues, a new server finds it and its queue, no line is lost."""
    folder = tmp_path / "work"
    long, short = write_scene(folder, "long", ENDLESS), write_scene(folder, "short")
    with running_studio(folder) as first:
        run = first.post("jobs", kind="run", scene=long)
        queued = first.post("jobs", kind="run", scene=short)
        wait_until(lambda: (job_of(first, run["id"])["last"] or {}).get("done", 0) > 3, "the run has begun")
        first.kill()
        before = job_lines(folder, run["id"])
        wait_until(lambda: job_lines(folder, run["id"]) > before + 3, "the run continues without a server")
    with running_studio(folder) as second:
        found = job_of(second, run["id"])
        assert (found["state"], found["lines"] > before) == ("running", True)
        assert job_of(second, queued["id"])["state"] == "queued"
        with listening(second) as heard:
            after = job_of(second, run["id"])["lines"]
            wait_until(lambda: any(e["type"] == "progress" for e in heard), "progress is published again")
            assert second.post("jobs/stop", id=run["id"])["state"] == "stopping"
            stopped = wait_for(second, run["id"], "stopped", "failed")
            wait_until(lambda: any(e.get("job", {}).get("state") == "stopped" for e in heard), "the stop is published")
        assert (stopped["state"], stopped["resumable"], stopped["exit"]) == ("stopped", True, 130)
        told = [e["line"] for e in heard if e["type"] == "progress" and e["id"] == run["id"]]
        assert told == list(range(told[0], stopped["lines"]))
        assert told[0] <= after, "what the page asked for and what it was told meet without a gap"
        assert json.loads((folder / "runs/long/result.json").read_text())["status"] == "stopped"
        assert wait_for(second, queued["id"], "finished", "failed")["state"] == "finished"
        resumed = second.post("jobs", kind="resume", run="runs/long")
        assert second.ask("POST", "/api/jobs", body={"kind": "resume", "run": "runs/long"}).status == 409
        wait_until(lambda: job_of(second, resumed["id"])["last"], "it continues")
        assert job_of(second, resumed["id"])["last"]["done"] > stopped["last"]["done"]
        children = children_of(second.process.pid)
        second.process.send_signal(signal.SIGTERM)
        second.process.wait(20)
    leaves_only_the_run(folder, resumed["id"], children)


def leaves_only_the_run(folder: Path, identity: str, children: list[int]) -> None:
    """A server that ends leaves no process but the one that looks after a run, which can be stopped from a terminal."""
    place = folder / ".studio/jobs" / identity
    keeper = json.loads((place / "process.json").read_text())["pid"]
    assert keeper in children
    assert [pid for pid in children if _alive(pid)] == [keeper]
    before = job_lines(folder, identity)
    wait_until(lambda: job_lines(folder, identity) > before, "the run continues")
    os.kill(keeper, signal.SIGINT)
    wait_until(lambda: (place / "ended.json").exists(), "it stops and says so")
    assert json.loads((place / "ended.json").read_text())["exit"] == 130


def job_lines(folder: Path, identity: str) -> int:
    return (folder / ".studio/jobs" / identity / EVENTS).read_bytes().count(b"\n")


def test_what_may_not_run_is_refused_before_it_is_queued(tmp_path: Path) -> None:
    folder, outside = tmp_path / "work", tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "body.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (outside / "x.ttf").write_bytes(b"font")
    good = write_scene(folder, "good")
    bad = write_scene(folder, "bad", more="speed = 3\n")
    link = write_scene(folder, "link", more='[[obstacle]]\nmesh = "body.obj"\n')
    (folder / "scenes/link/body.obj").symlink_to(outside / "body.obj")
    gltf = {"asset": {"version": "2.0"}, "buffers": [{"uri": "../../../elsewhere/x.ttf", "byteLength": 4}]}
    buffers = write_scene(folder, "buffers", more='[[obstacle]]\nmesh = "body.gltf"\n')
    (folder / "scenes/buffers/body.gltf").write_text(json.dumps(gltf))
    letter = write_scene(folder, "letter")
    path = folder / letter
    path.write_text(path.read_text().replace('shape = "disk"\ncenter = [0.6', 'text = "F"\ncenter = [0.6'))
    font = f"keyframe[0].font={outside / 'x.ttf'}"
    requests: list[tuple[dict[str, Any], int, str]] = [
        ({"kind": "run", "scene": bad}, 422, "output.speed"),
        ({"kind": "run", "scene": good, "set": ["keyframe[0].shape=cube"]}, 422, "keyframe[0].shape"),
        ({"kind": "run", "scene": link}, 422, "obstacle[0].mesh"),
        ({"kind": "run", "scene": buffers}, 422, "obstacle[0].mesh"),
        ({"kind": "wedge", "scene": letter, "wedge": ["keyframe[0].text=a,b", font]}, 422, "keyframe[0].font"),
        ({"kind": "wedge", "scene": good, "wedge": []}, 400, "wedge"),
        ({"kind": "rm", "scene": good}, 400, "kind"),
        ({"kind": "run", "scene": "../elsewhere/x.toml"}, 400, "workspace"),
        ({"kind": "run", "scene": good, "set": "domain.resolution=8"}, 400, "set"),
        ({"kind": "resume", "run": "runs/none"}, 404, "runs/none"),
    ]
    with running_studio(folder) as studio:
        for body, status, words in requests:
            answer = studio.ask("POST", "/api/jobs", body=body)
            assert answer.status == status, (body, answer.content)
            assert words in answer.content.decode()
        assert studio.get("plan", path=link)["faults"][0]["path"] == "obstacle[0].mesh"
        assert studio.get("jobs")["jobs"] == []
        assert studio.ask("POST", "/api/jobs/stop", body={"id": "../x"}).status == 404
    assert list((folder / ".studio/jobs").iterdir()) == []


def test_a_command_takes_names_for_nothing_else(tmp_path: Path) -> None:
    """Names that look like options stay names, and a job on disk that is not sound is not run."""
    job = JobRecord("1", "wedge", "-x.toml", "runs/-o", 0.0, ["--preview=1"], ["a=1"])
    words = job.command()
    assert words[words.index("--") :] == ["--", "./-x.toml", "a=1"]
    assert "--set=--preview=1" in words
    assert "-P" in words, "a module in the workspace is never imported"
    job.write(tmp_path)
    assert JobRecord.read(tmp_path) is not None
    for fault in ({"command": ["rm"]}, {"kind": "shell"}, {"run": 3}, {"set": "x"}, {"scene": None}):
        data = {**json.loads((tmp_path / "job.json").read_text()), **fault}
        (tmp_path / "bad").mkdir(exist_ok=True)
        (tmp_path / "bad/job.json").write_text(json.dumps(data))
        assert JobRecord.read(tmp_path / "bad") is None, fault


def test_half_a_line_counts_when_it_is_whole(tmp_path: Path) -> None:
    course, path = Course(tmp_path), tmp_path / EVENTS
    path.write_text('{"event": "progress", "unit": "frame", "done": 1, "error": NaN}\nno json\n{"event": "pro')
    assert [(e["line"], e["error"]) for e in course.read()] == [(0, None)]
    with path.open("a") as file:
        file.write('gress", "unit": "note", "note": "far"}\n')
    assert [e["line"] for e in course.read()] == [2]
    assert (course.lines, course.notes) == (3, ["far"])
    assert [e["line"] for e in events_after(tmp_path, 1, 10)] == [2]


def test_a_second_studio_leaves_the_queue_alone(tmp_path: Path) -> None:
    first, second = (Jobs(Workspace(tmp_path), Events()) for _ in range(2))
    first.open()
    with pytest.raises(KeyfluidError, match="another keyfluid studio serves it"):
        second.open()
    first.end()
    second.open()
    second.end()


def test_a_process_that_is_gone_without_a_word_is_lost(tmp_path: Path) -> None:
    place = tmp_path / ".studio/jobs/7"
    place.mkdir(parents=True)
    JobRecord("7", "run", "scenes/a/scene.toml", "runs/a", 1.0, started=2.0).write(place)
    jobs = Jobs(Workspace(tmp_path), Events())
    jobs.start()
    assert [job["state"] for job in jobs.all()] == ["lost"]
    assert not is_alive(place)
    jobs.end()
    assert not jobs.is_writing("runs/a")


def children_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_event_is_lost_or_told_twice_over_fifty_reconnects(tmp_path: Path) -> None:
    """A client that goes away in the middle of messages, fifty times, while events are published."""
    total, heard, session = 3000, list[int](), ""
    with served(tmp_path) as (studio, publish):
        thread = Thread(target=publish, args=(total,))
        for turn in range(51):
            values = {"since": heard[-1] if heard else 0, "session": session} if session else {}
            with studio.socket("events", **values) as socket:
                hello = json.loads(socket.recv())
                session = hello["session"]
                if turn == 0:
                    thread.start()
                while len(heard) < (total if turn == 50 else (turn + 1) * total // 60):
                    event = json.loads(socket.recv(timeout=20))
                    assert event["type"] == "test"
                    heard.append(event["n"])
                socket.socket.shutdown(sockets.SHUT_RDWR)  # the network is gone, in the middle of messages
        thread.join()
    assert heard == list(range(1, total + 1))


@contextmanager
def served(folder: Path) -> Iterator[tuple[RunningStudio, Callable[[int], None]]]:
    """A studio in this process, and a function that publishes events."""
    import uvicorn

    from keyfluid.studio.app import make_app
    from keyfluid.studio.state import Studio

    with sockets.create_server(("127.0.0.1", 0)) as listening_on:
        port = listening_on.getsockname()[1]
        studio = Studio(Workspace(folder), "token", port)
        server = uvicorn.Server(uvicorn.Config(make_app(studio), log_level="warning", ws="websockets-sansio"))
        thread = Thread(target=server.run, args=([listening_on],))
        thread.start()
        wait_until(lambda: server.started, "the server has started")

        def publish(count: int) -> None:
            for number in range(count):
                studio.events.publish("test", number=number)
                if number % 20 == 0:
                    time.sleep(0.001)

        try:
            yield RunningStudio(None, folder, f"http://127.0.0.1:{port}/?token=token"), publish  # type: ignore[arg-type]
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


PANEL = "document.querySelector('.run-panel')?.panel"


def open_scene(browser: Browser, scene: str) -> None:
    """The editor of a scene, with its run panel."""
    browser.ask(f"location.hash = '#/editor?tab=run&path={scene}'")
    browser.until(f"{PANEL}?.state.path === {json.dumps(scene)}")


def fill_wedge_dialog(browser: Browser) -> dict[str, Any]:
    """What the run panel would ask for after two keys were given."""
    browser.ask(f"({PANEL}).start = (kind, more) => {{ globalThis.asked = {{ kind, ...more }}; }}; 1")
    browser.click("[data-do=wedge]")
    rows = (("smoke.initial.center", "[0.4, 0.5], [0.5, 0.5]"), ("smoke.buoyancy", "0, 1"))
    for number, (key, values) in enumerate(rows):
        if number > 0:
            browser.click("[data-do=wedge-more]")
        for name, text in (("key", key), ("values", values)):
            browser.click(f"[data-id=wedge-{name}-{number}]")
            browser.type(text)
    browser.click("[data-do=wedge-run]")
    browser.until("globalThis.asked")
    browser.ask(f"delete ({PANEL}).start")
    return dict(browser.ask("asked"))


def test_a_scene_is_run_stopped_and_resumed_from_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    short, long = write_scene(folder, "short", 6), write_scene(folder, "long", ENDLESS)
    early = folder / write_scene(folder, "early", 1)
    early.write_text(early.read_text().replace('"target"', '"spacetime"'))
    with running_studio(folder) as studio, Browser(tmp_path / "profile", webgl=True) as browser:
        browser.open(studio.address, 1280, 720)
        browser.until("document.querySelector('#page').children.length")
        open_scene(browser, "scenes/early/scene.toml")
        browser.click("[data-do=plan]")
        browser.click(".run-panel [data-do=key][data-id='keyframe[0].frame']")
        browser.until("!document.querySelector('#tab-inspector').hidden")
        open_scene(browser, short)
        asked = fill_wedge_dialog(browser)
        assert asked["wedge"] == ["smoke.initial.center=[0.4, 0.5],[0.5, 0.5]", "smoke.buoyancy=0,1"]
        browser.click("[data-do=plan]")
        browser.until("document.querySelector('[data-id=plan-time]')?.textContent.startsWith('about')")
        browser.click("[data-do=run]")
        browser.until("document.querySelector('[data-id=job][data-state=finished]')")
        errors = browser.ask(f"{PANEL}.errors")
        assert (errors["unit"], errors["x"], list(errors["curves"])) == ("frame", [1, 2, 3, 4, 5, 6], ["keyframe[0]"])
        assert errors["curves"]["keyframe[0]"][-1] < errors["curves"]["keyframe[0]"][0]
        browser.until("document.querySelector('[data-id=error-chart] canvas')")
        browser.until("document.querySelector('.run-panel .viewer canvas')")
        browser.until("document.querySelector('[data-id=job-words] [data-do=key]')")
        browser.screenshot(tmp_path / "finished.png")
        open_scene(browser, long)
        browser.click("[data-do=run]")
        browser.until(f"{PANEL}.errors?.x.length > 3")
        browser.screenshot(tmp_path / "running.png")
        browser.click("#page [data-do=stop]")
        browser.click("[data-do=resume]")
        browser.until("document.querySelector('[data-id=job][data-state=running]')")
        browser.until(f"{PANEL}.job.kind === 'resume' && {PANEL}.job.last")
        assert browser.ask(f"{PANEL}.errors.x[0]") == 1, "the course of the run before it was stopped is there too"
        browser.click("#jobs-bar [data-do=jobs]")
        browser.screenshot(tmp_path / "bar.png")
        browser.click("#jobs-list [data-do=stop]")
        browser.until("document.querySelector('[data-id=job][data-state=stopped]')")
        assert browser.faults == []
