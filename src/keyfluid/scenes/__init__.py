"""Scene files: `load_scene` reads, `dump_scene` writes, `schema` describes; `problem.build` makes arrays."""

from keyfluid.scenes.schema.dump import dump_scene
from keyfluid.scenes.schema.load import load_scene, preview, scene_from, schema
from keyfluid.scenes.schema.scene import Scene

__all__ = ["Scene", "dump_scene", "load_scene", "preview", "scene_from", "schema"]
