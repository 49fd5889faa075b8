"""Compare what a piece of code does under NumPy and under arrayloom.

``observe`` runs a body and writes down everything a program could notice: values to the bit,
dtype, shape, strides, flags, the kind of type, the exception with its message, the warnings.
``differences`` compares two such records. Payloads of NaN are not compared: NumPy's own differ
between its loops.
"""

import collections
import dataclasses
import sys

import numpy as np

from support.heard import all_warnings

# Differing elements that a message shows.
_SHOWN = 4


@dataclasses.dataclass(frozen=True)
class Seen:
    """One value: facts that must be equal, and the elements of an array or a NumPy scalar."""

    facts: tuple
    data: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a body did: the values it gave, or the error it raised, and its warnings."""

    values: tuple = ()
    error: tuple | None = None
    warned: tuple = ()


def _one_nan(data):
    """A C-contiguous copy in native byte order whose NaNs are all the same NaN."""
    data = np.array(data, order="C", copy=True, subok=False)
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if data.dtype.kind == "c":
        parts = data.reshape(-1).view(data.real.dtype)
        parts[np.isnan(parts)] = np.nan
    elif data.dtype.kind == "f":
        data[np.isnan(data)] = np.nan
    return data


def _array_facts(value):
    flags = value.flags
    return (
        type(value).__name__,
        value.dtype.str if value.dtype.names is None else repr(value.dtype),
        value.shape,
        value.strides,
        ("C", flags.c_contiguous, "F", flags.f_contiguous),
        ("writeable", flags.writeable, "aligned", flags.aligned),
        ("owns", flags.owndata, "has base", value.base is not None),
    )


def see(value):
    """Write down a value: a tree of tuples with a ``Seen`` at each leaf."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.dtype.kind in "MmUSV":
            return Seen((*_array_facts(value), repr(value.tolist())))
        return Seen(_array_facts(value), _one_nan(value))
    if isinstance(value, np.generic):
        if value.dtype.kind in "biufc":
            return Seen(("scalar", type(value).__name__), _one_nan(value))
        return Seen(("scalar", type(value).__name__, repr(value)))
    if isinstance(value, dict):
        return tuple((repr(key), see(item)) for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *(see(item) for item in value))
    if isinstance(value, (str, bytes, int, float, complex, bool, type(None))):
        return Seen((type(value).__name__, repr(value)))
    return Seen((type(value).__name__,))


def _warned(log):
    kept = (entry for entry in log if entry.category.__name__ != "FallbackWarning")
    return tuple(sorted((entry.category.__name__, str(entry.message)) for entry in kept))


def _settle():
    """Let everything recorded run, so that its warnings are ours."""
    native = sys.modules.get("arrayloom._ext")
    if native is not None:
        native.flush()


def observe(body, *args):
    """Run ``body(*args)`` and write down what it did; all warnings are recorded."""
    values, error = (), None
    with all_warnings() as log:
        try:
            values = see(body(*args))
            _settle()
        except Exception as caught:
            error = (type(caught).__name__, str(caught))
    return Outcome(values, error, _warned(log))


def ulp_distance(left, right):
    """How many floats lie between two arrays of the same float dtype, the largest of all."""
    width = {2: np.int16, 4: np.int32, 8: np.int64}
    if left.dtype.kind == "c":
        return max(
            ulp_distance(left.real.copy(), right.real.copy()),
            ulp_distance(left.imag.copy(), right.imag.copy()),
        )
    kind = width[left.dtype.itemsize]
    ordered = []
    for data in (left, right):
        bits = data.view(kind).astype(object)
        low = int(np.iinfo(kind).min)
        ordered.append(np.where(bits < 0, low - bits, bits))
    both_nan = np.isnan(left) & np.isnan(right)
    one_nan = np.isnan(left) ^ np.isnan(right)
    if one_nan.any():
        return 2**63
    gap = np.where(both_nan, 0, abs(ordered[0] - ordered[1]))
    return int(gap.max()) if gap.size else 0


def _compare_data(where, want, got, ulps, signed_zero):
    if want.tobytes() == got.tobytes():
        return []
    if not signed_zero:
        want, got = want + 0, got + 0
        if want.tobytes() == got.tobytes():
            return []
    if ulps and want.dtype.kind in "fc":
        far = ulp_distance(np.atleast_1d(want), np.atleast_1d(got))
        return [f"{where}: {far} ULP apart, {ulps} allowed"] if far > ulps else []
    size = want.dtype.itemsize
    raw = [np.frombuffer(data.tobytes(), np.uint8).reshape(-1, size) for data in (want, got)]
    at = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    flat = want.reshape(-1), got.reshape(-1)
    shown = "; ".join(f"[{i}] {flat[0][i]!r} != {flat[1][i]!r}" for i in at[:_SHOWN].tolist())
    return [f"{where}: {at.size} of {want.size} elements differ (NumPy != ours): {shown}"]


def _compare(where, want, got, ulps, signed_zero):
    if isinstance(want, Seen) and isinstance(got, Seen):
        if want.facts != got.facts:
            pairs = zip(want.facts, got.facts, strict=False)
            odd = [f"{a!r} != {b!r}" for a, b in pairs if a != b]
            return [f"{where}: {', '.join(odd) or (want.facts, got.facts)}"]
        if want.data is None:
            return []
        return _compare_data(where, want.data, got.data, ulps, signed_zero)
    if type(want) is tuple and type(got) is tuple and len(want) == len(got):
        found = []
        for i, (one, other) in enumerate(zip(want, got, strict=True)):
            place = f"{where}.{one[0]}" if _is_entry(one) else f"{where}[{i}]"
            found += _compare(place, one, other, ulps, signed_zero)
        return found
    return [] if want == got else [f"{where}: {want!r} != {got!r}"]


def _is_entry(node):
    return type(node) is tuple and len(node) == 2 and isinstance(node[0], str)


def differences(want, got, *, ulps=0, signed_zero=True):
    """What differs between two outcomes, one line each; empty when nothing does."""
    if want.error != got.error:
        return [f"error: {want.error!r} != {got.error!r}"]
    found = _compare("result", want.values, got.values, ulps, signed_zero)
    if want.warned != got.warned:
        many, few = collections.Counter(want.warned), collections.Counter(got.warned)
        found.append(f"warnings: only NumPy {dict(many - few)}, only ours {dict(few - many)}")
    return found
