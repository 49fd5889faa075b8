"""A program that meets floating-point conditions of every kind, for devices other than the CPU."""

CONDITIONS = """
import numpy as np
from support.heard import all_warnings
x = np.arange(40_000, dtype=np.float64) + 1
x[7] = 0
for name, work in {
    "nothing": lambda: (x * 2 + 1).sum(),
    "divide": lambda: float(np.floor(1 / x).max()),
    "invalid": lambda: np.sqrt(x - 1).min(),
    "over": lambda: (x * 1e305).max(),
    "sum": lambda: (x * 4e303).sum(),
    "below": lambda: x.__itruediv__(x * 0).size,
}.items():
    with all_warnings() as told:
        value = work()
    print(name, value, sorted({str(w.message) for w in told}))
y = np.arange(40_000, dtype=np.float64)
try:
    with np.errstate(divide="raise"):
        print((1 / y).sum())
except FloatingPointError as error:
    print("raised", error)
"""
