"""Makes sums.txt: random arrays summed by NumPy, for the test of the summation order.

    python make.py 600 1 > sums.txt
    python make.py 400 2 > sums_before_2_3.txt    # with NumPy 2.2

One case a line: dtype, dtype of the sum, whether NumPy converts the operand, seed and number of the
block's elements, offset in elements, shape, steps in bytes, folded axes as a bit mask, steps of the
result, and the FNV-1a hash of the result's bytes in C order. The values of a block are made from its
seed by an integer hash, here and in the test, so that the file holds no array.
"""

import sys

import numpy as np

# Bytes, bits of the mantissa, lowest exponent, number of exponents.
FLOATS = {"e": (2, 10, 10, 7), "f": (4, 23, 120, 14), "d": (8, 52, 1016, 14)}
PARTS = {"F": "f", "D": "d"}
# Dtype of the operand and of the sum.
PAIRS = ["ff"] * 6 + ["dd"] * 6 + ["ee"] * 3 + ["FF"] * 2 + ["DD"] * 2
PAIRS += ["fd", "fd", "ed", "ef", "df", "FD", "id", "ef"]


def mix(x: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def block(letter: str, seed: int, n: int) -> np.ndarray:
    """The values of a block: random sign and mantissa, a few exponents."""
    if letter in PARTS:
        return block(PARTS[letter], seed, 2 * n).view(letter)
    start = np.uint64(seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    x = mix(start + np.arange(n, dtype=np.uint64))
    if letter == "i":
        return (x >> np.uint64(32)).astype(np.uint32).view(np.int32)
    size, mantissa, low, exponents = FLOATS[letter]
    bits = x & np.uint64((1 << mantissa) - 1)
    bits |= (np.uint64(low) + (x >> np.uint64(52)) % np.uint64(exponents)) << np.uint64(mantissa)
    bits |= (x >> np.uint64(63)) << np.uint64(8 * size - 1)
    return bits.astype(f"u{size}").view(letter)


def fnv(data: bytes) -> int:
    """FNV-1a, 64 bits."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def extents(rng: np.random.Generator) -> list[int]:
    """A random shape of 1 to 4 axes and 200 to 120,000 elements."""
    while True:
        rank = int(rng.integers(1, 5))
        target = np.exp(rng.uniform(np.log(200), np.log(120_000)))
        parts = rng.dirichlet(np.ones(rank)) if rng.random() < 0.7 else np.full(rank, 1 / rank)
        shape = [max(1, round(target**p)) for p in parts]
        if 200 <= np.prod(shape) <= 120_000:
            return shape


def view(rng: np.random.Generator, letter: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random block and a random view of it."""
    shape = extents(rng)
    style = rng.choice(["plain", "padded", "stepped"], p=[0.35, 0.35, 0.3])
    steps = [int(rng.choice([1, 1, 2, 3])) if style == "stepped" else 1 for _ in shape]
    pads = [int(rng.choice([0, 0, 1, 5])) if style == "padded" else 0 for _ in shape]
    full = [n * s + p for n, s, p in zip(shape, steps, pads, strict=True)]
    while np.prod(full) > 400_000:
        axis = int(np.argmax(np.divide(full, shape)))
        full[axis], steps[axis], pads[axis] = shape[axis], 1, 0
    order = rng.permutation(len(shape)) if rng.random() < 0.5 else np.arange(len(shape))
    base = block(letter, seed, int(np.prod(full)))
    whole = base.reshape([full[i] for i in order]).transpose(np.argsort(order))
    cut = []
    for n, s, p in zip(shape, steps, pads, strict=True):
        first = int(rng.integers(0, p + 1))
        cut.append(slice(first, first + (n - 1) * s + 1, s))
    a = whole[tuple(cut)]
    flips = [slice(None, None, -1 if rng.random() < 0.12 else 1) for _ in shape]
    a = a[tuple(flips)]
    if a.ndim > 1 and rng.random() < 0.15:
        axis = int(rng.integers(0, a.ndim))
        thin = a[tuple(slice(0, 1) if i == axis else slice(None) for i in range(a.ndim))]
        a = np.broadcast_to(thin, a.shape) if rng.random() < 0.5 else thin
    if a.ndim > 1 and rng.random() < 0.1:
        a = a[
            tuple(
                slice(0, 1) if i == int(rng.integers(0, a.ndim)) else slice(None)
                for i in range(a.ndim)
            )
        ]
    return base, a


def foreign(rng: np.random.Generator, shape: list[int], letter: str) -> np.ndarray:
    """A result array with a layout that NumPy would not choose."""
    order = rng.permutation(len(shape))
    pad = [int(rng.integers(0, 2)) for _ in shape]
    whole = np.zeros([shape[i] + pad[i] for i in order], letter).transpose(np.argsort(order))
    out = whole[tuple(slice(0, n) for n in shape)]
    if rng.random() < 0.3:
        out = out[tuple(slice(None, None, -1 if rng.random() < 0.3 else 1) for _ in shape)]
    return out


def listed(numbers: tuple[int, ...] | list[int]) -> str:
    """Numbers as one word."""
    return ",".join(str(n) for n in numbers) or "-"


def case(rng: np.random.Generator, seed: int) -> str:
    """One line of the file."""
    letter, result = PAIRS[int(rng.integers(0, len(PAIRS)))]
    base, a = view(rng, letter, seed)
    axes = tuple(i for i in range(a.ndim) if rng.random() < 0.55) or (int(rng.integers(0, a.ndim)),)
    offset = (
        a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    ) // base.itemsize
    strides, converted, operand = a.strides, letter != result, a
    if letter == result and rng.random() < 0.08:
        # The same steps in a block of swapped bytes.
        swapped = base.astype(base.dtype.newbyteorder(">"))
        operand = np.ndarray(a.shape, swapped.dtype, swapped, offset * base.itemsize, a.strides)
        converted = True
    kept = [1 if i in axes else n for i, n in enumerate(a.shape)]
    given = foreign(rng, kept, result) if rng.random() < 0.1 and a.ndim > 1 else None
    total = np.sum(operand, axis=axes, dtype=result, keepdims=True, out=given)
    mask = sum(1 << i for i in axes)
    words = [letter, result, int(converted), seed, len(base), offset, listed(a.shape)]
    words += [listed(strides), mask, listed(total.strides), "given" if given is not None else "new"]
    return " ".join(str(w) for w in words) + f" {fnv(np.ascontiguousarray(total).tobytes()):016x}"


def main() -> None:
    """Writes the cases."""
    cases, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    print(f"# make.py {cases} {seed}, NumPy {np.__version__}")
    for i in range(cases):
        print(case(rng, seed * 100_000 + i))


if __name__ == "__main__":
    main()
