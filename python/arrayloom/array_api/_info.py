"""What the namespace tells of itself."""

from arrayloom.array_api._devices import CPU, DEVICES, check_device
from arrayloom.array_api._dtypes import (
    DTYPES,
    Dtype,
    complex128,
    float64,
    int64,
)

__all__ = ["Info", "__array_namespace_info__"]

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


class Info:
    """Devices, dtypes and abilities of the namespace."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return which parts of the standard that libraries may lack are there: all."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> str:
        """Return the device of new arrays."""
        return CPU

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Dtype]:
        """Return the dtypes of new arrays, by kind; a `ValueError` for a device that is not there."""
        check_device(device, "default_dtypes")
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def devices(self) -> list[str]:
        """Return all devices."""
        return list(DEVICES)

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Dtype]:
        """Return the dtypes by name, all or those of kinds that `isdtype` knows.

        A `ValueError` for a kind or a device that is not there.
        """
        check_device(device, "dtypes")
        if kind is None:
            return dict(DTYPES)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for word in kinds:
            if word not in _KINDS:
                message = f"dtypes: there is no kind {word!r}; there are {', '.join(_KINDS)}"
                raise ValueError(message)
        letters = "".join(_KINDS[word] for word in kinds)
        return {name: dtype for name, dtype in DTYPES.items() if dtype.kind in letters}


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """Return what the namespace tells of itself.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.__array_namespace_info__().devices()
    ['cpu']
    """
    return Info()
