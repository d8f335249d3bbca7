"""Windows and wedges on a Dask cluster: bit-identical, with workers, clients and schedulers killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason='Dask is not installed: pip install "keyfluid[cluster]"')

import cloudpickle
from cluster_cases import FREE, SHOOTING, Started, alive, bits, descendants, keyfluid

import keyfluid as package
from keyfluid.cli.main import main
from keyfluid.cluster.dask_cluster import connected
from keyfluid.cluster.session import Session
from keyfluid.errors import KeyfluidError, WorkerDied
from keyfluid.io.run.layout import CREW
from keyfluid.runs.run import run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from waiting import wait_until

# Workers do not have this file, so its functions are sent to them by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(autouse=True)
def watchful(monkeypatch):
    """Windows of these scenes take a moment only."""
    monkeypatch.setattr("keyfluid.cluster.dask_crew.LOOK", 0.005)


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    cluster = Started(tmp_path_factory.mktemp("cluster"))
    yield cluster
    assert not cluster.end(), "processes were left behind"


@pytest.fixture(scope="module")
def cluster(started):
    with connected(started.address, started.certificates) as found:
        yield found


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """What one process computes, with one thread."""
    return package.run(SHOOTING, tmp_path_factory.mktemp("serial") / "run", threads=1)


@pytest.fixture
def begun(monkeypatch):
    """Who began each task, in the order of the answers."""
    found = []
    answer = Session.answer

    def noted(self, ticket):
        found.append(self.begun_by(ticket))
        return answer(self, ticket)

    monkeypatch.setattr(Session, "answer", noted)
    return found


def run_on(cluster, folder, should_stop=lambda: False):
    return run_problem(build(load_scene(SHOOTING)), folder, should_stop=should_stop, elsewhere=cluster)


def same(result, serial):
    assert result.metrics["history"] == serial.metrics["history"]
    assert bits(result.folder) == bits(serial.folder)


def test_windows_of_workers_have_the_same_bits(cluster, serial, begun, tmp_path):
    assert cluster.workers.count == 2
    same(run_on(cluster, tmp_path / "run"), serial)
    assert [len(workers) for workers in begun] == [1] * len(begun), "no window was solved twice"
    assert len({worker for workers in begun for worker in workers}) == 2, "both workers took part"
    assert not (tmp_path / "run" / CREW).exists()


def test_a_worker_killed_in_a_window_costs_that_window(cluster, serial, begun, tmp_path):
    killed = []

    def kill_one():
        for path in (tmp_path / "run" / CREW).glob("*/*.by"):
            if not killed and path.read_text():
                killed.append(path.read_text().split()[1])
                os.kill(int(killed[0]), signal.SIGKILL)
        return False

    same(run_on(cluster, tmp_path / "run", kill_one), serial)
    assert killed
    assert sorted(len(workers) for workers in begun) == [1] * (len(begun) - 1) + [2]
    assert next(workers for workers in begun if len(workers) == 2)[0].endswith(killed[0])


def test_a_killed_client_leaves_idle_workers_and_a_run_to_resume(started, cluster, serial, tmp_path):
    """kill -9 of the client in the middle of a window; then the run is resumed without a cluster."""
    path, folder = tmp_path / "long.toml", tmp_path / "run"
    path.write_text(SHOOTING)
    words = ("run", path, "-o", folder, "--cluster", started.address, "--certificates", started.certificates)
    client = subprocess.Popen(keyfluid(*words), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(lambda: (folder / "checkpoint.npz").exists() or client.poll() is not None, "the first window")
    wait_until(lambda: any((folder / CREW).glob("*/*.by")), "the next window")
    below = descendants(client.pid)
    client.kill()
    client.wait()
    assert not [process for process in below if alive(process)]
    assert (folder / CREW).exists(), "it was killed in the middle"
    wait_until(lambda: not any(cluster._client.processing().values()), "workers that give up")
    same(package.resume(folder, threads=1), serial)
    assert not (folder / CREW).exists()


def test_a_killed_scheduler_is_one_line_and_a_run_to_resume(cluster, serial, tmp_path):
    """kill -9 of a cluster; its workers go with it, and the run goes on with another cluster."""
    doomed = Started(tmp_path, workers=1)

    def kill_it():
        if alive(doomed.process.pid) and any((tmp_path / "run" / CREW).glob("*/0002.by")):
            doomed.process.kill()
        return False

    with (
        connected(doomed.address, doomed.certificates) as other,
        pytest.raises(WorkerDied, match="the scheduler is gone; start it again or leave out --cluster, then: keyfluid"),
    ):
        run_on(other, tmp_path / "run", kill_it)
    assert not doomed.end(signal.SIGKILL), "processes were left behind"
    same(package.resume(tmp_path / "run", threads=1, elsewhere=cluster), serial)


def test_a_stop_calls_the_workers_off(cluster, tmp_path):
    stopped = run_on(cluster, tmp_path / "run", lambda: any((tmp_path / "run" / CREW).glob("*/*.by")))
    assert stopped.metrics["status"] == "stopped"
    wait_until(lambda: not any(cluster._client.processing().values()), "workers that give up")
    assert not (tmp_path / "run" / CREW).exists()


def test_a_wedge_has_the_same_bits_and_its_faults(started, monkeypatch, capsys, tmp_path):
    path = tmp_path / "free.toml"
    path.write_text(FREE)
    values = "smoke.initial.velocity=[0.1,0.0],[1e4,0.0],[0.3,0.0]"
    where = ("--cluster", started.address, "--certificates", str(started.certificates))
    for folder, more in (("here", ()), ("there", where)):
        monkeypatch.setattr(
            sys, "argv", ["keyfluid", "wedge", str(path), values, "-o", str(tmp_path / folder), "--threads", "1", *more]
        )
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 1, capsys.readouterr()
    tables = [json.loads((tmp_path / name / "wedge.json").read_text()) for name in ("here", "there")]
    assert [(label, entry["status"]) for label, entry in tables[0].items()] == [
        (label, entry["status"]) for label, entry in tables[1].items()
    ]
    failed = [entry["error"] for table in tables for entry in table.values() if entry["status"] == "failed"]
    assert failed[0] == failed[1]
    for label, entry in tables[0].items():
        if entry["status"] == "finished":
            assert bits(tmp_path / "here" / label) == bits(tmp_path / "there" / label) != {}
    assert not (tmp_path / "there" / CREW).exists()


WINDS = [f"smoke.initial.velocity=[{speed},0.0]" for speed in (0.1, 0.2)]


def wedge_on(started, tmp_path, frames):
    """A wedge of two on the cluster, as a command that is under way."""
    path, folder = tmp_path / "free.toml", tmp_path / "w"
    path.write_text(FREE.replace("frames = 3", f"frames = {frames}"))
    where = ("--cluster", started.address, "--certificates", started.certificates)
    words = keyfluid("wedge", path, f"{WINDS[0]},{WINDS[1].partition('=')[2]}", "-o", folder, *where)
    client = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(list(folder.glob("*/frames/0002.npz"))) == 2 or client.poll() is not None, "both variants")
    return path, folder, client


def test_a_worker_killed_in_a_variant_costs_what_it_had_not_saved(started, tmp_path):
    path, folder, client = wedge_on(started, tmp_path, 80)
    log = min((folder / CREW).glob("*/*.by"))
    os.kill(int(log.read_text().split()[1]), signal.SIGKILL)
    wait_until(lambda: not log.exists() or log.read_text().count("\n") == 2, "another worker")
    assert client.communicate()[0] is None
    assert client.returncode == 0
    for wind, variant in zip(WINDS, sorted(folder.glob("smoke*"))):
        alone = package.run(path, tmp_path / wind, overrides=[wind], threads=1)
        assert bits(variant) == bits(alone.folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_an_interrupted_wedge_leaves_idle_workers(started, cluster, tmp_path, number):
    _, folder, client = wedge_on(started, tmp_path, 4000)
    below = descendants(client.pid)
    client.send_signal(number)
    said = client.communicate()[1]
    assert client.returncode == 130
    assert "to continue, give the same command again" in said
    wait_until(lambda: not any(cluster._client.processing().values()), "workers that give up")
    assert not [process for process in below if alive(process)]
    assert not (folder / CREW).exists()


def test_a_method_without_windows_is_refused(cluster, tmp_path):
    problem = build(load_scene(SHOOTING, ["control.schedule=sequence"]))
    with pytest.raises(KeyfluidError, match=r'--cluster: one run is spread .* only with control.schedule = "shooting"'):
        run_problem(problem, tmp_path / "run", elsewhere=cluster)
    assert not (tmp_path / "run").exists()


def worker_differs(**changes):
    """On a worker: pretend to be another machine from now on; without changes, be honest again."""
    from dataclasses import replace

    from keyfluid.cluster.machine import Machine

    if not hasattr(Machine, "honest"):
        Machine.honest = Machine.here
    Machine.here = staticmethod(lambda: replace(Machine.honest(), **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "0.0.9"}, "has keyfluid 0.0.9, this machine has"),
        ({"features": ()}, "which changes the last bits; use processors of one kind"),
        ({"packages": (("numba", "0.1"),)}, "has llvmlite none, this machine has"),
        ({"source": "x"}, "has other source files of keyfluid"),
    ],
)
def test_a_worker_that_would_change_bits_gets_no_work(started, cluster, tmp_path, changes, words):
    cluster._client.run(worker_differs, **changes)
    try:
        with pytest.raises(KeyfluidError) as error, connected(started.address, started.certificates):
            pass
        with pytest.raises(KeyfluidError) as later:  # one that joined after the client had looked
            run_on(cluster, tmp_path / "run")
    finally:
        cluster._client.run(worker_differs)
    for fault in (error, later):
        assert words in str(fault.value)
        assert "\n" not in str(fault.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_workers_do_not_see(started, cluster, monkeypatch, tmp_path):
    """The nonce on the worker's side is another one, as in a folder of the same name on its own disk."""
    write = Session.__init__

    def elsewhere(self, owned):
        write(self, owned)
        (self.folder / "nonce").write_text("x" * len(self.nonce))

    monkeypatch.setattr(Session, "__init__", elsewhere)
    with pytest.raises(KeyfluidError, match=r"can't see .*/run, or sees another folder there; choose one"):
        run_on(cluster, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "free.toml").write_text(FREE)
    where = ("--cluster", started.address, "--certificates", started.certificates)
    words = ("wedge", tmp_path / "free.toml", "smoke.vorticity=0,1", "-o", tmp_path / "w", *where)
    monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert not (tmp_path / "w").exists()


def test_few_bytes_of_a_window_go_through_the_scheduler(cluster, tmp_path, monkeypatch):
    import pickle

    sizes = []
    put = Session.put

    def measured(self, *rest):
        ticket = put(self, *rest)
        sizes.append(len(pickle.dumps(ticket)))
        return ticket

    monkeypatch.setattr(Session, "put", measured)
    run_on(cluster, tmp_path / "run", lambda: bool(sizes))
    assert max(sizes) < 5000
