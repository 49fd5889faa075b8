"""Errors inherit the builtin that a caller of NumPy would catch."""

import pytest

from arrayloom import errors


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.SettingError, ValueError),
        (errors.UnsupportedError, NotImplementedError),
        (errors.DeviceError, RuntimeError),
        (errors.DtypeError, TypeError),
        (errors.DtypeError, RuntimeError),
        (errors.OutOfMemoryError, MemoryError),
        (errors.InternalError, RuntimeError),
    ],
)
def test_errors_are_also_builtins(kind, builtin):
    assert issubclass(kind, builtin)
    assert issubclass(kind, errors.ArrayloomError)


def test_all_is_complete():
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert defined == set(errors.__all__)
    assert issubclass(errors.FallbackWarning, RuntimeWarning)
