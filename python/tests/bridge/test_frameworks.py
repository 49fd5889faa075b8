"""The matrix with real frameworks, and the named cases. Each test says which frameworks it needs."""

import gc
import importlib
import itertools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import arrayloom as al
import arrayloom.bridge as b
from arrayloom.bridge import dtypes
from arrayloom.bridge.errors import LossyConversionError

KINDS = ("numpy", "torch", "jax", "tensorflow", "arrayloom", "pyclesperanto")
DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 "
    "complex128 bfloat16 float8_e4m3fn"
).split()
CLE = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"}
WIDE = {"int64", "uint64", "float64", "complex128"}
SMALL = {"bfloat16", "float8_e4m3fn"}


def base(dtype):
    return dtypes.aligned_copy(
        (np.arange(48) % 7).reshape(6, 8).astype(dtypes.numpy_dtype(dtype)), 64
    )


def at_offset(dtype, offset):
    data = base(dtype)
    room = np.empty(data.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    made = room[start : start + data.nbytes].view(data.dtype).reshape(data.shape)
    made[...] = data
    return made


def readonly(data):
    data.flags.writeable = False
    return data


class Child(np.ndarray):
    pass


LAYOUTS = {
    "C": base,
    "F": lambda d: dtypes.aligned_copy(base(d), 64, "F"),
    "step2": lambda d: base(d)[:, ::2],
    "neg": lambda d: base(d)[::-1],
    "bcast": lambda d: np.broadcast_to(base(d)[0], (3, 8)),
    "0d": lambda d: base(d)[0, 0:1].reshape(()),
    "empty": lambda d: base(d)[:0],
    "element": lambda d: at_offset(d, dtypes.numpy_dtype(d).itemsize),
    "byte": lambda d: at_offset(d, 1),
    "readonly": lambda d: readonly(base(d)),
    "bigendian": lambda d: base(d).astype(dtypes.numpy_dtype(d).newbyteorder(">")),
    "subclass": lambda d: base(d).view(Child),
    "5d": lambda d: base(d).reshape(2, 3, 2, 2, 2),
}


def refused(to, data, x64):
    """The error that the matrix has for these elements and this shape, or None."""
    name = data.dtype.name
    if to == "pyclesperanto":
        if data.ndim not in (1, 2, 3) or data.size == 0:
            return ValueError
        if name not in CLE:
            return TypeError if name in SMALL else LossyConversionError
    if to == "arrayloom" and name in SMALL:
        return TypeError
    if to == "jax" and name in WIDE and not x64:
        return LossyConversionError
    return None


def fits(to, data):
    """Whether the target takes this memory as it is."""
    if data.size == 0:
        return True
    if to == "torch":
        size = data.dtype.itemsize
        unit = size // 2 if data.dtype.kind == "c" else size
        return all(s >= 0 and s % size == 0 for s in data.strides) and data.ctypes.data % unit == 0
    if to in ("jax", "tensorflow"):
        compact = data.flags.c_contiguous if to == "tensorflow" else data.flags.forc
        return compact and data.ctypes.data % 64 == 0
    return True


def why_not(to, data, source, x64):
    """What the matrix says of an array of the host: an error, 'copy', 'upload' or 'share'."""
    error = refused(to, data, x64)
    if error is not None:
        return error
    if to == "pyclesperanto":
        return "upload"
    if to == "numpy":
        return "share"
    by_value = to == "tensorflow" and data.dtype.name == "float8_e4m3fn"
    if not data.dtype.isnative or by_value or not fits(to, data):
        return "copy"
    writable = source in ("numpy", "torch") and data.flags.writeable
    return "copy" if to in ("jax", "tensorflow") and writable else "share"


def address(x):
    kind = b.kind(x)
    if kind == "torch":
        return x.data_ptr()
    if kind == "jax":
        return x.unsafe_buffer_pointer()
    return b.to_numpy(x).ctypes.data


def same(made, data):
    back = b.convert(made, "numpy")
    assert back.dtype == data.dtype.newbyteorder("=")
    assert back.shape == data.shape
    assert back.tobytes() == data.astype(back.dtype).tobytes()


def judge(x, data, to, copy, expected):
    """Convert and compare with what was expected."""
    if isinstance(expected, type):
        with pytest.raises(expected):
            b.convert(x, to, copy=copy)
        return "error"
    if copy is False and expected in ("copy", "upload"):
        # A mutable source may be shared with an immutable kind on request.
        isolated = expected == "copy" and b.plan(x, to).reason.startswith("isolated")
        if not isolated:
            with pytest.raises(BufferError, match="copy=False is impossible"):
                b.convert(x, to, copy=False)
            return "refused"
        expected = "share"
    made = b.convert(x, to, copy=copy)
    assert b.kind(made) == to
    if data.dtype.isnative or to != "numpy":
        same(made, data)
    if data.size and to != "pyclesperanto":
        shared = address(made) == data.ctypes.data
        assert shared == (expected == "share" and copy is not True), (to, copy, expected)
    return expected


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.frameworks(*KINDS[1:])
def test_numpy_arrays_of_every_layout(to):
    seen = set()
    for dtype, layout, copy in itertools.product(DTYPES, LAYOUTS, (None, False, True)):
        data = LAYOUTS[layout](dtype)
        if layout == "bigendian" and (dtype in SMALL or data.dtype.isnative):
            continue
        if to == "numpy" and copy is not True:
            assert b.convert(data, to, copy=copy) is data
            continue
        if layout == "bigendian" and to == "arrayloom":
            if copy is False:
                with pytest.raises(BufferError, match="byte order"):
                    b.convert(data, to, copy=False)
            else:
                same(b.convert(data, to), data)
            continue
        expected = why_not(to, data, "numpy", x64=False)
        if isinstance(expected, type) and layout == "bigendian" and to == "pyclesperanto":
            continue
        seen.add(judge(data, data, to, copy, expected))
    assert seen


@pytest.mark.parametrize("source", ["torch", "jax", "tensorflow"])
@pytest.mark.parametrize("to", KINDS)
@pytest.mark.frameworks(*KINDS[1:])
def test_arrays_of_frameworks(source, to):
    if source == to:
        x = b.convert(base("float32"), source)
        assert b.convert(x, to) is x
        assert b.convert(x, to, copy=True) is not x
        return
    for dtype, layout, copy in itertools.product(
        DTYPES, ("C", "0d", "empty", "5d", "step2", "element"), (None, False, True)
    ):
        if source == "jax" and dtype in WIDE:
            continue
        if source == "torch":
            x = b.convert(LAYOUTS[layout](dtype), source, copy=None)
            data = b.to_numpy(x)
        else:
            x = b.convert(LAYOUTS[layout](dtype), source)
            data = b.to_numpy(x)
        if source == "tensorflow" and dtype == "float8_e4m3fn":
            same(b.convert(x, "numpy"), data)
            continue
        expected = why_not(to, data, source, x64=False)
        judge(x, data, to, copy, expected)


@pytest.mark.parametrize("to", ["numpy", "torch", "jax", "tensorflow"])
@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_lazy_arrays_go_everywhere_without_a_copy(to):
    data = al.ones((300, 300), al.float32) * 3
    at = data.ctypes.data
    with b.observe() as record:
        made = b.convert(data, to)
    row = record.rows()[0]
    assert (row.route, row.nbytes) == ("share", 0)
    if to in ("numpy", "torch"):
        assert address(made) == at
        data[0, 0] = 8
        assert float(made[0, 0]) == 8
    else:
        # Isolated: a later write takes new pages.
        data += 1
        assert float(made[0, 0]) == 3
        assert float(data[0, 0]) == 4
        assert float(b.to_numpy(made).sum()) == 3 * 300 * 300
    del data
    gc.collect()
    assert float(made[299, 299]) in (3.0, 8.0)


@pytest.mark.frameworks("torch", "pyclesperanto")
@pytest.mark.parametrize("dtype", sorted(CLE))
def test_images_go_to_opencl_and_back(dtype):
    data = base(dtype)
    image = b.to_pyclesperanto(data)
    assert b.device(image).startswith("opencl:")
    for to in ("numpy", "torch", "arrayloom"):
        same(b.convert(image, to), data)
    assert b.to_pyclesperanto(image) is image
    assert b.to_numpy(b.to_pyclesperanto(data[:, 0])).shape == (6,)
    allowed = b.convert(base("bool"), "pyclesperanto", lossy="allow")
    assert b.to_numpy(allowed).dtype == np.uint8
    volume = b.stack([data] * 16, "pyclesperanto")
    assert volume.shape == (16, 6, 8)
    assert np.array_equal(b.to_numpy(b.unstack(volume)[3]), data)


def survives(code, *args):
    """A program that a framework could end; what it prints."""
    # JAX warns of forks that run Python code in the child; this one does not.
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.frameworks("torch", "tensorflow")
def test_case_1_tensorflow_never_sees_unaligned_memory():
    code = """
    import torch, tensorflow as tf, arrayloom.bridge as b
    x = b.to_tensorflow(torch.arange(100.0)[1:])
    print(float(tf.reduce_sum(tf.sqrt(x * x))))
    """
    assert survives(code) == "4950.0"


@pytest.mark.frameworks("torch")
def test_case_2_protected_pages_are_copied(tmp_path):
    code = """
    import sys, numpy as np, torch, mmap, arrayloom.bridge as b
    path = sys.argv[1]
    np.arange(1000.0).tofile(path)
    file = open(path, "rb")
    for data in (
        np.memmap(path, dtype=float, mode="r"),
        np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)),
        np.memmap(path, dtype=float, mode="r")[10:].reshape(-1, 2),
        np.frombuffer(b"12345678"),
    ):
        made = b.to_torch(data)
        made.add_(1)
        print(bool((b.to_numpy(made) == data + 1).all()))
    """
    assert survives(code, tmp_path / "data").split() == ["True"] * 4


@pytest.mark.frameworks("torch", "jax")
def test_cases_3_and_4_signs_and_steps():
    torch = importlib.import_module("torch")
    data = np.arange(6.0, dtype=np.float32)
    assert b.to_torch(data[::-1]).tolist() == data[::-1].tolist()
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert z.conj().imag.is_neg()
    for to in ("numpy", "jax", "arrayloom"):
        assert b.to_numpy(b.convert(z.conj().imag, to)).tolist() == [-2.0, 1.0]
        assert b.to_numpy(b.convert(z.conj(), to)).tolist() == [1 - 2j, 3 + 1j]
    with pytest.raises(BufferError, match="resolve_conj"):
        b.convert(z.conj(), "numpy", copy=False)


@pytest.mark.frameworks("torch")
def test_case_5_gradients():
    torch = importlib.import_module("torch")
    x = torch.ones(3, requires_grad=True)
    for to in ("numpy", "arrayloom"):
        with pytest.raises(BufferError, match="detach"):
            b.convert(x, to)
    assert b.to_numpy(x, detach=True).ctypes.data == x.data_ptr()
    layer = torch.nn.Linear(2, 2)
    assert b.kind(layer.weight) == "torch"
    assert b.to_numpy(layer.weight, detach=True).shape == (2, 2)


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_case_6_what_has_no_memory_is_refused():
    torch, jax, tf = map(importlib.import_module, ("torch", "jax", "tensorflow"))
    gone = jax.numpy.ones(3)
    gone.delete()
    refused = (
        (torch.eye(3).to_sparse(), "to_dense"),
        (torch.empty(3, device="meta"), "meta"),
        (jax.random.key(0), "key_data"),
        (gone, "deleted"),
        (tf.constant(["text"]), "not numbers"),
        (tf.ragged.constant([[1], [2, 3]]), "to_tensor"),
        (tf.sparse.from_dense([[1, 0]]), "to_dense"),
        (np.array([object()]), "not numbers"),
        (np.zeros(2, [("a", int)]), "not numbers"),
        (np.zeros(2, "M8[s]"), "not numbers"),
        (np.zeros(2, np.longdouble), "not numbers"),
        (np.array(["text"]), "not numbers"),
    )
    for x, text in refused:
        with pytest.raises(TypeError, match=text):
            b.convert(x, "arrayloom")
    caught = []

    def traced(x):
        try:
            b.to_numpy(x)
        except TypeError as error:
            caught.append(str(error))
        return x

    jax.jit(traced)(jax.numpy.ones(2))
    assert "tracer" in caught[0]
    assert b.to_numpy(tf.Variable([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.frameworks("torch")
def test_case_7_masks():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(TypeError, match="fill=VALUE"):
        b.to_torch(masked)
    assert b.to_torch(masked, fill=-1).tolist() == [1.0, -1.0]


@pytest.mark.frameworks("torch", "jax")
def test_case_8_writers_of_immutable_memory():
    jax = importlib.import_module("jax")
    x = jax.numpy.arange(4.0)
    with b.observe() as record:
        shared = b.to_torch(x)
    assert "immutable" in record.rows()[0].hazards[0]
    assert shared.data_ptr() == x.unsafe_buffer_pointer()
    mine = b.to_torch(x, readonly="copy")
    mine.add_(1)
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="immutable"):
        b.to_torch(x, readonly="error")

    @b.torch(pure=False, output="numpy")
    def spoil(t):
        return t.add_(1)

    assert spoil(x).tolist() == [1, 2, 3, 4]
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
@pytest.mark.frameworks("jax", "tensorflow", "torch")
def test_case_9_isolation(to):
    for make in (lambda: base("float32"), lambda: b.to_torch(base("float32"))):
        data = make()
        made = b.convert(data, to)
        shared = b.convert(data, to, copy=False)
        before = float(made[0, 1])
        data[0, 1] = 50
        assert float(made[0, 1]) == before
        assert float(shared[0, 1]) == 50


@pytest.mark.frameworks("jax")
def test_case_10_wide_elements_and_jax():
    jax = importlib.import_module("jax")
    data = dtypes.aligned_copy(np.array([2**40, 1]), 64)
    with pytest.raises(LossyConversionError, match="jax_enable_x64"):
        b.to_jax(data)
    narrowed = b.convert(np.array([3.0, 1e300]), "jax", lossy="allow")
    assert narrowed.dtype == "float32"
    with jax.enable_x64(True):
        wide = b.convert(readonly(data), "jax")
        assert wide.tolist() == [2**40, 1]
        assert wide.unsafe_buffer_pointer() == data.ctypes.data


@pytest.mark.frameworks("torch")
def test_case_11_small_floats_share():
    torch = importlib.import_module("torch")
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.ones(8).to(dtype)
        made = b.to_numpy(x)
        assert (made.ctypes.data, made.dtype.name) == (x.data_ptr(), str(dtype)[6:])
        assert b.to_torch(made).data_ptr() == x.data_ptr()


@pytest.mark.frameworks("torch", "tensorflow", "pyclesperanto", "jax")
def test_cases_12_to_14_opencl_beside_others():
    code = """
    import numpy as np, tensorflow as tf
    tf.constant([1.0]) + 1
    import arrayloom.bridge as b
    image = b.to_pyclesperanto(np.ones((4, 4), np.float32))
    import pyclesperanto as cle
    cle.add_image_and_scalar(image, image, 0.0)
    doubled = cle.add_images_weighted(image, image)
    for to in ("torch", "jax", "tensorflow", "numpy"):
        made = b.convert(doubled, to)
        print(b.kind(image), to, float(b.to_numpy(made)[0, 0]))
    """
    lines = survives(code).splitlines()[-4:]
    assert [line.split()[::2] for line in lines] == [["pyclesperanto", "2.0"]] * 4


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_case_15_owners_at_the_end():
    code = """
    import threading, numpy as np, torch, jax, tensorflow as tf, arrayloom as al, arrayloom.bridge as b
    kept = []
    for to in ("torch", "jax", "tensorflow", "numpy"):
        for source in (np.ones((50, 50), np.float32), al.ones((300, 300), al.float32)):
            for copy in (None, True):
                kept.append(b.convert(source, to, copy=copy))
            kept.append(b.from_dlpack(b.to_dlpack(source), to))
            worker = threading.Thread(target=lambda x: x, args=(kept[-1],))
            worker.start()
            worker.join()
    threading.Thread(target=lambda: kept.__delitem__(slice(0, 5))).start()
    print(len(kept) > 0)
    """
    assert survives(code) == "True"


@pytest.mark.frameworks("torch")
def test_case_16_ping_pong():
    torch = importlib.import_module("torch")
    x = torch.arange(4.0)
    for _ in range(20_000):
        x = b.to_torch(b.to_numpy(x))
    assert x.tolist() == [0, 1, 2, 3]
    del x


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_cases_22_to_24():
    torch, jax, tf = map(importlib.import_module, ("torch", "jax", "tensorflow"))
    for x in (torch.ones(2), jax.numpy.ones(2), tf.constant([1.0])):
        assert b.convert(x, b.kind(x)) is x
        assert b.convert(x, b.kind(x), device="cpu") is x
    assert b.array_namespace(torch.ones(1)) is torch
    assert b.array_namespace(jax.numpy.ones(1)) is jax.numpy
    assert b.kind(b.convert([1.0], torch)) == "torch"
    assert b.kind(b.convert([1.0], like=jax.numpy.ones(1), lossy="allow")) == "jax"
    assert b.to_torch(torch.ones(2), dtype="int8").dtype == torch.int8


@pytest.mark.frameworks("cupy")
def test_case_25_cupy_without_a_driver():
    reason = b.available()["cupy"]
    if reason is None:
        assert b.kind(b.to_cupy(np.ones(3))) == "cupy"
    else:
        with pytest.raises(b.FrameworkUnavailable, match="cannot"):
            b.to_cupy(np.ones(3))


@pytest.mark.frameworks("torch", "tensorflow")
def test_case_27_the_round_trip_of_the_tensorflow_proposal():
    tf = importlib.import_module("tensorflow")
    x = tf.random.uniform((5, 7))
    at = b.to_numpy(x).ctypes.data
    t = b.from_dlpack(b.to_dlpack(x), "torch")
    assert t.data_ptr() == at
    back = b.from_dlpack(b.to_dlpack(t), "tensorflow")
    assert b.to_numpy(back).ctypes.data == at
    assert bool(tf.reduce_all(back == x))
    # Unaligned memory is copied, which TensorFlow's own function lost.
    moved = b.from_dlpack(b.to_dlpack(t.flatten()[1:]), "tensorflow")
    assert b.to_numpy(moved).ctypes.data % 64 == 0
    assert np.array_equal(b.to_numpy(moved), b.to_numpy(t).ravel()[1:])


def failure(action):
    try:
        action()
    except Exception as error:
        return error
    return AssertionError("it had the memory")


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_out_of_memory_of_the_frameworks():
    torch, jax, tf = map(importlib.import_module, ("torch", "jax", "tensorflow"))
    actions = (
        lambda: np.empty(2**46),
        lambda: torch.empty(2**46),
        lambda: tf.zeros((2**20, 2**26)),
        lambda: jax.block_until_ready(jax.numpy.zeros((2**22, 2**22))),
    )
    for action in actions:
        assert b.is_oom(failure(action))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.zeros((2, 3)), tf.zeros((2, 3)))
    assert not b.is_oom(caught.value)
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(2, 3) @ torch.zeros(2, 3)
    assert not b.is_oom(caught.value)


@pytest.mark.frameworks("torch", "jax")
def test_decorated_functions_stay_resident():
    torch, jax = map(importlib.import_module, ("torch", "jax"))
    kinds = []

    @b.torch
    def first(x):
        kinds.append(type(x))
        return x * 2

    @b.torch(output="numpy")
    def second(x):
        kinds.append(type(x))
        return x + 0.4

    with b.observe() as record:
        result = second(first(np.array([1, 2], np.uint8)))
    assert kinds == [torch.Tensor, torch.Tensor]
    assert (result.dtype, result.tolist()) == (np.uint8, [2, 4])
    assert sum(r.target == "torch" for r in record.rows()) <= 2

    @b.jax
    def third(x):
        return jax.numpy.cumsum(x)

    assert b.kind(third(torch.ones(3))) == "jax"


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_threads_convert_at_once():
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(300):
                data = rng.random((5, 6), dtype=np.float32)
                route = rng.permutation(["numpy", "torch", "jax", "tensorflow", "arrayloom"])
                x = data
                for to in route:
                    x = b.convert(x, str(to))
                assert np.array_equal(b.to_numpy(x), data)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_random_walks_keep_every_value():
    rng = np.random.default_rng(11)
    for step in range(4000):
        dtype = DTYPES[int(rng.integers(len(DTYPES) - 2))]
        if dtype in WIDE:
            continue
        data = base(dtype)[
            rng.integers(0, 3) :: int(rng.choice([1, 2, -1])), :: int(rng.choice([1, -1, 3]))
        ]
        x = data
        for to in rng.choice(["numpy", "torch", "jax", "tensorflow", "arrayloom"], size=4):
            x = b.convert(x, str(to), copy=[None, True][step % 2])
        assert np.array_equal(b.to_numpy(x), data), (step, dtype)
