"""The matrix: every kind to every other, over element types, layouts and what `copy` says."""

import gc
import itertools

import pytest
from support.arrays import CLE, DTYPES, KINDS, LAYOUTS, SMALL, WIDE, base

import arrayloom as al
import arrayloom.bridge as b
from arrayloom.bridge.errors import LossyConversionError


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
        DTYPES, ("C", "F", "0d", "empty", "5d", "step2", "element"), (None, False, True)
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
