"""The command line as a function."""

from __future__ import annotations

import sys

import pytest

from keyfluid.cli.main import main


@pytest.fixture
def keyfluid(monkeypatch, capsys):
    """`keyfluid WORDS` in this process: exit code, what it printed, and its errors."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return call
