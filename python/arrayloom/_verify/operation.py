"""An operation that is verified: what is called with what, and whether it can be done twice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrayloom._verify.arguments import why_not

__all__ = ["Operation"]

_Value = Any

# Operations of which not all is laid down, or that do more than to compute.
_FREE = {
    "partition": "the order within its parts is free",
    "argpartition": "the order within its parts is free",
    "empty_like": "its elements are not set",
    "may_share_memory": "it looks at addresses",
    "shares_memory": "it looks at addresses",
    "save": "it writes a file",
    "savez": "it writes a file",
    "savez_compressed": "it writes a file",
    "savetxt": "it writes a file",
}
# Sums of products in an order of their own; so are the functions of these modules.
_SUMS = frozenset(
    {
        *("dot", "inner", "vdot", "matmul", "vecdot", "matvec", "vecmat", "tensordot"),
        *("einsum", "c_einsum", "correlate", "convolve", "cov", "corrcoef", "polyfit"),
    }
)
_MODULES_OF_SUMS = ("numpy.linalg", "numpy.fft")


@dataclass(frozen=True)
class Operation:
    """An operation that is verified.

    Attributes
    ----------
    name : str
        What reports call it.
    ours, numpys : callable
        What is called with the arguments as they are, and with those for NumPy.
    args, words : tuple, mapping
        The arguments.
    reads : bool
        Whether it is known to read only, so that nothing needs a copy; its warnings are left alone.
    instead : tuple, optional
        What NumPy's call gets copies of, if not of the arguments.

    Examples
    --------
    >>> Operation("sum", np.sum, np.sum, ([1, 2],), {}).done()
    np.int64(3)
    >>> Operation("sum", np.sum, np.sum, (iter([1]),), {}).why_not()
    'a value is of class list_iterator'
    """

    name: str
    ours: Callable[..., _Value]
    numpys: Callable[..., _Value]
    args: tuple[_Value, ...]
    words: Mapping[str, _Value]
    reads: bool = False
    instead: tuple[_Value, ...] | None = None

    def done(self) -> _Value:
        """Do it as it is."""
        return self.ours(*self.args, **self.words)

    def arguments(self) -> _Value:
        """Give all arguments as one value."""
        return self.args, dict(self.words)

    def repeated(self) -> _Value:
        """Give what NumPy's call gets, before it is copied."""
        return self.arguments() if self.instead is None else (self.instead, {})

    def why_not(self) -> str | None:
        """Say why it cannot be done twice; None if it can."""
        ufunc = getattr(self.numpys, "__self__", self.numpys)
        if isinstance(ufunc, np.ufunc) and all(loop.endswith("O") for loop in ufunc.types):
            return "it calls a function of Python"
        if {"call", "log", "print"} & set(np.geterr().values()):
            return "np.errstate prints or calls a function"
        return _FREE.get(self.name) or why_not(self.arguments())

    def sums(self) -> bool:
        """Whether its results are sums of products, in any order."""
        home = str(getattr(self.numpys, "__module__", ""))
        return self.name in _SUMS or home.startswith(_MODULES_OF_SUMS)

    def chosen(self, words: Mapping[str, _Value], result: _Value) -> _Value | None:
        """Give the elements of a result that a call with ``where=`` and these arguments sets; None for all."""
        where = words.get("where", True)
        is_call = isinstance(self.numpys, np.ufunc)
        if where is True or not is_call or words.get("out") is not None:
            return None
        return np.broadcast_to(where, np.shape(result))
