"""Decorated functions of all shapes: what they take, what they return, where it lies, what fails when."""

import asyncio
import functools
import importlib
import random
import sys
import threading
import types
from typing import NamedTuple

import numpy as np
import pytest

import arrayloom as al
import arrayloom.bridge as b
from arrayloom.bridge import registry

HOSTS = ("numpy", "torch", "jax", "tensorflow", "arrayloom")


class Pair(NamedTuple):
    """A result with names."""

    image: object
    note: object


def image(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


# What they return.


def test_results_of_all_shapes():
    x = b.to_arrayloom(image(2, 3))
    results = {
        "dict": {"image": x, "count": 3, "none": None},
        "list": [x, "text", x],
        "tuple": (x, x, 4),
        "pair": Pair(x, x),
        "none": None,
        "number": 2.5,
        "empty": (),
        "text": "ab",
    }

    @b.uses("arrayloom", output="numpy")
    def give(which, _x):
        return results[which]

    made = {name: give(name, x) for name in results}
    assert b.kind(made["dict"].pop("image")) == "numpy"
    assert made["dict"] == {"count": 3, "none": None}
    assert [b.kind(v) for v in made["list"]] == ["numpy", None, "numpy"]
    assert [b.kind(v) for v in made["tuple"]] == ["numpy", "numpy", None]
    assert isinstance(made["pair"], Pair)
    assert (b.kind(made["pair"].image), b.kind(made["pair"].note)) == ("numpy", "numpy")
    for name in ("none", "number", "empty", "text"):
        assert made[name] == results[name]


@pytest.mark.frameworks("pyclesperanto", "torch")
def test_tables_beside_images_stay_tables():
    table = np.array([1.5, 2.5])

    @b.pyclesperanto
    def measure(x):
        return x, table

    kept = measure(image(4, 4))
    assert (b.kind(kept[0]), kept[1] is table) == ("pyclesperanto", True)
    assert b.pyclesperanto(lambda _x: table)(image(4, 4)).dtype == np.float32
    made = b.uses("pyclesperanto", output="torch")(measure.__wrapped__)(image(4, 4))
    assert (b.kind(made[0]), made[1] is table) == ("torch", True)


@pytest.mark.frameworks("torch", "jax")
def test_nested_decorators_keep_their_promises():
    seen = []

    @b.torch
    def inner(x):
        seen.append(b.kind(x))
        return x + 1, {"x": 1}

    @b.jax
    def outer(x):
        seen.append(b.kind(x))
        main, rest = inner(x)
        seen.append(b.kind(main))
        return main, rest

    stacked = b.numpy(b.jax(inner))
    made = outer(image(2, 2))
    assert seen == ["jax", "torch", "torch"]
    assert (b.kind(made[0]), made[1]) == ("jax", {"x": 1})
    assert b.kind(stacked(image(2, 2))[0]) == "numpy"
    assert b.kind(b.numpy(lambda x: al.asarray(x) + 1)(image(300, 300))) in ("numpy", "arrayloom")


@pytest.mark.parametrize(
    ("first", "result", "expected"),
    [
        (np.uint8, np.array([3.5, -2.0, 300.0]), np.uint8),
        (np.uint16, np.array([1, 2], np.int64), np.uint16),
        (np.uint8, np.array([True, False]), np.bool_),
        # Distances and labels of a mask are no mask, and a power spectrum is real.
        (np.bool_, np.array([0.0, 2.5]), np.float64),
        (np.bool_, np.array([0, 7], np.int32), np.int32),
        (np.complex64, np.array([1.5, 2.5]), np.float64),
        (np.complex64, np.array([1.5 + 1j]), np.complex64),
        (np.float32, np.array([np.nan, np.inf, 1e300]), np.float32),
        (np.float16, np.array([1e6, -np.inf]), np.float16),
        (np.int8, np.array(3.7), np.float64),
        (np.int8, np.zeros((0, 3)), np.int8),
    ],
)
def test_preserve_keeps_what_a_type_means(first, result, expected):
    made = b.numpy(lambda _x: result)(np.zeros(2, first))
    assert made.dtype == expected
    if result.dtype.kind == "f" and np.dtype(expected).kind in "iu" and result.size:
        assert made.tolist() == [4, 0, 255]
    if expected is np.float16:
        assert made.tolist() == [65504.0, -np.inf]


def test_preserve_refuses_what_it_cannot_keep():
    for values in (np.array([np.nan]), np.array([300]), np.array([-1])):
        with pytest.raises(b.LossyConversionError):
            b.numpy(lambda _x, values=values: values)(np.zeros(2, np.uint8))
    made = b.uses("numpy", nan=7)(lambda _x: np.array([np.nan, 2.0]))(np.zeros(2, np.uint8))
    assert made.tolist() == [7, 2]


@pytest.mark.frameworks("torch")
def test_a_number_that_an_array_became_keeps_its_type():
    total = b.torch(lambda x: x.sum())(np.full(1000, 255, np.uint8))
    assert int(total) == 255_000
    assert b.numpy(lambda x: x.sum())(np.full(1000, 255, np.uint8)) == 255_000


# What they take.


@pytest.mark.frameworks("torch")
def test_defaults_and_keywords_are_converted():
    kernel, unit = image(3), image(3)

    @b.torch
    def f(x, /, weights=kernel, *more, scale=unit, pair=(kernel, 1), **others):
        arrays = (x, weights, *more, scale, pair[0], *others.values())
        assert [b.kind(a) for a in arrays] == ["torch"] * len(arrays)
        return x * 0 + sum(a.sum() for a in arrays)

    assert b.to_numpy(f(np.zeros(3, np.int16))).tolist() == [9] * 3
    assert f(np.zeros(3), image(3), image(3), scale=image(3), extra=image(3))[0] == 15
    assert f(np.zeros(3, np.int16)).dtype == f(np.zeros(3, np.int16), kernel).dtype
    with pytest.raises(TypeError, match="missing"):
        f()
    with pytest.raises(TypeError, match="positional"):
        f(x=image(3))


def test_named_inputs_of_variable_length():
    @b.uses("arrayloom", inputs=("images",), dtype=None)
    def kinds(*images, other):
        return [b.kind(x) for x in images], b.kind(other)

    assert kinds(image(2), image(2), image(2), other=image(2)) == (["arrayloom"] * 3, "numpy")


def test_named_tuples_and_lists_of_arrays_stay_what_they_are():
    @b.uses("arrayloom", dtype=None)
    def look(pair, arrays, numbers):
        assert isinstance(pair, Pair)
        assert isinstance(arrays, list)
        return b.kind(pair.image), b.kind(arrays[1]), numbers

    assert look(Pair(image(2), "n"), [1, image(2)], [1, 2]) == ("arrayloom", "arrayloom", [1, 2])


class Filters:
    """Methods of all kinds."""

    gain = 2

    @b.uses("arrayloom")
    def method(self, x):
        """Say so."""
        return x * self.gain if b.kind(x) == "arrayloom" else None

    @b.uses("arrayloom")
    @classmethod
    def outside(cls, x):
        return x * cls.gain

    @classmethod
    @b.uses("arrayloom")
    def inside(cls, x):
        return x * cls.gain

    @b.uses("arrayloom")
    @staticmethod
    def plain(x):
        return x * 2

    def __call__(self, x):
        return x * self.gain


def test_methods_of_all_kinds():
    filters = Filters()
    for function in (
        filters.method,
        filters.outside,
        Filters.inside,
        Filters.plain,
        b.numpy(filters),
        b.numpy(functools.partial(np.multiply, 2)),
        b.numpy(np.negative),
    ):
        assert np.abs(b.to_numpy(function(image(3)))).tolist()[-1] in (2, 4)
    assert Filters.method.__doc__ == "Say so."
    assert Filters.method.__wrapped__(filters, image(2)) is None


def test_a_function_that_fails_without_a_name_is_told():
    failing = functools.partial(lambda x, _y: (_ for _ in ()).throw(MemoryError), 1)
    with pytest.raises(b.OutOfMemory, match=r"functools\.partial"):
        b.numpy(failing)(image(2))


async def later(x):
    return x


def one_by_one(x):
    yield x


async def stream_of(x):
    yield x


class Later:
    async def __call__(self, x):
        return x


@pytest.mark.parametrize(
    "what", [later, one_by_one, stream_of, Later()], ids=lambda f: getattr(f, "__name__", "object")
)
def test_work_after_the_call_is_refused(what):
    with pytest.raises(TypeError, match="nothing guards it"):
        b.numpy(what)


@pytest.mark.parametrize("what", [Filters, 3, "text"], ids=repr)
def test_only_functions_are_decorated(what):
    with pytest.raises(TypeError, match="a function is decorated"):
        b.uses("numpy")(what)


def test_decorated_functions_inside_a_coroutine():
    double = b.uses("arrayloom")(lambda x: x * 2)

    async def work(n):
        await asyncio.sleep(0)
        return double(np.full(3, n))

    async def all_of_them():
        return await asyncio.gather(*map(work, range(20)))

    assert [int(r[0]) for r in asyncio.run(all_of_them())] == [2 * n for n in range(20)]


@pytest.mark.frameworks("torch", "jax", "tensorflow")
@pytest.mark.parametrize("kind", ["jax", "tensorflow"])
def test_what_becomes_of_arguments_does_not_change_with_their_source(kind):
    tf = importlib.import_module("tensorflow")
    kept = []

    def reshaped(x):
        return x.reshape(4, 16) if kind == "jax" else tf.reshape(x, (4, 16))

    def keep(x):
        kept.append(x if kind == "jax" else tf.Variable(x))

    for give in (lambda x: x, lambda x: {"deep": [[x]]}, reshaped, keep):
        # Memory that these kinds can take as it is.
        source = b.to_torch(np.zeros(64, np.float32), copy=True)
        made = b.uses(kind)(give)(source)
        source += 5
        found = made["deep"][0][0] if isinstance(made, dict) else kept[0] if made is None else made
        assert float(b.to_numpy(found).max()) == 0


@pytest.mark.frameworks("torch")
def test_results_that_are_no_arrays_have_no_size():
    torch = importlib.import_module("torch")
    storage = b.torch(lambda x: x.untyped_storage())(np.ones(3, np.float32))
    assert storage.nbytes() == 12
    assert b.torch(lambda _x: torch.Tensor)(np.ones(3)) is torch.Tensor


# Slices.


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
@pytest.mark.parametrize("by_name", [False, True])
def test_slices_of_volumes_of_any_rank(rank, by_name):
    volume = image(*range(2, 2 + rank))
    for axis in range(rank):
        flip = b.uses("numpy", slices=axis)(lambda x, shift=0: x[::-1] + shift)
        made = flip(x=volume, shift=1) if by_name else flip(volume, shift=1)
        expected = np.stack([np.take(volume, i, axis)[::-1] + 1 for i in range(axis + 2)], axis)
        assert np.array_equal(made, expected)
        mean = b.uses("numpy", slices=axis)(lambda x: np.asarray(x.mean()))
        assert mean(volume).shape == (axis + 2,)


def test_slices_of_other_results():
    volume = image(3, 2, 2)

    def run(function):
        return b.numpy(function)(volume, slice_by_slice=True)

    assert run(lambda x: float(x.sum())) == [6.0, 22.0, 38.0]
    assert run(lambda x: {"sum": int(x.sum())})[2] == {"sum": 38}
    assert run(lambda _x: None) is None
    pair = run(lambda x: Pair(x + 1, int(x.sum())))
    assert isinstance(pair, Pair)
    assert np.array_equal(pair.image, volume + 1)
    assert pair.note == [6, 22, 38]
    # A number or an image has no such slices.
    assert b.uses("numpy", slices=3)(lambda x: x + 1)(volume).shape == volume.shape
    assert b.numpy(lambda: 3)(slice_by_slice=True) == 3


@pytest.mark.parametrize("first", [0, 1, 2])
def test_slices_survive_one_by_one(first):
    calls = []

    @b.numpy
    def f(x):
        calls.append(1)
        if len(calls) == first + 1:
            raise MemoryError
        return x + 1

    volume = image(3, 2, 2)
    assert np.array_equal(f(volume, slice_by_slice=True), volume + 1)
    assert len(calls) == 4


# The ladder.


@pytest.mark.parametrize("failing", range(1, 12))
@pytest.mark.parametrize("by_name", [False, True])
def test_a_failure_at_any_call(failing, by_name):
    """Whichever call fails: the values are those of a run without failure."""
    calls = []

    @b.numpy(chunk=(1, 1), on_oom=("release", "chunk"))
    def smooth(x, power=1):
        calls.append(x.shape)
        # The first call fails, so it goes on in parts, and one of those fails as well.
        if len(calls) in (1, failing):
            raise MemoryError
        padded = np.pad(x, [(0, 0), (1, 1)], mode="edge")
        return (padded[:, :-2] + padded[:, 1:-1] * power + padded[:, 2:]) / 3

    data = np.random.default_rng(3).random((3, 13))
    padded = np.pad(data, [(0, 0), (1, 1)], mode="edge")
    expected = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3
    for _ in range(2):
        made = smooth(x=data, power=1) if by_name else smooth(data)
        assert np.array_equal(made, expected)
    assert calls[0] == (3, 13)


def test_a_failure_while_arguments_are_converted():
    made = types.SimpleNamespace(times=1, tries=0)

    class Box:
        def __init__(self, data):
            self.data, self.shape, self.dtype = data, data.shape, data.dtype

    def from_host(array, _options):
        made.tries += 1
        if made.tries <= made.times:
            raise MemoryError
        return Box(array)

    sys.modules["boxes"] = types.ModuleType("boxes")
    b.register(
        b.FrameworkSpec(
            name="boxes",
            modules=("boxes",),
            array_types=(f"{Box.__module__}:{Box.__qualname__}",),
            hooks=b.Hooks(to_host=lambda x, _: x.data, from_host=from_host),
        )
    )
    try:
        double = b.uses("boxes")(lambda x: Box(x.data * 2))
        assert double(image(3)).data.tolist() == [0, 2, 4]
        assert made.tries == 2
        made.times, made.tries = 99, 0
        with pytest.raises(b.OutOfMemory, match="arguments: out of memory") as caught:
            double(image(3))
        assert isinstance(caught.value.__cause__, MemoryError)
        words = {"cpu": lambda x, more: x * 10 + sum(more)}
        safe = b.uses("boxes", output="numpy", **words)
        assert safe(lambda x, more: None)(image(3), [image(3)]).tolist() == [0, 11, 22]
        made.times, made.tries = 2, 0
        safe = b.uses("boxes", **words)
        assert safe(lambda x, more: None)(image(3), [image(3)]).data.tolist() == [0, 11, 22]
        made.times, made.tries = 99, 0
        with pytest.raises(b.OutOfMemory, match="boxes has no memory for its 12 bytes; output='n"):
            safe(lambda x, more: None)(image(3), [image(3)])
        made.times, made.tries = 99, 0
        with pytest.raises(MemoryError):
            b.uses("boxes", on_oom=())(lambda x: x)(image(3))
    finally:
        del registry._specs["boxes"], sys.modules["boxes"]
        registry._started.discard("boxes")
        b.register(registry.get("numpy"))


def test_parts_need_an_array_with_the_axis():
    def fail(*_args):
        raise MemoryError

    with pytest.raises(ValueError, match="needs an array argument with such an axis"):
        b.numpy(chunk=(2, 0))(fail)(image(3, 3))
    calls = []

    @b.numpy(chunk=(0, 0))
    def f(x):
        calls.append(1)
        if len(calls) < 3:
            raise MemoryError
        return {"x": x}

    with pytest.raises(TypeError, match="needs one array as a result, not dict"):
        f(image(4))


def draws():
    """One draw from each global generator that is here, by framework."""
    found = {
        "python": lambda: random.random(),
        "numpy": lambda: float(np.random.rand()),
    }
    if "torch" in sys.modules:
        found["torch"] = lambda: float(sys.modules["torch"].rand(1))
    if "tensorflow" in sys.modules:
        tf = sys.modules["tensorflow"]
        found["tensorflow"] = lambda: float(tf.random.uniform(()))
        found["generator"] = lambda: float(tf.random.get_global_generator().uniform(()))
    return found


def seed():
    random.seed(5)
    np.random.seed(5)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(5)
    if "tensorflow" in sys.modules:
        tf = sys.modules["tensorflow"]
        tf.random.set_seed(5)
        tf.random.set_global_generator(tf.random.Generator.from_seed(5))


@pytest.mark.parametrize("kind", ["numpy", "torch", "tensorflow"])
@pytest.mark.frameworks("torch", "tensorflow")
def test_global_generators_draw_the_same_again(kind):
    for name in ("torch", "tensorflow"):
        importlib.import_module(name)
    own = {"numpy": [], "torch": ["torch"], "tensorflow": ["tensorflow", "generator"]}[kind]
    names = ["python", "numpy", *own]

    def drawn(failures):
        seed()
        left = [failures]

        @b.uses(kind)
        def f(_x):
            numbers = [draws()[name]() for name in names]
            if left[0]:
                left[0] -= 1
                raise MemoryError
            return numbers

        first = f(image(2))
        return first, [draws()[name]() for name in names]

    assert drawn(0) == drawn(1)


def test_threads_have_their_own_calls():
    calls, results, errors = {}, {}, []

    @b.uses("arrayloom", chunk=(0, 0))
    def f(x, n):
        me = threading.get_ident()
        calls[me] = calls.get(me, 0) + 1
        if calls[me] % 3 == 1:
            raise MemoryError
        return x + n

    def work(n):
        try:
            for _ in range(3):
                results.setdefault(n, []).append(int(b.to_numpy(f(np.zeros(8), n))[3]))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert results == {n: [n] * 3 for n in range(4)}


# Devices.


class There:
    """An array of a device that is not here."""

    def __init__(self, data, place="cuda:0"):
        self.data, self.place = data, place
        self.shape, self.dtype = data.shape, data.dtype


@pytest.fixture
def gpu():
    sys.modules["gpu_only"] = types.ModuleType("gpu_only")
    b.register(
        b.FrameworkSpec(
            name="gpu_only",
            modules=("gpu_only",),
            array_types=(f"{__name__}:There",),
            devices=frozenset({"cuda", "cpu"}),
            hooks=b.Hooks(
                to_host=lambda x, _: x.data,
                from_host=lambda a, options: There(a, options.device or "cpu"),
                device=lambda x: x.place,
                to_device=lambda x, place: There(x.data, place),
            ),
        )
    )
    yield
    del registry._specs["gpu_only"], sys.modules["gpu_only"]
    registry._started.discard("gpu_only")
    b.register(registry.get("numpy"))


def test_results_stay_on_the_device(gpu):
    x = There(image(3, 4, dtype=np.uint8), "cuda:1")
    halve = b.uses("gpu_only")(lambda x: There(x.data / 2, x.place))
    for made in (halve(x), halve(x, slice_by_slice=True)):
        assert (made.place, made.data.dtype) == ("cuda:1", np.uint8)
    assert [p.place for p in b.unstack(x)] == ["cuda:1"] * 3
    calls = []

    @b.uses("gpu_only", chunk=(0, 0), on_oom=("chunk",))
    def parts(x):
        calls.append(x.place)
        if len(calls) == 1:
            raise MemoryError
        return There(x.data + 1, x.place)

    assert parts(x).place == "cuda:1"
    assert calls == ["cuda:1"] * 4


def test_arrays_of_the_host_go_where_the_others_are(gpu):
    places = b.uses("gpu_only", dtype=None)(lambda *xs: [x.place for x in xs])
    assert places(image(2), There(image(2), "cuda:1")) == ["cuda:1"] * 2
    assert places(image(2), image(2)) == ["cpu"] * 2
    with pytest.raises(ValueError, match="different devices: cuda:0, cuda:1"):
        places(There(image(2)), There(image(2), "cuda:1"), image(2))
