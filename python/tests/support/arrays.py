"""Arrays of every element type and layout, for tests of the bridge."""

import os
import subprocess
import sys
import textwrap

import numpy as np

from arrayloom.bridge import dtypes, registry

KINDS = ("numpy", "torch", "jax", "tensorflow", "arrayloom", "pyclesperanto")
DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 "
    "complex128 bfloat16 float8_e4m3fn"
).split()
# What pyclesperanto has; what JAX has with 64-bit types only; what NumPy has by ml_dtypes only.
CLE = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"}
WIDE = {"int64", "uint64", "float64", "complex128"}
SMALL = {"bfloat16", "float8_e4m3fn"}


def base(dtype):
    """48 elements in compact memory on 64 bytes."""
    return dtypes.aligned_copy(
        (np.arange(48) % 7).reshape(6, 8).astype(dtypes.numpy_dtype(dtype)), 64
    )


def at_offset(dtype, offset):
    """The same elements some bytes behind an aligned address."""
    data = base(dtype)
    room = np.empty(data.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    made = room[start : start + data.nbytes].view(data.dtype).reshape(data.shape)
    made[...] = data
    return made


def readonly(data):
    """The array, which cannot be written any more."""
    data.flags.writeable = False
    return data


class Child(np.ndarray):
    """A subclass without a meaning of its own."""


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
    "align64": lambda d: at_offset(d, 64),
}


def survives(code, *args):
    """Run a program that a framework could end; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, args)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def pyclesperanto():
    """The module, imported as the bridge does it, which TensorFlow in the same process survives."""
    return registry.require(registry.get("pyclesperanto"))
