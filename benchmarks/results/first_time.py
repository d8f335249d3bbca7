"""What a newcomer's scenes give at the defaults: `python benchmarks/results/first_time.py [parts] [--small]`.

Prints markdown tables and writes docs/images/first_time_*.png. --small halves every resolution.

adjoint    A, R, 8, & and a star by winds, 64^2/30
islands    two words, one above the other, from a vent below both, 64^2/52: `spectral` and `target`
others     scenes with separated parts that the defaults were not chosen on, 64^2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _first_time_defaults import IMAGES, adjoint, islands, others

from timing import machine

PARTS = {"adjoint": adjoint, "islands": islands, "others": others}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    print(f"{machine()}; float32{', small' if options.small else ''}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        print(f"\n## {name}\n", flush=True)
        PARTS[name](options.small)


if __name__ == "__main__":
    main()
