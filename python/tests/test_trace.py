"""The files of ``--trace`` and ``--html``: real times, valid formats, nothing from outside."""

import html.parser
import json
import re
import time

import pytest
from support import process

from arrayloom._journal import Event, Journal, start_journal, take_journal
from arrayloom._native import Fallback, OpRow, Stats
from arrayloom._profile_page import profile_page
from arrayloom._trace import trace_json

PROGRAM = """
import numpy as np
a = np.ones((1000, 1000))
for _ in range(5):
    a = np.sqrt(a + 1)
    print(a.sum() > 0)
"""


def test_lists_and_passes_have_their_times():
    np = pytest.importorskip("arrayloom")
    start_journal()
    began = time.perf_counter()
    a = np.ones((2000, 2000))
    b = np.sqrt(a + 1) * 2
    between = time.perf_counter() - began
    assert b.sum() > 0
    assert np.exp(b).max() > 0
    journal, ended = take_journal(), time.perf_counter() - began
    lists = [event for event in journal.events if not event.kernels]
    passes = [event for event in journal.events if event.kernels]
    assert len(lists) == 2
    assert len(passes) >= 2
    slack = 0.05
    assert between - slack < lists[0].start < lists[1].start < ended
    assert lists[0].start + lists[0].seconds <= lists[1].start
    for event in passes:
        outer = lists[0] if event.start < lists[1].start else lists[1]
        assert outer.start <= event.start
        assert event.start + event.seconds <= outer.start + outer.seconds
        # Four million square roots or exponentials take their time.
        assert event.seconds > 1e-5
    assert "exp" in {op for op, _, _ in passes[-1].named}
    places = {(op, file, line) for event in passes for op, file, line in event.named}
    first = test_lists_and_passes_have_their_times.__code__.co_firstlineno
    assert ("sqrt", __file__, first + 5) in places


def test_a_journal_is_taken_once_and_begun_anew():
    np = pytest.importorskip("arrayloom")
    start_journal()
    assert (np.ones(100_000) + 1).sum() == 200_000
    first, second = take_journal(), take_journal()
    assert {op for op, _, _, _ in first.calls} >= {"add", "add.reduce"}
    assert first.events
    assert not second.calls
    assert not second.events


JOURNAL = Journal(
    events=(
        Event(0.30, 0.1, 2, 5, (("add", "a.py", 3), ("_copy", "a.py", 4), ("add", "a.py", 3))),
        Event(0.25, 0.2, 0, 5, ()),
        Event(0.70, 0.1, 0, 1, ()),
    ),
    lost=7,
)


def test_trace_events():
    trace = json.loads(trace_json(JOURNAL, 0.05, 1.0))
    assert trace["otherData"] == {"events left out": 7}
    names, slices = trace["traceEvents"][:2], trace["traceEvents"][2:]
    assert {each["ph"] for each in names} == {"M"}
    assert {each["ph"] for each in slices} == {"X"}
    assert [each["cat"] for each in slices] == ["program", "list", "pass", "list"]
    assert [each["ts"] for each in slices] == pytest.approx([5e4, 25e4, 30e4, 70e4])
    assert [each["dur"] for each in slices] == pytest.approx([1e6, 2e5, 1e5, 1e5])
    assert slices[2]["name"] == "add, copy, add and 2 more"
    assert slices[2]["args"] == {"operations": 5, "kernels": 2, "lines": ["a.py:3", "a.py:4"]}
    assert len({(each["pid"], each["tid"]) for each in slices}) == 1


STATS = Stats(
    ops=(OpRow("add", 3, 0.25, 3 << 20), OpRow("sqrt", 11, 0.5, 1536)),
    fallbacks=(Fallback("add", "why </script><b>&", "</style>.py", 7, 2),),
    times={"flush_seconds": 0.75, "device_seconds": 0.5},
    counters={"flushes": 2},
)


class _Tags(html.parser.HTMLParser):
    """Collects tags, and that they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_stands_alone():
    text = profile_page(STATS, 1.0, JOURNAL.events)
    tags = _Tags(text)
    assert tags.open == []
    names = {tag for tag, _ in tags.seen}
    assert "svg" in names
    assert not names & {"script", "link", "img", "iframe", "b"}
    attributes = {name for _, attrs in tags.seen for name in attrs}
    assert not attributes & {"src", "href", "onclick"}
    assert not re.search(r"https?:|url\(|@import", text)
    assert "why </script><b>&" in tags.texts
    assert "</style>.py:7" in tags.texts
    assert text.index("sqrt") < text.index("<code>add")


def test_the_drawing_shows_when_lists_ran():
    tags = _Tags(profile_page(STATS, 1.0, JOURNAL.events))
    drawing = [attrs for tag, attrs in tags.seen if tag == "rect" and attrs.get("height") == "60.0"]
    places = sorted(float(attrs["x"]) for attrs in drawing)
    # From 0.25 to 0.45 and from 0.7 to 0.8 of 960 pixels, in slices of four.
    assert len(places) == 48 + 24
    assert (places[0], places[47], places[48], places[-1]) == (240, 428, 672, 764)
    assert "When recorded" not in profile_page(STATS, 1.0)
    assert "Nothing was accelerated" in profile_page(Stats(), 1.0)


def test_files_of_a_program(tmp_path):
    page, trace = tmp_path / "a.html", tmp_path / "a.json"
    done = process.run(PROGRAM, runner=True, options=("--html", page, "--trace", trace))
    assert (done.returncode, done.stdout) == (0, "True\n" * 5), done.stderr
    assert done.stderr == ""
    assert "sqrt" in page.read_text(encoding="utf-8")
    slices = [each for each in json.loads(trace.read_text())["traceEvents"] if each["ph"] == "X"]
    program, *others = slices
    assert program["cat"] == "program"
    assert sum(each["cat"] == "list" for each in others) >= 5
    for each in others:
        assert program["ts"] <= each["ts"]
        assert each["ts"] + each["dur"] <= program["ts"] + program["dur"]
    assert any("<string>:5" in line for each in others for line in each["args"].get("lines", ()))


def test_variables_of_the_environment(tmp_path):
    page, trace = tmp_path / "a.html", tmp_path / "a.json"
    env = {"ARRAYLOOM_HTML": str(page), "ARRAYLOOM_TRACE": str(trace)}
    assert process.run(PROGRAM, runner=True, env=env).returncode == 0
    assert page.stat().st_size > 1000
    assert json.loads(trace.read_text())["traceEvents"]
