"""One reader under Google's atheris, guided by coverage: `make torture-atheris READER=vdb SECONDS=600`.

atheris is no dependency of keyfluid; the verb installs it. Half of the mutations are this kit's own.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found]

from torture.children import use_threads_that_fork
from torture.readers import READERS, prepare


def main() -> None:
    """READER, then options of libFuzzer such as -max_total_time=60."""
    use_threads_that_fork()
    reader = READERS[sys.argv.pop(1)]
    folder = Path(tempfile.mkdtemp(prefix="torture-atheris-"))
    corpus = folder / "corpus"
    corpus.mkdir()

    def read(content: bytes) -> None:
        from keyfluid.errors import KeyfluidError

        try:
            reader.call(content, folder)
        except KeyfluidError:
            return

    # Readers import what they need when they are called. Numba can't compile what has been instrumented.
    parts = ["keyfluid.io", "keyfluid.shapes", "keyfluid.scenes", "keyfluid.runs"]
    with atheris.instrument_imports(include=parts, exclude=["keyfluid.io.vdb.blosc"]):
        if reader.name in ("result", "folder"):
            prepare(folder / "run")
        for place, seed in enumerate(reader.seeds):
            read(seed)
            (corpus / str(place)).write_bytes(seed)

    def mutated(content: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return atheris.Mutate(content, most)
        return reader.mutation(chance, content or reader.seeds[0], reader.seeds)[:most]

    kept = Path("out/torture/atheris")
    kept.mkdir(parents=True, exist_ok=True)
    options = [f"-artifact_prefix={kept}/", "-timeout=20", "-rss_limit_mb=2500", "-max_len=65536", *sys.argv[1:]]
    atheris.Setup([sys.argv[0], *options, str(corpus)], read, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
