"""Arrays of NumPy, CuPy, PyTorch, TensorFlow, JAX, pyclesperanto and arrayloom, converted into one another.

Memory is shared where the target can use it as it is; where it cannot, the reason of the copy can be
asked. Values are never narrowed silently, and what is known to end a process is never tried. Importing
this module imports no framework.

>>> import numpy as np, arrayloom.bridge as b
>>> b.kind(np.zeros(3)), b.to_numpy([1, 2]).tolist()
('numpy', [1, 2])
"""

import os as _os

from arrayloom import _ext
from arrayloom.bridge import conversion as _conversion
from arrayloom.bridge import foreign as _foreign
from arrayloom.bridge import registry as _registry
from arrayloom.bridge import streams as _streams
from arrayloom.bridge.decorators import (
    arrayloom,
    cupy,
    jax,
    numpy,
    pyclesperanto,
    tensorflow,
    torch,
    uses,
)
from arrayloom.bridge.errors import FrameworkUnavailable, LossyConversionError, OutOfMemory
from arrayloom.bridge.exchange import (
    array_namespace,
    device,
    from_dlpack,
    move_to,
    to_dlpack,
)
from arrayloom.bridge.observing import Record, observe
from arrayloom.bridge.oom import is_oom, memory, release
from arrayloom.bridge.planning import Facts, Plan, plan
from arrayloom.bridge.registry import (
    FrameworkSpec,
    Hooks,
    Layouts,
    Mutability,
    OomRules,
    Refusal,
    available,
    register,
)
from arrayloom.bridge.stacking import stack, unstack
from arrayloom.bridge.streams import stream

_ext.bridge.set_abroad(_streams.NAMED, _streams.order_usual, _foreign.DeviceArray)
_registry.load_builtin()
_ext.bridge.set_hooks(_registry.resolve, _conversion.convert)
_ext.bridge.register_type(_ext.LazyArray, "arrayloom")

kind = _ext.bridge.kind
convert = _ext.bridge.convert
to_numpy = _ext.bridge.to_numpy
to_cupy = _ext.bridge.to_cupy
to_torch = _ext.bridge.to_torch
to_tensorflow = _ext.bridge.to_tensorflow
to_jax = _ext.bridge.to_jax
to_pyclesperanto = _ext.bridge.to_pyclesperanto
to_arrayloom = _ext.bridge.to_arrayloom

__all__ = [
    "Facts",
    "FrameworkSpec",
    "FrameworkUnavailable",
    "Hooks",
    "Layouts",
    "LossyConversionError",
    "Mutability",
    "OomRules",
    "OutOfMemory",
    "Plan",
    "Record",
    "Refusal",
    "array_namespace",
    "arrayloom",
    "available",
    "child_environment",
    "convert",
    "cupy",
    "device",
    "from_dlpack",
    "is_oom",
    "jax",
    "kind",
    "memory",
    "move_to",
    "numpy",
    "observe",
    "plan",
    "pyclesperanto",
    "register",
    "release",
    "stack",
    "stream",
    "tensorflow",
    "to_arrayloom",
    "to_cupy",
    "to_dlpack",
    "to_jax",
    "to_numpy",
    "to_pyclesperanto",
    "to_tensorflow",
    "to_torch",
    "torch",
    "unstack",
    "uses",
]


def child_environment() -> dict[str, str]:
    """Return this process's environment with the defaults that frameworks need to share a GPU.

    Variables that are set already stay as they are.

    Examples
    --------
    >>> child_environment()["TF_FORCE_GPU_ALLOW_GROWTH"]
    'true'
    """
    found = dict(_os.environ)
    for name in _registry.names():
        for variable, value in _registry.get(name).env_defaults.items():
            found.setdefault(variable, value)
    return found
