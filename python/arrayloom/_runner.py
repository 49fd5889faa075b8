"""Run a user's program as ``python`` itself would.

The program becomes the module ``__main__`` and stays it until the interpreter ends; ``sys.argv``
and ``sys.path[0]`` are as Python sets them; a traceback shows the program's frames only; and the
exit status is the program's own.
"""

import code
import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from types import CodeType, ModuleType, TracebackType

from arrayloom import _exact_type, _hook

__all__ = ["Kind", "Program", "run"]

_INTERRUPTED = 130
_OWN = os.path.dirname(__file__)
_WATCHES = (
    "_doctor/watch.py",
    *(
        f"_verify/{name}.py"
        for name in ("check", "draws", "outcome", "stand_in", "warned", "watch")
    ),
)
_HIDDEN = frozenset(
    {
        __file__,
        _exact_type.__file__,
        _hook.__file__,
        *(os.path.join(_OWN, name) for name in _WATCHES),
    }
)


class Kind(Enum):
    """How the program was named on the command line."""

    SCRIPT = "script"
    MODULE = "module"
    CODE = "code"
    STDIN = "stdin"


@dataclass(frozen=True)
class Program:
    """A program and its arguments."""

    kind: Kind
    target: str
    args: Sequence[str] = ()


class _CannotStartError(Exception):
    """The program could not be found; the message is for the user."""


def run(program: Program) -> int:
    """Run `program` and return its exit status.

    Anything the program raises is reported by ``sys.excepthook``, as Python does.
    """
    module = ModuleType("__main__")
    vars(module)["__builtins__"] = sys.modules["builtins"]
    vars(module)["__annotations__"] = {}
    sys.modules["__main__"] = module
    _exact_type.install()
    try:
        compiled = _prepare(program, module)
        if compiled is None:
            code.interact(banner=None, local=vars(module), exitmsg="")
        else:
            _exact_type.prepare(module, compiled)
            exec(compiled, vars(module))  # noqa: S102 - running the user's program is the point
    except _CannotStartError as error:
        sys.stderr.write(f"{sys.executable}: {error}\n")
        return 2 if program.kind is Kind.SCRIPT else 1
    except SystemExit as stop:
        return _status_of(stop)
    except KeyboardInterrupt as error:
        _report(error)
        return _INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is reported
        _report(error)
        return 1
    return 0


def _prepare(program: Program, module: ModuleType) -> CodeType | None:
    """Set up `module` and ``sys`` for the program; None asks for an interactive session."""
    if program.kind is Kind.MODULE:
        return _prepare_module(program, module)
    sys.argv = [program.target, *program.args]
    if program.kind is Kind.SCRIPT:
        return _prepare_script(program, module)
    _set_first_path("")
    if program.kind is Kind.CODE:
        sys.argv[0] = "-c"
        return _exact_type.code_of(program.target, "<string>")
    sys.argv[0] = "-"
    if sys.stdin.isatty():
        return None
    module.__file__ = "<stdin>"
    return _exact_type.code_of(sys.stdin.read(), "<stdin>")


def _prepare_script(program: Program, module: ModuleType) -> CodeType:
    path = program.target
    if os.path.isdir(path) or _is_archive(path):
        _set_first_path(os.path.abspath(path))
        return _module_code("__main__", f"can't find '__main__' module in {path!r}", module)
    full = _full_path(path)
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        message = f"can't open file {full!r}: {_reason(error)}"
        raise _CannotStartError(message) from error
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    module.__file__ = full
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", module.__file__)
    vars(module)["__cached__"] = None
    return _exact_type.code_of(source, full)


def _full_path(path: str) -> str:
    """Return the path that Python shows in tracebacks: from the root, otherwise as it was given."""
    return os.path.join(os.getcwd(), path)


def _reason(error: OSError) -> str:
    return f"[Errno {error.errno}] {error.strerror}"


def _is_archive(path: str) -> bool:
    import zipfile  # noqa: PLC0415 - slow, and rarely needed

    return path.endswith((".zip", ".pyz")) and zipfile.is_zipfile(path)


def _prepare_module(program: Program, module: ModuleType) -> CodeType:
    sys.argv = ["-m", *program.args]
    _set_first_path(os.getcwd())
    return _module_code(program.target, f"No module named {program.target}", module)


def _module_code(name: str, missing: str, module: ModuleType) -> CodeType:
    """Code of the importable module `name`, or of the ``__main__`` of the package `name`."""
    if name == "__main__":
        spec = _exact_type.find_spec(name, sys.path[:1])
    else:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError as error:
            raise _CannotStartError(missing) from error
    if spec is not None and spec.submodule_search_locations is not None:
        missing = f"No module named {name}.__main__; {name!r} is a package and cannot be executed"
        spec = importlib.util.find_spec(f"{name}.__main__")
    get_code = getattr(spec.loader, "get_code", None) if spec is not None else None
    compiled = get_code(spec.name) if spec is not None and get_code is not None else None
    if spec is None or not isinstance(compiled, CodeType):
        raise _CannotStartError(missing)
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__package__ = spec.parent
    vars(module)["__cached__"] = spec.cached
    if spec.origin is not None:
        module.__file__ = spec.origin
        if name != "__main__":
            sys.argv[0] = spec.origin
    return compiled


def _set_first_path(first: str) -> None:
    """Replace what Python put there for the runner itself by the entry for the program."""
    if not sys.flags.safe_path:
        sys.path[0] = first


def _status_of(stop: SystemExit) -> int:
    """Exit status that Python gives for `stop`; a message goes to standard error."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    sys.stderr.write(f"{stop.code}\n")
    return 1


def _report(error: BaseException) -> None:
    for each in _chain(error):
        each.__traceback__ = _visible(each.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)


def _chain(error: BaseException) -> list[BaseException]:
    """`error` and everything that its report will show with it."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is None or any(each is other for other in found):
            continue
        found.append(each)
        todo += [each.__cause__, each.__context__]
    return found


def _visible(traceback: TracebackType | None) -> TracebackType | None:
    """`traceback` without the frames of the runner and of the import layer."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _HIDDEN:
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = _visible(traceback.tb_next)
    return traceback
