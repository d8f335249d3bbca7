"""`make results`: the papers' own examples at their own size, one script per method beside this file.

Each script prints its tables and writes its pictures to docs/images; docs/results.md quotes them. Name methods to
run only those: `python benchmarks/results/run_all.py target spectral`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    scripts = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem != "run_all" and path.stem[0] != "_"}
    unknown = [name for name in sys.argv[1:] if name not in scripts]
    if unknown:
        print(f"no such results: {', '.join(unknown)}; there are {', '.join(scripts)}", file=sys.stderr)
        return 2
    failed = []
    for name in sys.argv[1:] or scripts:
        print(f"# {name}", flush=True)
        if subprocess.run([sys.executable, str(scripts[name])], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
