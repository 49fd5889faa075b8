"""Judge the conversions of a framework: ``python -m arrayloom.conform --bridge [KIND]``.

Every pair of kinds is walked over element types, layouts and what `copy` says. What is judged is what
the caller sees: kind, elements, shape and bits of the result, whose memory it is, whether that is what
``plan`` promised, whether writes reach whom they may reach, and whether memory lives as long as it is
used and no longer. A case ends *native* (nothing was copied), *fallback* (copied, for a reason that the
plan gives), *unsupported* (refused by an error that the bridge documents) or *FAIL*.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import gc
import importlib
import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from arrayloom import _ext
from arrayloom.bridge import conversion, dtypes, registry
from arrayloom.bridge.planning import Plan, plan, why_layout
from arrayloom.bridge.registry import Array, FrameworkSpec, HostArray, Mutability
from arrayloom.conform import Case, Report

__all__ = ["DTYPES", "LAYOUTS", "run"]

DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16"),
    *("float32", "float64", "complex64", "complex128", "bfloat16", "float8_e4m3fn"),
)
# What the bridge raises for arrays that it cannot convert.
_TYPED = (TypeError, ValueError, BufferError)
_LEVEL = 6


def base(dtype: str) -> HostArray:
    """48 elements in compact memory on 64 bytes."""
    values = (np.arange(48) % 7).reshape(6, 8)
    return dtypes.aligned_copy(values.astype(dtypes.numpy_dtype(dtype)), 64)


def at_offset(dtype: str, offset: int) -> HostArray:
    """Give the same elements some bytes behind an aligned address."""
    data = base(dtype)
    room = np.empty(data.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    made = room[start : start + data.nbytes].view(data.dtype).reshape(data.shape)
    made[...] = data
    return made


def readonly(data: HostArray) -> HostArray:
    """Give the array back, which cannot be written any more."""
    data.flags.writeable = False
    return data


class _Child(np.ndarray[Any, Any]):
    """A subclass without a meaning of its own."""


LAYOUTS: dict[str, Callable[[str], HostArray]] = {
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
    "subclass": lambda d: base(d).view(_Child),
    "5d": lambda d: base(d).reshape(2, 3, 2, 2, 2),
    "align64": lambda d: at_offset(d, 64),
}


class _Wrong(Exception):  # noqa: N818 - a finding, not an error of the suite
    """What is wrong with a conversion."""


def _expect(fact: object, text: str) -> None:
    if not fact:
        raise _Wrong(text)


def run(
    kinds: Iterable[str] = (),
    *,
    against: Iterable[str] = (),
    dtypes: Sequence[str] = (),
    layouts: Sequence[str] = (),
    progress: Callable[[str, int], object] | None = None,
) -> Report:
    """Judge every pair of kinds in which one of `kinds` is the source or the target.

    NumPy is always among the others: arrays of each kind are made of its arrays, and where that fails it is a
    finding.

    Parameters
    ----------
    kinds : iterable of str
        Names of registered frameworks; all that work on this machine by default.
    against : iterable of str
        The others of the pairs; all that work on this machine by default.
    dtypes, layouts : sequence of str
        Only these of `DTYPES` and `LAYOUTS`; all by default.
    progress : callable, optional
        Called with the name of each pair and how many of its cases are done.

    Returns
    -------
    Report
        A case for every conversion, named ``pair/source>target/dtype/layout, copy=...``, and one for owners.

    Raises
    ------
    TypeError, FrameworkUnavailable
        There is no such kind, or it does not work on this machine.

    Examples
    --------
    >>> report = run(["numpy"], dtypes=["int16"], layouts=["neg"])
    >>> report.failed
    ()
    """
    wanted, others = tuple(kinds), tuple(against)
    for name in (*wanted, *others):
        registry.require(registry.get(name))
    if others:
        here = list(dict.fromkeys(("numpy", *wanted, *others)))
    else:
        here = [name for name, reason in registry.available().items() if reason is None]
    cases: list[Case] = []
    for source, target in itertools.product(here, here):
        if wanted and source not in wanted and target not in wanted:
            continue
        pair = f"{source}>{target}"
        rows = _pair(source, target, dtypes or DTYPES, layouts or tuple(LAYOUTS))
        found = [Case(_LEVEL, f"pair/{pair}/{name}", *how) for name, how in rows]
        if progress is not None:
            progress(pair, len(found))
        cases += found
    return Report(" ".join(wanted) or "the bridge", tuple(cases))


def _pair(
    source: str, target: str, elements: Sequence[str], layouts: Sequence[str]
) -> Iterable[tuple[str, tuple[str, str]]]:
    spec = registry.get(target)
    for dtype, layout in itertools.product(elements, layouts):
        try:
            x = conversion.convert(LAYOUTS[layout](dtype), source)
        except Exception:  # noqa: BLE001, S112 - judged where NumPy is the source
            continue
        for copy in (None, False, True):
            yield f"{dtype}/{layout}, copy={copy}", _outcome(_one, x, spec, copy)
    for copy in (None, True):
        yield f"float32/owners, copy={copy}", _outcome(_owners, source, spec, copy)
    yield "float32/writes", _outcome(_writes, source, spec)


def _outcome(judge: Callable[..., str], *args: object) -> tuple[str, str]:
    try:
        return judge(*args), ""
    except _Wrong as wrong:
        return "FAIL", str(wrong)
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is a finding
        return "FAIL", f"{type(error).__name__}: {error}"


def _promise(x: Array, spec: FrameworkSpec) -> Plan | Exception:
    try:
        return plan(x, spec.name)
    except _TYPED as error:
        return error


def _one(x: Array, spec: FrameworkSpec, copy: bool | None) -> str:  # noqa: FBT001 - as the keyword
    promise = _promise(x, spec)
    before = conversion.describe(x)
    try:
        made = conversion.convert(x, spec.name, copy=copy)
    except _TYPED as error:
        refused = isinstance(promise, Exception) and type(error) is type(promise)
        copies = isinstance(promise, Plan) and not promise.zero_copy
        _expect(
            refused or (copy is False and copies and isinstance(error, BufferError)),
            f"plan says {promise!s}, and it was refused: {error}",
        )
        return "unsupported"
    if isinstance(promise, Exception):
        msg = f"plan refuses it ({promise}), and it was made"
        raise _Wrong(msg)
    if promise.route == "same":
        if copy is not True:
            _expect(made is x, "an array of this kind did not come back itself")
            return "native"
        _expect(made is not x, "copy=True gave the array itself")
        _same(made, x, spec)
        return "fallback"
    _same(made, x, spec)
    after = conversion.describe(made)
    _fits(after, spec)
    nowhere = after.apart or before.apart or not before.address or after.device != before.device
    if nowhere:
        return "native" if promise.zero_copy and copy is not True else "fallback"
    shared = after.address == before.address
    if copy is True:
        _expect(not shared, "copy=True shares the memory")
        return "fallback"
    if copy is False:
        _expect(shared, "copy=False made a copy")
    else:
        _expect(
            shared == promise.zero_copy,
            f"plan says {promise!s}, and the memory is {'shared' if shared else 'another'}",
        )
    if shared and before.readonly and spec.mutable is Mutability.FLAG:
        _expect(after.readonly, "the source is read-only, and the result is not")
    return "native" if shared else "fallback"


def _same(made: Array, x: Array, spec: FrameworkSpec) -> None:
    """Expect the kind, and the elements of the source."""
    _expect(_ext.bridge.kind(made) == spec.name, f"the result is {type(made).__name__}")
    expected, found = conversion.convert(x, "numpy"), conversion.convert(made, "numpy")
    _expect(
        found.dtype.name == expected.dtype.name and found.shape == expected.shape,
        f"{found.dtype.name} {found.shape} instead of {expected.dtype.name} {expected.shape}",
    )
    bits = expected.astype(found.dtype, copy=False).tobytes()
    _expect(found.tobytes() == bits, f"{found.ravel()[:8]} instead of {expected.ravel()[:8]}")


def _fits(facts: Any, spec: FrameworkSpec) -> None:  # noqa: ANN401 - Facts
    """Expect memory that the framework was said to take."""
    if facts.device != "cpu" or facts.apart or not facts.address:
        return
    _expect(
        facts.address % spec.align == 0,
        f"memory at an address that is not a multiple of {spec.align} bytes",
    )
    bad = why_layout(facts, spec.layouts)
    _expect(bad is None, f"memory that {spec.name} was said not to take: {bad}")


def _owners(source: str, spec: FrameworkSpec, copy: bool | None) -> str:  # noqa: FBT001 - as above
    """Memory lives while the result does, and goes back after it."""
    data = base("float32")
    bits = data.tobytes()
    root: Any = data
    while root.base is not None:
        root = root.base
    ends, size = weakref.ref(root), root.nbytes
    x = conversion.convert(data, source)
    made = conversion.convert(x, spec.name, copy=copy)
    del data, root, x
    gc.collect()
    # What would be given back too early is taken by these.
    others = [np.full(size, 255, np.uint8) for _ in range(64)]
    found = conversion.convert(made, "numpy").tobytes()
    _expect(found == bits, "the memory was given back while the result lives")
    del made, others
    gc.collect()
    _expect(ends() is None, "the source's memory is never given back")
    return "fallback" if copy else "native"


def _writes(source: str, spec: FrameworkSpec) -> str:
    """Who believes memory immutable sees no writes; who shares memory that can be written sees them."""
    x = conversion.convert(base("float32"), source)
    facts = conversion.describe(x)
    if facts.readonly or facts.apart or facts.device != "cpu":
        return "native"
    promise = plan(x, spec.name)
    made = conversion.convert(x, spec.name)
    before = conversion.convert(made, "numpy").copy()
    conversion.convert(x, "numpy", copy=False)[0, 0] += 100
    after = conversion.convert(made, "numpy")
    seen = bool(after[0, 0] != before[0, 0])
    if spec.mutable is Mutability.NEVER or not promise.zero_copy:
        _expect(not seen, "a write to the source changed the result")
    elif conversion.describe(made).device == "cpu":
        _expect(seen, "the plan shares the memory, and a write was not seen")
    return "native"


def load(target: str) -> str:
    """Return the name of a kind: ``target`` itself, or of the specification at ``package.module:NAME``.

    The latter is registered.
    """
    module, colon, name = target.partition(":")
    if not colon:
        return target
    spec = getattr(importlib.import_module(module), name)
    registry.register(spec)
    return spec.name
