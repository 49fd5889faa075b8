"""Names, signatures and documents of the namespace, by the standard's own list."""

import doctest
import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.standard import ATTRIBUTES, CONSTANTS, DTYPES, signatures

import arrayloom.array_api as xp

ROOT = Path(__file__).resolve().parents[3]
FUNCTIONS = [
    (space, name, signature)
    for space in ("", "linalg", "fft")
    for name, signature in signatures(space)
]
MODULES = sorted(path.stem for path in Path(xp.__file__).parent.glob("*.py"))


def function(space, name):
    return getattr(getattr(xp, space) if space else xp, name)


def plain(signature):
    """A signature without types, and with every float as one."""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(parameters))


@pytest.mark.parametrize(("space", "name", "signature"), FUNCTIONS)
def test_signature(space, name, signature):
    found = function(space, name)
    assert plain(inspect.signature(found)) == signature
    assert found.__name__ == name


@pytest.mark.parametrize(("space", "name", "signature"), FUNCTIONS)
def test_document(space, name, signature):
    text = inspect.getdoc(function(space, name))
    assert text.partition("\n")[0].endswith(".") or "\n" in text
    assert "Error" in text or name in NO_ERRORS


NO_ERRORS = {
    *(
        "unique_all unique_counts unique_inverse unique_values can_cast det eig eigh eigvals eigvalsh"
    ).split(),
    *(
        "matrix_power matrix_rank pinv slogdet svd svdvals __array_namespace_info__ empty_like"
    ).split(),
    *(
        "zeros_like ones_like full_like fftshift ifftshift rfftfreq stack std min argmin prod"
    ).split(),
    *("cumulative_prod argsort empty ones").split(),
}


def test_nothing_else_is_public():
    names = {name for name, _ in signatures()} | {*DTYPES, *CONSTANTS, "linalg", "fft", "Array"}
    assert set(xp.__all__) == names | {"__array_api_version__"}
    assert set(dir(xp)) == set(xp.__all__)
    for space in ("linalg", "fft"):
        assert set(function("", space).__all__) == {name for name, _ in signatures(space)}


def test_the_array_has_what_the_standard_has():
    own = {n for kind in xp.Array.__mro__[:2] for n in vars(kind) if n in ATTRIBUTES}
    assert own == ATTRIBUTES
    public = {name for name in dir(xp.Array) if not name.startswith("_")}
    assert public == {name for name in ATTRIBUTES if not name.startswith("_")}


def test_the_array_is_made_by_functions():
    with pytest.raises(TypeError, match="asarray"):
        xp.Array([1])


def test_constants():
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (
        3.141592653589793,
        2.718281828459045,
        float("inf"),
        None,
    )
    assert xp.nan != xp.nan
    assert xp.__array_api_version__ == "2024.12"


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, laziness):
    name = "arrayloom.array_api" if module == "__init__" else f"arrayloom.array_api.{module}"
    done = doctest.testmod(importlib.import_module(name))
    assert done.failed == 0


def test_importing_arrayloom_does_not_import_it():
    code = (
        "import arrayloom, sys; print('arrayloom.array_api' in sys.modules, arrayloom.array_api.pi)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3.141592653589793"]


def test_it_is_announced():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["array_api"] == {"arrayloom": "arrayloom.array_api"}


def test_version_of_the_standard():
    x = xp.zeros(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match=r"2024\.12"):
        x.__array_namespace__(api_version="1999.12")
