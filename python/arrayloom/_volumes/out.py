"""Results of volumes that go into an array which is there already: ``out=``, and ``array += volume``."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Elements of arrays are known at run time only.

from typing import Any

import numpy as np

from arrayloom._volumes.along import broadcast
from arrayloom._volumes.compute import compute
from arrayloom._volumes.sources import as_volume

__all__ = ["stored", "stored_alike"]


def stored(name: str, result: Any, out: Any) -> Any:
    """`result` of a ufunc, computed into `out` as NumPy casts and broadcasts it."""
    volume, casting = as_volume(result), "same_kind"
    _check(name, out)
    if not np.can_cast(volume.dtype, out.dtype, casting):
        message = (
            f"the result of numpy.{name} is {volume.dtype} and does not become {out.dtype} by the rule "
            f"{casting!r}; give out another dtype"
        )
        raise TypeError(message)
    kind = out.dtype.newbyteorder("=")
    compute(broadcast(volume.astype(kind), out.shape), out=out)
    return out


def stored_alike(name: str, result: Any, out: Any) -> Any:
    """`result`, computed into `out`, which has its shape and its dtype."""
    volume = as_volume(result)
    _check(name, out)
    if out.shape != volume.shape or out.dtype.newbyteorder("=") != volume.dtype:
        message = (
            f"the result of numpy.{name} has the shape {volume.shape} and the dtype {volume.dtype}, and out "
            f"{out.shape} and {out.dtype}; give an array that has those of the result"
        )
        raise ValueError(message)
    return compute(volume, out=out)


def _check(name: str, out: Any) -> None:
    if not isinstance(out, np.ndarray):
        message = (
            f"numpy.{name} puts a result into an array, not into a {type(out).__name__}; "
            "leave out= away, or save the result there with arrayloom.volumes.save"
        )
        raise TypeError(message)
    if not out.flags.writeable:
        message = f"out of numpy.{name} can only be read; give an array that can be written"
        raise ValueError(message)
