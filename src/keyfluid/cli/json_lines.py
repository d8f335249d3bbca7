"""What `--json` prints: one JSON object on a line, named by `event`. docs/cli.md lists them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keyfluid.errors import KeyfluidError, faults_of


def line(event: str, **content: Any) -> None:
    """Print one event."""
    print(json.dumps({"event": event, **content}), flush=True)


@contextmanager
def faults_too(as_json: bool) -> Iterator[None]:
    """Print what a user can fix as an event too; it also goes to stderr, in words, when the command ends."""
    try:
        yield
    except KeyfluidError as error:
        if as_json:
            line("error", message=str(error), faults=faults_of(error))
        raise
