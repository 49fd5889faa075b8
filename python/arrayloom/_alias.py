"""``import arrayloom.linalg``: NumPy's submodules under our name.

A submodule that arrayloom does not have itself is NumPy's own module object.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["install"]

_OURS = "arrayloom."


class _Alias(Loader, MetaPathFinder):
    """Finds ``arrayloom.x`` as ``numpy.x``."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Answer for submodules of arrayloom that NumPy has."""
        if not fullname.startswith(_OURS):
            return None
        theirs = f"numpy.{fullname.removeprefix(_OURS)}"
        if importlib.util.find_spec(theirs) is None:
            return None
        return ModuleSpec(fullname, self)

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
    """Look for submodules in NumPy once everything else has failed."""
    sys.meta_path.append(_Alias())
