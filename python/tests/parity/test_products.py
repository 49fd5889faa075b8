"""Complex products: their last bit depends on the order of the factors, which NumPy changes at times."""

import numpy as np
import pytest
from support.layouts import ordinary

# Around 256 KiB, from which NumPy computes in the memory of a temporary.
COUNTS = [1000, 16383, 16384, 40000]

EXPRESSIONS = {
    "temporary on the right": "z * w.conj()",
    "temporary on the left": "z.conj() * w",
    "temporaries on both sides": "z.conj() * (w + 1)",
    "a variable": "z * t",
    "a number of Python": "(2.5 - 1.25j) * (z + 1)",
    "a number of NumPy": "np.complex128(2.5 - 1.25j) * (z + 1)",
    "a real number": "0.7 * (z + 1)",
    "real values": "x * (z + 1)",
    "a view of a temporary": "z * (w + 1)[::-1]",
    "a narrower temporary": "z * (w + 1).astype(np.complex64)",
    "a wider temporary": "z.astype(np.complex64) * (w + 1)",
    "broadcasting": "z[:1] * (w + 1)",
    "a chain": "z * np.exp(1j * x) * (w * z.conj())",
    "a function": "np.multiply(z, w.conj())",
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_products_have_numpys_bits(xp_both, name, count):
    def run(module):
        z, w = (module.array(ordinary("D", count, seed)) for seed in (1, 2))
        names = {"np": module, "z": z, "w": w, "x": z.real.copy(), "t": w.conj()}
        return np.asarray(eval(EXPRESSIONS[name], names))

    want, got = run(np), run(xp_both)
    assert (want.dtype, want.tobytes()) == (got.dtype, got.tobytes())
