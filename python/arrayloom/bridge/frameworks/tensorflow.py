"""TensorFlow: immutable tensors. It ends the process over unaligned memory, so none is ever handed over."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import importlib
from collections.abc import Callable

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import dtypes
from arrayloom.bridge.errors import FrameworkUnavailable
from arrayloom.bridge.registry import (
    FLOAT8,
    NATIVE,
    Array,
    FrameworkSpec,
    Hooks,
    HostArray,
    Layouts,
    Mutability,
    OomRules,
    Options,
    Refusal,
    importer,
)

_BY_VALUE = FLOAT8 | {"float8_e4m3b11fnuz"}


_tf = importer("tensorflow")


def _named(x: Array, names: tuple[str, ...]) -> bool:
    return type(x).__name__ in names


def _to_host(x: Array, _options: Options) -> HostArray:
    tf = _tf()
    if isinstance(x, tf.Variable):
        x = x.read_value()
    if x.dtype.name in _BY_VALUE:
        return np.asarray(x.numpy())
    if x.dtype.name == "bfloat16":
        array, element, _ = _ext.bridge.from_capsule(tf.experimental.dlpack.to_dlpack(x))
        array.flags.writeable = False
        return dtypes.named(array, element)
    # A read-only view of the tensor's memory, of shape () for 0-d tensors.
    if "CPU" in x.device:
        return np.asarray(memoryview(x))
    return np.asarray(x.numpy())


def _from_host(array: HostArray, options: Options) -> Array:
    tf = _tf()
    if array.dtype.name in _BY_VALUE:
        made = tf.convert_to_tensor(array)
        return made if options.device in (None, "cpu") else _to_device(made, options.device)
    # Steps that are never taken may be anything, and TensorFlow wants them to be right as well.
    carrier, element = dtypes.carried(dtypes.exact(array))
    made = _tf().experimental.dlpack.from_dlpack(
        _ext.bridge.to_capsule(carrier, versioned=False, element=element)
    )
    return made if options.device in (None, "cpu") else _to_device(made, options.device)


def _to_device(x: Array, device: str) -> Array:
    tf = _tf()
    family, _, number = device.partition(":")
    if family != "cpu" and int(number) >= len(tf.config.list_logical_devices("GPU")):
        msg = f"tensorflow has no {device} here: it knows {tf.config.list_logical_devices()}"
        raise FrameworkUnavailable(msg)
    with tf.device("CPU:0" if family == "cpu" else f"GPU:{number}"):
        return tf.identity(x)


def _copy(x: Array) -> Array:
    # Operations that would copy lack some element types, or change the sign of zeros.
    with _tf().device(x.device):
        return _tf().convert_to_tensor(np.array(x.numpy()))


# TensorFlow's numbers of quantized element types, whose buffers are those of integers.
_QUANTIZED = frozenset({11, 12, 13, 15, 16})


# Whether there are GPUs that a tensor could lie on: looked up once.
_gpus: list[bool] = []


def _look_up() -> bool:
    _gpus.append(bool(_tf().config.list_physical_devices("GPU")))
    return _gpus[0]


def _view(x: Array) -> object:
    # The buffer of a tensor on a GPU would be a copy.
    if (_gpus[0] if _gpus else _look_up()) and "CPU" not in x.device:
        return NotImplemented
    # Variables, small floats, text and the like have no buffer: an error, and they get a closer look.
    memory = memoryview(x)
    # The dtype itself takes six times as long.
    if memory.format in "bBhHi" and x._datatype_enum() in _QUANTIZED:  # noqa: SLF001
        return NotImplemented
    return memory


def _accept() -> Callable[[object], Array]:
    # TensorFlow's modules are slow to look names up.
    return _tf().experimental.dlpack.from_dlpack


def _astype(x: Array, dtype: str, limit: float | None) -> Array:
    tf = _tf()
    if limit is not None:
        x = tf.where(tf.math.is_finite(x), tf.clip_by_value(x, -limit, limit), x)
    return tf.cast(x, dtype)


def _values(x: Array) -> Array:
    """Return the tensor with the values of a ragged or sparse one; others as they are."""
    while _named(x, ("RaggedTensor", "SparseTensor")):
        x = x.values
    return x


def _is_symbolic(x: Array) -> bool:
    return _named(_values(x), ("SymbolicTensor",))


def _apart(x: Array) -> str | None:
    if x.dtype.name in _BY_VALUE:
        return f"tensorflow lends {x.dtype.name} only by value"
    return None if "CPU" in x.device else "memory of a device"


def _device(x: Array) -> str:
    kind, _, number = _values(x).device.rpartition("/device:")[2].partition(":")
    return "cpu" if kind in ("CPU", "") else f"cuda:{number}"


def _save_rng() -> Array:
    """Keep where TensorFlow draws seeds from, if a seed was set, and its global generator, if there is one."""
    context = importlib.import_module("tensorflow.python.eager.context").context()
    seeds = getattr(context, "_rng", None)
    made = importlib.import_module("tensorflow.python.ops.stateful_random_ops").global_generator
    return (
        None if seeds is None else seeds.getstate(),
        None if made is None else (made, made.state.read_value()),
    )


def _restore_rng(state: Array) -> None:
    seeds, generator = state
    if seeds is not None:
        context = importlib.import_module("tensorflow.python.eager.context").context()
        context._rng.setstate(seeds)  # noqa: SLF001 - nothing public tells it
        # Operations that were drawn from are kept by their seed, and would go on where they are.
        context.clear_kernel_cache()
    if generator is not None:
        generator[0].state.assign(generator[1])


def _place(x: Array) -> object:
    kind, _, number = x.device.rpartition("/device:")[2].partition(":")
    if kind != "GPU" or x.dtype.name in _BY_VALUE or x.dtype.is_quantized:
        return NotImplemented
    return int(number)


def _take() -> Callable[[Array], Array]:
    take = _tf().experimental.dlpack.from_dlpack
    # TensorFlow takes no stream: the caller has waited for the producer.
    return lambda x: take(x.__dlpack__())


SPEC = FrameworkSpec(
    name="tensorflow",
    modules=("tensorflow",),
    array_types=(
        "tensorflow.python.framework.ops:EagerTensor",
        "tensorflow.python.framework.tensor:Tensor",
        "tensorflow.python.ops.resource_variable_ops:BaseResourceVariable",
        "tensorflow.python.ops.ragged.ragged_tensor:RaggedTensor",
        "tensorflow.python.framework.sparse_tensor:SparseTensor",
    ),
    align=64,
    layouts=Layouts.COMPACT_C,
    dtypes=NATIVE | _BY_VALUE | {"bfloat16"},
    by_value=_BY_VALUE,
    mutable=Mutability.NEVER,
    devices=frozenset({"cpu", "cuda"}),
    orders_exports=True,
    refused=(
        Refusal(
            _is_symbolic,
            "is symbolic: it has no value outside of its graph",
            "convert outside of tf.function",
        ),
        Refusal(lambda x: _named(x, ("RaggedTensor",)), "is ragged", "call x.to_tensor() first"),
        Refusal(
            lambda x: _named(x, ("SparseTensor",)), "is sparse", "call tf.sparse.to_dense(x) first"
        ),
        Refusal(
            lambda x: x.dtype.name in ("string", "resource", "variant"),
            "has elements that are not numbers",
            "decode or cast it with TensorFlow first",
        ),
        Refusal(
            lambda x: x.dtype.is_quantized, "is quantized", "call tf.quantization.dequantize first"
        ),
    ),
    oom=OomRules(
        classes=("tensorflow.python.framework.errors_impl:ResourceExhaustedError",),
    ),
    env_defaults={"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        device=_device,
        dtype=lambda x: x.dtype.name,
        copy=_copy,
        take=_take,
        place=_place,
        to_device=_to_device,
        synchronize=lambda _: None,
        save_rng=_save_rng,
        restore_rng=_restore_rng,
        view=_view,
        accept=_accept,
        apart=_apart,
        traced=_is_symbolic,
        astype=_astype,
    ),
)
