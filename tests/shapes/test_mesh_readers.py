"""Our mesh readers give what trimesh gives, an independent reader: the same triangles, the same density bit for bit."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import trimesh

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Mesh, Placement, load_mesh
from keyfluid.shapes.mesh import read_triangles

GALLERY = Path(str(resources.files("keyfluid.gallery")))
BUNDLED = sorted(path.name for path in GALLERY.iterdir() if path.suffix in (".obj", ".glb"))


def by_trimesh(path):
    options = {"skip_materials": True} if path.suffix == ".obj" else {}
    mesh = trimesh.load_mesh(path, process=False, **options)
    return np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64)


def assert_same(path):
    """The same corners of the same triangles in the same order, and the same density."""
    (vertices, faces), (their_vertices, their_faces) = read_triangles(path), by_trimesh(path)
    assert np.array_equal(vertices[faces], their_vertices[their_faces])
    placement = Placement(fit=0.8, rotation=(10.0, 20.0, 30.0))
    drawn = Mesh.build(their_vertices, their_faces).rasterize((20,) * 3, 0.05, placement)
    assert np.array_equal(load_mesh(path).rasterize((20,) * 3, 0.05, placement), drawn)
    assert drawn.sum() > 0


def lumpy_ball():
    mesh = trimesh.creation.icosphere(subdivisions=3)
    mesh.vertices += 0.05 * np.random.default_rng(4).normal(size=mesh.vertices.shape)
    return mesh


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_meshes(name):
    assert_same(GALLERY / name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.obj", {}),
        ("normals.obj", {"include_normals": True}),
        ("a.ply", {}),
        ("ascii.ply", {"encoding": "ascii"}),
        ("a.stl", {}),
        ("ascii.stl", {"file_type": "stl_ascii"}),
        ("a.glb", {}),
    ],
)
def test_exported_meshes(tmp_path, name, options):
    lumpy_ball().export(tmp_path / name, **options)
    assert_same(tmp_path / name)


CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]) + 0.25
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
MIXED = [(0, 1, 3), (0, 3, 2), *QUADS[1:]]


def obj_of(polygons, corner="{0}"):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + ["vt 0 0"] * 8 + ["vn 0 0 1"] * 8
    return "\n".join(lines + ["f " + " ".join(corner.format(i + 1) for i in p) for p in polygons]) + "\n"


@pytest.mark.parametrize("polygons", [QUADS, MIXED])
@pytest.mark.parametrize("corner", ["{0}", "{0}/{0}", "{0}//{0}", "{0}/{0}/{0}"])
def test_obj_faces_of_every_form(tmp_path, polygons, corner):
    path = tmp_path / "cube.obj"
    path.write_text(obj_of(polygons, corner))
    assert_same(path)


def test_obj_pentagon_becomes_a_fan(tmp_path):
    (tmp_path / "p.obj").write_text("".join(f"v {k} {k * k} 0\n" for k in range(5)) + "f 1 2 3 4 5\nf 1 2\n")
    assert read_triangles(tmp_path / "p.obj")[1].tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]


def test_obj_written_by_hand(tmp_path):
    """Windows line ends, tabs, comments, continued lines, colours, indices that count back from where they stand."""
    text = (
        "# a mesh\r\nmtllib /etc/passwd\r\no part\r\n  v 0 0 0 0.5 0.5 0.5\r\nv\t1 0 0# right\r\nv 0 \\\r\n 1 0\r\n"
        "f -3 -2 -1 # first\r\nusemtl x\r\nv 0 0 1e0\r\nf -1 1 \\\r\n-2\r\ns off\r\nl 1 2\r\nf 1/1/1 2//4 4/7"
    )
    (tmp_path / "hand.obj").write_bytes(text.encode())
    vertices, faces = read_triangles(tmp_path / "hand.obj")
    assert vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert faces.tolist() == [[0, 1, 2], [3, 0, 2], [0, 1, 3]]


def test_obj_across_blocks(tmp_path, monkeypatch):
    """Blocks of a few bytes cut the file everywhere: between lines, in lines, in continuations."""
    text = obj_of(MIXED).replace("f 5 7 8 6", "f 5 7 \\\r\n8 \\\n6").replace("f 1 2 4\n", "f -8 2 4\n")
    (tmp_path / "cube.obj").write_bytes(text.encode())
    whole = read_triangles(tmp_path / "cube.obj")
    assert len(whole[1]) == 12
    for size in (1, 7, 23, 64):
        monkeypatch.setattr("keyfluid.shapes.line_blocks._BLOCK", size)
        cut = read_triangles(tmp_path / "cube.obj")
        assert np.array_equal(cut[0], whole[0])
        assert np.array_equal(cut[1], whole[1])


def ply_of(polygons, order, kinds=("float", "uchar", "int"), name="vertex_indices"):
    """A binary PLY with properties and an element that are skipped."""
    real, count, index = kinds
    types = {"float": "f4", "double": "f8", "uchar": "u1", "int": "i4", "ushort": "u2", "uint": "u4", "char": "i1"}
    head = [
        "ply", f"format binary_{'little' if order == '<' else 'big'}_endian 1.0", "comment TextureFile /etc/passwd",
        "element camera 2", "property list uchar short values", "property uchar kind", "element vertex 8",
        "property uchar red", f"property {real} x", f"property {real} y", f"property {real} z",
        f"element face {len(polygons)}", "property short material",
        f"property list {count} {index} {name}", "property float weight", "end_header", "",
    ]  # fmt: skip
    body = np.array([3], "u1").tobytes() + np.arange(3, dtype=order + "i2").tobytes() + b"\1" + b"\0\2"
    for point in CUBE:
        body += b"\7" + point.astype(order + types[real]).tobytes()
    for polygon in polygons:
        body += b"\0\1" + np.array([len(polygon)], order + types[count]).tobytes()
        body += np.array(polygon, order + types[index]).tobytes() + b"\0\0\0\0"
    return "\n".join(head).encode() + body


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("polygons", [QUADS, MIXED], ids=["quads", "mixed"])
@pytest.mark.parametrize("kinds", [("float", "uchar", "int"), ("double", "int", "ushort"), ("char", "uint", "uchar")])
@pytest.mark.parametrize("name", ["vertex_indices", "vertex_index"])
def test_binary_ply(tmp_path, order, polygons, kinds, name):
    (tmp_path / "cube.ply").write_bytes(ply_of(polygons, order, kinds, name))
    vertices, faces = read_triangles(tmp_path / "cube.ply")
    assert np.array_equal(vertices, np.floor(CUBE) if kinds[0] == "char" else CUBE)
    expected = [(a, b, c) for a, b, c, d in QUADS] + [(c, d, a) for a, b, c, d in QUADS]
    if polygons is MIXED:
        expected = [*MIXED[:2], *(t for k, t in enumerate(expected) if k % 6)]
    assert [tuple(face) for face in faces.tolist()] == expected


def test_ascii_ply_of_mixed_polygons_as_trimesh_reads_it(tmp_path):
    head = (
        "ply\r\nformat ascii 1.0\r\nelement vertex 8\r\nproperty float x\r\nproperty float y\r\nproperty float z\r\n"
        f"element face {len(MIXED)}\r\nproperty list uchar int vertex_indices\r\nend_header\r\n"
    )
    rows = ["0.1 0.3 0.7"] + [f"{x} {y} {z}" for x, y, z in CUBE[1:]]
    rows += [" ".join(map(str, (len(polygon), *polygon))) for polygon in MIXED]
    (tmp_path / "cube.ply").write_text(head + "\r\n".join(rows) + "\r\n", newline="")
    assert_same(tmp_path / "cube.ply")
    assert read_triangles(tmp_path / "cube.ply")[0][0, 0] == np.float32(0.1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((b"element vertex 8", b"element vertex 99999999999"), "claims 99999999999 of 'vertex'"),
        ((b"format", b"comment"), "format"),
        ((b"uchar int", b"uchar sequence"), "unknown line"),
        ((b"property float x", b"property float q"), "no x, y and z"),
        ((b"vertex_indices", b"indices"), "no list vertex_indices"),
        ((b"end_header", b"end"), "no PLY header"),
        ((b"ply\n", b"plx\n"), "no PLY header"),
        ((b"property uchar red", b"property list float uchar red"), "claims"),
    ],
)
def test_broken_ply(tmp_path, change, text):
    (tmp_path / "cube.ply").write_bytes(ply_of(MIXED, "<").replace(*change, 1))
    with pytest.raises(KeyfluidError, match=text):
        load_mesh(tmp_path / "cube.ply")


def test_stl_with_bad_normals(tmp_path, capfd):
    """Normals are not looked at: no number, too few or none, nothing is printed."""
    lumpy_ball().export(tmp_path / "good.stl", file_type="stl_ascii")
    lines = (tmp_path / "good.stl").read_text().splitlines()
    for k, line in enumerate(lines):
        if "normal" in line:
            lines[k] = ["facet normal nan x 0", "facet normal 1", "facet"][k % 3]
    (tmp_path / "bad.stl").write_text("\n".join(lines))
    assert np.array_equal(read_triangles(tmp_path / "bad.stl")[0], read_triangles(tmp_path / "good.stl")[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_refused_without_a_warning(tmp_path):
    trimesh.creation.box().export(tmp_path / "box.stl")
    content = bytearray((tmp_path / "box.stl").read_bytes())
    content[96:100] = b"\1\0\x80\x7f"
    (tmp_path / "box.stl").write_bytes(content)
    with pytest.raises(KeyfluidError, match="not finite"):
        load_mesh(tmp_path / "box.stl")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("endfacet", "", "three vertices each"),
        ("vertex", "vertex 1", "three coordinates"),
        ("solid", "s", "not an ASCII"),
    ],
)
def test_broken_stl(tmp_path, old, new, text):
    trimesh.creation.box().export(tmp_path / "box.stl", file_type="stl_ascii")
    content = (tmp_path / "box.stl").read_text().replace(old, new, 1)
    (tmp_path / "box.stl").write_text(content)
    with pytest.raises(KeyfluidError, match=text):
        load_mesh(tmp_path / "box.stl")


def test_gltf_scene_in_place(tmp_path):
    """Nodes that move, turn and scale, one inside the other, and one mesh in two places: where trimesh puts them."""
    scene = trimesh.Scene()
    ball = lumpy_ball()
    turn = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3), (0.3, 0, 0))
    scene.add_geometry(ball, node_name="a", geom_name="ball", transform=turn)
    shift = trimesh.transformations.translation_matrix((2, 0, 0)) @ np.diag([0.5, 0.5, 0.5, 1])
    scene.add_geometry(ball, node_name="b", parent_node_name="a", geom_name="ball", transform=shift)
    scene.export(tmp_path / "scene.glb")
    vertices, faces = read_triangles(tmp_path / "scene.glb")
    theirs = by_trimesh(tmp_path / "scene.glb")
    assert len(faces) == len(theirs[1]) == 2 * len(ball.faces)
    ours = vertices[faces].reshape(-1, 9)
    other = theirs[0][theirs[1]].reshape(-1, 9)
    assert ours[np.lexsort(ours.round(4).T)] == pytest.approx(other[np.lexsort(other.round(4).T)], abs=1e-6)
