"""Seconds until the studio's first page is there, in Chromium: `python benchmarks/studio_ready.py`.

Opened three times; start a run beside it to see it under load.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "tests"), str(HERE / "tests/studio")]

from studio_kit import running_studio  # noqa: E402

from browser import Browser  # noqa: E402


def main() -> None:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place,
        running_studio(Path(place) / "work") as studio,
        Browser(Path(place) / "profile", webgl=True) as page,
    ):
        time.sleep(3)
        for _ in range(3):
            page.open("data:text/html,<p>")
            began = time.perf_counter()
            page.open(studio.address, 1280, 720)
            page.until("document.querySelector('[data-do=new]')")
            print(f"page ready after {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
