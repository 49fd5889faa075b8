"""Non-local means and diffusion against plain NumPy."""

import signal
import threading

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom.compat import hip


def box(at, reach, shape):
    return [
        range(max(0, i - r), min(n, i + r + 1)) for i, r, n in zip(at, reach, shape, strict=True)
    ]


def boxes(ranges):
    return [
        tuple(p) for p in np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(ranges))
    ]


def squares(x, h, search, patch):
    """By the definition; windows and patches are clipped at faces."""
    out = np.empty(x.shape)

    def inside(p):
        return all(0 <= i < n for i, n in zip(p, x.shape, strict=True))

    steps = boxes([range(-r, r + 1) for r in patch])
    for at in np.ndindex(x.shape):
        total = weights = 0.0
        for q in boxes(box(at, search, x.shape)):
            pairs = [(np.add(at, k), np.add(q, k)) for k in steps]
            far = [(x[tuple(a)] - x[tuple(b)]) ** 2 for a, b in pairs if inside(a) and inside(b)]
            weight = np.exp(-np.mean(far) / h**2)
            total, weights = total + weight * x[q], weights + weight
        out[at] = total / weights
    return out


def fisher(x, h, search, patch):
    """HIP's weights, by the definition."""

    def cut(p):
        return x[tuple(slice(r.start, r.stop) for r in box(p, patch, x.shape))]

    mean, var = np.empty(x.shape), np.empty(x.shape)
    for at in np.ndindex(x.shape):
        mean[at], var[at] = cut(at).mean(), cut(at).var()
    out = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        total = weights = greatest = 0.0
        for q in boxes(box(at, search, x.shape)):
            if q == at:
                continue
            far = (mean[at] - mean[q]) ** 2
            weight = np.exp(-(far / (var[at] + var[q]) if far else 0.0) / h**2)
            total, weights = total + weight * x[q], weights + weight
            greatest = max(greatest, weight)
        out[at] = (total + greatest * x[at]) / (weights + greatest)
    return out


CASES = [((30,), (3,), (2,)), ((9, 8), (2, 1), (1, 2)), ((4, 5, 6), (1, 2, 1), (1, 0, 1))]


@pytest.mark.parametrize(("shape", "search", "patch"), CASES)
def test_clipped_windows_are_those_of_the_definition(shape, search, patch):
    x = np.random.default_rng(0).normal(10, 3, shape)
    for name, plain in (("ssd", squares), ("fisher", fisher)):
        ours = f.nl_means(x, 2.5, search, patch, name, mode="renormalize")
        np.testing.assert_allclose(ours, plain(x, 2.5, search, patch), rtol=1e-9)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("name", ["ssd", "fisher"])
def test_full_windows_are_those_of_a_padded_array(name, mode):
    x = np.random.default_rng(1).normal(10, 3, (9, 10))
    pads = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}
    padded = np.pad(
        x, 4, pads.get(mode, mode), **({"constant_values": 5.0} if mode == "constant" else {})
    )
    inner = (slice(4, -4),) * 2
    wanted = f.nl_means(padded, 3.0, 2, 1, name)[inner]
    ours = f.nl_means(x, 3.0, 2, 1, name, mode=mode, cval=5.0)
    if name == "fisher" and mode in {"mirror", "nearest", "constant"}:
        # Patches of voxels outside are not patches of what lies outside there.
        ours, wanted = ours[2:-2, 2:-2], wanted[2:-2, 2:-2]
    np.testing.assert_allclose(ours, wanted, rtol=1e-9)


def test_blocks_do_not_change_a_bit(tmp_path):
    x = np.random.default_rng(2).integers(0, 200, (12, 30, 20)).astype(np.uint16)
    for name in ("ssd", "fisher"):

        def run(a, name=name):
            return f.nl_means(a, 20.0, 2, 1, name, output=np.float32)

        v.save(tmp_path / "out.npy", run(v.open(x)), memory_limit="900KiB")
        assert np.array_equal(np.load(tmp_path / "out.npy"), run(x))


def test_constants_nan_and_parameters():
    assert f.nl_means(np.full((5, 6), 7.0), 1.0, 2, 1).tolist() == [[7.0] * 6] * 5
    assert f.nl_means(np.full(5, 7.0), 1.0, 2, 1, "fisher").tolist() == [7.0] * 5
    x = np.ones(20)
    x[3] = np.nan
    found = np.isnan(f.nl_means(x, 1.0, 2, 1))
    assert found.tolist() == [i <= 6 for i in range(20)]
    with pytest.raises(ValueError, match="positive h"):
        f.nl_means(x, 0.0)
    with pytest.raises(ValueError, match="ssd or fisher"):
        f.nl_means(x, 1.0, distance="far")


def test_hips_name_has_fishers_distance():
    x = np.random.default_rng(3).normal(10, 3, (2, 3, 4, 5))
    whole = hip.NLMeans(x, 1.5, 2, 1)
    for t in range(2):
        np.testing.assert_allclose(whole[t], fisher(x[t], 1.5, (2, 2, 2), (1, 1, 1)), rtol=1e-9)
    small = x.astype(np.uint8)
    assert hip.nlmeans(small, 1.5, 2, 1).dtype == np.uint8


def test_diffusion_is_that_of_the_definition():
    x = np.random.default_rng(4).normal(10, 3, (7, 9))
    for option, share in (
        (1, lambda d: np.exp(-((d / 4) ** 2))),
        (2, lambda d: 1 / (1 + (d / 4) ** 2)),
    ):
        now = x
        for _ in range(3):
            padded = np.pad(now, 1, "symmetric")
            around = [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
            now = now + 0.15 * sum(share(a - now) * (a - now) for a in around)
        ours = f.anisotropic_diffusion(x, 3, 4.0, 0.15, option)
        np.testing.assert_allclose(ours, now, rtol=1e-10)
    assert f.anisotropic_diffusion(np.array([3, 9], np.uint8)).dtype == np.float32
    with pytest.raises(ValueError, match="option 1 or 2"):
        f.anisotropic_diffusion(x, option=3)


DISC = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1]], bool)


def flat(points, x):
    """Points of two axes for an array of any number of them."""
    return points.reshape((1,) * (x.ndim - 2) + points.shape) if x.ndim > 1 else points[1]


WIDE = {
    "non-local means": lambda x: f.nl_means(x, 10, search=2, patch=1),
    "bilateral": lambda x: f.bilateral_filter(x, 20, 1.5),
    "median": lambda x: f.median_filter(x, 5),
    "rank": lambda x: f.rank_filter(x, 2, footprint=flat(DISC, x)),
    "minimum": lambda x: f.minimum_filter(x, footprint=flat(DISC, x)),
    "entropy": lambda x: f.entropy_filter(x.astype("u1"), 3),
    "standard deviation": lambda x: f.std_filter(x, 3),
    "correlate": lambda x: f.correlate(x, flat(np.arange(12.0).reshape(3, 4), x)),
}


@pytest.mark.parametrize("shape", [(20, 1500), (3, 20, 600), (40_000,)])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
@pytest.mark.parametrize("name", WIDE)
def test_rows_of_several_tiles(name, dtype, shape):
    """What lies far from the ends of a row is the same if the row is shorter."""
    x = (np.random.default_rng(1).random(shape) * 200).astype(dtype)
    whole = np.asarray(WIDE[name](x))
    assert whole.dtype == np.asarray(WIDE[name](x[..., :50])).dtype
    for first in range(0, shape[-1] - 400, shape[-1] // 6):
        part = np.asarray(WIDE[name](x[..., first : first + 400]))
        inner = whole[..., first + 20 : first + 380]
        np.testing.assert_allclose(part[..., 20:-20], inner, rtol=1e-5, atol=1e-4)


def _long_work():
    """A filter that takes a second or so, and its array."""
    x = np.random.default_rng(7).random((70, 60, 50))
    return lambda **words: f.nl_means(x, 0.5, 2, 5, **words)


def test_long_work_is_done_in_slabs_with_the_same_bits(monkeypatch):
    # More threads take less time, and so fewer slabs.
    monkeypatch.setenv("ARRAYLOOM_THREADS", "1")
    work = _long_work()
    assert np.array_equal(work(), work(memory_limit="4MiB"))


def test_long_work_stops_when_it_is_told():
    work = _long_work()

    def work_for_minutes():
        for _ in range(100):
            work()

    threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        work_for_minutes()
