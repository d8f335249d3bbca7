"""How every kernel is compiled, decided once.

`parallel_kernel`  a loop over slabs with ``prange``. Numba knows the arguments of such a loop not to overlap,
                   as long as the loop makes no views of them (no slices, no reshape); only then does LLVM
                   vectorise gathers. So arrays are passed flat, with offsets.
`row_function`     a piece of such a kernel, always inlined into it, so that it inherits that knowledge.

Results must not depend on the number of threads: a kernel splits its work into slabs whose number depends on
the data alone, and never reduces across slabs in an order that the scheduler chooses.

AMD processors of the AVX2 kind gather faster in vectors than one by one (measured at 128^3, one thread: 33
against 46 ns per cell for an RK2 backtrace), but LLVM believes otherwise unless told.

Numba's cache does not notice when a function that a kernel calls has changed, so the cache folder of a module is
named after a hash of its source and of those of all modules it depends on (source_digest.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from keyfluid.kernels.source_digest import digest
from keyfluid.threads import LAYERS

# Numba fills its settings in at run time, where a type checker does not see them.
_settings: Any = numba.config

_settings.THREADING_LAYER_PRIORITY = LAYERS
_host = llvm.get_host_cpu_features()
if not _settings.CPU_FEATURES and _host.get("avx2"):
    _settings.CPU_FEATURES = _host.flatten() + ",+fast-gather"

# Rows pass many buffers; LLVM's default of 8 overlap checks per loop would leave them unvectorised.
llvm.set_option("keyfluid", "-runtime-memory-check-threshold=128")

# Fused multiply-adds and unsigned zeros; nothing that reorders sums or assumes away NaN.
_FASTMATH = {"contract", "nsz"}


@cache
def _cache_folder(module: Path) -> str:
    """Where a module's kernels are cached: in NUMBA_CACHE_DIR if that is set, beside the sources if they are in a
    writable folder, otherwise in the user's cache."""
    parent = Path(_settings.CACHE_DIR) if _settings.CACHE_DIR else _beside(module.parent)
    return str(parent / f"kernels-{digest(module)}")


@cache
def _beside(folder: Path) -> Path:
    """A writable folder for what is compiled from the sources in `folder`."""
    beside = folder / "__pycache__"
    try:
        beside.mkdir(exist_ok=True)
        writable = os.access(beside, os.W_OK)
    except OSError:
        writable = False
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "keyfluid"
    return beside if writable else home


def _compile(function: Callable, **options: Any) -> Any:
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = _cache_folder(Path(function.__code__.co_filename))
    try:
        return numba.njit(cache=True, error_model="numpy", fastmath=_FASTMATH, **options)(function)
    finally:
        _settings.CACHE_DIR = before


def parallel_kernel(function: Callable) -> Any:
    """Compile `function`, which holds a ``prange``, for all threads; cached on disk."""
    return _compile(function, parallel=True)


def serial_kernel(function: Callable) -> Any:
    """Compile `function` for one thread, the lock released; cached on disk."""
    return _compile(function, nogil=True)


def row_function(function: Callable) -> Any:
    """Compile `function` to be inlined into the kernels that call it."""
    return numba.njit(forceinline=True, error_model="numpy", fastmath=_FASTMATH)(function)
