"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keyfluid.errors import KeyfluidError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well and is removed when not.

    The temporary name keeps the suffix, because writers choose their format by it.
    """
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{final.stem}.", suffix=final.suffix, dir=final.parent)
    except OSError as error:
        raise _cannot_write(final, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; a result has the rights of any new file.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        os.replace(temporary, final)
    except OSError as error:
        raise _cannot_write(final, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> KeyfluidError:
    reason = error.strerror or str(error)
    return KeyfluidError(f"{path} can't be written ({reason}): free some space or choose another folder")
