"""numexpr as a backend: whole kernels of arithmetic on float64, as one expression each.

Run a program on it: ``arrayloom --backend examples.backends.numexpr_backend:Numexpr app.py``.
"""

import numexpr

from arrayloom.backend import Device

KINDS = {"float64"}  # numbers in an expression are float64
OPERATORS = {"add": "a + b", "subtract": "a - b", "multiply": "a * b", "divide": "a / b"}
FUNCTIONS = {"negative": "-a", "sqrt": "sqrt(a)", "identity": "a"}


class Numexpr(Device):
    """Everything else runs on the CPU, and is counted."""

    name = "numexpr"
    fused = True

    def run(self, kernel, out, inp):
        if set(kernel.dtypes) != KINDS:
            raise NotImplementedError(kernel.dtypes)
        names = {f"i{number}": view.ndarray for number, view in enumerate(inp)}
        results = [self.compute(text, names) for text in kernel.expressions]
        for view, result in zip(out, results, strict=True):
            view.ndarray[...] = result

    def ufunc(self, op, *args):
        text = OPERATORS.get(op) or FUNCTIONS.get(op)
        if text is None or {arg.dtype.name for arg in args} != KINDS:
            raise NotImplementedError(op)
        names = dict(zip("ab", [view.ndarray for view in args[1:]], strict=False))
        args[0].ndarray[...] = self.compute(text, names)

    @staticmethod
    def compute(text, names):
        return numexpr.evaluate(text, names, {}, casting="same_kind", sanitize=False)
