"""Other libraries: array-api-compat, array-api-extra, NumPy, SciPy."""

import os
import subprocess
import sys
import textwrap

import array_api_compat
import array_api_extra
import numpy as np
import pytest
from support.strictly import arrays, given

import arrayloom.array_api as xp


def program(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compat_takes_it_for_what_it_is():
    x = xp.ones(3)
    assert array_api_compat.is_array_api_obj(x)
    assert not array_api_compat.is_numpy_array(x)
    assert array_api_compat.array_namespace(x, x) is xp
    assert array_api_compat.device(x) == "cpu"
    assert array_api_compat.to_device(x, "cpu") is x
    assert array_api_compat.size(x) == 3
    with pytest.raises(TypeError):
        array_api_compat.array_namespace(x, np.ones(3))


def test_extra_functions():
    x = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    extra = array_api_extra
    found = {
        "atleast_nd": extra.atleast_nd(x, ndim=3, xp=xp).shape,
        "cov": float(extra.cov(x, xp=xp)[0, 1]),
        "kron": extra.kron(x, x, xp=xp).shape,
        "pad": float(xp.sum(extra.pad(x, 1, constant_values=1, xp=xp))),
        "nunique": int(extra.nunique(x, xp=xp)),
        "sinc": float(extra.sinc(xp.zeros(1), xp=xp)[0]),
        "setdiff1d": extra.setdiff1d(xp.asarray([1, 2]), xp.asarray([2]), xp=xp).shape,
        "create_diagonal": extra.create_diagonal(xp.ones(2), xp=xp).shape,
        "isclose": bool(xp.all(extra.isclose(x, x + 1e-12, xp=xp))),
        "one_hot": extra.one_hot(xp.asarray([0, 2]), 3, xp=xp).shape,
    }
    assert found == {
        "atleast_nd": (1, 2, 2),
        "cov": 1.0,
        "kron": (4, 4),
        "pad": 23.0,
        "nunique": 4,
        "sinc": 1.0,
        "setdiff1d": (1,),
        "create_diagonal": (2, 2),
        "isclose": True,
        "one_hot": (2, 3),
    }
    assert float(extra.at(x)[0, :].set(9)[0, 1]) == 9


def test_numpy_gets_what_it_asks_for():
    for x in (xp.asarray([1.0, 2.5, 4.0]), (xp.ones((500, 500)) + 1) * 2):
        made = np.asarray(x)
        assert type(made) is np.ndarray
        assert np.shares_memory(made, np.asarray(x))
        assert not np.shares_memory(np.array(x), made)
        np.testing.assert_array_equal(made, np.from_dlpack(x), strict=True)
        narrow = np.asarray(x, dtype="f4")
        assert narrow.dtype == "f4"
        np.testing.assert_array_equal(narrow, made)
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, dtype="f4", copy=False)
        assert np.array([x, x]).shape == (2, *x.shape)


def test_numpy_does_not_compute_with_it():
    x = xp.ones(3)
    for body in (
        np.exp,
        lambda x: np.add(x, 1),
        lambda x: np.ones(3) + x,
        lambda x: x * np.ones(3),
    ):
        with pytest.raises(TypeError):
            body(x)


@given(x=arrays())
def test_dlpack_both_ways(x):
    ours = xp.from_dlpack(x)
    assert str(ours.dtype) == x.dtype.name
    again = np.from_dlpack(ours)
    np.testing.assert_array_equal(again, x, strict=True)
    assert not x.size or np.shares_memory(again, x)
    assert not x.size or not np.shares_memory(np.from_dlpack(xp.from_dlpack(x, copy=True)), x)
    assert ours.__dlpack_device__() == (1, 0)


def test_dlpack_of_pending_arrays():
    x = (xp.ones((500, 500)) + 1) * 2
    assert float(np.from_dlpack(x).sum()) == 1_000_000
    assert float(xp.sum(xp.from_dlpack(x))) == 1_000_000


def test_dlpack_refuses():
    with pytest.raises(TypeError, match="dlpack"):
        xp.from_dlpack([1])
    with pytest.raises(TypeError, match="float16"):
        xp.from_dlpack(np.ones(2, "f2"))


def test_scipy_works_on_it():
    found = program(
        """
        import arrayloom.array_api as xp
        from scipy import differentiate, special, stats
        x = xp.asarray([1.0, 2.0, 4.0])
        results = (
            stats.zscore(x), special.logsumexp(x), stats.gmean(x), stats.skew(x), special.softmax(x),
            differentiate.derivative(lambda t: t * t, x).df,
        )
        compiled = special.gamma(x), stats.ttest_ind(x, x + 1).pvalue
        for result in (*results, *compiled):
            assert type(result) is xp.Array, type(result)
        assert [float(v) for v in compiled[0]] == [1, 1, 6]
        print(round(float(results[1]), 6), [round(float(v), 6) for v in results[-1]])
        """,
        SCIPY_ARRAY_API="1",
    )
    assert found == "4.169846 [2.0, 4.0, 8.0]\n"
