"""The import layer: who gets the replacement, for every form of import."""

import builtins
import importlib
import pickle
import subprocess
import sys
from types import ModuleType

import numpy as real
import pytest
from support import process

from arrayloom import _hook


@pytest.fixture
def ours():
    """A package with the names ``loom`` and ``loom.linalg``; all else comes from NumPy."""
    module = ModuleType("loom")
    module.__path__ = []
    module.zeros = lambda *args: "our zeros"
    module.__all__ = ["zeros"]
    linalg = ModuleType("loom.linalg")
    linalg.norm = lambda *args: "our norm"
    sys.modules["loom"], sys.modules["loom.linalg"] = module, linalg
    _hook.install(replacement=module)
    yield module
    _hook.uninstall()
    del sys.modules["loom"], sys.modules["loom.linalg"]


@pytest.fixture
def user(tmp_path):
    """Run source as a user's module and return its namespace."""

    def run(source, file=tmp_path / "app.py", name="app"):
        namespace = {"__name__": name}
        if file is not None:
            namespace["__file__"] = str(file)
        exec(compile(source, str(file), "exec"), namespace)
        return namespace

    return run


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import numpy", "numpy"),
        ("import numpy as np", "np"),
        ("def f():\n    import numpy\n    return numpy\nx = f()", "x"),
        ("x = eval(\"__import__('numpy')\")", "x"),
        ("x = __import__('numpy')", "x"),
        ("import importlib\nx = importlib.import_module('numpy')", "x"),
        ("import numpy.linalg", "numpy"),
        ("import numpy.testing", "numpy"),
        ("x = {}\nexec('import numpy', x)\nx = x['numpy']", "x"),
    ],
)
def test_forms_that_give_the_namespace(ours, user, source, name):
    assert user(source)[name] is ours


def test_submodules(ours, user):
    assert user("import numpy.linalg as la")["la"] is sys.modules["loom.linalg"]
    assert user("from numpy import linalg")["linalg"] is sys.modules["loom.linalg"]
    found = user("import importlib\nx = importlib.import_module('numpy.linalg')")["x"]
    assert found is sys.modules["loom.linalg"]
    assert user("import numpy.ma as ma")["ma"] is real.ma
    assert user("import numpy.random as r")["r"] is real.random
    assert user("import numpy.lib.stride_tricks as s")["s"] is real.lib.stride_tricks


def test_names(ours, user):
    assert user("from numpy import zeros")["zeros"]() == "our zeros"
    assert user("from numpy.linalg import norm")["norm"]() == "our norm"
    assert user("from numpy.linalg import solve")["solve"] is real.linalg.solve
    assert user("from numpy import float64 as f")["f"] is real.float64
    rng = user("from numpy.random import default_rng")["default_rng"]
    assert rng is real.random.default_rng
    assert user("from numpy import *")["zeros"]() == "our zeros"
    with pytest.raises(ImportError, match="no_such_name"):
        user("from numpy import no_such_name")
    with pytest.raises(ModuleNotFoundError):
        user("import numpy.no_such_module")


def test_real_numpy_stays_in_sys_modules(ours, user):
    assert sys.modules["numpy"] is real
    assert user("import sys\nx = sys.modules['numpy']")["x"] is real
    array = real.arange(3)
    assert (pickle.loads(pickle.dumps(array)) == array).all()


def test_libraries_keep_numpy(ours, user, tmp_path):
    for folder in ("site-packages", "dist-packages"):
        library = tmp_path / "lib" / folder / "scipy" / "__init__.py"
        assert user("import numpy", library)["numpy"] is real
        found = user("import importlib\nx = importlib.import_module('numpy')", library)["x"]
        assert found is real
    assert user("import numpy", importlib.__file__)["numpy"] is real
    assert user("import numpy", _hook.__file__)["numpy"] is real
    assert user("import numpy", "<frozen thing>")["numpy"] is real


def test_main_without_a_file_is_the_user(ours, user):
    assert user("import numpy", None, "__main__")["numpy"] is ours
    assert user("import numpy", None, "generated")["numpy"] is real


def test_scope(ours, user, tmp_path):
    library = tmp_path / "site-packages" / "pkg" / "mod.py"
    _hook.install("pkg,other", replacement=ours)
    assert user("import numpy", library, "pkg.mod")["numpy"] is ours
    assert user("import numpy", library, "elsewhere")["numpy"] is real
    assert user("import numpy")["numpy"] is ours
    _hook.install(f"user,{tmp_path / 'site-packages' / 'pkg'}", replacement=ours)
    assert user("import numpy", library, "elsewhere")["numpy"] is ours
    assert user("import numpy", library.parent.parent / "pkg.py", "pkg")["numpy"] is real
    _hook.install("all", replacement=ours)
    assert user("import numpy", library, "elsewhere")["numpy"] is ours
    assert user("import numpy", real.ma.__file__, "numpy.ma")["numpy"] is real
    assert user("import numpy", library, "scipy.fft._basic")["numpy"] is real
    assert user("import numpy", library, "scipy.fftpack")["numpy"] is ours
    assert user("import numpy", library, "matplotlib.axes._axes")["numpy"] is real
    assert user("import numpy", library, "matplotlibs")["numpy"] is ours


@pytest.mark.parametrize(
    "first",
    [
        "from numpy.random import *",
        "from numpy.random.bit_generator import BitGenerator",
        "import numpy.random",
    ],
)
def test_compiled_modules_of_numpy_keep_numpy_in_any_scope(first):
    """Whoever is first to import `numpy.random` loads its compiled modules, which import NumPy themselves."""
    code = f"""
    exec({first!r}, {{}})
    import numpy as np
    print(np.random.default_rng(1).random() == np.random.Generator(np.random.PCG64(1)).random())
    """
    assert process.output(code, runner=True, options=["--scope", "all"]) == "True\n"


def test_bars_have_widths_in_any_scope():
    """Axes assert that what `numpy.asarray` gives them is of exactly NumPy's type."""
    pytest.importorskip("matplotlib")
    code = """
    import matplotlib
    matplotlib.use("Agg")
    import numpy as np
    from matplotlib import pyplot
    x = np.arange(5.0)
    print(len(pyplot.bar(x * 2, x + 1, width=x + 1)))
    """
    options = ["--scope", "all", "--min-bytes", "0"]
    assert process.output(code, runner=True, options=options) == "5\n"


def test_libraries_in_scope_convolve_by_transforms():
    pytest.importorskip("scipy")
    code = """
    import numpy as np
    from scipy import signal
    x = np.arange(6000.0)
    found = signal.fftconvolve(x * (1 + 2j), x[:500], mode="same")
    print(abs(found - np.convolve(x * (1 + 2j), x[:500], mode="same")).max() < 1e-10 * abs(found).max())
    """
    options = ["--scope", "all", "--min-bytes", "0"]
    assert process.output(code, runner=True, options=options) == "True\n"


def test_other_imports_are_untouched(ours, user):
    assert user("import os.path as p")["p"].join("a", "b") == "a/b"
    assert user("from json import dumps")["dumps"](1) == "1"
    with pytest.raises(ModuleNotFoundError):
        user("import numpyish")
    namespace = {"__name__": "os.thing", "__package__": "json", "__file__": "/home/u/x.py"}
    exec("from . import decoder", namespace)
    assert namespace["decoder"] is sys.modules["json.decoder"]


def test_install_and_uninstall():
    before = builtins.__import__, importlib.import_module
    assert not _hook.installed()
    _hook.install(replacement=ModuleType("loom"))
    _hook.install(replacement=ModuleType("loom"))
    assert _hook.installed()
    assert builtins.__import__ is not before[0]
    _hook.uninstall()
    _hook.uninstall()
    assert (builtins.__import__, importlib.import_module) == before
    assert not _hook.installed()


def test_replacement_is_arrayloom_by_default():
    code = (
        "from arrayloom import _hook; _hook.install(); import numpy, arrayloom;"
        "assert numpy is arrayloom"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
