"""Write resolve.txt: the loops that NumPy chooses, for every operation and every choice of operands.

Run with the NumPy whose rules are wanted: python make.py > resolve.txt

A line of the file is `name inputs palette grid`. The palette lists loops, divided by commas; the grid
has one character for each combination of operand kinds, the last operand running fastest: a digit or
letter is the number of a loop in the palette, a dot stands for an error. Operand kinds are the
fourteen types `?bhiqBHIQefdFD` and then Python's int, float and complex. Calls with Python's numbers
only have a dot.

Lines `fold NAME` have the dtypes of `reduce` for the fourteen types, a dot for an error. Lines
`foldas NAME LETTER` have the dtypes for an array of this type when one of the fourteen is requested, a
dot for an error or a warning.
"""

import itertools
import string
import warnings

import numpy as np

LETTERS = "?bhiqBHIQefdFD"
KINDS = [np.dtype(c) for c in LETTERS] + [int, float, complex]
DIGITS = string.digits + string.ascii_letters
FOLDS = ["add", "multiply", "minimum", "maximum", "fmin", "fmax", "bitwise_and", "bitwise_or"]
FOLDS += ["bitwise_xor", "logical_and", "logical_or"]


def letter(dtype: np.dtype) -> str:
    """The letter of a type, with 64-bit integers always q and Q."""
    return {"l": "q", "L": "Q"}.get(dtype.char, dtype.char)


def ufuncs() -> dict:
    """All element-wise ufuncs by name, without those for dates."""
    found = {"clip": np._core.umath.clip}
    for name in dir(np):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and name != "isnat":
            found[ufunc.__name__] = ufunc
    return dict(sorted(found.items()))


def chosen(ufunc: np.ufunc, operands: tuple) -> str | None:
    """The loop for these operands, as letters; none also if it is one of other types."""
    if all(isinstance(o, type) for o in operands):
        return None
    try:
        dtypes = ufunc.resolve_dtypes(operands + (None,) * ufunc.nout)
    except TypeError:
        return None
    letters = "".join(letter(d) for d in dtypes)
    if not set(letters) <= set(LETTERS):
        return None
    return letters[: ufunc.nin] + "->" + letters[ufunc.nin :]


def folded(name: str, source: str, requested: str | None) -> str:
    """The dtype of a reduction, or a dot."""
    try:
        result = getattr(np, name).reduce(np.ones(2, source), dtype=requested)
    except (TypeError, np.exceptions.ComplexWarning):
        return "."
    return letter(result.dtype)


def main() -> None:
    """Print the file."""
    warnings.simplefilter("error")
    for name, ufunc in ufuncs().items():
        palette: list[str] = []
        grid = ""
        for operands in itertools.product(KINDS, repeat=ufunc.nin):
            loop = chosen(ufunc, operands)
            if loop is not None and loop not in palette:
                palette.append(loop)
            grid += "." if loop is None else DIGITS[palette.index(loop)]
        print(name, ufunc.nin, ",".join(palette), grid)
    for name in FOLDS:
        print("fold", name, "".join(folded(name, c, None) for c in LETTERS))
        for source in LETTERS:
            print("foldas", name, source, "".join(folded(name, source, c) for c in LETTERS))


if __name__ == "__main__":
    main()
