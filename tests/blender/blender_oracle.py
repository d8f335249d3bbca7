"""The oracle environment (`make blender-env`): Blender as a Python module, its OpenVDB, and usd-core.

Its scripts, in oracles/, run in processes of their own; tests that need it are skipped where it is missing.
KEYFLUID_BLENDER_PYTHON names another environment's Python.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ORACLES = Path(__file__).parent / "oracles"
PYTHON = Path(os.environ.get("KEYFLUID_BLENDER_PYTHON", ROOT / ".venv-blender" / "bin" / "python"))

needs_blender = pytest.mark.skipif(not PYTHON.is_file(), reason="no Blender module; run `make blender-env`")


def ask(script: str, *arguments: object, timeout: float = 300) -> Any:
    """What a script of oracles/ prints after the word JSON, on a line of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(PYTHON), str(ORACLES / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    answers = [line[4:] for line in done.stdout.splitlines() if line.startswith("JSON")]
    assert answers, f"{script} gave no answer:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return json.loads(answers[-1])
