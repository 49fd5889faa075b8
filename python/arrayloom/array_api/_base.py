"""What an array tells of itself, and how it goes to other libraries and to Python's numbers."""

import sys
from types import ModuleType
from typing import Any, Self

import numpy as np

from arrayloom.array_api._devices import CPU, check_device
from arrayloom.array_api._dtypes import Dtype

__all__ = ["VERSIONS", "Base"]

# Versions of the standard that the namespace follows, the newest last.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class Base:
    """The part of `Array` that needs no other array."""

    __slots__ = ("__weakref__", "_held")

    _held: Any

    # NumPy's operators leave it to ours what to do with a mixture.
    __array_ufunc__ = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Refuse: functions make arrays."""
        message = (
            "Array is not called; asarray, zeros and the like of arrayloom.array_api make arrays"
        )
        raise TypeError(message)

    @property
    def dtype(self) -> Dtype:
        """The dtype of the elements."""
        return self._held.dtype

    @property
    def device(self) -> str:
        """Where it lives: ``"cpu"``, whichever backend computes."""
        return CPU

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._held.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of all axes."""
        return self._held.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._held.size

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - `override` is of Python 3.12
        body = np.array2string(self._held, separator=", ", prefix="Array(")
        if not self.size and self.shape != (0,):
            # Brackets without elements do not show it.
            body += f", shape={self.shape}"
        return f"Array({body}, dtype={self._held.dtype.name})"

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return ``arrayloom.array_api``; a `ValueError` for a version of the standard that it lacks."""
        if api_version is not None and api_version not in VERSIONS:
            message = f"version {api_version!r} of the standard is not one of {', '.join(VERSIONS)}"
            raise ValueError(message)
        return sys.modules["arrayloom.array_api"]

    def to_device(self, device: str, /, *, stream: Any = None) -> Self:
        """Return the array itself; a `ValueError` for another device than ``"cpu"``, or a stream."""
        check_device(device or "", "to_device")
        if stream is not None:
            message = f"to_device: the device {CPU!r} has no stream {stream!r}; pass None"
            raise ValueError(message)
        return self

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Lend the memory as a DLPack capsule, computed."""
        return self._held.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        """Return DLPack's number of the host, and zero."""
        return self._held.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "np.ndarray[Any, Any]":
        """Return NumPy's array of the same elements, in the same memory unless `copy` or `dtype` ask for another.

        Compiled code of other libraries asks for it. NumPy's functions and operators do not.
        """
        return np.array(self._held, dtype=dtype, copy=copy)

    # To Python's numbers

    def _element(self, word: str, letters: str) -> Any:
        if self.ndim:
            message = f"{word}() takes an array without dimensions, not one of shape {self.shape}"
            raise TypeError(message)
        if self._held.dtype.kind not in letters:
            message = f"{word}() does not take {self._held.dtype}"
            raise TypeError(message)
        return self._held.item()

    def __bool__(self) -> bool:
        return bool(self._element("bool", "biufc"))

    def __int__(self) -> int:
        return int(self._element("int", "biuf"))

    def __float__(self) -> float:
        return float(self._element("float", "biuf"))

    def __complex__(self) -> complex:
        return complex(self._element("complex", "biufc"))

    def __index__(self) -> int:
        return self._element("index", "iu")
