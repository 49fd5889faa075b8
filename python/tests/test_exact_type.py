"""``type(x)`` in programs and their modules: what it says of lazy arrays, and that all else is Python's."""

import pickle
import subprocess
import sys
import textwrap

import pytest

from arrayloom import _exact_type


@pytest.fixture
def run(tmp_path):
    """Run files under ``python`` or under the runner: output, errors and status."""

    def call(files, *main, under="arrayloom"):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        front = ["-m", "arrayloom"] if under == "arrayloom" else []
        command = [sys.executable, *front, *(main or ["main.py"])]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout, done.stderr, done.returncode

    return call


@pytest.fixture
def same(run):
    """Run files both ways, compare everything, and return the output."""

    def call(files, *main):
        ours = run(files, *main)
        assert ours == run(files, *main, under="python")
        return ours[0]

    return call


HELPER = """
import numpy as np
def kind(x):
    return type(x)
"""


def test_lazy_arrays_have_numpys_type(same):
    program = """
    import numpy as np
    import helper
    a = np.arange(100_000.0) * 2
    kinds = [type(a), type (a + 1), helper.kind(a), (lambda x: type(x))(a), *[type(x) for x in [a]]]
    print([kind is np.ndarray for kind in kinds], type(a) is type(np.ones(3)), type(a).__name__)
    print(isinstance(np.ones(3), type(a)), type(a) in (list, np.ndarray), {np.ndarray: 1}[type(a)])
    class Own(type(a)):
        pass
    print(Own.__mro__[1] is np.ndarray, type(a[:5].view(Own)) is Own, type(1), type(type(a)))
    """
    out = same({"main.py": program, "helper.py": HELPER})
    assert out.startswith("[True, True, True, True, True] True ndarray")


@pytest.mark.parametrize(
    "main",
    [["-m", "package.inner"], ["-m", "package"], ["package"], ["-c", "import package.inner"]],
)
def test_programs_of_every_kind(same, main):
    text = "import numpy as np\nprint(type(np.ones(100_000) + 1) is np.ndarray)\n"
    files = {"package/__init__.py": "", "package/inner.py": text, "package/__main__.py": text}
    assert same(files, *main) == "True\n"


def test_other_calls_are_pythons(same):
    program = """
    '''A program.'''
    from __future__ import annotations
    import inspect
    Made = type("Made", (object,), {"x": 1})
    class Meta(type):
        def __new__(cls, name, bases, space):
            return type.__new__(cls, name, bases, space)
    class Met(metaclass=Meta): pass
    print(Made().x, type(Met), type(*[3]), type(type), isinstance(Met, type), __doc__)
    def shadowed(type):
        return type(5)
    print(shadowed(lambda x: x + 1), shadowed(str), inspect.getsource(shadowed))
    class Field:
        def type(self, x): return x
        def ask(self): return self.type(7), type(self).__name__
    print(Field().ask())
    def typed(x: type(3)) -> type(3): return type(x)
    print(typed.__annotations__, typed(2.5), f"{type(3)!r}")
    """
    assert "float" in same({"main.py": program})


@pytest.mark.parametrize(
    "program",
    [
        "x = type(3\n",
        "def f(x):\n    return (\n        type(x) +\n        1)\nf(2)\n",
        "import helper\n",
        "import broken\n",
        "def f(x):\n    return type(1 / x)\nf(0)\n",
    ],
)
def test_errors_name_the_line_of_the_program(same, program):
    same({"main.py": program, "helper.py": "\n\nx = type(3) + 1\n", "broken.py": "x = type(3\n"})


def test_what_a_module_compiles_to_does_not_stay(run):
    files = {"main.py": "import helper\nprint(helper.kind(3))\n", "helper.py": HELPER}
    for under in ("arrayloom", "python", "arrayloom"):
        assert run(files, under=under) == ("<class 'int'>\n", "", 0)


def test_installed_packages_stay_as_they_were_compiled_in_any_scope(run):
    program = """
    import hypothesis
    from arrayloom import _exact_type
    found = ("statistics", None), ("core", hypothesis.__path__), ("helper", None)
    print(*(type(_exact_type.find_spec(*each).loader).__name__ for each in found))
    """
    files = {"main.py": program, "helper.py": HELPER}
    assert (
        run(files, "--scope", "all", "main.py")[0] == "SourceFileLoader SourceFileLoader _Loader\n"
    )


def test_the_function_in_its_place_is_pickled():
    function = _exact_type._type_of
    assert pickle.loads(pickle.dumps(function)) is function
    assert function(type, 3) is int
    assert function(str, 3) == "3"
