"""Filters on devices. The tests need an OpenCL driver, such as Debian's ``pocl-opencl-icd``."""

import numpy as np
import pytest

from arrayloom import _cli, filters, volumes
from arrayloom._volumes.compute import compute
from arrayloom.errors import BudgetError, SettingError

RNG = np.random.default_rng(5)
IMAGE = RNG.normal(100, 30, (40, 50, 61)).astype(np.float32)

CROSS = np.zeros((3, 3, 3), bool)
CROSS[1, 1] = CROSS[1, :, 1] = CROSS[:, 1, 1] = True
WEIGHTS = RNG.normal(0, 1, (3, 3, 3))

FILTERS = {
    "gaussian": lambda x: filters.gaussian_filter(x, (2, 1, 3)),
    "derivative": lambda x: filters.gaussian_filter(x, 1, order=1, mode="constant", cval=7),
    "laplace": lambda x: filters.gaussian_laplace(x, 1.5, mode="renormalize"),
    "mean": lambda x: filters.uniform_filter(x, (3, 5, 4), mode="mirror"),
    "long mean": lambda x: filters.uniform_filter(x, (1, 49, 64), mode="renormalize"),
    "long variance": lambda x: filters.var_filter(x, (1, 30, 49), mode="wrap"),
    "footprint mean": lambda x: filters.mean_filter(x, footprint=CROSS, mode="wrap"),
    "footprint deviation": lambda x: filters.std_filter(x, footprint=CROSS, mode="renormalize"),
    "gradient": lambda x: filters.morphological_gradient(x, (3, 5, 7), mode="constant", cval=80),
    "least": lambda x: filters.minimum_filter(x, (3, 5, 4), mode="nearest"),
    "greatest": lambda x: filters.maximum_filter(x, 7, mode="wrap"),
    "sobel": lambda x: filters.sobel(x, 1),
    "opening": lambda x: filters.grey_opening(x, (3, 3, 3)),
    "ball": lambda x: filters.maximum_filter(x, footprint=filters.ball(2), mode="mirror"),
    "clipped": lambda x: filters.minimum_filter(x, footprint=CROSS, mode="renormalize"),
    "median": lambda x: filters.median_filter(x, 3),
    "large median": lambda x: filters.median_filter(x, (5, 4, 3), mode="renormalize"),
    "rank": lambda x: filters.rank_filter(x, 3, footprint=CROSS, mode="constant", cval=90),
    "percentile": lambda x: filters.percentile_filter(x, 20, (1, 5, 5), mode="wrap"),
    "weights": lambda x: filters.correlate(x, WEIGHTS, mode="constant", cval=5.5),
    "deviation": lambda x: filters.std_filter(x, (3, 5, 4), mode="mirror"),
    "clipped variance": lambda x: filters.var_filter(x, 5, mode="renormalize"),
    "variation": lambda x: filters.cv_filter(x, 3, mode="constant", cval=2.5),
    "wiener": lambda x: filters.wiener_filter(x, 3, noise=300.0),
    "bilateral": lambda x: filters.bilateral_filter(x, 25.0, 0.7, mode="renormalize"),
    "bilateral beside a constant": lambda x: filters.bilateral_filter(
        x, 9.0, 1.0, 3, mode="constant", cval=80
    ),
    "entropy": lambda x: filters.entropy_filter(x, 3, bins=40, range=(20, 180)),
    "clipped entropy": lambda x: filters.entropy_filter(x, (1, 5, 4), mode="renormalize"),
    "diffusion": lambda x: filters.anisotropic_diffusion(x, 2, 20.0),
    "rational diffusion": lambda x: filters.anisotropic_diffusion(
        x, 1, 9.0, option=2, mode="constant", cval=80
    ),
    "patches": lambda x: filters.nl_means(x, 20.0, search=1, patch=1),
    "clipped patches": lambda x: filters.nl_means(
        x, 20.0, search=(0, 2, 1), patch=(1, 0, 2), mode="renormalize"
    ),
    "patches beside a constant": lambda x: filters.nl_means(
        x, 30.0, search=(1, 0, 1), patch=1, mode="constant", cval=80
    ),
    "odd weights": lambda x: filters.convolve(x, WEIGHTS - WEIGHTS[::-1, ::-1, ::-1]),
}
DTYPES = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("devices", ["opencl:0", "opencl:0=2MiB", ["opencl:0", "cpu"]])
def test_filters_have_the_bits_of_the_cpu(tmp_path, name, devices):
    expected = FILTERS[name](IMAGE)
    target = tmp_path / "out.npy"
    expr = FILTERS[name](volumes.open(IMAGE))
    report = volumes.save(target, expr, devices=devices, memory_limit="8MiB")
    assert np.array_equal(np.load(target), expected)
    assert report["left_to_cpu"] == {}
    if "cpu" not in devices:
        assert report["on_devices"] == report["blocks"] > 1


@pytest.mark.parametrize("letter", DTYPES)
def test_every_dtype_has_the_bits_of_the_cpu(letter):
    x = IMAGE > 100 if letter == "?" else (IMAGE[:20] - 50).clip(0, 255).astype(letter)
    names = ("gaussian", "mean", "footprint mean", "greatest", "gradient", "median", "rank")
    both = (*names, "bilateral", "entropy")
    others = ("deviation", "footprint deviation", "wiener", "diffusion", "patches")
    for name in both if letter == "f2" else (*both, *others):
        expected = FILTERS[name](x)
        assert np.array_equal(compute(FILTERS[name](volumes.open(x)), devices="opencl:0"), expected)


def test_a_window_with_nan_gives_nan():
    x = IMAGE.copy()
    x[RNG.random(x.shape) < 0.01] = np.nan
    x[0, 0, :9] = [np.inf, -np.inf, 0.0, -0.0, np.nan, 1e-40, -1e-40, 3e38, -3e38]
    for name in ("median", "large median", "rank", "ball", "least", "weights", "entropy"):
        expected = FILTERS[name](x)
        found = compute(FILTERS[name](volumes.open(x)), devices="opencl:0")
        assert np.array_equal(found, expected, equal_nan=True), name
        assert np.array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


def wild(letter):
    if letter == "?":
        return IMAGE[:5] > 100
    if letter in "efd":
        x = IMAGE[:5].astype(letter) * IMAGE[5:10].astype(letter)
        x.flat[:7] = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.5, 2.5]
        return x
    return RNG.integers(0, 2**63, IMAGE[:5].shape).astype(letter)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("letter", "?bBhHiIqQefd")
def test_conversions_stay_on_the_device(tmp_path, letter):
    x = wild(letter)
    for to in "?bBhHiIqQefd":
        report = volumes.save(tmp_path / "out.npy", volumes.open(x).astype(to), devices="opencl:0")
        assert np.array_equal(np.load(tmp_path / "out.npy"), x.astype(to), equal_nan=to in "efd")
        # What does not fit is NumPy's affair there.
        assert report["left_to_cpu"] == {} or (to == "I" and letter in "efd")


UFUNCS = [
    f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature and f.nout == 1
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("letter", "?BhiQefd")
def test_functions_that_stay_on_the_device_have_numpys_bits(tmp_path, letter):
    x = wild(letter)
    operands = [x, x[::-1, :, ::-1].copy()]
    stayed = set()
    for ufunc in UFUNCS:
        try:
            expected = ufunc(*operands[: ufunc.nin])
            result = ufunc(*map(volumes.open, operands[: ufunc.nin]))
        except (TypeError, ValueError):
            continue  # NumPy has no such function of these elements.
        report = volumes.save(tmp_path / "out.npy", result, devices="opencl:0")
        if report["left_to_cpu"] == {}:
            stayed.add(ufunc.__name__)
            found = np.load(tmp_path / "out.npy")
            assert np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"), ufunc
            zeros = expected == 0
            assert np.array_equal(np.signbit(found[zeros] + 0.0), np.signbit(expected[zeros] + 0.0))
    assert len(stayed) >= (14 if letter == "?" else 20), stayed


VIEWS = {
    "slice": lambda v: v[:, 10:],
    "steps": lambda v: v[::-2, 3:40:3, ::-1],
    "plane": lambda v: v[2],
    "new axis": lambda v: v[:, None, 4:],
    "turned": lambda v: v.transpose(2, 0, 1)[1:],
    "chain": lambda v: filters.gaussian_filter(v, 1)[:, 10:].astype("u1"),
    "numbers": lambda v: np.sqrt((v - 3) * 2.5 + filters.gaussian_filter(v, 1)),
    "choices": lambda v: np.maximum(v[:, :1], v) / np.minimum(v, 90),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("devices", ["opencl:0", "opencl:0=2MiB"])
def test_single_elements_stay_on_the_device(tmp_path, name, devices):
    view = VIEWS[name]
    report = volumes.save(tmp_path / "out.npy", view(volumes.open(IMAGE)), devices=devices)
    assert np.array_equal(np.load(tmp_path / "out.npy"), compute(view(volumes.open(IMAGE))))
    assert report["left_to_cpu"] == {}


@pytest.mark.parametrize("mode", ["reflect", "constant", "renormalize"])
def test_heights_have_the_bits_of_the_cpu(tmp_path, mode):
    x = IMAGE.astype(np.float64)
    x[RNG.random(x.shape) < 0.01] = np.nan
    for extreme in (filters.grey_dilation, filters.grey_erosion):
        expected = extreme(x, structure=WEIGHTS, mode=mode, cval=90)
        expr = extreme(volumes.open(x), structure=WEIGHTS, mode=mode, cval=90)
        report = volumes.save(tmp_path / "out.npy", expr, devices="opencl:0", memory_limit="8MiB")
        assert np.array_equal(np.load(tmp_path / "out.npy"), expected, equal_nan=True)
        assert report["left_to_cpu"] == {}


def test_what_a_device_lacks_is_computed_here_and_told(tmp_path, capsys):
    np.save(tmp_path / "in.npy", IMAGE)
    words = ("--sigma", "1,2,1", "--devices", "opencl:0,cpu*1=1MiB", "-v")
    given = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy"), *words]
    assert _cli.main(["filter", "unsharp_mask", *given]) == 0
    told = capsys.readouterr().err
    assert "blocks on devices" in told
    assert "blocks on the CPU, since the device has no such filter" in told
    expected = filters.unsharp_mask(IMAGE, (1, 2, 1))
    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


@pytest.mark.parametrize("name", ["opencl:77", "gpu", "opencl:0=much", "opencl0"])
def test_devices_that_are_not_there_are_told_with_those_that_are(tmp_path, name):
    kind = ValueError if "much" in name else SettingError
    words = "no number of bytes" if "much" in name else "there are cpu, sim, opencl:0"
    with pytest.raises(kind, match=words):
        volumes.save(tmp_path / "out.npy", IMAGE, devices=name)
    assert not list(tmp_path.iterdir())


def test_a_memory_that_is_too_small_says_so(tmp_path):
    expr = filters.gaussian_filter(volumes.open(IMAGE), 2)
    with pytest.raises(BudgetError):
        volumes.save(tmp_path / "out.npy", expr, devices="opencl:0=1KiB")
