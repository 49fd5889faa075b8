"""Run random programs on NumPy and on the module under test, and shrink what differs.

As a script: ``python fuzz.py FIRST COUNT [large] [exact] [KEY=VALUE ..]`` sets the engine's settings, runs
the programs of these seeds and prints a short reproducer of the first one that differs. With the word
``digest`` it prints what each program did in short, to be compared with another run.
"""

import hashlib
import importlib
import inspect
import sys
import time
import warnings

import numpy as np

# The script finds its neighbours however it was started.
sys.path.insert(0, __file__.rpartition("/support/")[0])
from support.compare import Outcome, Seen, differences, observe
from support.programs import Writer, data

# Seconds that shrinking may take.
_SHRINK = 20.0


def _message(error):
    """The message. In ``plain == lazy`` Python asks the subclass first, so shapes may be swapped."""
    front, mark, shapes = str(error).partition("broadcast together with shapes ")
    return front + mark + " ".join(sorted(shapes.split()))


def run(lines, module, invalid="ignore"):
    """What a program does: the outcome of every line, variables at every ``check()``."""
    seen = []
    space = {"np": module, "data": data}

    def check():
        arrays = {k: v for k, v in space.items() if isinstance(v, (np.ndarray, np.generic))}
        seen.append(("check", observe(lambda: arrays)))

    space["check"] = check
    with warnings.catch_warnings(), np.errstate(all="ignore", invalid=invalid):
        warnings.simplefilter("ignore" if invalid == "ignore" else "always")
        for number, line in enumerate(lines):
            try:
                exec(compile(line, f"line {number}", "exec"), space)
            except Exception as error:
                seen.append((number, f"{type(error).__name__}: {_message(error)}"))
    return seen


def difference(lines, module):
    """The first thing that differs between NumPy and the module, or None."""
    with warnings.catch_warnings(record=True) as told:
        want = run(lines, np, invalid="warn")
    if any("in cast" in str(warning.message) for warning in told):
        return None  # C leaves open what a number outside an integer's range becomes
    got = run(lines, module)
    for one, other in zip(want, got, strict=False):
        if one[0] == other[0] == "check":
            found = differences(one[1], other[1])
            if found:
                return "; ".join(found[:3])
        elif one != other:
            return f"line {one[0]}: NumPy {one[1]!r:.300}, ours {other[0]} {other[1]!r:.300}"
    return None if len(want) == len(got) else f"NumPy: {want[-1:]!r:.300}, ours: {got[-1:]!r:.300}"


def shrink(lines, module):
    """Leave out lines for as long as the program still differs."""
    stop = time.monotonic() + _SHRINK
    size = max(1, len(lines) // 2)
    while size and time.monotonic() < stop:
        at = 0
        while at < len(lines) and time.monotonic() < stop:
            shorter = lines[:at] + lines[at + size :]
            if shorter and difference(shorter, module):
                lines = shorter
            else:
                at += size
        size //= 2
    return lines


def reproducer(seed, found, lines, module):
    """A program to paste into a file, with what differs."""
    short = shrink(lines, module)
    text = "\n".join(short)
    last = difference(short, module) or f"not always; once {found}"
    return (
        f"seed {seed} differs: {last}\n"
        f"-----\nimport numpy as np\n{inspect.getsource(data)}\n{text}\n-----"
    )


def first_difference(seeds, module, **kind):
    """A reproducer of the first seed whose program differs, or None."""
    for seed in seeds:
        lines = Writer(seed, **kind).write()
        found = difference(lines, module)
        if found:
            return reproducer(seed, found, lines, module)
    return None


def _update(digest, node):
    if isinstance(node, Outcome):
        _update(digest, (node.values, node.error, node.warned))
    elif isinstance(node, (tuple, list)):
        for item in node:
            _update(digest, item)
    else:
        digest.update(repr(node.facts if isinstance(node, Seen) else node).encode())
        if isinstance(node, Seen) and node.data is not None:
            digest.update(node.data.tobytes())


def digest(seed, module, **kind):
    """What the program of a seed did, to the bit, in a few letters."""
    found = hashlib.sha256()
    _update(found, run(Writer(seed, **kind).write(), module))
    return found.hexdigest()


def main(words):
    """Run the seeds that the command line names."""
    first, count = int(words[0]), int(words[1])
    settings = dict(word.split("=") for word in words[2:] if "=" in word)
    module = importlib.import_module(settings.pop("module", "arrayloom"))
    if module is not np:
        native = importlib.import_module("arrayloom._ext")
        native.configure(**{name: int(value) for name, value in settings.items()})
    kind = {"large": "large" in words, "exact": "exact" in words}
    if "digest" in words:
        for seed in range(first, first + count):
            print(seed, digest(seed, module, **kind))
        return 0
    found = first_difference(range(first, first + count), module, **kind)
    if found:
        print(found)
        return 1
    print(f"{count} programs agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
