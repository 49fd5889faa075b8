"""``import arrayloom.linalg``: NumPy's submodules under our name.

A submodule that arrayloom does not have itself is NumPy's own module object.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

__all__ = ["install"]

_OURS = "arrayloom."


class _Alias:
    """Finds ``arrayloom.x`` as ``numpy.x``: a finder and its own loader."""

    _own: ModuleSpec | None = None

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - the interface of finders
    ) -> ModuleSpec | None:
        """Answer for submodules of arrayloom that NumPy has."""
        if not fullname.startswith(_OURS):
            return None
        if fullname.count(".") == 1 and PathFinder.find_spec(fullname, path) is not None:
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if parent is not None and parent.__name__.startswith(_OURS):
            # A package of ours has its own submodules.
            return None
        theirs = f"numpy.{fullname.removeprefix(_OURS)}"
        if importlib.util.find_spec(theirs) is None:
            return None
        return ModuleSpec(fullname, cast("Loader", self))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Give NumPy's module itself."""
        module = importlib.import_module(f"numpy.{spec.name.removeprefix(_OURS)}")
        # The import system writes our spec into the module; NumPy's own is put back afterwards.
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Undo what the import system changed: the module has run already."""
        module.__spec__ = self._own


def install() -> None:
    """Look for submodules that are not files of ours in NumPy, before anyone else does."""
    sys.meta_path.insert(0, _Alias())
