"""Random conversions: ``python bridge_fuzz.py COUNT SEED`` ends well if no process dies and no value is lost.

Each step takes an array of a random element type, layout and kind to a random kind, with random keywords.
What is refused must be refused by one of the documented errors; what is made must have the same values. It
prints how many conversions were made and how many were refused.
"""

import gc
import importlib.util
import sys
from contextlib import nullcontext

import numpy as np

import arrayloom.bridge as b
from support.arrays import DTYPES, KINDS, LAYOUTS, SMALL

REFUSED = (BufferError, TypeError, ValueError)


def kinds():
    """Kinds that can be used here."""
    return [k for k in KINDS if k == "numpy" or importlib.util.find_spec(k) is not None]


def words(rng):
    """Keywords of a conversion."""
    found = {"copy": [None, None, True, False][int(rng.integers(4))]}
    if rng.integers(6) == 0:
        found["readonly"] = ["share", "copy", "error"][int(rng.integers(3))]
    if rng.integers(8) == 0:
        found["order"] = ["C", "F"][int(rng.integers(2))]
    return found


def equal(made, data):
    """Whether an array of any kind has these elements."""
    back = b.convert(made, "numpy", detach=True)
    native = data.astype(data.dtype.newbyteorder("="))
    return back.shape == data.shape and back.tobytes() == native.tobytes()


def step(rng, there):
    """Go some conversions along from a new array; return how many were made and refused."""
    names = list(LAYOUTS)
    usable = [d for d in DTYPES if d not in SMALL or importlib.util.find_spec("ml_dtypes")]
    dtype = usable[int(rng.integers(len(usable)))]
    layout = names[int(rng.integers(len(names)))]
    data = LAYOUTS[layout](dtype)
    if layout == "bigendian" and dtype in SMALL:
        return 0, 0
    expected = data.copy()
    x, made, refused = data, 0, 0
    for _ in range(int(rng.integers(1, 8))):
        to = there[int(rng.integers(len(there)))]
        try:
            if rng.integers(10) == 0:
                version = [None, (1, 0), (1, 3)][int(rng.integers(3))]
                y = b.from_dlpack(b.to_dlpack(x, max_version=version), to)
            else:
                # Observed conversions are planned, all of them; others go the shortest way.
                with b.observe() if rng.integers(3) == 0 else nullcontext():
                    y = b.convert(x, to, **words(rng))
        except REFUSED:
            refused += 1
            continue
        made += 1
        if not (to == "numpy" and not b.to_numpy(y).dtype.isnative):
            assert equal(y, expected), (dtype, layout, b.kind(x), to)
            x = y
    return made, refused


def main(count, seed):
    """Run so many conversions."""
    rng = np.random.default_rng(seed)
    there = kinds()
    made = refused = 0
    while made + refused < count:
        more = step(rng, there)
        made, refused = made + more[0], refused + more[1]
    gc.collect()
    print(made, refused, ",".join(there))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
