"""``type(x)`` in a user's files: ``numpy.ndarray`` for lazy arrays too, as ``x.__class__`` is.

Lazy arrays are of a class derived from NumPy's, so that ``type(x) is np.ndarray`` would not hold. The runner compiles
calls of ``type`` with one argument, in files that have any, as calls of a function that knows this class. Such modules
are compiled anew in each process: what they compile to must not stay in ``__pycache__``.
"""
# `override` is of Python 3.12.
# pyright: reportImplicitOverride=false

import ast
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from arrayloom import _hook

__all__ = ["code_of", "find_spec", "install", "prepare"]

# What stands for ``type`` in such calls: no program has this name.
_NAME = "_type@"
# What a file has that needs it.
_CALL = re.compile(rb"\btype *\(")


def _type_of(kind: Callable[[object], object], value: object) -> object:
    """Call `kind`, which stood in the program as ``type``, and need not be the builtin."""
    found = kind(value)
    # A program that has not imported NumPy yet has no arrays.
    lazy = sys.modules.get("arrayloom._ext") if kind is type else None
    return sys.modules["numpy"].ndarray if lazy and found is lazy.LazyArray else found


class _Calls(ast.NodeTransformer):
    """Replaces ``type(x)`` by ``_type@(type, x)``, but in annotations: programs may ask for their text."""

    found = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        one = len(node.args) == 1 and not node.keywords
        if not (one and isinstance(function, ast.Name) and function.id == "type"):
            return node
        if isinstance(node.args[0], ast.Starred):
            return node
        self.found = True
        known = ast.copy_location(ast.Name(_NAME, ast.Load()), function)
        return ast.copy_location(ast.Call(known, [function, *node.args], []), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        result, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = result
        return node


def code_of(source: str | bytes, name: str) -> CodeType:
    """Compile a program as Python does, but for its calls of ``type``.

    Raises
    ------
    SyntaxError, ValueError
        As :func:`compile`.
    """
    compiled = compile(source, name, "exec", dont_inherit=True)
    return _rewritten(source, name) or compiled


def _rewritten(source: str | bytes, name: str) -> CodeType | None:
    """Compile a file of the user that has such calls; None for any other, and for what Python refuses."""
    text = source if isinstance(source, bytes) else source.encode("utf-8", "replace")
    if not (_hook.installed() and _CALL.search(text)):
        return None
    calls = _Calls()
    # What Python warns of when it compiles it has said, or says, of the file itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = calls.visit(ast.parse(source, name))
            return compile(tree, name, "exec", dont_inherit=True) if calls.found else None
        except (SyntaxError, ValueError, RecursionError):
            return None


def prepare(module: ModuleType, code: CodeType) -> None:
    """Make `module` ready to run `code`, which :func:`code_of` gave."""
    if _uses(code):
        vars(module)[_NAME] = _type_of


def _uses(code: CodeType) -> bool:
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return _NAME in code.co_names or any(map(_uses, inner))


class _Loader(SourceFileLoader):
    """Loads a module of the user that calls ``type``."""

    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        prepare(module, self._code)
        return module

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - a loader has one module
        return self._code


def find_spec(
    fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
) -> ModuleSpec | None:
    """Find a module as Python does; one of the user that calls ``type`` gets a loader of its own."""
    spec = PathFinder.find_spec(fullname, path, target)
    if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
        return spec
    users = _hook.is_served(spec.origin) and not _hook.is_installed(spec.origin)
    if users and os.access(spec.origin, os.R_OK):
        code = _rewritten(spec.loader.get_data(spec.origin), spec.origin)
        spec.loader = _Loader(fullname, spec.origin, code) if code else spec.loader
    return spec


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        return find_spec(fullname, path, target)


def install() -> None:
    """Load the modules of the user in this way from now on."""
    if PathFinder in sys.meta_path and not any(type(each) is _Finder for each in sys.meta_path):
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())
