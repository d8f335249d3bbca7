"""One reader under Google's atheris, guided by coverage: `make torture-atheris READER=vdb SECONDS=600`.

atheris is no dependency of keyfluid; the verb installs it. Half of the mutations are this kit's own.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["keyfluid"]):
    from keyfluid.errors import KeyfluidError
    from torture.readers import READERS, prepare


def main() -> None:
    """READER, then options of libFuzzer such as -max_total_time=60."""
    reader = READERS[sys.argv.pop(1)]
    folder = Path(tempfile.mkdtemp(prefix="torture-atheris-"))
    prepare(folder / "run")
    corpus = folder / "corpus"
    corpus.mkdir()
    for place, seed in enumerate(reader.seeds):
        (corpus / str(place)).write_bytes(seed)

    def read(content: bytes) -> None:
        try:
            reader.call(content, folder)
        except KeyfluidError:
            return

    def mutated(content: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return atheris.Mutate(content, most)
        return reader.mutation(chance, content or reader.seeds[0], reader.seeds)[:most]

    options = ["-timeout=20", "-rss_limit_mb=2500", "-max_len=65536", *sys.argv[1:]]
    atheris.Setup([sys.argv[0], *options, str(corpus)], read, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
