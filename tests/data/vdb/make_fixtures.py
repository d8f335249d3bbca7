"""Make the VDB fixtures anew with libopenvdb: `python make_fixtures.py` in this folder.

Needs g++ and Debian's libopenvdb-dev, libboost-dev and libboost-iostreams-dev; the tests do not. Leaves
NAME.vdb.gz, the files as the library wrote them; values.npz, what the library reads from them;
grids.json, which says for each file what its grids are and which array of values.npz they hold; and
blosc_chunks.npz, chunks of c-blosc with other block and type sizes than today's libopenvdb uses.
"""

from __future__ import annotations

import ctypes
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
    np.savez_compressed(HERE / "blosc_chunks.npz", **blosc_chunks())


def blosc_chunks() -> dict[str, np.ndarray]:
    plain = {
        "raw": np.sin(np.arange(1501) * 0.05).astype("<f4").tobytes() + b"xyz",
        "flat": np.repeat(np.arange(40, dtype="<f4"), 25).tobytes(),
    }
    # name: shuffle, type size, codec, block size
    ways = {
        "raw_blocks_of_256": (1, 4, b"lz4", 256),
        "raw_blocks_of_2048": (1, 4, b"lz4", 2048),
        "raw_no_shuffle": (0, 4, b"lz4", 2048),
        "flat_one_block": (1, 4, b"lz4", 4000),
        "flat_type_of_12": (1, 12, b"lz4", 4000),
        "flat_hc": (1, 2, b"lz4hc", 1024),
        "flat_zlib": (1, 4, b"zlib", 4000),
    }
    compress = ctypes.CDLL("libblosc.so.1").blosc_compress_ctx
    size = ctypes.c_size_t
    chunks = {name: np.frombuffer(raw, np.uint8) for name, raw in plain.items()}
    for name, (shuffle, item, codec, block) in ways.items():
        raw = plain[name.split("_")[0]]
        out = ctypes.create_string_buffer(len(raw) + 64)
        sizes = size(item), size(len(raw))
        length = compress(9, shuffle, *sizes, raw, out, size(len(out)), codec, size(block), 1)
        chunks[name] = np.frombuffer(out.raw[:length], np.uint8)
    return chunks


if __name__ == "__main__":
    main()
