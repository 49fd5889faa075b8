"""The page of a run: one file of HTML that shows a run while it goes on, or one that is over."""

from collections.abc import Sequence
from pathlib import Path

from arrayloom._page_style import STYLE

__all__ = ["POLICY", "run_page"]

# What the page may do: nothing but run what stands in it, and ask its own server for events.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
)


def run_page(lines: Sequence[str] | None = None) -> str:
    """The page of events, one JSON object each; without them it asks its server for events.

    Examples
    --------
    >>> page = run_page(['{"t": "plan", "target": "</script>"}'])
    >>> page.count("</script>")
    1
    """
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    page = page.replace("/*STYLE*/", STYLE, 1)
    if lines is None:
        return page
    # In a script no text of the program may look like a tag.
    events = ",\n".join(lines).replace("<", "\\u003c")
    return page.replace("/*EVENTS*/null", f"[{events}]", 1)
