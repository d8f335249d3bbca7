"""The files that libopenvdb wrote (tests/data/vdb) and what it reads from them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "data" / "vdb"
GRIDS: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "grids.json").read_text())


def fixture_bytes(name: str) -> bytes:
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes())


def fixture_file(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(fixture_bytes(name))
    return path


def expected_values(key: str) -> np.ndarray:
    with np.load(FOLDER / "values.npz") as values:
        return values[key]
