"""PyTorch: tensors on the host and on accelerators."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache

from arrayloom import _ext
from arrayloom.bridge import dtypes
from arrayloom.bridge.drivers import number_of
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

_torch = importer("torch")


def _dtype(x: Array) -> str:
    return str(x.dtype).removeprefix("torch.")


def _odd_layout(x: Array) -> bool:
    return x.layout is not _torch().strided or x.is_quantized


# Integers of some bits, which would be taken for those of eight.
_BITS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8))


def _is_packed(x: Array) -> bool:
    return _dtype(x) in _BITS


def _is_half_complex(x: Array) -> bool:
    return x.dtype is _torch().complex32


def _prepare(x: Array, options: Options) -> Array:
    """Settle what the memory alone does not say: gradients, conjugation, sign."""
    if x.requires_grad:
        if not options.detach:
            msg = (
                "a torch tensor that requires gradients cannot leave torch unseen; call x.detach() "
                "or pass detach=True"
            )
            raise BufferError(msg)
        x = x.detach()
    if x.is_conj() or x.is_neg():
        if options.copy is False:
            msg = (
                "the values of this torch tensor are not those of its memory (it is conjugated or "
                "negated lazily), so copy=False is impossible; call x.resolve_conj().resolve_neg()"
            )
            raise BufferError(msg)
        x = x.resolve_conj().resolve_neg()
    # Nobody else has such numbers. All of them are numbers of the next larger type, which is cast on.
    return x.to(_torch().complex64) if _is_half_complex(x) else x


def _to_host(x: Array, _options: Options) -> HostArray:
    found = _ext.bridge.torch_view(x)
    if found is None:
        if x.device.type != "cpu":
            x = x.cpu()
        try:
            capsule = x.__dlpack__()
        except RuntimeError as error:
            msg = f"torch lends no memory of this {type(x).__name__}: {error}"
            raise BufferError(msg) from error
        array, element, _ = _ext.bridge.from_capsule(capsule)
    else:
        array, element = found
    return dtypes.named(array, element)


def _from_host(array: HostArray, options: Options) -> Array:
    torch = _torch()
    carrier, element = dtypes.carried(array)
    made = _ext.bridge.to_table(carrier, torch.Tensor, element)
    if made is None:
        made = torch.utils.dlpack.from_dlpack(
            _ext.bridge.to_capsule(carrier, versioned=False, element=element)
        )
    if options.device not in (None, "cpu"):
        made = _to_device(made, options.device)
    return made


def _to_device(x: Array, device: str) -> Array:
    torch = _torch()
    family, _, number = device.partition(":")
    if family == "cuda" and int(number) >= torch.cuda.device_count():
        msg = f"torch has no {device} here: it finds {torch.cuda.device_count()} CUDA devices"
        raise FrameworkUnavailable(msg)
    return x.to(device)


def _astype(x: Array, dtype: str, limit: float | None) -> Array:
    torch = _torch()
    if limit is not None:
        x = torch.where(torch.isfinite(x), x.clamp(-limit, limit), x)
    return x.to(getattr(torch, dtype))


@cache
def _wraps() -> Callable[[Array], bool]:
    """Return how torch tells tensors that stand for others, which nothing public does."""
    core = getattr(_torch()._C, "_functorch", None)  # noqa: SLF001 - that is the point
    return getattr(core, "is_functorch_wrapped_tensor", lambda _: False)


def _traced(x: Array) -> bool:
    """Whether a tensor stands for others: those of vmap and of gradients of functions, and fake ones."""
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    return _wraps()(x) or (fake is not None and isinstance(x, fake.FakeTensor))


def _apart(x: Array) -> str | None:
    if x.is_conj() or x.is_neg():
        return "conjugated or negated lazily, which the memory does not show"
    return "complex32, which only torch has" if _is_half_complex(x) else None


def _version(x: Array) -> int | None:
    # Tensors of inference mode count nothing.
    return None if x.is_inference() else x._version  # noqa: SLF001 - torch's own name for it


def _device(x: Array) -> str:
    place = x.device
    return place.type if place.index is None else f"{place.type}:{place.index}"


def _release(device: str | None) -> int:
    torch = _torch()
    if not torch.cuda.is_available() or (device or "cuda").partition(":")[0] != "cuda":
        return 0
    before = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    return before - torch.cuda.memory_reserved()


def _stream(device: str) -> int:
    # CUDA writes the legacy default stream as 0, the array API as 1.
    return int(_torch().cuda.current_stream(number_of(device)).cuda_stream) or 1


@contextmanager
def _enter(device: str, stream: int | None) -> Generator[None]:
    cuda = _torch().cuda
    number = number_of(device)
    with cuda.device(number):
        if stream is None:
            yield
            return
        found = cuda.default_stream(number) if stream == 1 else cuda.ExternalStream(stream, number)
        with cuda.stream(found):
            yield


def _keep(x: Array, stream: int) -> None:
    """Tell the allocator that memory made on one stream is used on another."""
    cuda = _torch().cuda
    number = x.device.index or 0
    x.record_stream(
        cuda.default_stream(number) if stream == 1 else cuda.ExternalStream(stream, number)
    )


def _save_rng() -> Array:
    torch = _torch()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), cuda


def _restore_rng(state: Array) -> None:
    torch = _torch()
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])


SPEC = FrameworkSpec(
    name="torch",
    modules=("torch",),
    array_types=("torch:Tensor",),
    layouts=Layouts.FORWARD,
    dtypes=NATIVE | FLOAT8 | {"bfloat16", "float8_e8m0fnu"},
    mutable=Mutability.ALWAYS,
    devices=frozenset({"cpu", "cuda"}),
    asks_stream=True,
    orders_exports=True,
    refused=(
        Refusal(
            _traced,
            "is traced: it has no memory of its own (of vmap, of a gradient, or a fake tensor)",
            "convert outside of the function that torch traces",
        ),
        Refusal(
            lambda x: x.device.type == "meta",
            "has no memory (device 'meta')",
            "move it to 'cpu' first",
        ),
        Refusal(lambda x: x.is_nested, "is nested", "call x.to_padded_tensor(VALUE) first"),
        Refusal(
            _is_packed,
            "has integers of less than eight bits, which only torch has",
            "view it as torch.uint8 or torch.int8",
        ),
        Refusal(
            _is_half_complex,
            "has no elements that others have (complex32)",
            'pass dtype="complex64"',
            abroad=True,
            cast=True,
        ),
        Refusal(_odd_layout, "is sparse or quantized", "call x.to_dense() or x.dequantize() first"),
    ),
    oom=OomRules(
        classes=("torch:OutOfMemoryError", "torch.cuda:OutOfMemoryError"),
        coded=("builtins:RuntimeError", "torch:AcceleratorError"),
        patterns=(
            "DefaultCPUAllocator: can't allocate memory",
            "DefaultCPUAllocator: not enough memory",
            "CUDA error: out of memory",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "CUDNN_STATUS_ALLOC_FAILED",
            "CUDNN_STATUS_NOT_SUPPORTED",
            "CUFFT_ALLOC_FAILED",
        ),
        sticky=("illegal memory access", "device-side assert", "unspecified launch failure"),
    ),
    release=_release,
    env_defaults={"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    hooks=Hooks(
        to_host=_to_host,
        from_host=_from_host,
        prepare=_prepare,
        dtype=_dtype,
        device=_device,
        copy=lambda x: x.clone(),
        take=lambda: _torch().from_dlpack,
        current=lambda: _torch().cuda.current_device,
        to_device=_to_device,
        apart=_apart,
        stream=_stream,
        enter=_enter,
        keep=_keep,
        version=_version,
        traced=_traced,
        astype=_astype,
        save_rng=_save_rng,
        restore_rng=_restore_rng,
        table=lambda: _torch().Tensor,
    ),
)
