"""The part of the Blender extension that works without Blender (blender/keyfluid/core), as a package of its own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "blender" / "keyfluid" / "core"
NAME = "keyfluid_extension_core"

if NAME not in sys.modules:
    spec = importlib.util.spec_from_file_location(NAME, CORE / "__init__.py", submodule_search_locations=[str(CORE)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)

frames = importlib.import_module(f"{NAME}.frames")
geometry = importlib.import_module(f"{NAME}.geometry")
job = importlib.import_module(f"{NAME}.job")
messages = importlib.import_module(f"{NAME}.messages")
motion = importlib.import_module(f"{NAME}.motion")
program = importlib.import_module(f"{NAME}.program")
scene_folder = importlib.import_module(f"{NAME}.scene_folder")
toml_text = importlib.import_module(f"{NAME}.toml_text")
