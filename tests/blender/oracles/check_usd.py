"""A stage as usd-core sees it: complaints of its checker, and what it composes. Prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pxr import Ar, Usd, UsdGeom, UsdValidation, UsdVol


def complaints(stage: Usd.Stage) -> list[str]:
    """Errors and warnings of every validator that is registered, which is what `usdchecker` runs."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = UsdValidation.ValidationContext(validators).Validate(stage)
    return [f"{each.GetName()}: {each.GetMessage()}" for each in found]


def summary(path: str) -> dict[str, object]:
    stage = Usd.Stage.Open(path)
    found: dict[str, object] = {
        "complaints": complaints(stage),
        "prims": {str(prim.GetPath()): prim.GetTypeName() for prim in stage.Traverse()},
        "range": [stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetFramesPerSecond()],
        "metres": UsdGeom.GetStageMetersPerUnit(stage),
        "up": UsdGeom.GetStageUpAxis(stage),
    }
    codes = [float(code) for code in range(int(stage.GetStartTimeCode()), int(stage.GetEndTimeCode()) + 1)]
    files, meshes, volumes = {}, {}, {}
    for prim in stage.Traverse():
        if prim.IsA(UsdVol.OpenVDBAsset):
            path_of = UsdVol.OpenVDBAsset(prim).GetFilePathAttr()
            paths = [Ar.GetResolver().Resolve(path_of.Get(code).resolvedPath) for code in codes]
            files[prim.GetName()] = [Path(str(each)).name for each in paths]
        elif prim.IsA(UsdVol.Volume):
            volumes[prim.GetName()] = sorted(UsdVol.Volume(prim).GetFieldPaths())
        elif prim.IsA(UsdGeom.Mesh) and UsdGeom.Mesh(prim).GetVelocitiesAttr().HasValue():
            mesh = UsdGeom.Mesh(prim)
            meshes[prim.GetName()] = [
                {
                    "points": len(mesh.GetPointsAttr().Get(code)),
                    "velocities": len(mesh.GetVelocitiesAttr().Get(code)),
                    "fault": UsdGeom.Mesh.ValidateTopology(
                        mesh.GetFaceVertexIndicesAttr().Get(code),
                        mesh.GetFaceVertexCountsAttr().Get(code),
                        len(mesh.GetPointsAttr().Get(code)),
                    )[1],
                }
                for code in codes
            ]
    return {**found, "files": files, "meshes": meshes, "volumes": volumes}


print("JSON" + json.dumps(summary(sys.argv[1])))
