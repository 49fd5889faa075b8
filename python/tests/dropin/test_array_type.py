"""A lazy array is an ``ndarray`` for everything that asks: type, protocols, text, scalars."""

import copy
import fractions
import functools
import json
import math
import operator
import pickle
import random
import statistics

import numpy as np
import pytest
from support.compare import differences, observe, see
from support.layouts import DTYPES, ordinary, plain_view
from support.process import output


def made(m, count=20000, dtype="d"):
    """A result that has not been computed yet."""
    return m.array(ordinary(dtype, count)) + m.array(1, dtype)


def check(body, xp):
    found = differences(observe(body, np), observe(body, xp))
    assert not found, "\n".join(found[:8])


PROBES = {
    "isinstance": lambda m, a: (isinstance(a, np.ndarray), isinstance(a, m.ndarray)),
    "names": lambda m, a: (type(a).__name__, type(a).__module__, issubclass(type(a), np.ndarray)),
    "base": lambda m, a: (a.base is None, a[1:].base is a, a[1:][1:].base is a),
    "flags": lambda m, a: str(a.flags),
    "flags of a view": lambda m, a: str(a[::2].flags),
    "attributes": lambda m, a: (a.shape, a.strides, a.dtype, a.ndim, a.size, a.nbytes, a.itemsize),
    "repr": lambda m, a: (repr(a), str(a), f"{a}", format(a), repr(a[:3]), repr(a.reshape(100, -1))),
    "len": lambda m, a: (len(a), len(a.reshape(100, -1))),
    "iter": lambda m, a: [*a[:5], *map(type, a[:2])],
    "unpack": lambda m, a: operator.itemgetter(0, 2)([*a[:4]]),
    "contains": lambda m, a: (a[3] in a, 1e99 in a),
    "bool": lambda m, a: (bool(a[:1]), bool(a[3] > 0)),
    "bool many": lambda m, a: bool(a),
    "bool empty": lambda m, a: bool(a[:0]),
    "float": lambda m, a: (float(a.sum()), float(a[0]), float(a[:1].reshape(()))),
    "float many": lambda m, a: float(a),
    "float one": lambda m, a: float(a[:1].reshape(())),
    "int": lambda m, a: (int(a.sum()), int(a[7])),
    "int many": lambda m, a: int(a),
    "complex many": lambda m, a: complex(a),
    "index": lambda m, a: operator.index(m.arange(20000)[5]),
    "index many": lambda m, a: operator.index(m.arange(20000)),
    "index float": lambda m, a: [1, 2, 3][a[0]],
    "hash": lambda m, a: hash(a),
    "hash scalar": lambda m, a: hash(a.sum()) == hash(float(a.sum())),
    "set of scalars": lambda m, a: len({a[0], a[1], float(a[0])}),
    "json scalar": lambda m, a: json.dumps({"sum": a.sum(), "first": a[0]}),
    "json array": lambda m, a: json.dumps(a),
    "json list": lambda m, a: json.dumps(a[:9].tolist()),
    "round": lambda m, a: (round(a[0], 3), round(a.sum()), math.sqrt(a.std()), math.floor(a[1])),
    "fraction": lambda m, a: fractions.Fraction(a[0]),
    "statistics": lambda m, a: statistics.mean([a[0], a[1]]),
    "seed": lambda m, a: random.Random(float(a.sum())).random(),
    "range": lambda m, a: list(range(m.arange(20000)[3])),
    "copy": lambda m, a: (copy.copy(a), copy.deepcopy(a), copy.deepcopy({"x": [a, a]})["x"][1]),
    "pickle": lambda m, a: [pickle.loads(pickle.dumps(a, p)) for p in range(2, 6)],
    "pickle type": lambda m, a: type(pickle.loads(pickle.dumps(a))) is np.ndarray,
    "pickle bytes": lambda m, a: pickle.dumps(a, 4),
    "pickle view": lambda m, a: pickle.loads(pickle.dumps(a.reshape(100, -1).T[::2])),
    "reduce": lambda m, a: a.__reduce__()[1:],
    "compare": lambda m, a: (a == a, a != None, (a == "x") is False),  # noqa: E711
    "is": lambda m, a: a is a.view() or a is a[...],
    "and or": lambda m, a: (a[:1] and 5, a[:1] or 5, not a[:1]),
    "ternary power": lambda m, a: pow(a, 2, 3),
    "matmul operator": lambda m, a: (a @ a, a.reshape(100, 200) @ a.reshape(200, 100)),
    "call": lambda m, a: a(),
    "attribute": lambda m, a: a.wrong,
    "set attribute": lambda m, a: setattr(a, "wrong", 1),
    "delete item": lambda m, a: a.__delitem__(0),
    "dict": lambda m, a: a.__dict__,
    "array": lambda m, a: (a.__array__(), a.__array__("f"), a.__array__(copy=True)),
    "asarray": lambda m, a: (np.shares_memory(np.asarray(a), a), np.asarray(a) + 0),
    "asanyarray": lambda m, a: m.asanyarray(a) is a,
    "array copy": lambda m, a: (np.array(a), np.array(a, copy=False) + 0, np.array([a, a])),
    "astype": lambda m, a: (a.astype("f"), a.astype("d", copy=False) is a, a.astype("i"), a.astype(str)),
    "interface": lambda m, a: (a.__array_interface__["shape"], a.__array_interface__["typestr"]),
    "priority": lambda m, a: a.__array_priority__,
    "dlpack": lambda m, a: (np.from_dlpack(a), a.__dlpack_device__()),
    "real": lambda m, a: (a.real is a, a.imag.sum(), a.conj(), a.T is a),
    "dir": lambda m, a: [name for name in dir(np.ndarray) if not hasattr(a, name)],
    "size": lambda m, a: a.__sizeof__() >= 0,
    "doc": lambda m, a: m.add.__doc__ == np.add.__doc__,
    "namespace": lambda m, a: [n for n in np.__all__ if not hasattr(m, n)],
    "same objects": lambda m, a: [m.float64 is np.float64, m.dtype is np.dtype, m.pi == np.pi,
                                  m.ndarray is np.ndarray, m.nan is np.nan],
    "fromiter": lambda m, a: m.fromiter((x for x in a[:9]), float),
    "sorted": lambda m, a: sorted(a[:9]),
    "builtins": lambda m, a: (sum(a[:99]), min(a[:99]), max(a[:99]), any(a[:3]), all(a[:3])),
    "zip": lambda m, a: [float(x * y) for x, y in zip(a[:4], a[4:8], strict=True)],
    "format number": lambda m, a: f"{a[0]:.3f} {a.sum():10.4e} {a.max():g} %.2f" % a.min(),
    "divmod": lambda m, a: divmod(a, 2),
    "shift": lambda m, a: a << 1,
    "ctypes": lambda m, a: (a.ctypes.data == a.ctypes.data, a.ctypes.strides[:], a.ctypes.shape[:]),
    "structured": lambda m, a: m.zeros(9000, [("x", "d"), ("y", "i")])["x"] + 1,
    "object": lambda m, a: m.array([a[0], None, "x"], object) == m.array([a[0], None, "x"], object),
    "strings": lambda m, a: m.array(["a", "b"] * 9000)[:3],
    "dates": lambda m, a: m.arange("2000-01-01", "2070-01-01", dtype="M8[D]")[::9000] + 1,
    "longdouble": lambda m, a: a.astype("g")[:5].astype("d") + 1,
    "matrix subclass": lambda m, a: type(a.view(np.recarray)).__name__,
    "masked": lambda m, a: np.ma.masked_less(a, 0).sum(),
    "masked mean": lambda m, a: np.ma.array(a, mask=a > 1).mean(),
    "memmap": lambda m, a: isinstance(a, np.memmap),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROBES)
def test_probe(xp_both, name):
    check(lambda m: PROBES[name](m, made(m)), xp_both)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_are_numpys_own(xp_both, dtype):
    def body(m):
        a = made(m, 9000, dtype).reshape(90, 100)
        plain = m.array(5, dtype)
        found = [
            a[3, 4],
            a.max() if dtype not in "FD" else a.sum(),
            a.mean(),
            plain + plain,
            a[0][1],
        ]
        return found, [type(x).__name__ for x in found], [isinstance(x, np.generic) for x in found]

    check(body, xp_both)


def test_large_results_are_lazy_and_small_ones_are_plain(xp_default, real_laziness):
    large, small = made(xp_default), made(xp_default, 100)
    assert type(large) is not np.ndarray
    assert isinstance(large, np.ndarray)
    assert type(small) is np.ndarray
    assert type(large + large) is type(large)
    assert type(large[3:]) is type(large)
    assert type(plain_view(large)) is np.ndarray
    assert isinstance(large.sum(), np.float64)


def test_operations_are_recorded_and_not_run(xp_default, real_laziness):
    native = __import__("arrayloom._ext", fromlist=["stats"])
    a = xp_default.ones(100_000)
    float(a[0])
    native.reset_stats()
    b = a
    for _ in range(20):
        b = b * 1.0001 + a
    assert native.stats()["kernels"] == 0
    total = float(b.sum())
    assert native.stats()["kernels"] <= 6
    plain = np.ones(100_000)
    c = plain
    for _ in range(20):
        c = c * 1.0001 + plain
    assert total == float(c.sum())


def test_pickles_load_without_arrayloom(xp_default, tmp_path):
    array = made(xp_default).reshape(100, 200)
    path = tmp_path / "array.pickle"
    path.write_bytes(pickle.dumps({"a": array, "view": array[:, ::3], "scalar": array.sum()}))
    code = f"""
        import sys
        sys.modules["arrayloom"] = None
        import pickle, hashlib
        found = pickle.load(open({str(path)!r}, "rb"))
        print(type(found["a"]).__module__, found["a"].shape, found["view"].strides)
        print(hashlib.sha256(found["a"].tobytes()).hexdigest(), repr(found["scalar"]))
    """
    import hashlib

    plain = made(np).reshape(100, 200)
    lines = output(code).splitlines()
    view = pickle.loads(pickle.dumps(plain[:, ::3]))
    assert lines[0] == f"numpy (100, 200) {view.strides}"
    assert lines[1] == f"{hashlib.sha256(plain.tobytes()).hexdigest()} {plain.sum()!r}"


def test_out_of_band_pickle_buffers(xp_default):
    def body(m):
        array, buffers = made(m), []
        data = pickle.dumps(array, 5, buffer_callback=buffers.append)
        return [b.raw().nbytes for b in buffers], pickle.loads(data, buffers=buffers)

    check(body, xp_default)


def test_the_type_equals_numpys(xp_both):
    """Identity cannot be had for a type of our own; equality, tables and pickles can."""

    class Derived(np.ndarray):
        pass

    def body(m):
        a = made(m) * 2
        kind = type(a)
        return (
            kind == np.ndarray, np.ndarray == kind, kind != np.ndarray, np.ndarray != kind,
            kind in (list, np.ndarray), np.ndarray in {kind}, {np.ndarray: 1, list: 2}[kind],
            hash(kind) == hash(np.ndarray), kind == Derived, Derived == kind, operator.eq(kind, list), kind != 3,
            operator.eq(kind, type(a[:9000] + 1)), repr(kind), kind.__name__, isinstance(kind, type),
            issubclass(kind, np.ndarray), issubclass(Derived, kind) or issubclass(Derived, np.ndarray),
            [pickle.loads(pickle.dumps(kind, p)) is np.ndarray for p in range(6)],
            copy.deepcopy(kind) is kind, callable(kind),
        )  # fmt: skip

    check(body, xp_both)


def test_the_class_is_numpys(xp_default):
    x = xp_default.ones(100_000)
    assert isinstance(x, xp_default.LazyArray)
    assert x.__class__ is np.ndarray

    class Own(np.ndarray):
        pass

    assert np.asarray(x).view(Own).__class__ is Own
    kinds = functools.singledispatch(lambda _: "anything")
    kinds.register(np.ndarray, lambda _: "an array")
    assert kinds(x) == "an array"
    for change in (lambda: setattr(x, "__class__", list), lambda: delattr(x, "__class__")):
        with pytest.raises(TypeError):
            change()


def test_classes_that_look_who_overrides_ufuncs(xp_default):
    x = xp_default.arange(100_000.0)
    ours, theirs = type(x).__array_ufunc__, np.ndarray.__array_ufunc__
    assert ours == theirs
    assert theirs in (None, ours)
    assert hash(ours) == hash(theirs)
    assert ours != np.ndarray.__array_function__
    assert ours(x, np.add, "__call__", x, 1)[5] == 6
    assert ours.__name__ == theirs.__name__
    assert repr(ours) == repr(theirs)

    class Unit(np.ndarray):
        """As quantities with units do it."""

        def __array_ufunc__(self, ufunc, method, *inputs, out=(), **words):
            known = (None, np.ndarray.__array_ufunc__, Unit.__array_ufunc__)
            if any(getattr(type(i), "__array_ufunc__", None) not in known for i in inputs + out):
                return NotImplemented
            plain = [i.view(np.ndarray) if isinstance(i, Unit) else i for i in inputs]
            return getattr(ufunc, method)(*plain, **words)

    unit = np.arange(100_000.0).view(Unit)
    for result in (unit + x, x + unit, np.add(unit, x), np.multiply(x, unit) / unit[-1]):
        assert result[-1] in (199_998, 99_999)
        assert not isinstance(result, Unit)


def test_arrays_have_any_depth_that_is_wanted(xp_default):
    x = xp_default.arange(100_000.0).reshape(2, -1)
    for array in (np.array, xp_default.array):
        for depth in (0, 1, 2):
            copy_of = array(x, ndmax=depth)
            assert np.array_equal(copy_of, x)
            assert not np.shares_memory(copy_of, x)
        with pytest.raises(ValueError, match="too deep"):
            array(x, np.float32, ndmax=0)  # as of a plain array


def test_subclasses_of_ndarray_still_work(xp_both):
    class Tagged(np.ndarray):
        def __array_finalize__(self, other):
            self.tag = getattr(other, "tag", "none")

    def body(m):
        view = made(m).view(Tagged)
        view.tag = "kept"
        return (
            (view + 1).tag,
            type(view[2:]).__name__,
            float((view * 2).sum()),
            (made(m) + view).tag,
        )

    check(body, xp_both)


def test_powers_ask_derived_classes_first(xp_both):
    class Raised(np.ndarray):
        def __rpow__(self, other):
            return "rpow", type(other).__name__

    class Silent(np.ndarray):
        def __rpow__(self, other):
            return NotImplemented

    def body(m):
        a = made(m)
        return a ** a.view(Raised), type(a ** np.abs(a.view(Silent))).__name__, pow(a, 2), 2**a

    check(body, xp_both)


def test_comparisons_ask_derived_classes_first(xp_both):
    class Asked(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, [type(value).__name__ for value in inputs]

    def body(m):
        a, b = made(m), made(m).view(Asked)
        return (
            a < b,
            a <= b,
            a > b,
            a >= b,
            a == b,
            a != b,
            b < a,
            a + b,
            type(a < a[:1].view(np.matrix)),
        )

    check(body, xp_both)


def test_lists_are_operands(xp_both):
    class Own(list):
        def __radd__(self, other):
            return "radd"

    def body(m):
        a = made(m)
        row = [0.5] * a.shape[-1]
        kept = a.copy()
        kept += row
        mixed = (
            a - [a[0], 2 * a[0]][0],
            [1, 2.5, True][:1] * a,
            a < tuple(row),
            row**a,
            m.add(a, row),
        )
        chosen = m.where([1] * len(row), a, 0), m.where(np.int64(0), a, row), m.where(1, a, -a)
        return a + row, row - a, a / [2], a + Own(row), kept, mixed, chosen

    check(body, xp_both)


def test_bad_lists_are_errors(xp_both):
    def body(m, other):
        return made(m) + other

    for other in ([[1], [1, 2]], ["x"], [None], [{}], [1, 2, 3], []):
        check(lambda m, other=other: body(m, other), xp_both)


def test_the_documentation_is_numpys(xp_both):
    assert type(made(xp_both) + 1).__doc__ == np.ndarray.__doc__
    assert (made(xp_both) + 1).__doc__.startswith("ndarray(shape")


def test_other_classes_win_over_ours(xp_both):
    class Ufunc:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method, len(inputs)

        def __array_function__(self, func, types, args, kwargs):
            return func.__name__

    class Refuses:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "radd"

    class Reflected:
        def __radd__(self, other):
            return type(other).__name__

        def __array__(self, dtype=None, copy=None):
            return np.array(2.0)

    def body(m):
        a, other = made(m), Ufunc()
        return (
            a + other, other + a if hasattr(other, "__add__") else None, np.add(a, other),
            m.add(a, other), m.concatenate([a, other]), a + Refuses(), a * np.ma.array([2.0]),
            a + Reflected(),
        )  # fmt: skip

    check(body, xp_both)


def test_subclasses_that_take_over_functions_are_asked_before_us(xp_both):
    class Counting(np.ndarray):
        calls = ()

        def __array_function__(self, func, types, args, kwargs):
            Counting.calls += (func.__name__,)
            return super().__array_function__(func, types, args, kwargs)

    def body(m):
        Counting.calls = ()
        a, other = made(m), made(m).view(Counting)
        results = (
            np.concatenate([a, other]), np.stack([a, other]), np.where(a > 1, a, other), np.outer(a[:9], other[:9]),
            np.array_equal(a, other), np.searchsorted(a, other[:5]),
        )  # fmt: skip
        return results, Counting.calls

    check(body, xp_both)


def test_seen_facts_of_results(xp_default):
    """What ``see`` writes down is the same before and after the values exist."""
    a = made(xp_default)
    before = (a.shape, a.strides, str(a.flags), a.ctypes.data)
    b = a + 1
    del b
    float(a[0])
    assert before == (a.shape, a.strides, str(a.flags), a.ctypes.data)
    assert see(a).data.tobytes() == made(np).tobytes()


def test_asarray_with_metadata_is_a_view_with_it(xp_both):
    """NumPy compares dtypes by identity: one that differs only in its metadata makes a view."""
    for m in (np, xp_both):
        a, told = made(m, 40000), np.dtype("d", metadata={"unit": "m"})
        b = m.asarray(a, dtype=told)
        assert b is not a
        assert b.base is a
        assert b.dtype is told
        assert m.asarray(a, dtype="d") is a
        assert m.asarray(a, "f").dtype == np.float32
        b[3] = 7
        assert a[3] == 7
        assert m.asarray(a[2:], dtype=told).base is a


class Measured(np.ndarray):
    """A subclass as NumPy's manual has it: it unwraps operands and asks ``super()``."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        def plain(item):
            return item.view(np.ndarray) if isinstance(item, Measured) else item

        if out:
            kwargs["out"] = tuple(map(plain, out))
        if "where" in kwargs:
            kwargs["where"] = plain(kwargs["where"])
        found = super().__array_ufunc__(ufunc, method, *map(plain, inputs), **kwargs)
        if found is NotImplemented or ufunc.nout > 1 or not isinstance(found, np.ndarray):
            return found
        return out[0] if out else found.view(Measured)


class Stranger:
    """Something that does ufuncs itself."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return f"{ufunc.__name__}.{method} of {len(inputs)}"


SUPER_CALLS = {
    "lazy operand": lambda m, a, s: (s + a, a * s, s - s, np.equal(a, s).all()),
    "lazy out": lambda m, a, s: (np.add(s, 1, out=a), a),
    "own out": lambda m, a, s: (np.multiply(a, 2, out=s), s),
    "lazy mask": lambda m, a, s: np.negative(s, where=a > 3, out=s),
    "own mask": lambda m, a, s: np.negative(a, where=(s > 3), out=a * 1),
    "reduce": lambda m, a, s: (np.add.reduce(s), s.sum(), s.max()),
    "outer": lambda m, a, s: np.multiply.outer(a[:30], s[:20]),
    "two results": lambda m, a, s: np.divmod(s, a),
    "stranger": lambda m, a, s: (np.add(s, Stranger()), np.add(a, Stranger())),
    "too many axes": lambda m, a, s: np.add.outer(a[(None,) * 40], a[(None,) * 40]),
}


@pytest.mark.parametrize("name", SUPER_CALLS)
def test_subclasses_that_ask_super(xp_both, name):
    def body(m):
        a = made(m, 40000) + 1
        s = (m.arange(40000.0) % 7 + 1).view(Measured)
        found = SUPER_CALLS[name](m, a, s)
        kinds = [isinstance(x, Measured) for x in found] if isinstance(found, tuple) else []
        return kinds, see(found), see(a), see(s)

    check(body, xp_both)


def test_outer_keeps_the_class_of_an_operand(xp_both):
    def body(m):
        big, few = made(m, 40000) + 1, np.arange(3.0)
        kinds = []
        for kind in (np.recarray, np.memmap, Measured):
            for pair in ((few.view(kind), big), (big, few.view(kind))):
                for name in ("add", "less_equal"):
                    found = getattr(m, name).outer(*pair)
                    kinds.append((type(found).__name__, found.shape, found.dtype, found[-1, -1]))
        return repr(kinds)

    check(body, xp_both)


def test_the_owner_of_a_buffer_is_as_good_as_the_array(xp_default):
    a = made(xp_default, 40000) + 1
    owner = memoryview(a).obj
    assert np.asarray(owner).base is not None
    assert owner.shape == a.shape
    assert owner.dtype is a.dtype
    for copied in (copy.copy(owner), copy.deepcopy(owner), pickle.loads(pickle.dumps(owner))):
        assert np.array_equal(copied, a)
        assert not np.may_share_memory(copied, a)


def test_who_owns_a_buffer_gives_it_again(xp_default):
    array = made(xp_default)
    owner = memoryview(array).obj
    assert memoryview(owner) == memoryview(array)
    assert pickle.PickleBuffer(array).raw().nbytes == array.nbytes
