"""glTF files that lie about types, sizes and places: one KeyfluidError each, and no file outside the folder is read."""

from __future__ import annotations

import base64
import copy
import json
import os

import numpy as np
import pytest
from gltf_asset import write_bent_bar

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import load_skinned_gltf
from keyfluid.shapes.mesh import read_triangles


@pytest.fixture
def bar(tmp_path):
    """The JSON of an animated bar, and where to write it."""
    path = write_bent_bar(tmp_path / "bar.gltf")
    return json.loads(path.read_text()), path


def refuse(document, path, text=None):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    messages = []
    for read in (read_triangles, load_skinned_gltf):
        with pytest.raises(KeyfluidError, match=text) as caught:
            read(path)
        messages.append(str(caught.value))
        assert str(path) in messages[-1]
        assert "\n" not in messages[-1]
    return messages


def buffer_beside(document, path, name, uri):
    """Move the embedded buffer to a file, and let the document name it by `uri`."""
    data = base64.b64decode(document["buffers"][0]["uri"].split(",")[1])
    (path.parent / name).parent.mkdir(exist_ok=True)
    (path.parent / name).write_bytes(data)
    document["buffers"][0]["uri"] = uri
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "uri"), [("bar.bin", "bar.bin"), ("my bar.bin", "my%20bar.bin"), ("sub/a.bin", "sub/../sub/./a.bin")]
)
def test_buffers_in_the_folder_are_read(bar, name, uri):
    document, path = bar
    expected = read_triangles(path)
    buffer_beside(document, path, name, uri)
    assert np.array_equal(read_triangles(path)[0], expected[0])
    assert load_skinned_gltf(path).duration == 1.0


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin", "%2e%2e/secret.bin", "sub/../../secret.bin", "{outside}", "file://{outside}", "link.bin",
        "http://host/secret.bin", "..\\secret.bin", "C:secret.bin", "//host/secret.bin", "", "linked/secret.bin",
        "bar.bin%00", "%2Fetc%2Fpasswd", "file:secret.bin",
    ],
)  # fmt: skip
def test_no_way_out_of_the_folder(tmp_path, uri):
    """The content outside is right, so only the place can be what is refused."""
    (tmp_path / "own").mkdir()
    path = write_bent_bar(tmp_path / "own" / "bar.gltf")
    document = json.loads(path.read_text())
    buffer_beside(document, path, "../secret.bin", "x")
    os.symlink(tmp_path / "secret.bin", tmp_path / "own" / "link.bin")
    os.symlink(tmp_path, tmp_path / "own" / "linked")
    (tmp_path / "own" / "sub").mkdir()
    document["buffers"][0]["uri"] = uri.format(outside=tmp_path / "secret.bin")
    refuse(document, path, "only files in the mesh's own folder are read")


@pytest.mark.parametrize("uri", ["missing.bin", "n" * 300, "sub", "%FF.bin", "?.bin"])
def test_missing_buffers(bar, uri):
    document, path = bar
    (path.parent / "sub").mkdir()
    document["buffers"][0]["uri"] = uri
    refuse(document, path, "is missing")


def test_links_inside_the_folder_are_followed(bar):
    document, path = bar
    buffer_beside(document, path, "real.bin", "link.bin")
    os.symlink("real.bin", path.parent / "link.bin")
    assert len(read_triangles(path)[1])


@pytest.mark.parametrize(
    ("uri", "text"),
    [("data:,abc", "must be base64"), ("data:x;base64,@@@@", "broken base64"), ("data:x;base64,AAAA", "should have")],
)
def test_embedded_buffers(bar, uri, text):
    document, path = bar
    document["buffers"][0]["uri"] = uri
    refuse(document, path, text)


def test_accessors_without_content(bar):
    """The 1 kB file that took 15 GB: zeros are not made up, however many are promised."""
    document, path = bar
    for change in ({"count": 10**9}, {"count": 3, "sparse": {"count": 1}}):
        broken = copy.deepcopy(document)
        del broken["accessors"][0]["bufferView"]
        broken["accessors"][0].update(change)
        refuse(broken, path, "sparse or compressed accessors are not supported")
    document["accessors"][0]["count"] = 10**12
    refuse(document, path, "do not fit")


def test_nodes_that_are_no_tree(bar):
    document, path = bar
    for node, children in ((3, [1]), (2, [2]), (1, [2, 2]), (0, [1])):
        broken = copy.deepcopy(document)
        broken["nodes"][node]["children"] = children
        refuse(broken, path, "not a tree")
    document["scenes"][0]["nodes"] = [2]  # one node twice, yet no more than there are
    document["nodes"][2]["children"] = [3, 3]
    refuse(document, path, "not a tree")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "[]", "3", '{"asset": NaN}', "", "\ufeff{", '{"asset": 1e999}']
)
def test_other_json(bar, text):
    refuse(text, bar[1])


def values_in(node, where=()):
    """Every value of the document with its place."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*where, key), value
        yield from values_in(value, (*where, key))


ODD = [None, True, -1, 10**30, 1.5, 1e308, "x", [], {}, [[]], [None] * 3, {"a": 1}, 2**31, 2**53]


def test_every_value_replaced_by_odd_ones(bar):
    """About 1,500 documents: accepted or refused in one line, never another exception."""
    document, path = bar
    places = [place for place, value in values_in(document)]
    refused = 0
    for place in places:
        for odd in ODD:
            changed = copy.deepcopy(document)
            inside = changed
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = odd
            path.write_text(json.dumps(changed))
            for read in (read_triangles, load_skinned_gltf):
                try:
                    read(path)
                except KeyfluidError as fault:
                    assert "\n" not in str(fault)  # noqa: PT017
                    refused += 1
    assert refused > len(places) * len(ODD)


@pytest.mark.parametrize(
    ("mode", "expected"), [(5, [[0, 1, 2], [2, 1, 3], [2, 3, 4]]), (6, [[0, 1, 2], [0, 2, 3], [0, 3, 4]])]
)
def test_strips_and_fans(bar, mode, expected):
    document, path = bar
    document["meshes"][0]["primitives"][0]["mode"] = mode
    del document["meshes"][0]["primitives"][0]["indices"]
    document["accessors"][0]["count"] = 5
    path.write_text(json.dumps(document))
    assert read_triangles(path)[1].tolist() == expected
