"""What goes wrong before a cluster is used: one line, soon. And nobody who uses no cluster loads Dask."""

from __future__ import annotations

import builtins
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster_cases import FREE, keyfluid

from keyfluid.cli.main import main
from keyfluid.cluster.addresses import require_address
from keyfluid.errors import KeyfluidError

ROOT = Path(__file__).resolve().parents[2]


def fault_of(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    captured = capsys.readouterr()
    assert end.value.code == 2
    assert captured.err.startswith("keyfluid: ")
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


@pytest.mark.parametrize("address", ["machine:8786", "tls://machine", "tcp://:1", "tls://a:99999", "http://a:1", ""])
def test_what_is_not_an_address(address):
    with pytest.raises(KeyfluidError, match=r"is not an address of a scheduler; give one such as tls://machine:8786"):
        require_address(address, insecure=True)


def test_plain_tcp_beyond_this_machine_needs_a_flag():
    for address in ("tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://10.0.0.1:1"):
        assert require_address(address, insecure=False) is None
    for address in ("tcp://10.0.0.1:1", "tcp://machine:1", "tcp://127.0.0.1.evil.example:1"):
        with pytest.raises(KeyfluidError, match="anyone who reaches the port can run programs as you"):
            require_address(address, insecure=False)
        warning = require_address(address, insecure=True)
        assert warning is not None
        assert "can run programs as you" in warning


def test_without_the_extra_it_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    real = builtins.__import__

    def without_dask(name, *rest, **more):
        if name.split(".")[0] in ("dask", "distributed", "cryptography"):
            raise ImportError(name)
        return real(name, *rest, **more)

    (tmp_path / "free.toml").write_text(FREE)
    monkeypatch.setattr(builtins, "__import__", without_dask)
    for words in (
        ("run", tmp_path / "free.toml", "-o", tmp_path / "run", "--cluster", "tls://127.0.0.1:1"),
        ("cluster", "start", "--workers", "1"),
        ("cluster", "certificates", tmp_path / "certificates"),
    ):
        assert 'pip install "keyfluid[cluster]"' in fault_of(monkeypatch, capsys, *words)
    assert not (tmp_path / "run").exists()


def test_nothing_else_imports_dask():
    named = re.compile(r"^\s*(?:import|from) (?:dask|distributed|cryptography)\b", re.MULTILINE)
    source = ROOT / "src" / "keyfluid"
    importers = {path.relative_to(source).as_posix() for path in source.rglob("*.py") if named.search(path.read_text())}
    assert {name.partition("/")[0] for name in importers} == {"cluster"}
    program = "import sys, keyfluid.cli.main, keyfluid.cli.wedge_task, keyfluid.cli.wedge_board; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"dask", "distributed", "cryptography"} & set(loaded)


def test_what_numba_may_use_counts_as_the_processor():
    """Kernels without FMA have other bits, whatever the processor could do."""
    program = "from keyfluid.io.run.fingerprint import processor; print(*processor()[1])"
    chosen = {**os.environ, "NUMBA_CPU_FEATURES": "+avx,-fma"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=chosen)
    assert done.stdout.split() == ["avx"]


class TestWithDask:
    @pytest.fixture(autouse=True)
    def dask(self):
        pytest.importorskip("distributed", reason='Dask is not installed: pip install "keyfluid[cluster]"')

    @pytest.fixture
    def scene(self, tmp_path):
        (tmp_path / "free.toml").write_text(FREE)
        return tmp_path / "free.toml"

    def test_nobody_at_the_address(self, monkeypatch, capsys, scene, tmp_path):
        began = time.monotonic()
        words = ("run", scene, "-o", tmp_path / "run", "--cluster", "tcp://127.0.0.1:1")
        assert "did not answer in 5 s; check the address" in fault_of(monkeypatch, capsys, *words)
        assert time.monotonic() - began < 15
        assert not (tmp_path / "run").exists()

    def test_somebody_who_takes_the_call_and_says_nothing(self, scene, tmp_path):
        """As a scheduler that hangs does. A whole command: it must end, too."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
            words = keyfluid("run", scene, "-o", tmp_path / "run", "--cluster", address)
            done = subprocess.run(words, capture_output=True, text=True, timeout=90)
        assert done.returncode == 2
        assert re.fullmatch(r"keyfluid: --cluster \S+: did not answer in 5 s; check [^\n]+\n", done.stderr)
        assert not (tmp_path / "run").exists()

    def test_certificates(self, monkeypatch, capsys, scene, tmp_path):
        """Missing ones, then those of another cluster; and both are not replaced."""
        from cluster_cases import Started

        words = ("run", scene, "-o", tmp_path / "run", "--certificates", tmp_path / "other", "--cluster")
        assert "cluster.pem: is not there; copy it" in fault_of(monkeypatch, capsys, *words, "tls://127.0.0.1:1")
        cluster = Started(tmp_path, workers=1)
        try:
            monkeypatch.setattr(sys, "argv", ["keyfluid", "cluster", "certificates", str(tmp_path / "other")])
            with pytest.raises(SystemExit):
                main()
            assert (tmp_path / "other" / "cluster.key").stat().st_mode & 0o077 == 0
            capsys.readouterr()
            assert "already exists" in fault_of(monkeypatch, capsys, *sys.argv[1:])
            began = time.monotonic()
            assert "refused the certificate" in fault_of(monkeypatch, capsys, *words, cluster.address)
            plain = cluster.address.replace("tls://", "tcp://")
            assert "hung up; check the address" in fault_of(monkeypatch, capsys, *words, plain)
            assert time.monotonic() - began < 15
        finally:
            assert not cluster.end(signal.SIGTERM), "processes were left behind"
