"""``%load_ext arrayloom`` in IPython and notebooks.

Cells that import NumPy behind it get arrayloom's namespace. IPython itself is not imported: all that is
used is the shell that it hands over.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from arrayloom import _ext, _hook, _native
from arrayloom._profile_block import Profile

__all__ = ["Shell", "load_ipython_extension", "unload_ipython_extension"]


class Shell(Protocol):
    """What is used of IPython's shell."""

    user_ns: Mapping[str, Any]

    def register_magic_function(
        self, func: Callable[..., Any], magic_kind: str, magic_name: str
    ) -> None:
        """Let a name with one or two percent signs call a function."""
        ...

    def run_cell(self, raw_cell: str) -> Any:  # noqa: ANN401 - a class of IPython
        """Run a cell as if it had been typed."""
        ...


def load_ipython_extension(shell: Shell) -> None:
    """Serve the cells of a shell: ``%load_ext arrayloom``.

    ``%%arrayloom.profile`` runs a cell and reports what was accelerated, ``%%arrayloom.line_profile``
    tells it line by line. ``%arrayloom.off`` leaves everything to NumPy from then on, and
    ``%arrayloom.on`` takes it back. Both change what cells get that import NumPy later, and whether
    operations are recorded.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names = []
    >>> shell = SimpleNamespace(
    ...     user_ns={}, register_magic_function=lambda call, kind, name: names.append(name)
    ... )
    >>> load_ipython_extension(shell)
    >>> names
    ['arrayloom.profile', 'arrayloom.line_profile', 'arrayloom.off', 'arrayloom.on']
    >>> unload_ipython_extension(shell)
    """

    def profile(_line: str, cell: str) -> None:
        with Profile() as report:
            shell.run_cell(cell)
        sys.stdout.write(str(report))

    def line_profile(_line: str, cell: str) -> None:
        from arrayloom._doctor.cell import cell_lines  # noqa: PLC0415 - slow, and rarely needed

        sys.stdout.write(cell_lines(lambda: shell.run_cell(cell)))

    def off(_line: str) -> None:
        _off()

    def on(_line: str) -> None:
        _on(shell)

    shell.register_magic_function(profile, "cell", "arrayloom.profile")
    shell.register_magic_function(line_profile, "cell", "arrayloom.line_profile")
    shell.register_magic_function(off, "line", "arrayloom.off")
    shell.register_magic_function(on, "line", "arrayloom.on")
    _on(shell)


def unload_ipython_extension(_shell: Shell) -> None:
    """Give NumPy itself to cells that import it later: ``%unload_ext arrayloom``."""
    _hook.uninstall()


def _on(shell: Shell) -> None:
    _hook.install()
    _native.enable_runner_patches()
    _ext.configure(lazy=True)
    numpy = sys.modules["numpy"]
    held = [name for name, value in shell.user_ns.items() if value is numpy and name[:1] != "_"]
    if held:
        sys.stdout.write(
            f"arrayloom: {', '.join(held)} is NumPy from before; import it again to run it fused\n"
        )


def _off() -> None:
    _hook.uninstall()
    _ext.configure(lazy=False)
