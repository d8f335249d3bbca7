"""Make the VDB fixtures anew with libopenvdb: `python make_fixtures.py` in this folder.

Needs g++ and Debian's libopenvdb-dev, libboost-dev and libboost-iostreams-dev; the tests do not. Leaves
NAME.vdb.gz, the files as the library wrote them; values.npz, what the library reads from them; and
grids.json, which says for each file what its grids are and which array of values.npz they hold.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DTYPES = {"float": ("<f4", 1), "double": ("<f8", 1), "vec3s": ("<f4", 3)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        program = build / "make_fixtures"
        libraries = ["-lopenvdb", "-ltbb", "-lImath-3_1"]
        source = str(HERE / "make_fixtures.cc")
        subprocess.run(["g++", "-O1", "-std=c++17", "-o", str(program), source, *libraries], check=True)
        subprocess.run([str(program)], cwd=build, check=True)
        for file in build.glob("*.vdb"):
            (HERE / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
        values: dict[str, np.ndarray] = {}
        grids: dict[str, list[dict[str, object]]] = {}
        for line in (build / "list.txt").read_text().splitlines():
            file_name, number, name, kind, grid_class, first, shape, matrix = line.split("|")
            raw = (build / f"{file_name}.{number}.raw").read_bytes()
            dtype, components = DTYPES[kind]
            axes = [int(n) for n in shape.split()] + ([3] if components == 3 else [])
            array = np.frombuffer(raw, dtype).reshape(axes)
            key = hashlib.sha256(raw).hexdigest()[:12]
            values[key] = array
            grids.setdefault(file_name, []).append(
                {
                    "name": name,
                    "class": grid_class,
                    "first_index": [int(n) for n in first.split()],
                    "transform": [float(n) for n in matrix.split()],
                    "values": key,
                }
            )
    np.savez_compressed(HERE / "values.npz", **values)
    (HERE / "grids.json").write_text(json.dumps(grids, indent=1) + "\n")


if __name__ == "__main__":
    main()
