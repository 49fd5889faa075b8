"""Write NumPy's outputs for the tests of the interpreter: index.txt and data.bin beside this file.

A line of the index describes one block of the data, in the order of the blocks:

    input NAME LETTER COUNT
    cast FROM TO COUNT                  of the input `cast_FROM`
    op NAME LOOP RESULT COUNT INPUTS    result number RESULT, of these inputs
    flags NAME LOOP COUNT INPUTS        the floating-point conditions of each element, a byte each
    fold NAME LETTER LENGTH COUNT       of `ramp`, see the tests; COUNT is 1 or, for scans, LENGTH
    plane NAME LETTER AXIS COUNT        the fold along one axis of 13 x 37 numbers of `ramp`
    range LETTER COUNT                  of arange
    linspace LETTER COUNT               start, step and stop before the numbers of linspace

Letters are NumPy's, with q and Q for 64-bit integers. All numbers are little-endian.
"""

import itertools
import pathlib
import warnings

import numpy as np

HERE = pathlib.Path(__file__).parent
INTS, FLOATS, COMPLEX = "bhiqBHIQ", "efd", "FD"
LENGTHS = [1, 7, 8, 9, 17, 100, 128, 129, 136, 300, 1000, 2500]
RNG = np.random.default_rng(20260)


def special_floats(letter: str) -> np.ndarray:
    """Zeros, ones, infinities, the ends of the range and what lies between."""
    limits = np.finfo(letter)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan]
    numbers += [limits.max, limits.smallest_subnormal, -limits.tiny, 100.25]
    return np.array(numbers).astype(letter)


def special_ints(letter: str) -> np.ndarray:
    """Both ends of the range and small numbers."""
    limits = np.iinfo(letter)
    numbers = [limits.min, limits.max, 0, 1, 2, 7, limits.max // 3 + 1]
    numbers += [-1, -5] if limits.min else [10]
    return np.array(numbers, letter)


def random_values(letter: str, count: int) -> np.ndarray:
    """Numbers of many sizes."""
    if letter in INTS:
        limits = np.iinfo(letter)
        wide = RNG.integers(limits.min, limits.max, count, letter, endpoint=True)
        return wide >> RNG.integers(0, limits.bits - 1, count).astype(letter)
    real = RNG.normal(size=count) * 10.0 ** RNG.uniform(-3, 3, count)
    if letter in COMPLEX:
        real = real + 1j * RNG.normal(size=count) * 10.0 ** RNG.uniform(-3, 3, count)
    return real.astype(letter)


def special_pairs(letter: str) -> tuple[np.ndarray, np.ndarray]:
    """Every special number with every other one."""
    if letter == "?":
        specials = np.array([False, True])
    elif letter in INTS:
        specials = special_ints(letter)
    elif letter in FLOATS:
        specials = special_floats(letter)
    else:
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
        specials = np.array([complex(x, y) for x in parts for y in parts[::2]], letter)
    left, right = np.meshgrid(specials, specials)
    return left.ravel(), right.ravel()


def inputs() -> dict[str, np.ndarray]:
    """All inputs by name: the family, an underscore, the letter."""
    found = {}
    for letter in "?" + INTS + FLOATS + COMPLEX:
        left, right = special_pairs(letter)
        if letter == "?":
            found["one_?"], found["left_?"], found["right_?"] = left, left, right
            found["cast_?"] = left
            continue
        found["left_" + letter] = np.concatenate([left, random_values(letter, 48)])
        found["right_" + letter] = np.concatenate([right, random_values(letter, 48)])
        if letter in INTS:
            one = np.concatenate([special_ints(letter), random_values(letter, 40)])
        elif letter in FLOATS:
            near = np.linspace(-1.2, 1.2, 49)
            one = np.concatenate(
                [special_floats(letter), random_values(letter, 96), near.astype(letter)]
            )
        else:
            parts = special_floats("f")[:10]
            one = [complex(x, y) for x in parts for y in parts]
            one = np.concatenate([np.array(one, letter), random_values(letter, 96)])
        found["one_" + letter] = one.astype(letter)
        found["cast_" + letter] = casts(letter)
    for letter in INTS:
        found["exponent_" + letter] = np.abs(found["right_" + letter].astype("d") % 12).astype(
            letter
        )
        found["count_" + letter] = (np.arange(len(found["left_" + letter])) * 5 % 71).astype(letter)
        if letter in "bhiq":
            found["count_" + letter][::9] *= -1
    for letter in "iq":
        count = len(found["left_d"])
        found["scale_" + letter] = RNG.integers(-40, 40, count).astype(letter)
        found["scale_" + letter][:8] = [-1100, 1100, -1050, 2000, -30, 20, -2000, 0]
    return found


def casts(letter: str) -> np.ndarray:
    """What is worth converting."""
    if letter in INTS:
        return np.concatenate([special_ints(letter), random_values(letter, 24)])
    numbers = [300.7, -1.0, -1.5, 255.5, 256.0, 65535.9, 65536.5, -32769.0, 2.0**31, -(2.0**31) - 1]
    numbers += [2.0**32 + 5, 2.0**53 + 1, 2.0**63, -(2.0**63), 2.0**64, 1e19, 1e25, -1e25, 65519.99]
    numbers += [65520.0, 2049.0001, 2.0**-25, 2.0**-25 * 1.0001, 6.1e-5, 1e-40, 1.0000000001]
    numbers += [1.00048828125, 1.000488281250001, 3.4028235677973366e38, -0.3, 0.9999]
    floats = special_floats("d" if letter in "dD" else "f").astype("d")
    return np.concatenate([numbers, floats, random_values("d", 24)]).astype(letter)


def operand_names(name: str, loop: str) -> list[str]:
    """The inputs that suit an operation."""
    letters = loop.split("->", maxsplit=1)[0]
    if len(letters) == 1:
        return ["one_" + letters]
    second = "right_" + letters[1]
    if name.endswith("shift"):
        second = "count_" + letters[1]
    elif name == "power" and letters[1] in INTS:
        second = "exponent_" + letters[1]
    elif name == "ldexp":
        second = "scale_" + letters[1]
    return ["left_" + letters[0], second, "left_" + letters[-1]][: len(letters)]


def loops(ufunc: np.ufunc) -> dict[str, str]:
    """Its loops for our types, each once, and NumPy's own letters for them."""
    merged = {t.replace("l", "q").replace("L", "Q"): t for t in reversed(ufunc.types)}
    ours = set("?->" + INTS + FLOATS + COMPLEX)
    return {t: merged[t] for t in reversed(merged) if set(t) <= ours}


def conditions(ufunc: np.ufunc, operands: list[np.ndarray], signature: tuple) -> np.ndarray:
    """Bits of the floating-point conditions that each element meets."""
    met = [0]

    def note(_words: str, flags: int) -> None:
        met[0] |= flags

    found = []
    with np.errstate(all="call", call=note):
        for i in range(len(operands[0])):
            met[0] = 0
            ufunc(*[o[i : i + 1] for o in operands], signature=signature)
            found.append(met[0])
    return np.array(found, "B")


def ramp(letter: str, count: int) -> np.ndarray:
    """The numbers of folds: the tests make the same."""
    whole = np.arange(count, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
    real = whole.astype("d") / 2.0**32 + 0.5
    if letter in COMPLEX:
        real = real + 1j * (real - 1.0)
    return real.astype(letter)


class Writer:
    """Collects blocks and writes both files."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.index: list[str] = []
        self.data: list[np.ndarray] = []

    def add(self, line: str, values: np.ndarray) -> None:
        """Add a block."""
        self.index.append(line)
        self.data.append(np.atleast_1d(values))

    def write(self) -> None:
        """Write both files."""
        (HERE / "index.txt").write_text("\n".join(self.index) + "\n")
        everything = b"".join(np.ascontiguousarray(d).tobytes() for d in self.data)
        (HERE / "data.bin").write_bytes(everything)


def add_loops(out: Writer, ufunc: np.ufunc, given: dict[str, np.ndarray]) -> None:
    """Add the results and the conditions of all loops of a ufunc."""
    name = ufunc.__name__
    for loop, own in loops(ufunc).items():
        names = operand_names(name, loop)
        count = min(len(given[n]) for n in names)
        operands = [given[n][:count] for n in names]
        signature = tuple(np.dtype(c) for c in own.replace("->", ""))
        results = ufunc(*operands, signature=signature)
        for number, result in enumerate(results if ufunc.nout > 1 else [results]):
            out.add(f"op {name} {loop} {number} {count} {' '.join(names)}", result)
        found = conditions(ufunc, operands, signature)
        if any(found):
            out.add(f"flags {name} {loop} {count} {' '.join(names)}", found)


def add_folds(out: Writer) -> None:
    """Add folds and running folds."""
    for letter, length in itertools.product(FLOATS + COMPLEX, LENGTHS):
        values = ramp(letter, length)
        for name in ["add", "multiply", "maximum"]:
            out.add(f"fold {name} {letter} {length} 1", getattr(np, name).reduce(values))
        if length == 100:
            for ufunc in [np.add, np.multiply]:
                line = f"scan {ufunc.__name__} {letter} {length} {length}"
                out.add(line, ufunc.accumulate(values))
    for letter, name, axis in itertools.product(FLOATS + COMPLEX, ["add", "multiply"], [0, 1]):
        values = getattr(np, name).reduce(ramp(letter, 13 * 37).reshape(13, 37), axis=axis)
        out.add(f"plane {name} {letter} {axis} {len(values)}", values)


def add_ranges(out: Writer) -> None:
    """Add arange and linspace."""
    for letter, first, step in [(c, 1.1, 0.3) for c in "efdFD"] + [(c, 7, 3) for c in INTS]:
        values = np.arange(first, first + 40 * step, step, dtype=letter)
        out.add(f"range {letter} {len(values)}", values)
    for letter in "fd":
        first, last = np.array([0.1, 7.3], letter)
        values, step = np.linspace(first, last, 50, retstep=True)
        values = np.concatenate([np.array([first, step, last], letter), values])
        out.add(f"linspace {letter} {len(values)}", values)


def main() -> None:
    """Write both files."""
    warnings.simplefilter("ignore")
    out = Writer()
    given = inputs()
    for name, values in given.items():
        out.add(f"input {name} {name.rpartition('_')[2]} {len(values)}", values)
    for source, target in itertools.product("?" + INTS + FLOATS + COMPLEX, repeat=2):
        values = given["cast_" + source].astype(target)
        out.add(f"cast {source} {target} {len(values)}", values)
    ufuncs = {"clip": np._core.umath.clip}
    for name in dir(np):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and name != "isnat":
            ufuncs[ufunc.__name__] = ufunc
    for _, ufunc in sorted(ufuncs.items()):
        add_loops(out, ufunc, given)
    add_folds(out)
    add_ranges(out)
    out.write()


if __name__ == "__main__":
    main()
