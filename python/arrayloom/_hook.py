"""The import layer: user code that imports NumPy gets arrayloom's namespace.

``builtins.__import__`` and ``importlib.import_module`` are replaced. What decides is the file that
imports: user files get the replacement; the standard library, installed packages and arrayloom
itself keep the real NumPy. ``sys.modules["numpy"]`` always stays the real module, so pickles and
compiled packages are not affected.
"""

import builtins
import importlib
import importlib.util
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import cast

__all__ = ["install", "installed", "is_installed", "is_served", "uninstall"]

# Modules that hand arrays to compiled code which takes `numpy.ndarray` and no subclass, and those that assert this
# type. They keep NumPy in any scope, and get plain arrays from its `asarray` (crates/python/src/conversions.rs, PLAIN).
EXACT = ("scipy.fft.", "matplotlib.")

# What seems to import NumPy when a compiled module does while it is loaded. NumPy's own are among these.
_MACHINERY = ("importlib._bootstrap", "importlib._bootstrap_external")

# Namespaces that may have a counterpart under the replacement; all others stay NumPy's.
REPLACED = ("numpy", "numpy.fft", "numpy.linalg", "numpy.random")

_Import = Callable[
    [str, Mapping[str, object] | None, Mapping[str, object] | None, Sequence[str] | None, int],
    ModuleType,
]
_ImportModule = Callable[[str, str | None], ModuleType]

_real_import = cast("_Import", builtins.__import__)
_real_import_module = cast("_ImportModule", importlib.import_module)
_LIBRARY_MARKS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = tuple(
    {
        os.path.realpath(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "platstdlib")
        if sysconfig.get_path(name)
    }
)


class _Layer:
    """One installed import layer: its scope, its replacement and what it has looked up so far."""

    def __init__(self, scope: str, replacement: ModuleType) -> None:
        self.scope = scope
        self.replacement = replacement
        self.everyone = scope == "all"
        named = [name for name in scope.split(",") if name not in {"", "user", "all"}]
        self.modules = frozenset(name for name in named if os.sep not in name)
        self.folders = tuple(os.path.abspath(name) + os.sep for name in named if os.sep in name)
        self._numpy = os.path.dirname(str(sys.modules["numpy"].__file__)) + os.sep
        self._user_files: dict[str, bool] = {}
        self._counterparts: dict[str, ModuleType | None] = {"numpy": replacement}

    def wants(self, namespace: Mapping[str, object] | None) -> bool:
        """Whether the importer with this namespace gets the replacement."""
        if namespace is None or ("__name__" not in namespace and "__file__" not in namespace):
            # Code run by exec() in a bare namespace belongs to whoever runs it.
            namespace = _calling_namespace()
        file = namespace.get("__file__")
        name = namespace.get("__name__")
        if isinstance(name, str) and (name in _MACHINERY or f"{name}.".startswith(EXACT)):
            return False
        if not isinstance(file, str) or file == "<stdin>":
            return name == "__main__"
        known = self._user_files.get(file)
        if known is None:
            known = self._user_files[file] = self.takes(file)
        if known or not self.modules:
            return known
        return isinstance(name, str) and name.partition(".")[0] in self.modules

    def takes(self, file: str) -> bool:
        """Whether a file is in the scope, whatever its module is called."""
        path = os.path.abspath(file)
        if path.startswith(_OWN):
            return False
        if path.startswith(self.folders):
            return True
        if self.everyone:
            return not path.startswith(self._numpy)
        return not (file.startswith("<") or is_installed(path))

    def counterpart(self, name: str) -> ModuleType | None:
        """Find the replacement of NumPy's module `name`; None if that one stays NumPy's own."""
        if name not in self._counterparts:
            self._counterparts[name] = self._find(name) if name in REPLACED else None
        return self._counterparts[name]

    def _find(self, name: str) -> ModuleType | None:
        own = self.replacement.__name__ + name.removeprefix("numpy")
        if own in sys.modules:
            return sys.modules[own]
        if getattr(self.replacement, "__path__", None) is None:
            return None
        if importlib.util.find_spec(own) is None:
            return None
        return _real_import_module(own, None)

    def top(self, name: str) -> ModuleType:
        """Return the replacement of ``numpy``, made to hold the submodule asked for."""
        if name != "numpy":
            first = name.split(".")[1]
            child = f"numpy.{first}"
            found = self.counterpart(child) or sys.modules.get(child)
            if found is not None and first not in vars(self.replacement):
                setattr(self.replacement, first, found)
        return self.replacement

    def leaf(self, name: str, real: ModuleType, names: Sequence[str]) -> ModuleType:
        """Return what ``from name import names`` reads from."""
        ours = self.counterpart(name)
        if ours is None:
            return real
        for wanted in names:
            if wanted == "*":
                continue
            child = self.counterpart(f"{name}.{wanted}")
            if child is not None:
                setattr(ours, wanted, child)
            elif not hasattr(ours, wanted) and hasattr(real, wanted):
                setattr(ours, wanted, getattr(real, wanted))
        return ours


class _State:
    """The layer in force, if any: one per process, like the builtins it replaces."""

    layer: _Layer | None = None


def _calling_namespace() -> Mapping[str, object]:
    """Globals of the innermost frame outside this file that belongs to a module."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename != __file__ and "__name__" in frame.f_globals:
            return frame.f_globals
        frame = frame.f_back
    return {}


def _concerns_numpy(name: str) -> bool:
    return name == "numpy" or name.startswith("numpy.")


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - the names that callers use
    locals: Mapping[str, object] | None = None,  # noqa: A002
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    module = _real_import(name, globals, locals, fromlist, level)
    if level == 0 and name[:5] == "numpy" and _concerns_numpy(name):
        layer = _State.layer
        if layer is not None and layer.wants(globals):
            return layer.leaf(name, module, fromlist) if fromlist else layer.top(name)
    return module


def _import_module(name: str, package: str | None = None) -> ModuleType:
    module = _real_import_module(name, package)
    layer = _State.layer
    if layer is not None and _concerns_numpy(name) and layer.wants(None):
        return layer.counterpart(name) or module
    return module


def install(scope: str = "user", *, replacement: ModuleType | None = None) -> None:
    """Give arrayloom's namespace to the files in `scope` whenever they import NumPy.

    Parameters
    ----------
    scope : str
        ``"user"``: every file outside the standard library and installed packages; ``"all"``: every
        file but NumPy's own; otherwise a comma-separated list of what to add to ``"user"``:
        installed modules, and folders of files (whatever has a slash in it).
    replacement : module, optional
        The module to hand out; arrayloom itself by default.
    """
    if replacement is None:
        replacement = _real_import_module("arrayloom", None)
    _real_import_module("numpy", None)
    _State.layer = _Layer(scope, replacement)
    builtins.__import__ = _import
    importlib.import_module = _import_module


def uninstall() -> None:
    """Take the import layer away; modules that already hold the replacement keep it."""
    _State.layer = None
    if builtins.__import__ is _import:
        builtins.__import__ = cast("Callable[..., ModuleType]", _real_import)
    if importlib.import_module is _import_module:
        importlib.import_module = _real_import_module


def installed() -> bool:
    """Whether the import layer is active."""
    return _State.layer is not None


def is_installed(file: str) -> bool:
    """Whether a file is of the standard library or of an installed package."""
    path = os.path.abspath(file)
    library = any(mark in path for mark in _LIBRARY_MARKS)
    return library or os.path.realpath(path).startswith(_STDLIB)


def is_served(file: str) -> bool:
    """Whether a file gets the replacement because it is the user's, or in a folder that was named."""
    layer = _State.layer
    return layer is not None and layer.takes(file)
