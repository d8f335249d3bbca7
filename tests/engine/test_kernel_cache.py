"""Compiled kernels are cached under a hash of every source they contain: imports are followed, whatever their form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keyfluid.kernels import source_digest
from keyfluid.kernels.compile import _cache_folder
from keyfluid.kernels.source_digest import digest

KERNEL = """
from keyfluid.kernels.compile import serial_kernel
{imports}

@serial_kernel
def answer(x):
    return {call}
"""
FORMS = {
    "from .deep.helper import twice": "twice(x)",
    "from .deep import helper": "helper.twice(x)",
    "from . import deep": "deep.again(x)",
    "from .deep import again": "again(x)",
    "from .deep.helper import *": "twice(x)",
    "from rooms.deep.helper import twice as two": "two(x)",
    "from rooms.deep import (\n    helper as other,\n)": "other.twice(x)",
    "import rooms.deep.helper": "rooms.deep.helper.twice(x)",
    "import rooms.deep.helper as other": "other.twice(x)",
    "if True:\n    from rooms.deep.helper import twice": "twice(x)",
    '"""\n\n\nimport\n"""\nfrom rooms.deep.helper import twice': "twice(x)",
    'from rooms.deep.helper import twice\n\n\ndef plain():\n    """import\n\n\n    """': "twice(x)",
    "SIZE = 1\n\n\nfrom rooms.deep.helper import twice\n\n\nOTHER = 2": "twice(x)",
}
"""Import statement -> how a kernel calls `twice`."""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose kernel calls a helper in another folder, which reads a constant of a third module."""
    root = tmp_path / "rooms"
    files = {
        "__init__.py": "",
        "deep/__init__.py": "from .helper import twice as again\n",
        "deep/helper.py": "from keyfluid.kernels.compile import row_function\n"
        "from ..numbers import FACTOR\n\n\n@row_function\ndef twice(x):\n    return FACTOR * x\n",
        "numbers.py": "FACTOR = 2\n",
        "unrelated.py": "FACTOR = 5\n",
        "late.py": "FACTOR = 7\n",
        "kernel.py": KERNEL.format(imports="from .deep.helper import twice", call="twice(x)"),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def folder(package: Path) -> str:
    """The cache folder of the kernel as a new process would name it."""
    for remembered in (_cache_folder, digest, source_digest._read):
        remembered.cache_clear()
    return _cache_folder(package / "kernel.py")


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.replace("\n", " "))
def test_a_change_in_an_imported_module_is_seen(package: Path, form: str) -> None:
    (package / "kernel.py").write_text(KERNEL.format(imports=form, call=FORMS[form]))
    folders = [folder(package)]
    edit(package / "deep/helper.py", "FACTOR * x", "x * FACTOR")
    folders.append(folder(package))
    edit(package / "numbers.py", "2", "3")  # two imports away
    folders.append(folder(package))
    assert len(set(folders)) == 3
    edit(package / "numbers.py", "3", "2")
    edit(package / "deep/helper.py", "x * FACTOR", "FACTOR * x")
    assert folder(package) == folders[0]


def test_a_change_in_an_unrelated_module_is_not_seen(package: Path) -> None:
    before = folder(package)
    for name in ("unrelated.py", "__init__.py"):
        (package / name).write_text("FACTOR = 6\n")
        assert folder(package) == before


def test_an_import_inside_a_function_does_not_count(package: Path) -> None:
    with (package / "kernel.py").open("a") as file:
        file.write("\n\ndef plain():\n    from .late import FACTOR\n    return FACTOR\n")
    before = folder(package)
    edit(package / "late.py", "7", "8")
    assert folder(package) == before


def test_modules_that_import_each_other(package: Path) -> None:
    before = folder(package)
    (package / "numbers.py").write_text("from . import kernel\n\nFACTOR = 2\n")
    assert folder(package) != before


def test_how_kernels_are_compiled_counts(package: Path) -> None:
    """keyfluid is followed from other packages too: kernels/compile.py has the compiler's options."""
    modules = source_digest._read(source_digest._module(package / "kernel.py"))[1]
    assert ("keyfluid", "kernels", "compile") in {module.name for module in modules}


def test_folders_lie_beside_the_sources_or_in_numbas_folder(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Path(folder(package))
    assert beside.parent == package / "__pycache__"
    monkeypatch.setattr("keyfluid.kernels.compile._settings.CACHE_DIR", "elsewhere")
    assert Path(folder(package)) == Path("elsewhere") / beside.name


def test_a_kernel_is_compiled_again_when_a_constant_two_imports_away_changes(package: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from rooms.kernel import answer\n"
        "print(answer(10), sum(answer.stats.cache_hits.values()))"
    )

    def answers() -> list[int]:
        command = [sys.executable, "-B", "-c", program, str(package.parent)]
        return [int(word) for word in subprocess.run(command, capture_output=True, check=True).stdout.split()]

    assert answers() == [20, 0]
    assert answers() == [20, 1]
    edit(package / "numbers.py", "2", "3")
    assert answers() == [30, 0]
