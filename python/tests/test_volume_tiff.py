"""Axes, spacing and units of TIFF files: read, written, and handed on to OME-Zarr."""

import json
import pickle

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v

tifffile = pytest.importorskip("tifffile")
pytestmark = pytest.mark.filterwarnings("ignore")


def facts(volume):
    return "".join(volume.axes), volume.spacing, volume.units


def stored(path):
    with tifffile.TiffFile(path) as file:
        return file.series[0].get_axes(squeeze=True), file.ome_metadata


def test_channels_of_ome_are_not_averaged(tmp_path):
    pytest.importorskip("zarr")
    x = np.zeros((4, 32, 48), "u2")
    x[0] = 1000
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as file:
        file.write(x, metadata={"axes": "CYX"})
    v.convert(tmp_path / "a.ome.tif", tmp_path / "a.ome.zarr", levels=2)
    small = v.open(tmp_path / "a.ome.zarr", level=1)
    assert (small.shape, small.axes) == ((4, 16, 24), ("c", "y", "x"))
    assert np.asarray(small).max(axis=(1, 2)).tolist() == [1000, 0, 0, 0]


@pytest.mark.parametrize("planar", [False, True])
def test_colours_are_channels(tmp_path, planar):
    pytest.importorskip("zarr")
    x = np.random.default_rng(0).integers(0, 255, (40, 60, 3), "u1")
    stored_as = np.moveaxis(x, 2, 0) if planar else x
    plan = {"planarconfig": "separate" if planar else "contig"}
    tifffile.imwrite(tmp_path / "a.tif", stored_as, photometric="rgb", **plan)
    v.convert(tmp_path / "a.tif", tmp_path / "a.ome.zarr", levels=2)
    small = v.open(tmp_path / "a.ome.zarr", level=1)
    assert small.axes == tuple("cyx" if planar else "yxc")
    assert small.shape == ((3, 20, 30) if planar else (20, 30, 3))
    v.convert(tmp_path / "a.tif", tmp_path / "b.ome.tif")
    assert v.open(tmp_path / "b.ome.tif").axes == small.axes
    assert stored(tmp_path / "b.ome.tif")[0] == ("CYX" if planar else "YXS")
    assert np.array_equal(tifffile.imread(tmp_path / "b.ome.tif"), stored_as)


def test_spacing_and_units_of_ome(tmp_path):
    words = {"axes": "ZCYX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "nm", "PhysicalSizeZ": 2}
    tifffile.imwrite(tmp_path / "a.ome.tif", np.zeros((3, 2, 8, 9), "u1"), ome=True, metadata=words)
    expected = "zcyx", (2, 1, 1, 0.5), ("micrometer", None, None, "nanometer")
    opened = v.open(tmp_path / "a.ome.tif")
    assert facts(opened) == expected
    v.save(tmp_path / "b.ome.tif", f.gaussian_filter(opened, (1, 0, 1, 1)))
    assert facts(v.open(tmp_path / "b.ome.tif")) == expected
    letters, told = stored(tmp_path / "b.ome.tif")
    assert letters == "ZCYX"
    assert 'PhysicalSizeX="0.5" PhysicalSizeXUnit="nm"' in told


def test_spacing_and_units_of_levels(tmp_path):
    x = np.zeros((2, 32, 48), "u2")
    words = {"axes": "CYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.25}
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as file:
        file.write(x, subifds=1, tile=(16, 16), metadata=words)
        file.write(x[:, ::2, ::2], subfiletype=1, tile=(16, 16))
    assert v.open(tmp_path / "a.ome.tif").spacing == (1, 0.25, 0.5)
    assert v.open(tmp_path / "a.ome.tif", level=1).spacing == (1, 0.5, 1)


@pytest.mark.parametrize("unit", ["um", "micron", "\\u00B5m", "micrometer"])
def test_spacing_and_units_of_imagej(tmp_path, unit):
    pytest.importorskip("zarr")
    words = {"axes": "TZCYX", "spacing": 3.5, "unit": unit, "finterval": 0.1}
    x = np.zeros((2, 3, 4, 20, 30), "u2")
    tifffile.imwrite(tmp_path / "a.tif", x, imagej=True, resolution=(4, 2), metadata=words)
    v.convert(tmp_path / "a.tif", tmp_path / "a.ome.zarr")
    for name in ("a.tif", "a.ome.zarr"):
        axes, spacing, units = facts(v.open(tmp_path / name))
        assert (axes, spacing) == ("tzcyx", (0.1, 3.5, 1, 0.5, 0.25))
        assert units == ("second", "micrometer", None, "micrometer", "micrometer")


def test_pixels_are_no_unit(tmp_path):
    x = np.zeros((3, 20, 30), "u2")
    tifffile.imwrite(tmp_path / "a.tif", x, imagej=True, metadata={"axes": "ZYX", "unit": "pixel"})
    assert facts(v.open(tmp_path / "a.tif")) == ("zyx", (1, 1, 1), (None,) * 3)


@pytest.mark.parametrize(
    ("letters", "axes"), [("QYX", "zyx"), ("IYX", "zyx"), ("QQYX", "czyx"), ("AYX", "ayx"), ("PCYX", "pcyx")]
)  # fmt: skip
def test_letters_without_a_name_of_ours(tmp_path, letters, axes):
    pytest.importorskip("zarr")
    x = np.zeros((4, 2, 8, 8)[-len(letters) :], "u1")
    tifffile.imwrite(tmp_path / "a.tif", x, photometric="minisblack", metadata={"axes": letters})
    assert v.open(tmp_path / "a.tif").axes == tuple(axes)
    v.convert(tmp_path / "a.tif", tmp_path / "a.zarr", levels=2)
    halved = [n // 2 if name in "zyx" else n for n, name in zip(x.shape, axes, strict=True)]
    assert v.open(tmp_path / "a.zarr", level=1).shape == tuple(halved)


@pytest.mark.parametrize("shape", [(1, 6, 8), (3, 1, 8), (1, 1, 1), (5, 6, 3)])
def test_axes_of_a_file_of_ours_come_back(tmp_path, shape):
    x = np.arange(np.prod(shape), dtype="u2").reshape(shape)
    for axes in ("cyx", "tyx", "yxc"):
        v.save(tmp_path / "a.ome.tif", x, axes=axes, spacing=(2, 3, 4))
        back = v.open(tmp_path / "a.ome.tif")
        sizes = tuple(1.0 if name == "c" else s for name, s in zip(axes, (2, 3, 4), strict=True))
        assert facts(back)[:2] == (axes, sizes)
        assert np.array_equal(np.asarray(back), x)
        v.save(tmp_path / "b.tif", back)
        assert v.open(tmp_path / "b.tif").shape == shape


def test_axes_that_are_given_win(tmp_path):
    zarr = pytest.importorskip("zarr")
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((3, 8, 8), "u1"), photometric="minisblack", metadata={"axes": "CYX"})  # fmt: skip
    given = {"axes": "tyx", "spacing": (1, 2, 3), "units": ("second", "micrometer", None)}
    v.convert(tmp_path / "a.tif", tmp_path / "a.ome.zarr", **given)
    assert facts(v.open(tmp_path / "a.ome.zarr")) == ("tyx", (1, 2, 3), given["units"])
    assert "0" in zarr.open_group(tmp_path / "a.ome.zarr", mode="r")
    with pytest.raises(ValueError, match=r"units 'mm' for 3 axes; give one for each"):
        v.convert(tmp_path / "a.tif", tmp_path / "a.ome.zarr", units="mm")


def test_an_image_of_ome_without_levels_has_one(tmp_path):
    pytest.importorskip("zarr")
    x = np.arange(60, dtype="u1").reshape(3, 4, 5)
    v.save(tmp_path / "a.ome.zarr", x)
    attributes = json.loads((tmp_path / "a.ome.zarr" / "zarr.json").read_text())["attributes"]
    (image,) = attributes["ome"]["multiscales"]
    assert [d["path"] for d in image["datasets"]] == ["0"]
    assert [a["name"] for a in image["axes"]] == ["z", "y", "x"]
    assert np.array_equal(np.asarray(v.open(tmp_path / "a.ome.zarr")), x)


@pytest.mark.parametrize(
    ("name", "axes", "words", "text"),
    [
        ("a.ome.tif", "xyz", {}, r"a\.ome\.tif: axes \('x', 'y', 'z'\).*transpose the volume"),
        ("a.ome.tif", "ayx", {}, "no place in OME's TIFF"),
        ("a.ome.tif", "zyx", {"units": ("ell", None, None)}, r"a\.ome\.tif: .*no unit 'ell'.*units="),
        ("a.tif", None, {"spacing": (1, 1, 1)}, r"spacing= is written for images of OME; .*\.ome\.tif"),
        ("a.zarr", None, {"units": ("nanometer",) * 3}, "units= is written for images of OME; give levels=1"),
    ],
)  # fmt: skip
def test_what_an_image_cannot_say_is_told(tmp_path, name, axes, words, text):
    pytest.importorskip("zarr")
    words = words if axes is None else {"axes": axes, **words}
    with pytest.raises(ValueError, match=text):
        v.save(tmp_path / name, np.zeros((3, 8, 9), "u1"), **words)
    assert not list(tmp_path.iterdir())


SERIES = [
    (np.arange(30 * 40, dtype="u2").reshape(30, 40), "YX", "cells", 2),
    (np.arange(3 * 8 * 9, dtype="f4").reshape(3, 8, 9), "ZYX", "beads", 3),
    (np.arange(3 * 8 * 9, dtype="u1").reshape(3, 8, 9), "ZYX", "beads", 4),
]


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif"])
def test_a_file_with_several_series_asks_which_one(tmp_path, name, compression):
    ome = ".ome" in name
    with tifffile.TiffWriter(tmp_path / name, ome=ome) as file:
        for x, axes, called, size in SERIES:
            words = {"axes": axes, **({"Name": called, "PhysicalSizeX": size} if ome else {})}
            file.write(x, metadata=words, compression=compression, photometric="minisblack")
    with pytest.raises(ValueError, match=r"1.* of shape \(3, 8, 9\), 2.*; say which one with dat"):
        v.open(tmp_path / name)
    for number, (x, axes, _, size) in enumerate(SERIES):
        opened = v.open(tmp_path / name, dataset=number)
        assert np.array_equal(np.asarray(opened), x)
        assert np.array_equal(np.asarray(v.open(tmp_path / name, dataset=str(number))), x)
        if ome:
            assert (opened.axes, opened.spacing[-1]) == (tuple(axes.lower()), size)
    with pytest.raises(ValueError, match="has no series 'beads'; it holds 0 "):
        v.open(tmp_path / name, dataset="beads")
    with pytest.raises(ValueError, match="has no series '3'; it holds 0 "):
        v.open(tmp_path / name, dataset=3)
    if ome:
        assert v.open(tmp_path / name, dataset="cells").shape == (30, 40)
    copy = pickle.loads(pickle.dumps(v.open(tmp_path / name, dataset=1)))
    assert np.array_equal(np.asarray(copy), SERIES[1][0])


def test_small_pictures_are_no_series(tmp_path):
    x = SERIES[0][0]
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(x, metadata=None)
        file.write(x[::2, ::2], metadata=None, subfiletype=1)
    assert np.array_equal(np.asarray(v.open(tmp_path / "a.tif")), x)
    assert np.array_equal(np.asarray(v.open(tmp_path / "a.tif", level=1)), x[::2, ::2])
