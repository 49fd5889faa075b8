"""The package stands in for NumPy: same names, same objects, same submodules."""

import importlib
import sys
import types

import numpy
import pytest
from support import process

import arrayloom as np
from arrayloom import _ext


def test_every_name_of_numpy_is_there():
    assert np.__all__ == numpy.__all__
    missing = [name for name in dir(numpy) if not hasattr(np, name)]
    assert missing == []


def test_objects_are_numpys_own():
    ours = set(vars(_ext))
    for name in numpy.__all__:
        # Random numbers come in lazy arrays (test_random.py).
        if name not in ours and name != "random":
            assert getattr(np, name) is getattr(numpy, name), name


@pytest.mark.parametrize("name", ["linalg", "fft", "ma", "lib.stride_tricks", "polynomial"])
def test_submodules_are_numpys_own(name):
    module = importlib.import_module(f"arrayloom.{name}")
    assert module is importlib.import_module(f"numpy.{name}")
    assert module.__name__ == f"numpy.{name}"
    assert module.__spec__.name == f"numpy.{name}"


def test_what_numpy_imports_on_demand_stays_so():
    code = """
        import sys, numpy
        before = set(sys.modules)
        import arrayloom
        new = {name for name in sys.modules if name.startswith("numpy.")} - before
        print(sorted(new))
        assert arrayloom.f2py is numpy.f2py and arrayloom.testing is numpy.testing
    """
    assert process.output(code).strip() == "[]"


def test_a_submodule_is_made_once():
    code = """
        import arrayloom as np
        assert "fft" not in vars(np)
        found = np.fft
        assert vars(np)["fft"] is found is np.fft
        assert "ndarray" in vars(np) and "Profile" not in vars(np)
        np.Profile
        assert "Profile" not in vars(np)
    """
    assert process.output(code) == ""


def test_a_module_that_nobody_has():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("arrayloom.nonsense")


def test_a_name_that_nobody_has():
    with pytest.raises(AttributeError):
        _ = np.nonsense


def test_a_copy_of_the_namespace_is_imported_as_one_of_numpys(monkeypatch):
    """Star imports ask `__getattr__` for an `__all__` that the copy does not have, as `autograd.numpy` has none."""
    for module in (np, numpy):
        copy = types.ModuleType("copied_namespace")
        vars(copy).update({name: f for name, f in vars(module).items() if callable(f)})
        monkeypatch.setitem(sys.modules, "copied_namespace", copy)
        names = {"linalg": "mine"}
        exec("from copied_namespace import *", names)
        assert names["linalg"] == "mine"
        assert names["cos"] is module.cos
        for name in ("__all__", "__file__", "__path__", "__version__"):
            with pytest.raises(AttributeError, match=name):
                getattr(copy, name)
