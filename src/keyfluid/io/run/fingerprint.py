"""What a run was computed from, kept in its record, and what differs when it is resumed.

A run's name (`run`, in every frame and checkpoint) is a hash of what decides its bits: format, the scene as far as it
is simulated, the content of the files that it reads, and the library that does its transforms. Two runs with one name
have the same frames, wherever they were computed; a changed scene has another name. Package versions and the
processor stand beside it: they are not expected to change a bit, so a difference is only noted.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.run import FORMAT, READABLE
from keyfluid.solvers.transforms import BACKEND

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "ducc0")
_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "neon", "sve")
"""Processor features that decide which instructions compiled kernels use."""

_PICTURED = ("name", "output", "camera", "light")
"""Tables of a scene that decide how it is shown, not what is computed."""

FILE = "sha256:"
"""Begins what stands for a file's content in a fingerprint's scene."""

_NAME_LENGTH = 24
_NAMED = 2
"""The format that names are made of: another one would give the same frames another name."""


@dataclass(frozen=True)
class Fingerprint:
    """What a run was computed from. scene: its tables with a hash in the place of each file.

    changes: what was changed on the way and accepted; accepted: the names that the run had before.
    """

    run: str
    scene: Mapping[str, Any]
    precision: str
    transforms: str
    version: str
    packages: Mapping[str, str]
    cpu: str
    features: tuple[str, ...]
    accepted: tuple[str | None, ...] = field(default=())
    changes: tuple[str, ...] = field(default=())
    format: int = FORMAT

    @classmethod
    def of(cls, scene: Mapping[str, Any], package: str) -> Fingerprint:
        """The fingerprint of a run that starts now; `scene` has a hash of its content for every file."""
        simulated = dict(_simulated(scene))
        content = json.dumps({"format": _NAMED, "scene": simulated, "transforms": BACKEND}, sort_keys=True)
        name = hashlib.sha256(content.encode("utf-8")).hexdigest()[:_NAME_LENGTH]
        precision = str(scene.get("simulation", {}).get("precision", "float32"))
        return cls(name, simulated, precision, BACKEND, package, packages(), *processor())

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> Fingerprint:
        """The fingerprint in a folder's record."""
        found = header.get("format")
        if found not in READABLE:
            raise KeyfluidError(
                f"was written in format {found!r} of run folders, this keyfluid reads {READABLE[0]} to {FORMAT}; "
                f"use the keyfluid that wrote it ({header.get('version', 'unknown')})"
            )
        try:
            known = {name: header[name] for name in cls.__dataclass_fields__}
            return cls(**{**known, **{name: tuple(known[name]) for name in ("features", "accepted", "changes")}})
        except (KeyError, TypeError):
            raise KeyfluidError("has a damaged record; run the scene again in another folder") from None

    def header(self) -> dict[str, Any]:
        """As the record keeps it."""
        return {"keyfluid": "run", **asdict(self)}

    @property
    def runs(self) -> frozenset[str | None]:
        """Names that frames and checkpoints of this run may carry."""
        return frozenset({self.run, *self.accepted})

    def after(self, before: Fingerprint, changes: Sequence[str]) -> Fingerprint:
        """This one, for a run that goes on with changes."""
        names = tuple(dict.fromkeys((*before.accepted, before.run)))
        return replace(self, accepted=names, changes=(*before.changes, *changes))


def changed_keys(
    before: Mapping[str, Any], now: Mapping[str, Any], plain: Mapping[str, Any] | None = None
) -> list[str]:
    """Lines such as "smoke.buoyancy was 1.0, is -9.0", for every key of the simulation that differs.

    plain: a scene with all defaults; a key that was not known before and is at its default has not changed.
    """
    then, here = dict(_leaves(dict(_simulated(before)))), dict(_leaves(dict(_simulated(now))))
    default = dict(_leaves(dict(_simulated(plain or {}))))
    lines = []
    for key in sorted({*then, *here}):
        old, new = then.get(key), here.get(key)
        if old == new or (old is None and new == default.get(key)):
            continue
        if any(isinstance(value, str) and value.startswith(FILE) for value in (old, new)) and None not in (old, new):
            lines.append(f"the content of {key} has changed")
        else:
            lines.append(f"{key} was {_said(old)}, is {_said(new)}")
    return lines


def machine_notes(before: Fingerprint, now: Fingerprint) -> list[str]:
    """Differences that are not expected to change a bit, each as a line."""
    notes = []
    if before.version != now.version:
        notes.append(f"started with keyfluid {before.version}, resumed with {now.version}")
    for name in sorted({*before.packages, *now.packages}):
        old, new = before.packages.get(name, "none"), now.packages.get(name, "none")
        if old != new and not (name == "ducc0" and "none" in (old, new)):
            notes.append(f"started with {name} {old}, resumed with {new}")
    if (before.cpu, before.features) != (now.cpu, now.features):
        notes.append(f"started on {before.cpu}, resumed on {now.cpu}; the last digits may differ")
    return notes


def _simulated(scene: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tables that decide what is computed, without the colours of fields."""
    for name, table in scene.items():
        if name in _PICTURED:
            continue
        if isinstance(table, Mapping) and isinstance(table.get("field"), list):
            plain = [{key: value for key, value in entry.items() if key != "colour"} for entry in table["field"]]
            table = {**table, "field": plain}
        if isinstance(table, Mapping):
            table = {key: value for key, value in table.items() if key != "colour"}
        yield name, table


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Key paths and values, lists of tables by index."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list) and node and isinstance(node[0], Mapping):
        for index, value in enumerate(node):
            yield from _leaves(value, f"{path}[{index}]")
    else:
        yield path, node


def _said(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def packages() -> dict[str, str]:
    """Versions of the packages that compute."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> tuple[str, tuple[str, ...]]:
    """Its name, and its features that decide which instructions kernels use, as far as Numba may use them."""
    import llvmlite.binding as llvm
    import numba
    from numba.core.codegen import get_host_cpu_features

    settings: Any = numba.config
    given = settings.CPU_FEATURES  # by NUMBA_CPU_FEATURES or NUMBA_CPU_NAME
    used = set((get_host_cpu_features() if given is None else given).split(","))
    name = f"{platform.machine()} {settings.CPU_NAME or llvm.get_host_cpu_name()}"
    return name, tuple(feature for feature in _FEATURES if f"+{feature}" in used)
