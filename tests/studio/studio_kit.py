"""A studio in a process of its own, and a client that talks to it as the page does."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection, connect

HEADER = "X-Keyfluid-Token"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class RunningStudio:
    """`folder` is the workspace; `address` what was printed."""

    process: subprocess.Popen[str]
    folder: Path
    address: str

    @property
    def port(self) -> int:
        found = re.search(r":(\d+)/", self.address)
        assert found is not None
        return int(found[1])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    def ask(
        self, method: str, route: str, values: Mapping[str, Any] | None = None, body: Any = None,
        headers: Mapping[str, str] | None = None, timeout: float = 60.0,
    ) -> Answer:  # fmt: skip
        """One request; a body that is not bytes goes as JSON. headers: None sends the token, {} nothing."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {HEADER: self.token} if headers is None else dict(headers)
        try:
            connection.request(method, route + (f"?{urlencode(values)}" if values else ""), data, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, route: str, **values: Any) -> Any:
        return self._good(self.ask("GET", f"/api/{route}", values))

    def post(self, route: str, **body: Any) -> Any:
        return self._good(self.ask("POST", f"/api/{route}", body=body))

    def put(self, route: str, body: Any, **values: Any) -> Any:
        return self._good(self.ask("PUT", f"/api/{route}", values, body))

    def socket(self, route: str, **values: Any) -> ClientConnection:
        place = f"ws://127.0.0.1:{self.port}/api/{route}" + (f"?{urlencode(values)}" if values else "")
        headers = {HEADER: self.token, "Origin": f"http://127.0.0.1:{self.port}"}
        return connect(place, additional_headers=headers, max_size=None, proxy=None)

    def kill(self) -> None:
        """kill -9, the server alone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @staticmethod
    def _good(answer: Answer) -> Any:
        assert answer.status == 200, (answer.status, answer.content[:500])
        return answer.json


@contextmanager
def running_studio(folder: Path, *options: str) -> Iterator[RunningStudio]:
    """A studio on a free port, gone after the block."""
    command = [sys.executable, "-m", "keyfluid", "studio", str(folder), "--port", "0", "--no-open", "--no-warm"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://"), "the studio did not start"
    try:
        yield RunningStudio(process, folder, address)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
