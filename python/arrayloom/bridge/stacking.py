"""Volumes from slices and slices from volumes, with one allocation and one transfer."""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from arrayloom import _ext
from arrayloom.bridge import dtypes, registry
from arrayloom.bridge.conversion import convert, home_of
from arrayloom.bridge.registry import Array

__all__ = ["stack", "unstack"]


def stack(slices: Sequence[Array], kind: str, *, axis: int = 0, device: str | None = None) -> Array:
    """Stack slices of any kinds along a new axis.

    Parameters
    ----------
    slices : sequence of array
        Of one shape; their dtypes are promoted as NumPy does.
    kind : str
        Of the result.
    axis : int
        Where the new axis goes; negative from the end.
    device : str, optional
        Where the result shall lie.

    Returns
    -------
    array
        One array, made with one allocation and at most one transfer.

    Raises
    ------
    TypeError
        Slices with masks.
    ValueError
        No slices, different shapes, or no such axis.

    Examples
    --------
    >>> import numpy as np
    >>> stack([np.zeros((2, 3)), np.ones((2, 3))], "numpy").shape
    (2, 2, 3)
    """
    if len(slices) == 0:
        msg = "no slices to stack"
        raise ValueError(msg)
    hosts = [convert(piece, "numpy") for piece in slices]
    if any(isinstance(piece, np.ma.MaskedArray) for piece in hosts):
        msg = "masked slices would lose their masks in a stack; call x.filled(VALUE) first"
        raise TypeError(msg)
    shapes = {piece.shape for piece in hosts}
    if len(shapes) != 1:
        msg = f"slices of different shapes cannot be stacked: {sorted(shapes)}"
        raise ValueError(msg)
    axis = normalize_axis_index(axis, hosts[0].ndim + 1)
    whole = (*hosts[0].shape[:axis], len(hosts), *hosts[0].shape[axis:])
    dtype = np.result_type(*hosts)
    volume = dtypes.aligned_copy(np.broadcast_to(np.zeros((), dtype), whole), 256)
    np.stack(hosts, axis=axis, out=volume)
    # Nobody else has this memory: immutable kinds may keep it.
    volume.flags.writeable = registry.get(kind).mutable is not registry.Mutability.NEVER
    return convert(volume, kind, device=device)


def unstack(volume: Array, *, axis: int = 0, kind: str | None = None) -> list[Array]:
    """Split a volume into its slices along an axis.

    Parameters
    ----------
    volume : array
        Of any kind, at least one axis.
    axis : int
        The axis that goes; negative from the end.
    kind : str, optional
        Of the slices; that of the volume if absent.

    Returns
    -------
    list of array
        One per index, sharing the volume's memory where the kind can.

    Raises
    ------
    ValueError
        No such axis.

    Examples
    --------
    >>> import numpy as np
    >>> [s.shape for s in unstack(np.zeros((2, 3, 4)), axis=1)]
    [(2, 4), (2, 4), (2, 4)]
    """
    own = _ext.bridge.kind(volume)
    target = kind if kind is not None else own or "numpy"
    host = convert(volume, "numpy")
    # Slices of an array of a device stay there.
    place = home_of(volume) if own == target else None
    pieces = list(np.moveaxis(host, normalize_axis_index(axis, host.ndim), 0))
    return [convert(piece, target, device=place) for piece in pieces]
