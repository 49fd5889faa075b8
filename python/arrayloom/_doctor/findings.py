"""What ``doctor`` makes of the facts: which of them matter, and what is better."""

import ast
import dis
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from arrayloom._doctor.report import Finding
from arrayloom._doctor.source import Pattern, Source
from arrayloom._doctor.watch import Site, Watch
from arrayloom._native import Fallback, Stats
from arrayloom._text import human_bytes

__all__ = ["Facts", "findings"]

# What takes a smaller part of the time is not told of.
_SHARE = 0.02
# How often something happens before it is told of.
_ELEMENTS, _PARTS, _GATHERS, _LISTS, _CALLS = 1000, 1000, 20, 20, 10
# Larger parts are worth a call of NumPy each, and longer lists are worth running.
_SMALL_PART, _FEW_OPERATIONS = 16 * 1024, 8
_BUILTINS = {
    **{name: f"{{0}}.{name}()" for name in ("sum", "max", "min", "any", "all")},
    "sorted": "np.sort({0})",
}
_UNKNOWN = Source("")


@dataclass(frozen=True)
class Facts:
    """All that is known of a run.

    Attributes
    ----------
    seconds : float
        How long it took.
    watch : Watch
        What was counted, and samples.
    stats : Stats
        The figures of the native module.
    sources : mapping
        The program's files.
    modules : frozenset of str
        Names of the modules that were imported.
    shares_cores : bool
        Whether the user said how many threads to use.
    """

    seconds: float
    watch: Watch
    stats: Stats
    sources: Mapping[str, Source]
    modules: frozenset[str]
    shares_cores: bool = False


def findings(facts: Facts) -> list[Finding]:
    """Find what matters, the costliest first.

    Where values are wanted is told behind the others: what the lists compute has to be computed anyway.
    """
    found = [*_sites(facts), *_gathers(facts), *_wanted(facts), *_fallbacks(facts)]
    known = {(each.file, each.line, each.kind) for each in found}
    found += [each for each in _patterns(facts) if (each.file, each.line, each.kind) not in known]
    return sorted(
        found,
        key=lambda each: (
            each.kind in {"wanted", "mpi"},
            -(each.seconds or 0),
            each.file,
            each.line,
        ),
    )


def _source(facts: Facts, file: str) -> Source:
    return facts.sources.get(file, _UNKNOWN)


def _finding(
    facts: Facts, place: tuple[str, int], kind: str, evidence: str, what: str, advice: str
) -> Finding:
    """Give a finding with the time of its statement."""
    file, line = place
    source = _source(facts, file)
    lines = source.lines(line)
    seconds = facts.watch.seconds_of(file, lines)
    return Finding(kind, file, line, source.text(line), evidence, what, advice, seconds=seconds)


def _matters(facts: Facts, seconds: float | None, share: float = 1.0) -> bool:
    return (seconds or 0.0) >= _SHARE * share * facts.seconds


@dataclass(frozen=True)
class _Place:
    """A statement and what it does; those of one are added up."""

    file: str
    line: int
    kind: str
    # Who takes the elements, of an iteration.
    by: str = ""


def _sites(facts: Facts) -> Iterator[Finding]:
    """Find what reads or writes large arrays piece by piece."""
    groups: dict[_Place, list[Site]] = {}
    for site in facts.watch.sites.values():
        place = _place(facts, site)
        if place is not None:
            groups.setdefault(place, []).append(site)
    patterns = _by_line(facts)
    for place, sites in groups.items():
        count = sum(site.count for site in sites)
        pattern = patterns.get((place.file, place.line))
        if count < (_PARTS if place.kind == "parts" else _ELEMENTS):
            continue
        what, advice = _told(place, sites, _array(facts, sites))
        kind = place.kind
        if place.by and pattern is not None and pattern.kind == "python":
            kind, advice = "python", _better(pattern)
            what = f"{place.by} took {count:,} elements or rows one by one for a function of Python"
        found = _finding(facts, (place.file, place.line), kind, "measured", what, advice)
        if _matters(facts, found.seconds):
            yield replace(found, count=count, nbytes=max(site.nbytes for site in sites))


def _gathers(facts: Facts) -> Iterator[Finding]:
    """Find what picks elements by their places again and again, recorded or left to NumPy's own code."""
    looks = Counter(
        (site.code.co_filename, site.position[0])
        for site in facts.watch.sites.values()
        if site.kinds["gather"]
    )
    patterns = _by_line(facts)
    # What was recorded at a look has the line of the watch.
    recorded = [
        (file, line, calls + looks[file, line])
        for op, file, line, calls in facts.watch.journal.calls
        if op == "take"
    ]
    delegated = [
        (row.file, row.line, row.calls)
        for row in facts.stats.delegated
        if row.op == "getitem" and looks[row.file, row.line]
    ]
    for file, line, count in (*recorded, *delegated):
        # Where a pattern says what is better, this says less. Lines of NumPy's own say nothing.
        if (file, line) in patterns or file not in facts.watch.files():
            continue
        what = f"elements were picked by their places {count:,} times"
        advice = "take slices where places are regular; pick once before the loop where they stay the same"
        found = _finding(facts, (file, line), "gather", "measured", what, advice)
        # It is computed where the result is wanted.
        lines = _source(facts, file).lines(line)
        seconds = min(facts.seconds, (found.seconds or 0.0) + facts.watch.computed(file, lines))
        if count >= _GATHERS and _matters(facts, seconds):
            yield replace(found, count=count, seconds=seconds)


def _place(facts: Facts, site: Site) -> _Place | None:
    """Tell what a site does; None if that is nothing to tell of, or not known."""
    first = site.position[0]
    if site.method not in {"__getitem__", "__setitem__"} or first is None:
        return None
    file = site.code.co_filename
    source = _source(facts, file)
    expression = source.expression(site.position)
    line = source.lines(first)[0]
    if not _is_subscript(site):
        called = expression.func if isinstance(expression, ast.Call) else None
        by = ast.unparse(called) if called is not None else ""
        return _Place(file, line, "iteration", by)
    if site.kind == "element":
        return _Place(file, line, "elements")
    is_small = site.kind == "part" and site.piece <= _SMALL_PART
    return _Place(file, line, "parts") if is_small else None


def _array(facts: Facts, sites: Iterable[Site]) -> str:
    """Give the name of the array that is read or written most often."""
    most = max(sites, key=lambda site: site.count)
    expression = _source(facts, most.code.co_filename).expression(most.position)
    found = expression.value if isinstance(expression, ast.Subscript) else None
    return found.id if isinstance(found, ast.Name) else "a"


def _is_subscript(site: Site) -> bool:
    """Whether the program's own instruction is one with brackets."""
    name = dis.opname[site.code.co_code[site.at]]
    return "SUBSCR" in name or "SLICE" in name or name == "BINARY_OP"


def _told(place: _Place, sites: Sequence[Site], array: str) -> tuple[str, str]:
    """Say what was seen, and what is better."""
    reads = sum(site.count for site in sites if site.method == "__getitem__")
    writes = sum(site.count for site in sites if site.method != "__getitem__")
    both = ((reads, "reads"), (writes, "writes"))
    times = " and ".join(f"{number:,} {name}" for number, name in both if number)
    if place.kind == "elements":
        return (
            f"{times} of single elements",
            f"compute on whole arrays or slices, such as {array}.sum(), {array} * 2 or"
            f" {array}[1:] - {array}[:-1]; np.where chooses by a condition",
        )
    if place.kind == "parts":
        piece = human_bytes(max(site.piece for site in sites))
        return (
            f"{times} of small parts of at most {piece}",
            f"compute on the whole array along an axis, such as {array}.sum(axis=1), or add an axis"
            " for broadcasting: x[:, None]",
        )
    if place.by in _BUILTINS:
        better = _BUILTINS[place.by].format("a")
        return (
            f"Python's {place.by}() took {reads:,} elements or rows one by one",
            f"use NumPy's: {better}",
        )
    by = f"by {place.by}()" if place.by else "one by one"
    return (
        f"{reads:,} elements or rows were taken {by}" + (", one by one" if place.by else ""),
        "compute on the whole array; if it has to be a loop over values, loop over a.tolist()",
    )


def _wanted(facts: Facts) -> Iterator[Finding]:
    """Find where values are wanted so often that recorded lists stay short."""
    groups: dict[tuple[str, int], list[Site]] = {}
    for site in facts.watch.sites.values():
        first = site.position[0]
        if site.lists and first is not None and _gives_a_value(facts, site):
            file = site.code.co_filename
            place = (file, _source(facts, file).lines(first)[0])
            groups.setdefault(place, []).append(site)
    for (file, line), sites in groups.items():
        lists = sum(site.lists for site in sites)
        operations = sum(site.operations for site in sites) / lists
        seconds = sum(site.seconds for site in sites)
        if lists < _LISTS or operations >= _FEW_OPERATIONS or not _matters(facts, seconds):
            continue
        yield Finding(
            "wanted",
            file,
            line,
            _source(facts, file).text(line),
            "measured",
            f"a value was wanted {lists:,} times while operations were pending, {operations:.1f} of them"
            " each time on average, which ran",
            "look less often, such as at each tenth step, or keep results in an array and look once behind"
            " the loop; a fold with axis= stays pending",
            count=lists,
            seconds=seconds,
        )


def _gives_a_value(facts: Facts, site: Site) -> bool:
    """Whether a site wants a value, unlike a slice or a fold along an axis, which stay pending."""
    if site.method == "__getitem__":
        return site.kind == "element"
    if site.method == "__setitem__":
        return False
    call = _source(facts, site.code.co_filename).call(site.position)
    if site.method.startswith("__"):
        return True
    if call is None:
        # Without the source nobody knows whether an axis was named.
        return False
    whole, _, name = ast.unparse(call.func).rpartition(".")
    if name != site.method:
        return True
    skipped = 1 if whole in {"", "np", "numpy"} else 0
    axis = [word.value for word in call.keywords if word.arg == "axis"] or call.args[skipped:]
    return not axis or ast.unparse(axis[0]) == "None"


def _by_line(facts: Facts) -> dict[tuple[str, int], Pattern]:
    return {
        (file, line): pattern
        for file, source in facts.sources.items()
        for pattern in source.patterns
        for line in pattern.lines
    }


def _fallbacks(facts: Facts) -> Iterator[Finding]:
    """Give calls on large arrays that NumPy did although they could be faster."""
    patterns = _by_line(facts)
    for row in facts.stats.fallbacks:
        pattern = patterns.get((row.file, row.line))
        kind = pattern.kind if pattern and pattern.kind in {"python", "objects"} else "fallback"
        advice = _better(pattern) if pattern and kind != "fallback" else _cure(row)
        what = f"{row.calls:,} call{'s' * (row.calls > 1)} of {row.op} ran in NumPy: {row.reason}"
        found = _finding(facts, (row.file, row.line), kind, "measured", what, advice)
        # Many that take little are told of too, unless it is next to nothing.
        share = 0.1 if row.calls >= _CALLS else 1.0
        if _matters(facts, found.seconds, share):
            yield replace(found, count=row.calls)


def _cure(row: Fallback) -> str:
    """Say what helps against a fallback."""
    for word, cure in (
        ("do not fit", "look at shapes and dtypes, for which NumPy may raise an error"),
        ("operand", "cast to one of NumPy's numbers before, such as x.astype(np.float64)"),
        ("loop", "cast the operands to one dtype before, such as x.astype(np.float64)"),
        ("keyword", "leave the keyword out and do its part in a step of its own"),
        ("errstate", "let np.errstate warn or ignore there"),
    ):
        if word in row.reason:
            return cure
    return "compose it of NumPy's own functions of whole arrays"


def _patterns(facts: Facts) -> Iterator[Finding]:
    """Find what the source says of statements that took time."""
    for file, source in facts.sources.items():
        for pattern in source.patterns:
            seconds = facts.watch.seconds_of(file, pattern.lines)
            if pattern.kind == "mpi":
                if "mpi4py" in facts.modules and not facts.shares_cores:
                    what = "mpi4py is imported, and the number of threads is left open"
                    yield Finding(
                        "mpi",
                        file,
                        pattern.line,
                        source.text(pattern.line),
                        "measured",
                        what,
                        _better(pattern),
                    )
            elif _matters(facts, seconds):
                yield Finding(
                    pattern.kind,
                    file,
                    pattern.line,
                    source.text(pattern.line),
                    "source",
                    _meant(pattern),
                    _better(pattern),
                    seconds=seconds,
                )


def _meant(pattern: Pattern) -> str:
    """Say what a pattern is."""
    return {
        "grows": f"{pattern.name} grows in a loop, and is copied as a whole each time",
        "places": "places are collected only to index by them",
        "python": f"np.{pattern.name} calls a function of Python for each element or row",
        "objects": "elements are objects of Python, which only Python computes with",
    }[pattern.kind]


def _better(pattern: Pattern) -> str:
    """Say what is better than a pattern."""
    return {
        "grows": f"append the parts to a list, and behind the loop {pattern.name} = np.concatenate(parts)",
        "places": f"index by the condition itself, a[{pattern.name}], or choose by np.where({pattern.name}, x, y)",
        "python": "write the function with operations on whole arrays, and np.where for its if",
        "objects": "give the elements a dtype of numbers; of several fields one array each",
        "mpi": "give each rank its share of the cores: --threads=N, or ARRAYLOOM_THREADS",
    }[pattern.kind]
