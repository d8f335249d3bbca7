"""What keyframes, start shapes, emitters and region masks are made of: sources of density in [0, 1].

`SHAPES` names the analytic shapes; the loaders read files. All share `DensitySource`.
"""

from __future__ import annotations

from keyfluid.shapes.analytic import AnalyticShape, Ball, Box, Capsule, Cone, Cylinder, Ring
from keyfluid.shapes.animated_mesh import (
    AnimatedMesh,
    MeshSequence,
    SkinnedMesh,
    load_mesh_sequence,
    load_skinned_gltf,
)
from keyfluid.shapes.arrays import DensityArray, load_array
from keyfluid.shapes.extrude import Drawing, Extrusion
from keyfluid.shapes.flat_shapes import Cross, Heart, Star
from keyfluid.shapes.image import ImageDrawing, load_image
from keyfluid.shapes.mass import NoRoom, mass_of, rearrangement_bound, resize_to_mass
from keyfluid.shapes.mesh import Mesh, load_mesh
from keyfluid.shapes.placement import Placement
from keyfluid.shapes.source import DensitySource
from keyfluid.shapes.stroke import stroke_width_cells
from keyfluid.shapes.text import Text

SHAPES: dict[str, type[AnalyticShape]] = {
    "disk": Ball,
    "sphere": Ball,
    "ring": Ring,
    "torus": Ring,
    "box": Box,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "cone": Cone,
    "star": Star,
    "cross": Cross,
    "heart": Heart,
}

__all__ = [
    "SHAPES",
    "AnalyticShape",
    "AnimatedMesh",
    "Ball",
    "Box",
    "Capsule",
    "Cone",
    "Cross",
    "Cylinder",
    "DensityArray",
    "DensitySource",
    "Drawing",
    "Extrusion",
    "Heart",
    "ImageDrawing",
    "Mesh",
    "MeshSequence",
    "NoRoom",
    "Placement",
    "Ring",
    "SkinnedMesh",
    "Star",
    "Text",
    "load_array",
    "load_image",
    "load_mesh",
    "load_mesh_sequence",
    "load_skinned_gltf",
    "mass_of",
    "rearrangement_bound",
    "resize_to_mass",
    "stroke_width_cells",
]
