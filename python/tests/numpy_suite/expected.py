"""The list of NumPy's and SciPy's tests that fail under arrayloom, with a reason each.

One test a line: modes, always or sometimes, pattern of the name; ``# reason`` lines above a block of
tests say why. Patterns are those of ``fnmatch``, with brackets taken literally.
"""

import fnmatch
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Expected:
    """One line of the list."""

    modes: tuple[str, ...]
    always: bool
    pattern: str
    reason: str

    def matches(self, name):
        """Whether this is the line for the test of that name."""
        return fnmatch.fnmatchcase(name, self.pattern.replace("[", "[[]"))


def read(file):
    """All lines of a list."""
    found = []
    reason = ""
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            modes, always, pattern = line.split(maxsplit=2)
            found.append(Expected(tuple(modes.split(",")), always == "always", pattern, reason))
    return found
