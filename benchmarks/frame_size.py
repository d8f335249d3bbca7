"""Size and speed of ways to store frames without loss, on frames of runs.

    python benchmarks/folder_size.py --folder out/sizes
    python benchmarks/frame_size.py out/sizes/*

"packed" is what frames use (src/keyfluid/io/packed.py). Speeds are megabytes of plain arrays per second of one core.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from keyfluid.io.packed import Packing, pack, unpack
from keyfluid.io.run.stored_frame import StoredFrame
from keyfluid.runs.run import open_run

Arrays = Mapping[str, np.ndarray]


def zipped(frame: StoredFrame) -> list[bytes]:
    return [zlib.compress(array.tobytes(), 1) for array in frame.arrays.values()]


def shuffled(frame: StoredFrame) -> list[bytes]:
    """Bytes of equal weight together, then deflated."""
    return [
        zlib.compress(np.ascontiguousarray(array.view(np.uint8).reshape(array.size, -1).T).tobytes(), 1)
        for array in frame.arrays.values()
    ]


def fields_alone(frame: StoredFrame) -> list[bytes]:
    """As packed, without predicting carriers from each other."""
    return [pack(frame.arrays[n], Packing(how.parts), frame.arrays.__getitem__) for n, how in frame.packing.items()]


def packed(frame: StoredFrame) -> list[bytes]:
    return [pack(frame.arrays[name], how, frame.arrays.__getitem__) for name, how in frame.packing.items()]


WAYS: dict[str, Callable[[StoredFrame], list[bytes]]] = {
    "zlib 1": zipped,
    "bytes shuffled, zlib 1": shuffled,
    "packed, fields alone": fields_alone,
    "packed": packed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="folders of runs")
    parser.add_argument("--every", type=int, default=8, help="look at each so many-th frame")
    arguments = parser.parse_args()
    print(f"{'run':24}{'way':26}{'size':>7}{'write MB/s':>12}{'read MB/s':>11}")
    for folder in arguments.folders:
        run = open_run(folder)
        grid, fields, store = run.problem.grid, run.problem.densities, run.frames.store
        chosen = [store.read(index) for index in store.indices()[1 :: arguments.every]]
        frames = [StoredFrame.of(frame.record(grid, fields), frame.meta) for frame in chosen]
        plain = sum(array.nbytes for frame in frames for array in frame.arrays.values())
        for name, way in WAYS.items():
            began = time.process_time()
            found = [way(frame) for frame in frames]
            write = time.process_time() - began
            size = sum(len(part) for parts in found for part in parts)
            if name.startswith("packed"):
                size += sum(a.nbytes for f in frames for n, a in f.arrays.items() if n not in f.packing)
            read = ""
            if name == "packed":
                began = time.process_time()
                for frame, parts in zip(frames, found):
                    for part in parts:
                        unpack(part, frame.arrays.__getitem__)
                read = f"{plain / 1e6 / (time.process_time() - began):.0f}"
            print(f"{folder.name:24}{name:26}{size / plain:7.3f}{plain / 1e6 / write:12.0f}{read:>11}", flush=True)


if __name__ == "__main__":
    main()
