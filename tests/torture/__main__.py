"""`python -m torture PART...`: run parts of the kit and write their figures (make torture)."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from torture import corpus, faults, folders, fuzz, kills, memory, power, report
from torture.children import scratch_folder, use_threads_that_fork

PARTS = {
    "corpus": (corpus, 1, "replay what once failed, or 0"),
    "folders": (folders, 1000, "random folders"),
    "kills": (kills, 1000, "kills over all scenes"),
    "faults": (faults, 300, "faults per method"),
    "power": (power, 100, "power cuts"),
    "memory": (memory, 100, "memory limits"),
    "fuzz": (fuzz, 1_000_000, "mutated inputs over all readers"),
}


def main() -> int:
    """Exit code 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    for part, (_, count, what) in PARTS.items():
        parser.add_argument(f"--{part}", type=int, default=count, metavar="COUNT", help=f"{what} (default {count})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", default="", help="only these, commas between them")
    parser.add_argument("--readers", default="", help="only these, commas between them")
    parser.add_argument("--workers", type=int, default=2, help="processes that fuzz")
    parser.add_argument("--out", type=Path, default=Path("out/torture"))
    chosen = parser.parse_args()
    use_threads_that_fork()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    scratch, failed = scratch_folder(), 0
    try:
        for part in chosen.parts or PARTS:
            module, count, place = PARTS[part][0], getattr(chosen, part), scratch / part
            if count <= 0:
                continue
            place.mkdir()
            if part == "fuzz":
                figures = fuzz.torture(count, chosen.seed, chosen.out, place, chosen.readers, chosen.workers)
            else:
                figures = module.torture(count, chosen.seed, chosen.out, place, chosen.scenes)
            report.write(chosen.out, figures)
            failed += len(figures["failures"])
            shutil.rmtree(place, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print((chosen.out / "report.md").read_text())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
