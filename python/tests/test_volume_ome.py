"""OME-Zarr images: axes, scales, and pyramids made in one sweep."""

import json

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes import ome

zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")


def halved(x, factors):
    """Means of the voxels that each one covers, from their definition."""
    wide = x.astype("f8")
    for axis, factor in enumerate(factors):
        if factor == 2:
            n = wide.shape[axis]
            parts = [wide.take(range(i, min(i + 2, n)), axis).mean(axis) for i in range(0, n, 2)]
            wide = np.stack(parts, axis)
    return np.rint(wide).astype(x.dtype) if x.dtype.kind in "iu" else wide.astype(x.dtype)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("dtype", "shape", "limit"), [
    ("u2", (37, 50, 61), "100KiB"), ("f4", (20, 33, 64), "80KiB"), ("u1", (2, 3, 17, 40, 35), "60KiB"),
])  # fmt: skip
def test_levels_are_halves_of_the_one_above(tmp_path, zarr_format, dtype, shape, limit):
    x = np.random.default_rng(1).integers(0, 250, shape).astype(dtype)
    chunks = (1,) * (len(shape) - 3) + (8, 8, 8)
    report = v.save(
        tmp_path / "out.ome.zarr", x, chunks=chunks, levels="auto", spacing=(1,) * (len(shape) - 3) + (2, 0.5, 0.5),
        zarr_format=zarr_format, memory_limit=limit,
    )  # fmt: skip
    assert report["blocks"] > 1
    group = zarr.open_group(tmp_path / "out.ome.zarr", mode="r")
    level, expected = 0, x
    while str(level) in group:
        stored = group[str(level)][...]
        assert np.array_equal(stored, expected), level
        opened = v.open(tmp_path / "out.ome.zarr", level=level)
        assert np.array_equal(np.asarray(opened), expected)
        assert opened.axes == tuple("tczyx"[-len(shape) :])
        factors = [
            2 if n > c and d >= len(shape) - 3 else 1
            for d, (n, c) in enumerate(zip(expected.shape, chunks, strict=True))
        ]
        ratio = [a / b for a, b in zip(opened.spacing[-3:], (2, 0.5, 0.5), strict=True)]
        assert all(r in {1.0, 2.0, 4.0, 8.0} for r in ratio)
        level, expected = level + 1, halved(expected, factors)
    assert level >= 3


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "u8", "f2", "c8"])
def test_means_of_the_greatest_values_stay_what_they_are(tmp_path, dtype):
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    for value in (0, 1) if info is None else (info.min, info.max, info.max - 1):
        x = np.full((8, 8, 8), value, dtype)
        v.save(tmp_path / "a.zarr", x, levels=2, chunks=(4, 4, 4))
        assert np.array_equal(np.asarray(v.open(tmp_path / "a.zarr", level=1)), x[:4, :4, :4])


@pytest.mark.parametrize("room", [0, 1 << 30])
def test_the_order_of_blocks_and_room_change_nothing(room):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60000, (29, 40, 33), dtype="u2")
    chunks = (4, 8, 4)
    shapes = ome.level_shapes(x.shape, chunks, "zyx", "auto")
    results = []
    for _ in range(3):
        targets = [np.zeros(s, x.dtype) for s in shapes]
        pyramid = ome.Pyramid(targets, chunks, room)
        boxes = [
            (z, y, c) for z in range(0, 29, 4) for y in range(0, 40, 8) for c in range(0, 33, 12)
        ]
        for z, y, c in rng.permutation(boxes):
            box = (slice(z, min(z + 4, 29)), slice(y, y + 8), slice(c, min(c + 12, 33)))
            pyramid[box] = x[box]
        assert pyramid.used == 0
        results.append(targets)
    for level in range(len(shapes)):
        assert all(np.array_equal(results[0][level], r[level]) for r in results)
    assert np.array_equal(results[0][1], halved(x, [2, 2, 2]))


def test_metadata_are_those_of_ome(tmp_path):
    x = np.zeros((1, 2, 4, 30, 30), "u1")
    v.save(
        tmp_path / "a.ome.zarr", x, chunks=(1, 1, 4, 8, 8), levels=3, spacing=(1, 1, 2, 0.5, 0.25)
    )
    facts = json.loads((tmp_path / "a.ome.zarr" / "zarr.json").read_text())["attributes"]["ome"]
    assert facts["version"] == "0.5"
    image = facts["multiscales"][0]
    assert [a["type"] for a in image["axes"]] == ["time", "channel", "space", "space", "space"]
    scales = [d["coordinateTransformations"][0]["scale"] for d in image["datasets"]]
    assert scales == [[1, 1, 2, 0.5, 0.25], [1, 1, 4, 1, 0.5], [1, 1, 8, 2, 1]]
    # Axes go with a filter, and are written again.
    smooth = f.gaussian_filter(v.open(tmp_path / "a.ome.zarr"), (0, 0, 1, 1, 1))
    v.save(tmp_path / "b.ome.zarr", smooth, chunks=(1, 1, 4, 8, 8), levels=1)
    assert v.open(tmp_path / "b.ome.zarr").spacing == (1, 1, 2, 0.5, 0.25)
    with pytest.raises(ValueError, match="3 levels"):
        v.open(tmp_path / "a.ome.zarr", level=3)


def test_axes_go_where_the_voxels_go(tmp_path):
    x = np.arange(512, dtype="u2").reshape(8, 8, 8)
    v.save(tmp_path / "a.zarr", x, levels=1, spacing=(2, 0.5, 0.25), chunks=(8, 8, 8))
    s = v.open(tmp_path / "a.zarr")
    for made, axes, spacing in [
        (s.transpose(), "xyz", (0.25, 0.5, 2)),
        (np.moveaxis(s, 0, 1) + 1, "yzx", (0.5, 2, 0.25)),
        (s[:, ::-2, 3], "zy", (2, 1)),
        (np.pad(s[2:5], 1), "zyx", (2, 0.5, 0.25)),
        (s.max(axis=1), "zx", (2, 0.25)),
        (np.cumsum(s, axis=0), "zyx", (2, 0.5, 0.25)),
        (f.gaussian_filter(s, 1), "zyx", (2, 0.5, 0.25)),
    ]:
        assert (made.axes, made.spacing) == (tuple(axes), spacing)
    assert s[:, None].axes is None
    assert np.quantile(s[:3, :3, :3], [0, 0.5, 1], axis=0).axes is None
    v.save(tmp_path / "b.zarr", s.T, levels=1, chunks=(8, 8, 8))
    assert v.open(tmp_path / "b.zarr").axes == ("x", "y", "z")
    assert np.array_equal(np.asarray(v.open(tmp_path / "b.zarr")), x.T)


def test_a_pyramid_that_was_stopped_is_finished(tmp_path):
    x = np.random.default_rng(2).integers(0, 99, (32, 40, 40)).astype("u2")
    seen = []

    def stop(voxels, total, used):
        seen.append(voxels)
        if voxels > total // 3 and len(seen) < 4:
            raise KeyboardInterrupt

    options = {"chunks": (4, 8, 8), "levels": 3, "memory_limit": "120KiB", "resume": True}
    with pytest.raises(KeyboardInterrupt):
        v.save(tmp_path / "out.zarr", x, progress=stop, **options)
    v.save(tmp_path / "out.zarr", x, **options)
    v.save(tmp_path / "whole.zarr", x, **{**options, "resume": False})
    for level in range(3):
        a, b = (
            np.asarray(v.open(tmp_path / name, level=level)) for name in ("out.zarr", "whole.zarr")
        )
        assert np.array_equal(a, b)


def test_what_cannot_be_a_pyramid_says_why(tmp_path):
    x = np.zeros((20, 20, 20), "u1")
    with pytest.raises(ValueError, match="even number"):
        v.save(tmp_path / "a.zarr", x, chunks=(5, 8, 8), levels=2)
    with pytest.raises(ValueError, match="for zarr only"):
        v.save(tmp_path / "a.npy", x, levels=2)
    with pytest.raises(ValueError, match="axes"):
        v.save(tmp_path / "a.zarr", np.zeros((1,) * 6, "u1"), levels=2)


@pytest.mark.parametrize("change", [
    lambda image: image.pop("datasets"),
    lambda image: image.pop("axes"),
    lambda image: image["axes"][0].pop("name"),
    lambda image: image["datasets"][0].pop("path"),
    lambda image: image["datasets"][0].update(coordinateTransformations=None),
    lambda image: image["datasets"][0]["coordinateTransformations"][0].update(scale=[1, 2]),
])  # fmt: skip
def test_broken_metadata_of_images_are_told_with_a_way_around(tmp_path, change):
    x = np.arange(512, dtype="u2").reshape(8, 8, 8)
    v.save(tmp_path / "a.zarr", x, levels=1, chunks=(8, 8, 8))
    file = tmp_path / "a.zarr" / "zarr.json"
    meta = json.loads(file.read_text())
    change(meta["attributes"]["ome"]["multiscales"][0])
    file.write_text(json.dumps(meta))
    with pytest.raises(ValueError, match=r"a\.zarr.*image are broken.*dataset="):
        v.open(tmp_path / "a.zarr")
    assert np.array_equal(np.asarray(v.open(tmp_path / "a.zarr", dataset="0")), x)


@pytest.mark.parametrize(("axes", "shape", "chunks"), [
    ("zyx", (70, 100, 100), (64, 64, 64)), ("cyx", (3, 100, 100), (1, 64, 64)), ("qrs", (40, 40, 40), (3, 40, 40)),
    ("tzc", (100, 100, 3), (22, 64, 3)), ("ctq", (2, 3, 9000), (2, 3, 704)), ("tyx", (300, 8, 8), (64, 8, 8)),
    ("yx", (3, 9000), (3, 1408)), ("x", (9000,), (4096,)), ("zyx", (2, 3, 4), (2, 3, 4)),
])  # fmt: skip
def test_chunks_have_a_least_size_whatever_the_axes(tmp_path, axes, shape, chunks):
    x = np.arange(np.prod(shape)).reshape(shape) % 251
    v.save(tmp_path / "out.ome.zarr", x.astype("u1"), axes=axes)
    made = zarr.open_group(tmp_path / "out.ome.zarr", mode="r")["0"]
    assert made.chunks == chunks
    assert np.array_equal(made[...], x)
    v.save(tmp_path / "out.ome.zarr", x.astype("u1"), axes=axes, levels="auto")
    assert np.array_equal(np.asarray(v.open(tmp_path / "out.ome.zarr")), x)


@pytest.mark.parametrize(("words", "kind", "text"), [
    ({"spacing": (1, 2, "a")}, TypeError, "no list of numbers; give the distance"),
    ({"spacing": 3}, TypeError, "no list of numbers"), ({"spacing": "abc"}, TypeError, "no list of numbers"),
    ({"axes": 3}, TypeError, "are no names"), ({"axes": (1, 2, 3)}, TypeError, "are no names"),
    ({"units": 5}, ValueError, "give one for each"), ({"units": ("foo",) * 3}, ValueError, "no unit 'foo'; give units= with names such as micrometer"),
    ({"units": (None, None, 1)}, ValueError, "OME has no unit 1"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["a.ome.zarr", "a.ome.tif"])
def test_words_of_images_are_judged(tmp_path, name, words, kind, text):
    with pytest.raises(kind, match=text):
        v.save(tmp_path / name, np.zeros((2, 3, 4)), **words)
    assert not list(tmp_path.iterdir())


def test_symbols_of_units_are_known_by_their_names(tmp_path):
    v.save(tmp_path / "a.ome.zarr", np.zeros((2, 3, 4)), axes="tyx", units=["s", "µm", "um"])
    assert v.open(tmp_path / "a.ome.zarr").units == ("second", "micrometer", "micrometer")


def test_units_of_a_file_that_ome_does_not_know_are_handed_on(tmp_path):
    v.save(tmp_path / "a.ome.zarr", np.zeros((2, 3, 4)), units=("micrometer", None, "zettameter"))
    meta = tmp_path / "a.ome.zarr" / "zarr.json"
    meta.write_text(meta.read_text().replace("zettameter", "lightyear"))
    v.convert(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr")
    assert v.open(tmp_path / "b.ome.zarr").units == ("micrometer", None, "lightyear")


@pytest.mark.parametrize("level", ["1", 1.0, True, None])
def test_levels_are_whole_numbers(tmp_path, level):
    v.save(tmp_path / "a.ome.zarr", np.zeros((2, 3, 4)))
    with pytest.raises(TypeError, match="is no whole number; give that of a level"):
        v.open(tmp_path / "a.ome.zarr", level=level)
