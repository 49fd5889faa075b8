"""How far elementary functions are from the exact values, in units of the last place.

As a script: ``python math_proof.py [COUNT]`` prints a table of the device's own functions in double
precision, with COUNT numbers drawn for each of several ranges. ``ARRAYLOOM_MATH`` says whose functions
are looked at.

The exact value is NumPy's in ``longdouble``, which must have 64 bits at least: 2048 times as fine.
"""

import importlib
import sys

import numpy as np

NARROW = np.finfo(np.longdouble).nmant < 63

_EDGES = np.array(
    [
        0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, 3, 8, 100, 1000, 1e-300, 5e-324,
        -5e-324, 2.2e-308, 1e308, -1e308, np.pi / 2, np.pi, 710, 711, -745.2, -746, 709.78, 1e22,
        1e30, -1e300, np.sqrt(2) - 1, np.sqrt(2) + 1, 1 + 2**-52, 1 - 2**-53, np.log(2) / 2,
        np.sqrt(0.5),
    ]
)  # fmt: skip

# Where each function of one value changes from one extreme to the other.
RANGES = {
    "exp": (-746, 711), "exp2": (-1076, 1025), "expm1": (-60, 711), "log": (0, 3), "log2": (0, 3),
    "log10": (0, 3), "log1p": (-1, 3), "sin": (-50, 50), "cos": (-50, 50), "tan": (-50, 50),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-5, 5), "sinh": (-712, 712),
    "cosh": (-712, 712), "tanh": (-20, 20), "cbrt": (-1000, 1000),
}  # fmt: skip
PAIRS = ("arctan2", "power", "hypot")

# Functions of complex numbers, the range of both parts, and how far a part may be from the exact one.
COMPLEX = {
    "exp": (-300, 300, 2), "log": (-5, 5, 2), "log2": (-5, 5, 3), "log10": (-5, 5, 3),
    "sqrt": (-5, 5, 2.5), "sin": (-50, 50, 2.5), "cos": (-50, 50, 2.5), "tan": (-9, 9, 6),
    "sinh": (-50, 50, 2.5), "cosh": (-50, 50, 2.5), "tanh": (-9, 9, 6),
}  # fmt: skip


def operands(name, count, draw):
    """Operands of a function: edges, all bits, its own range, near zero, near one, large."""

    def even(low, high):
        return draw.uniform(low, high, count)

    def scaled(low, high):
        return 2.0 ** draw.integers(low, high, count)

    def bits():
        return draw.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)

    if name in PAIRS:
        grid = np.meshgrid(_EDGES, _EDGES)
        near, wide = even(-3, 3), 2.0 ** even(-1000, 1000)
        pairs = [
            (grid[0].ravel(), grid[1].ravel()),
            (bits(), bits()),
            (near, even(-3, 3)),
            (near * scaled(-40, 40), even(-3, 3) * scaled(-40, 40)),
            (np.abs(near), even(-500, 500)),
            (wide, even(-1.1, 1.1) if name == "power" else wide * 2.0 ** even(-40, 40)),
            (1 + even(-1, 1) * scaled(-40, 0), even(-1, 1) * scaled(0, 45)),
            (np.round(even(-20, 20)), np.round(even(-20, 20))),
        ]
        return tuple(np.concatenate(side) for side in zip(*pairs, strict=True))
    low, high = RANGES[name]
    parts = [_EDGES, bits(), even(low, high), even(-1, 1), even(0.5, 2), even(-1e6, 1e6)]
    parts += [even(-2, 2) * scaled(-40, 3), 1 + even(-1, 1) * scaled(-50, 0)]
    if name in ("sin", "cos", "tan"):
        parts += [np.round(even(-(2**28), 2**28)) * (np.pi / 2), np.trunc(even(-1e9, 1e9))]
    return (np.concatenate(parts),)


def distances(found, exact):
    """Units in the last place between results and exact values; infinite where one is special."""
    rounded = exact.astype(found.dtype)
    ordinary = np.isfinite(found) & np.isfinite(rounded)
    unit = np.spacing(np.abs(np.where(ordinary, rounded, 1))).astype(exact.dtype)
    far = np.abs(np.where(ordinary, found, 0) - np.where(ordinary, exact, 0)) / unit
    special = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    far = np.where(ordinary, far, np.where(special, 0, np.inf))
    lost_sign = (rounded == 0) & (np.signbit(found) != np.signbit(rounded))
    return np.where(lost_sign, np.inf, far).astype(float)


def worst(module, name, count, seed=0):
    """The largest distance of a function of ``module`` in double precision, and its operands."""
    args = operands(name, count, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        found = np.array(getattr(module, name)(*(module.array(arg) for arg in args)))
        exact = getattr(np, name)(*(arg.astype(np.longdouble) for arg in args))
    far = distances(found, exact)
    at = int(far.argmax())
    return float(far[at]), [arg[at].item() for arg in args]


def complex_operands(name, count, draw):
    """Operands of a function of complex numbers: its range, wide and small parts, near the unit circle."""
    low, high, _ = COMPLEX[name]

    def even():
        return draw.uniform(low, high, (2, count))

    angle, near = draw.uniform(-np.pi, np.pi, count), 1 + 2.0 ** draw.uniform(-40, -1, count)
    parts = [
        even(),
        even() / high,
        even() / high * 2.0 ** draw.uniform(-40, 2, (2, count)),
        np.array([near * np.cos(angle), near * np.sin(angle)]),
        even() * np.array([[1], [0]]),
        even() * np.array([[0], [1]]),
    ]
    real, imaginary = np.concatenate(parts, axis=1)
    z = np.empty(len(real), complex)
    z.real, z.imag = real, imaginary
    return z


def complex_worst(module, name, count, dtype="D", seed=0):
    """The largest distance of either part of a function of ``module``, and its operand."""
    z = complex_operands(name, count, np.random.default_rng(seed)).astype(dtype)
    with np.errstate(all="ignore"):
        found = np.array(getattr(module, name)(module.array(z)))
        exact = getattr(np, name)(z.astype(np.clongdouble if dtype == "D" else "D"))
    far = np.maximum(
        distances(found.real, exact.real),
        distances(found.imag, exact.imag),
    )
    at = int(far.argmax())
    return float(far[at]), z[at].item()


def main(words):
    """Print the tables."""
    count = int(words[0]) if words else 1_000_000
    module = importlib.import_module("arrayloom")
    for name in (*RANGES, *PAIRS):
        far, where = worst(module, name, count)
        print(f"| {name} | {far:.3f} | {', '.join(map(repr, where))} |", flush=True)
    for name in COMPLEX:
        double, single = (complex_worst(module, name, count, dtype)[0] for dtype in "DF")
        print(f"| {name} | {double:.2f} | {single:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
