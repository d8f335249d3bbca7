"""From scenes to arrays: masses, bounds, sources, keyframes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from PIL import Image
from scene_texts import LETTER, VOLUME, letter, volume, write_scene

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb import VdbGrid, cell_transform, write_vdb
from keyfluid.scenes import load_scene, preview
from keyfluid.scenes.build.problem import build
from keyfluid.shapes import rearrangement_bound


def start_mass(problem, field="density"):
    return problem.densities[field].array.sum(dtype=np.float64) * problem.grid.cell_volume


def mass(problem, values):
    return values.sum(dtype=np.float64) * problem.grid.cell_volume


def center_of(problem, values):
    axes = problem.grid.coordinates((False,) * problem.grid.dim)
    return np.array([float((values * x).sum() / values.sum()) for x in axes])


@pytest.fixture
def files(tmp_path):
    """A picture with shades and a closed mesh."""
    pixels = np.zeros((40, 60), np.uint8)
    pixels[5:35, 10:20] = 255
    pixels[5:12, 10:50] = 180
    Image.fromarray(pixels).save(tmp_path / "gamma.png")
    trimesh.creation.annulus(0.1, 0.25, 0.2).export(tmp_path / "tube.ply")
    return tmp_path


FLAT = {"text": 'text = "Fi"', "shape": 'shape = "star"', "image": 'image = "gamma.png"'}
DEEP = FLAT | {"mesh": 'mesh = "tube.ply"\nrotation = [30.0, 0.0, 10.0]'}


@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.parametrize("rotation", [0, 25])
def test_resize_gives_the_smokes_mass_in_2d(kind, rotation, files):
    text = LETTER.replace('text = "F"', f"{FLAT[kind]}\nrotation = {rotation}")
    problem = build(load_scene(write_scene(files, text)))
    (key,) = problem.keyframes
    assert mass(problem, key.target) == pytest.approx(start_mass(problem), rel=1e-3)
    assert start_mass(problem) == pytest.approx(2.0 * np.pi * 0.15**2, rel=1e-3)
    assert key.mass == pytest.approx(start_mass(problem), rel=1e-4)
    assert key.target.max() == pytest.approx(2.0, rel=0.02)
    assert (key.frame, key.field, key.target.dtype) == (40, "density", np.float32)


@pytest.mark.parametrize("kind", DEEP)
def test_resize_gives_the_smokes_mass_in_3d(kind, files):
    text = VOLUME + f"[[keyframe]]\nframe = 3\n{DEEP[kind]}\n"
    problem = build(load_scene(write_scene(files, text)))
    (key,) = problem.keyframes
    assert mass(problem, key.target) == pytest.approx(start_mass(problem), rel=1e-3)
    assert start_mass(problem) == pytest.approx(4 / 3 * np.pi * 0.2**3, rel=2e-3)


def test_match_scales_density_and_keep_changes_nothing():
    kept = build(letter("keyframe[0].mass=keep")).keyframes[0]
    matched = build(letter("keyframe[0].mass=match")).keyframes[0]
    problem = build(letter())
    assert mass(problem, matched.target) == pytest.approx(start_mass(problem), rel=1e-5)
    assert kept.target.max() == pytest.approx(2.0)
    assert mass(problem, kept.target) != pytest.approx(start_mass(problem), rel=0.1)
    np.testing.assert_allclose(
        matched.target / matched.target.max(), kept.target / kept.target.max(), rtol=1e-5, atol=1e-6
    )


def test_first_key_sizes_the_start_instead():
    problem = build(letter("smoke.initial.mass=first-key", "keyframe[0].mass=resize"))
    kept = build(letter("keyframe[0].mass=keep")).keyframes[0]
    np.testing.assert_array_equal(problem.keyframes[0].target, kept.target)
    assert start_mass(problem) == pytest.approx(problem.keyframes[0].mass, rel=1e-3)
    np.testing.assert_allclose(center_of(problem, problem.densities["density"].array), [0.4, 0.35], atol=1e-4)


def test_a_number_as_mass():
    assert start_mass(build(letter("smoke.initial.mass=0.08"))) == pytest.approx(0.08, rel=1e-4)


def test_emissions_are_counted():
    source = "source=[{shape='box',size=[0.2,0.1],center=[0.5,0.6],rate=3.0,start=12,stop=36}]"
    problem = build(letter(source, "keyframe[0].frame=24"))
    emitted = 3.0 * 0.2 * 0.1 * 12 / 24
    assert problem.keyframes[0].mass == pytest.approx(start_mass(problem) + emitted, rel=1e-3)
    (emission,) = problem.sources
    assert (emission.rate, emission.density, emission.start, emission.stop) == (3.0, None, 12, 36)
    assert mass(problem, emission.mask) == pytest.approx(0.02, rel=1e-3)
    later = build(letter(source))
    assert later.keyframes[0].mass == pytest.approx(start_mass(problem) + 2 * emitted, rel=1e-3)
    first = build(letter(source, "smoke.initial.mass=first-key"))
    assert start_mass(first) + 2 * emitted == pytest.approx(first.keyframes[0].mass, rel=1e-3)


def test_held_regions_that_overlap_count_once():
    """A source that moves is one for each frame: what they have in common is there once."""
    moving = [f"{{shape='box',size=0.2,center=[{0.4 + 0.05 * n},0.6],start={n},stop={n + 1}}}" for n in range(4)]
    apart = build(letter("smoke.initial.density=1", f"source=[{moving[0]}]", "keyframe[0].frame=24"))
    union = build(letter("smoke.initial.density=1", f"source=[{','.join(moving)}]", "keyframe[0].frame=24"))
    one = apart.keyframes[0].mass - start_mass(apart)
    assert one == pytest.approx(0.2 * 0.2, rel=0.05)
    assert union.keyframes[0].mass - start_mass(union) == pytest.approx(0.2 * (0.2 + 3 * 0.05), rel=0.05)


def test_held_density_is_estimated_by_its_wind_and_says_so():
    source = "source=[{shape='box',size=[0.25,0.125],center=[0.5,0.5],density=2.0,velocity=[0.0,-0.4]}]"
    problem = build(letter("smoke.initial=[]", source, "keyframe[0].frame=12"))
    content, carried = 0.25 * 0.125, 0.4 * 0.25 * 0.5
    assert problem.keyframes[0].mass == pytest.approx(2.0 * (content + carried), rel=1e-3)
    assert any("estimated" in line for line in problem.warnings)
    assert problem.sources[0].velocity == (0.0, -0.4)
    shares, held = problem.sources[0].wind(problem.grid)
    assert shares.component(1)[24, 24] == 1
    assert shares.component(1)[:, 21].sum() == pytest.approx(0.5 * 12)
    assert (held.component(0).max(), held.component(1).max()) == (0, np.float32(-0.4))


def test_bound_worked_by_hand():
    """A start of 24 full cells at 2, a kept target of 6 x 6 full cells at 2: 12 cells differ."""
    cell = 1 / 48
    box = f"shape='box',size=[{6 * cell},{4 * cell}],center=[{11 * cell},{12 * cell}]"
    start = f"smoke.initial={{{box},density=2.0}}"
    key = f"keyframe=[{{frame=9,shape='box',size={6 * cell},center=[{21 * cell},{15 * cell}],mass='keep'}}]"
    problem = build(letter(start, key))
    assert np.count_nonzero(problem.densities["density"].array > 1.999) == 24
    assert problem.keyframes[0].bound == pytest.approx(np.sqrt(12 / 36), rel=1e-5)
    assert any("below 0.58" in line and "resize" in line for line in problem.warnings)
    # Half of the target comes from a source: 12 cells more, and the bound is gone.
    source = f"source=[{{shape='box',size={cell * 2},center=[{cell * 41},{cell * 31}],rate=16.0,start=0,stop=9}}]"
    fed = build(letter(start, key, source)).keyframes[0]
    assert fed.bound == pytest.approx(0.0, abs=1e-4)


def test_bound_is_that_of_the_arrays_and_absent_with_a_mask():
    problem = build(letter())
    key = problem.keyframes[0]
    start = problem.densities["density"].array
    assert key.bound == pytest.approx(rearrangement_bound(start, key.target), rel=1e-4)
    masked = build(letter("keyframe[0].mask={shape='box',size=[0.5,1.5],center=[0.0,0.375],outside=true}")).keyframes[0]
    assert masked.bound is None
    assert masked.mask[:12].max() == 0
    assert masked.mask[12:].min() == 1


def test_thin_text_is_warned_of_with_a_resolution_that_does():
    problem = build(letter("keyframe[0].text=FLUID", "domain.size=[1.0,1.0]"))
    (line,) = [line for line in problem.warnings if "strokes" in line]
    assert line.startswith("keyframe[0].text:")
    need = int(line.split("domain.resolution = ")[1].split()[0].rstrip(","))
    better = letter("keyframe[0].text=FLUID", "domain.size=[1.0,1.0]", f"domain.resolution={need + 2}")
    assert not any("strokes" in line for line in build(better).warnings)


@pytest.mark.parametrize("make", [letter, lambda: volume("keyframe=[{frame=4,text='K',depth=0.2}]")])
def test_a_preview_keeps_its_meaning(make):
    fine = make()
    coarse = build(preview(fine, 24))
    fine = build(fine)
    assert coarse.grid.size == pytest.approx(fine.grid.size, rel=0.03)
    assert start_mass(coarse) == pytest.approx(start_mass(fine), rel=0.02)
    assert coarse.keyframes[0].mass == pytest.approx(fine.keyframes[0].mass, rel=0.02)
    for get in (lambda p: p.densities["density"].array, lambda p: p.keyframes[0].target):
        np.testing.assert_allclose(center_of(coarse, get(coarse)), center_of(fine, get(fine)), atol=0.01)


def test_time_steps_and_engine_options():
    problem = build(letter("time.steps_per_frame=3", "simulation.precision=float64", "smoke.buoyancy=0.5"))
    assert (problem.steps_per_frame, problem.dtype) == (3, np.float64)
    assert (problem.fluid.buoyancy, problem.up, problem.frames, problem.fps) == (0.5, 1, 40, 24)
    assert problem.densities["density"].dtype == problem.velocity.dtype == np.float64
    auto = build(letter("time.steps_per_frame=auto", "simulation.cfl=2.5"))
    assert (auto.steps_per_frame, auto.cfl) == (None, 2.5)
    assert auto.memory_estimate_bytes > 48 * 36 * 4 * 10


def test_initial_velocity_fills_the_start():
    problem = build(letter("smoke.initial.velocity=[0.5,-2.0]"))
    u, v = problem.velocity.components()
    assert (u[19, 16], v[19, 17]) == (0.5, -2.0)
    assert (u[40, 30], v[40, 30]) == (0, 0)
    assert mass(problem, v) == pytest.approx(-2.0 * np.pi * 0.15**2, rel=2e-3)
    wall = build(letter("smoke.initial.velocity=[0.5,-2.0]", "smoke.initial.center=[0.4,0.0]"))
    assert wall.velocity.component(1)[:, 0].max() == wall.velocity.component(1)[:, 0].min() == 0


def test_fields_have_their_own_smoke_targets_and_colours():
    problem = build(
        letter(
            "smoke.field=[{name='a',colour='orange'},{name='b',colour=[0.0,0.5,1.0]}]",
            "smoke.initial=[{shape='disk',radius=0.1,center=[0.2,0.3]},{field='b',shape='box',size=0.3,density=3.0}]",
            "keyframe=[{frame=9,field='b',text='B'},{frame=9,text='A'},{frame=3,text='I'}]",
        )
    )
    assert list(problem.densities) == ["a", "b"]
    assert problem.peaks == {"a": 1.0, "b": 3.0}
    assert problem.colours == {"a": "orange", "b": (0.0, 0.5, 1.0)}
    assert [(k.frame, k.field, k.path) for k in problem.keyframes] == [
        (3, "a", "keyframe[2]"),
        (9, "b", "keyframe[0]"),
        (9, "a", "keyframe[1]"),
    ]
    masses = [k.mass for k in problem.keyframes]
    assert masses == pytest.approx([np.pi * 0.01, 0.27, np.pi * 0.01], rel=2e-3)


def test_a_sequence_gives_a_keyframe_per_frame(tmp_path):
    for k in range(3):
        body = trimesh.creation.box((0.3, 0.3, 0.3))
        body.apply_translation((0.1 * k, 0.0, 0.0))
        body.export(tmp_path / f"walk.{k + 1:03d}.obj")
    text = VOLUME + '[[keyframe]]\nframe = 1\nuntil = 3\nmesh = "walk.###.obj"\nmesh_fps = 24\nhold = 2\n'
    problem = build(load_scene(write_scene(tmp_path, text)))
    assert [(key.frame, key.hold) for key in problem.keyframes] == [(1, 0), (2, 0), (3, 2)]
    x = [center_of(problem, key.target)[0] for key in problem.keyframes]
    step = 0.1 * (problem.keyframes[0].mass / 0.3**3) ** (1 / 3)
    assert np.diff(x) == pytest.approx([step, 0.0], abs=3e-3)
    assert problem.keyframes[0].mass == pytest.approx(start_mass(problem), rel=1e-3)


def test_vdb_stands_where_its_transform_says(tmp_path):
    values = np.zeros((8, 6, 5), np.float32)
    values[1:7, 2:5, 1:4] = np.linspace(0.5, 2.0, 6)[:, None, None]
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", values, transform=cell_transform(0.05, (0.3, 0.4, 0.25)))])
    text = VOLUME + '[[keyframe]]\nframe = 3\nvdb = "a.vdb"\nmass = "keep"\n'
    problem = build(load_scene(write_scene(tmp_path, text)))
    target = problem.keyframes[0].target
    assert mass(problem, target) == pytest.approx(values.sum(dtype=float) * 0.05**3, rel=1e-5)
    weights = values.sum(axis=(1, 2))
    x = 0.3 + 0.05 * ((np.arange(8) + 0.5) * weights).sum() / weights.sum()
    np.testing.assert_allclose(center_of(problem, target), [x, 0.4 + 0.05 * 3.5, 0.25 + 0.05 * 2.5], atol=3e-3)
    resized = build(load_scene(write_scene(tmp_path, text.replace("keep", "resize"))))
    assert resized.keyframes[0].mass == pytest.approx(start_mass(resized), rel=1e-3)
    matched = build(load_scene(write_scene(tmp_path, text.replace('mass = "keep"', ""))))
    assert matched.keyframes[0].mass == pytest.approx(start_mass(matched), rel=1e-5)


def test_vdb_level_set_and_stretched_voxels(tmp_path):
    index = np.stack(np.meshgrid(*[np.arange(24)] * 3, indexing="ij"), -1)
    transform = cell_transform(0.03, (0.1, 0.2, 0.1))
    distance = np.linalg.norm((index + 0.5) * 0.03 - 0.36, axis=-1) - 0.25
    band = np.clip(distance, -0.09, 0.09).astype(np.float32)
    ball = VdbGrid("surface", band, transform=transform, grid_class="level set", background=0.09)
    write_vdb(tmp_path / "ball.vdb", [ball])
    text = VOLUME + '[[keyframe]]\nframe = 3\nvdb = "ball.vdb"\nmass = "keep"\n'
    problem = build(load_scene(write_scene(tmp_path, text)))
    assert problem.keyframes[0].mass == pytest.approx(4 / 3 * np.pi * 0.25**3, rel=5e-3)
    np.testing.assert_allclose(center_of(problem, problem.keyframes[0].target), [0.46, 0.56, 0.46], atol=1e-3)
    stretched = np.diag([0.06, 0.04, 0.04, 1.0])
    stretched[:3, 3] = 0.4
    write_vdb(tmp_path / "long.vdb", [VdbGrid("smoke", np.ones((3, 2, 2), np.float32), transform=stretched)])
    problem = build(load_scene(write_scene(tmp_path, text.replace("ball", "long"))))
    assert problem.keyframes[0].mass == pytest.approx(3 * 2 * 2 * 0.06 * 0.04 * 0.04, rel=1e-5)
    np.testing.assert_allclose(center_of(problem, problem.keyframes[0].target), [0.46, 0.42, 0.42], atol=3e-3)


def test_2d_reads_a_vdb_slab(tmp_path):
    values = np.arange(24, dtype=np.float32).reshape(6, 4, 1)
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", values, transform=cell_transform(1 / 16, (0.25, 0.25, 0)))])
    text = LETTER.replace('text = "F"\nfit = 0.6', 'vdb = "a.vdb"\nmass = "keep"')
    target = build(load_scene(write_scene(tmp_path, text))).keyframes[0].target
    np.testing.assert_allclose(target[13:30:3, 13:24:3], values[..., 0], atol=1e-5)


def test_npy_start_keeps_its_values(tmp_path):
    values = np.random.default_rng(3).random((48, 36)) * 4
    np.save(tmp_path / "a.npy", values)
    text = LETTER.replace('shape = "disk", center = [0.4, 0.35], radius = 0.15, density = 2.0', 'npy = "a.npy"')
    problem = build(load_scene(write_scene(tmp_path, text), ["keyframe[0].mass=match"]))
    np.testing.assert_allclose(problem.densities["density"].array, values, rtol=1e-6)
    assert problem.peaks["density"] == pytest.approx(values.max())


def test_up_is_where_upright_things_point():
    def extent(target):
        return [np.ptp(np.flatnonzero(target.sum(axis=tuple({0, 1, 2} - {a})) > 0.5)) for a in range(3)]

    for up, tall, deep in (("y", 1, 2), ("z", 2, 1)):
        base = [f"domain.up={up}", "domain.size=[1,1,1]"]
        text = build(volume(*base, "keyframe=[{frame=4,text='l',depth=0.3,mass='keep',fit=0.8}]")).keyframes[0]
        cone = build(volume(*base, "keyframe=[{frame=4,shape='cone',radius=0.1,height=0.7,mass='keep'}]")).keyframes[0]
        assert extent(text.target)[tall] > 1.5 * max(extent(text.target)[0], extent(text.target)[deep])
        assert extent(cone.target)[tall] > 2 * extent(cone.target)[0]
        weight = np.moveaxis(cone.target, tall, 0).sum(axis=(1, 2))
        assert weight[:15].sum() > 2 * weight[15:].sum()


def test_smoke_is_cut_by_obstacles_and_targets_are_warned_of():
    problem = build(letter("obstacle=[{shape='disk',radius=0.08,center=[0.4,0.35]}]", "keyframe[0].center=[0.4,0.35]"))
    solid = problem.solids(0.0).solid
    assert problem.densities["density"].array[solid].max() == 0
    assert start_mass(problem) == pytest.approx(2 * np.pi * (0.15**2 - 0.08**2), rel=0.05)
    assert problem.keyframes[0].mass == pytest.approx(start_mass(problem), rel=1e-3)
    assert [line.split(":")[0] for line in problem.warnings if "obstacle" in line] == [
        "smoke.initial",
        "keyframe[0]",
    ]


def test_it_tells_what_it_draws():
    text = """
smoke.initial = [{ shape = "disk", center = [0.3, 0.5] }, { shape = "disk", center = [0.7, 0.5] }]
domain.resolution = 32
source = [{ shape = "disk", radius = 0.05, rate = 1.0 }]
obstacle = [{ shape = "disk", radius = 0.05, center = [0.5, 0.9] }]
keyframe = [{ shape = "box", frame = 2, until = 4 }, { shape = "disk", frame = 9 }]
"""
    told = []
    build(load_scene(text), lambda *words: told.append(words))
    assert [number for what, number, count in told if what == "drawing keyframe" and count == 4] == [1, 2, 3, 4]
    kinds = {what: count for what, _, count in told}
    assert kinds == {
        "reading obstacle": 1, "drawing source": 1, "reading start": 2, "reading keyframe": 2, "drawing keyframe": 4,
    }  # fmt: skip


def test_density_times_the_file_stays_within_float32(tmp_path):
    np.save(tmp_path / "a.npy", np.full((4, 4), 1e8))
    text = '[domain]\nresolution = 8\n[smoke]\ninitial = { npy = "a.npy", density = %s }\n'
    (tmp_path / "s.toml").write_text(text % "1e4")
    assert build(load_scene(tmp_path / "s.toml")).densities["density"].array.max() == np.float32(1e12)
    (tmp_path / "s.toml").write_text(text % "1.1e4")
    with pytest.raises(KeyfluidError, match=r"smoke\.initial\.density: 11000 times .* 1e\+08, is more than 1e\+12"):
        build(load_scene(tmp_path / "s.toml"))
