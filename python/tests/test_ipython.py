"""``%load_ext arrayloom``, in a small stand-in for IPython's shell, and in IPython if it is there."""

import textwrap

import pytest
from support import process

# What IPython does with an extension and with cells, as far as it matters here.
SHELL = """
import importlib, sys

class Shell:
    def __init__(self):
        self.user_ns = {"__name__": "__main__"}
        self.magics = {}

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        self.magics[magic_kind, magic_name] = func

    def run_cell(self, raw_cell, *rest, **words):
        exec(compile(raw_cell, "<cell>", "exec"), self.user_ns)

shell = Shell()
def load(what="load"):
    getattr(importlib.import_module("arrayloom"), f"{what}_ipython_extension")(shell)
def cell(text):
    shell.run_cell(text)
def line(name):
    shell.magics["line", f"arrayloom.{name}"]("")
"""
LAZY = "import numpy as np; print(isinstance(np.ones(100_000), __import__('arrayloom').LazyArray))"


def output(code):
    return process.output(SHELL + textwrap.dedent(code)).splitlines()


def test_cells_behind_it_get_the_namespace():
    code = """
    cell("import numpy as np; print(np.__name__)")
    load()
    cell("print(np.__name__); import numpy as np; print(np.__name__)")
    cell("import numpy; print(numpy.__name__)")
    print(sys.modules["numpy"].__name__)
    """
    found = output(code)
    assert found == [
        "numpy",
        "arrayloom: np is NumPy from before; import it again to run it fused",
        "numpy",
        "arrayloom",
        "arrayloom",
        "numpy",
    ]


def test_off_and_on():
    code = f"""
    load()
    lazy = {LAZY!r}
    cell(lazy)
    line("off")
    cell(lazy)
    cell("print(np.__name__)")
    line("on")
    cell("print(np.__name__)")
    cell(lazy)
    load("unload")
    cell(lazy)
    """
    again = "arrayloom: np is NumPy from before; import it again to run it fused"
    assert output(code) == ["True", "False", "numpy", again, "numpy", "True", "False"]


def test_profile_of_a_cell():
    code = """
    load()
    cell("import numpy as np; a = np.ones(100_000); early = np.exp(a)")
    shell.magics["cell", "arrayloom.profile"]("", "b = np.sqrt(a + 1)\\nprint(b[0] > 1)")
    print(shell.user_ns["b"].size)
    """
    found = output(code)
    assert found[0] == "True"
    assert found[1].startswith("arrayloom profile: ")
    operations = {row.split()[0] for row in found[3:] if row}
    assert {"add", "sqrt"} <= operations
    assert "exp" not in operations
    assert found[-1] == "100000"


def test_line_profile_of_a_cell():
    code = """
    import linecache
    load()
    cell("import numpy as np\\na = np.ones(100_000)\\nearly = np.exp(a)")
    def run_cell(raw_cell):
        # IPython's names of cells, and where it keeps their texts.
        name = "<ipython-input-2-f00d>"
        linecache.cache[name] = (len(raw_cell), None, raw_cell.splitlines(True), name)
        exec(compile(raw_cell, name, "exec"), shell.user_ns)
    shell.run_cell = run_cell
    text = "b = np.sqrt(a) + 1\\nc = np.add(a, np.longdouble(1))\\nprint(b.sum())"
    shell.magics["cell", "arrayloom.line_profile"]("", text)
    print(shell.user_ns["c"].size)
    """
    found = output("import warnings; warnings.simplefilter('ignore')\n" + textwrap.dedent(code))
    assert found[0] == "200000.0"
    assert found[1].startswith("arrayloom line profile: the cell, ")
    begin = found.index("<ipython-input-2-f00d>") + 3
    of_cell = {row.split()[0]: row.split() for row in found[begin : begin + 3]}
    assert of_cell["1"][1:4] == ["2", "100", "%"]
    assert " ".join(of_cell["1"][-5:]) == "b = np.sqrt(a) + 1"
    assert of_cell["2"][1:4] == ["1", "0", "%"]
    assert of_cell["3"][1:4] == ["1", "100", "%"]
    # What was counted before the cell is not the cell's, and the next one begins anew.
    assert not any("exp" in row for row in found)
    assert found[-1] == "100000"


def test_line_profile_of_a_cell_that_fails():
    code = """
    load()
    cell("import numpy as np; a = np.ones(100_000)")
    try:
        shell.magics["cell", "arrayloom.line_profile"]("", "1 / 0")
    except ZeroDivisionError:
        print("failed")
    getitem = vars(sys.modules["arrayloom"].LazyArray)["__getitem__"]
    print(type(getitem).__name__)
    """
    assert output(code) == ["failed", "wrapper_descriptor"]


def test_ipython_itself():
    pytest.importorskip("IPython")
    code = """
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext arrayloom")
    shell.run_cell("import numpy as np; print(np.__name__)")
    shell.run_cell("%%arrayloom.profile\\n(np.ones(100_000) + 1).sum()")
    shell.run_cell("%%arrayloom.line_profile\\nb = np.ones(100_000) + 1\\nb.sum()")
    shell.run_cell("%arrayloom.off\\nimport numpy as np; print(np.__name__)")
    shell.run_cell("%arrayloom.on\\nimport numpy as np; print(np.__name__)")
    """
    found = process.output(code, env={"IPYTHONDIR": "/nonexistent"})
    assert "arrayloom profile: " in found
    assert "arrayloom line profile: the cell, " in found
    assert "  b = np.ones(100_000) + 1\n" in found
    assert [each for each in found.splitlines() if each in {"numpy", "arrayloom"}] == [
        "arrayloom",
        "numpy",
        "arrayloom",
    ]
