"""What ``doctor`` reads in a program's source: statements, expressions, and patterns that are slow."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Pattern", "Source"]

_JOINING = frozenset(
    {"concatenate", "vstack", "hstack", "stack", "column_stack", "dstack", "row_stack"}
)
_GROWING = frozenset({"append", "insert"})
_PYTHON = frozenset({"vectorize", "frompyfunc"})
_ALONG = frozenset({"apply_along_axis", "apply_over_axes"})
_LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)


# First and last line, first and last column.
_Position = tuple[int | None, int | None, int | None, int | None]


@dataclass(frozen=True)
class Pattern:
    """Statements that are slow in a known way.

    Attributes
    ----------
    kind : str
        ``grows``, ``places``, ``python``, ``objects`` or ``mpi``.
    line : int
        Where it is told of.
    lines : tuple of int
        All lines whose time belongs to it.
    name : str
        What it is about: an array, a function or a condition.
    """

    kind: str
    line: int
    lines: tuple[int, ...]
    name: str


class Source:
    r"""The text of a file of the program, also of one that is no Python or not there.

    Parameters
    ----------
    text : str
        The text.

    Attributes
    ----------
    patterns : tuple of Pattern
        What is slow whatever the arrays are.

    Examples
    --------
    >>> source = Source("import numpy as np\nfor i in range(3):\n    a = np.append(a, i)\n")
    >>> [(found.kind, found.line, found.name) for found in source.patterns]
    [('grows', 3, 'a')]
    """

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        try:
            self._tree = ast.parse(text)
        except (SyntaxError, ValueError):
            self._tree = ast.Module([], [])
        self._parents = {
            child: node for node in ast.walk(self._tree) for child in ast.iter_child_nodes(node)
        }
        self._numpy, self._names = _imports(self._tree)
        self._expressions: dict[_Position, ast.expr] = {}
        # The innermost statement of each line comes last.
        self._statements: dict[int, tuple[int, ...]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.expr):
                place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
                self._expressions.setdefault(place, node)
            elif isinstance(node, ast.stmt):
                lines = _head(node)
                self._statements |= dict.fromkeys(lines, lines)
        self.patterns = tuple(self._patterns())

    def text(self, line: int) -> str:
        """Give a line without the space around it."""
        return self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""

    def lines(self, line: int) -> tuple[int, ...]:
        """Give all lines of the statement at a line; of one with a body, those of its head."""
        return self._statements.get(line, (line,))

    def expression(self, position: _Position) -> ast.expr | None:
        """Find an expression by its first and last line, first and last column."""
        return self._expressions.get(position)

    def call(self, position: _Position) -> ast.Call | None:
        """Find a call by its position, or by that of the method that is called."""
        found = self.expression(position)
        outer = self._parents.get(found) if isinstance(found, ast.Attribute) else found
        return outer if isinstance(outer, ast.Call) else None

    def _patterns(self) -> Iterator[Pattern]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                yield from self._growing(node, node.targets[0])
                yield from self._places(node, node.targets[0])
            elif isinstance(node, ast.Call):
                yield from self._calls(node)
            elif isinstance(node, ast.FunctionDef):
                if any(self.function(each) in _PYTHON for each in node.decorator_list):
                    yield from self._uses(node.name, "vectorize")
            elif isinstance(node, (ast.Import, ast.ImportFrom)) and "mpi4py" in _modules(node):
                yield Pattern("mpi", node.lineno, (node.lineno,), "mpi4py")

    def function(self, where: ast.expr) -> str:
        """Give the name of NumPy's function that an expression is; empty for others."""
        if isinstance(where, ast.Name):
            return self._names.get(where.id, "")
        if isinstance(where, ast.Attribute) and isinstance(where.value, ast.Name):
            return where.attr if where.value.id in self._numpy else ""
        return ""

    def _statement(self, node: ast.AST) -> tuple[int, ...]:
        return self.lines(getattr(node, "lineno", 0))

    def _outer(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._parents:
            node = self._parents[node]
            yield node

    def _in_loop(self, node: ast.AST) -> bool:
        """Whether a loop of the same function is around."""
        for outer in self._outer(node):
            if isinstance(outer, _SCOPES):
                return False
            if isinstance(outer, _LOOPS):
                return True
        return False

    def _growing(self, node: ast.Assign, target: ast.expr) -> Iterator[Pattern]:
        """``x = np.append(x, y)`` and its kin in a loop."""
        call = node.value
        if not (isinstance(call, ast.Call) and call.args and self._in_loop(node)):
            return
        function, first = self.function(call.func), call.args[0]
        parts = [first]
        if function in _JOINING:
            parts = first.elts if isinstance(first, (ast.Tuple, ast.List)) else []
        elif function not in _GROWING:
            return
        name = ast.unparse(target)
        if any(ast.unparse(part) == name for part in parts):
            yield Pattern("grows", node.lineno, self._statement(node), name)

    def _places(self, node: ast.Assign, target: ast.expr) -> Iterator[Pattern]:
        """``k = np.nonzero(c)`` whose result is an index and nothing else."""
        call = node.value.value if isinstance(node.value, ast.Subscript) else node.value
        if not (
            isinstance(target, ast.Name) and isinstance(call, ast.Call) and len(call.args) == 1
        ):
            return
        if self.function(call.func) not in {"where", "nonzero", "flatnonzero"} or call.keywords:
            return
        uses = self._names_of(node)
        if uses and all(self._is_index(use) for use in uses):
            lines = {line for each in (node, *uses) for line in self._statement(each)}
            name = ast.unparse(call.args[0])
            yield Pattern("places", node.lineno, tuple(sorted(lines)), name)

    def _names_of(self, node: ast.AST) -> list[ast.Name]:
        """Give all other places in the function where the name stands that an assignment makes."""
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Name):
            return []
        scope = next(outer for outer in self._outer(node) if isinstance(outer, _SCOPES))
        return [
            use
            for use in ast.walk(scope)
            if isinstance(use, ast.Name) and use.id == target.id and use is not target
        ]

    def _is_index(self, use: ast.Name) -> bool:
        outer = self._parents[use]
        return isinstance(outer, ast.Subscript) and outer.slice is use

    def _calls(self, call: ast.Call) -> Iterator[Pattern]:
        function = self.function(call.func)
        if function in _ALONG:
            yield Pattern("python", call.lineno, self._statement(call), function)
        elif function in _PYTHON:
            outer = self._parents[call]
            if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Name):
                yield from self._uses(outer.targets[0].id, function)
            else:
                lines = self._statement(call)
                yield Pattern("python", lines[0], lines, function)
        elif any(_is_object(word) for word in self._dtypes(call)):
            uses = self._names_of(self._parents[call])
            lines = {line for each in (call, *uses) for line in self._statement(each)}
            yield Pattern("objects", call.lineno, tuple(sorted(lines)), ast.unparse(call.func))

    def _uses(self, name: str, function: str) -> Iterator[Pattern]:
        """Give the calls of a function that `function` made of one of Python's."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                lines = self._statement(node)
                yield Pattern("python", lines[0], lines, function)

    def _dtypes(self, call: ast.Call) -> list[ast.expr]:
        """Give the words of a call that may be a dtype."""
        words = [word.value for word in call.keywords if word.arg == "dtype"]
        cast = isinstance(call.func, ast.Attribute) and call.func.attr == "astype"
        return [*words, *call.args[:1]] if cast else words


def _head(node: ast.stmt) -> tuple[int, ...]:
    """Give the lines of a statement; of one with a body, those before it."""
    body: list[ast.stmt] = getattr(node, "body", [])
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return tuple(range(node.lineno, max(node.lineno, last) + 1))


def _is_object(word: ast.expr) -> bool:
    if isinstance(word, ast.Constant):
        return word.value in ("O", "object")
    return ast.unparse(word) in {"object", "np.object_", "numpy.object_"}


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = (
        [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
    )
    return {name.partition(".")[0] for name in names}


def _imports(tree: ast.Module) -> tuple[set[str], dict[str, str]]:
    """Give the names of NumPy in a file, and of its functions by the names that they have there."""
    whole, single = set[str](), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            whole |= {n.asname or n.name for n in node.names if n.name in {"numpy", "arrayloom"}}
        elif isinstance(node, ast.ImportFrom) and node.module in {"numpy", "arrayloom"}:
            single |= {n.asname or n.name: n.name for n in node.names}
    return whole, single
