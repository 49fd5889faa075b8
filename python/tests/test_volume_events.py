"""What a run tells of itself: every block once, in order, and a report of it also where it was interrupted."""

import json
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from arrayloom import _cli
from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes import events as told
from arrayloom.errors import CancelledError

X = np.random.default_rng(4).integers(0, 4000, (96, 64, 64)).astype("f4")
# So little memory that blocks are read, computed and written one after the other, or at the same time.
ONE_BY_ONE, OVERLAPPED = "500KiB", "4MiB"


def work(source=X):
    return f.median_filter(v.open(source), 5)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def blocks(events, state):
    return [event for event in events if event["t"] == "block" and event["s"] == state]


def covered(events, shape):
    """How often each voxel was in a block that is done."""
    counts = np.zeros(shape, int)
    for event in blocks(events, "done"):
        counts[tuple(slice(*ends) for ends in zip(event["lo"], event["hi"], strict=True))] += 1
    return counts


def check(events, shape, before=0):
    """Events of a run that is over: in order, and each block and each voxel once."""
    kinds = [event["t"] for event in events]
    assert kinds.count("plan") == kinds.count("end") == 1
    assert kinds[0] == "plan"
    assert kinds[-1] == "end"
    assert len({event["run"] for event in events}) == 1
    times = [event["at"] for event in events]
    assert times == sorted(times)
    numbers = [event["i"] for event in blocks(events, "done")]
    assert len(set(numbers)) == len(numbers) == events[-1]["blocks"]
    order = {"reading": 0, "computing": 1, "retried": 1, "done": 2}
    for number in numbers:
        states = [order[e["s"]] for e in events if e["t"] == "block" and e["i"] == number]
        assert states == sorted(states)
    memory = [event for event in events if event["t"] == "mem"]
    assert max(event["voxels"] for event in memory) == np.prod(shape)
    assert all(event["used"] <= events[0]["limit"] for event in memory)
    assert events[0]["done"] == before
    counts = covered(events, shape)
    assert counts.max() == 1
    assert counts.sum() == np.prod(shape) - before


@pytest.mark.parametrize("limit", [ONE_BY_ONE, OVERLAPPED])
def test_every_block_is_told_once_and_in_order(tmp_path, limit):
    plan = v.plan(work(), memory_limit=limit)
    facts = v.save(tmp_path / "o.npy", work(), memory_limit=limit, events=tmp_path / "run.jsonl")
    events = read(tmp_path / "run.jsonl")
    check(events, X.shape)
    assert events[0]["bounds"] == plan.facts["bounds"]
    assert events[0]["target"] == str(tmp_path / "o.npy")
    assert len(blocks(events, "done")) == plan.blocks == facts["blocks"]
    assert {event["dev"] for event in blocks(events, "done")} == {"cpu"}
    # What was said of blocks on their way is what they became.
    places = {e["i"]: (e["lo"], e["hi"]) for e in blocks(events, "done")}
    assert all(places[e["i"]] == (e["lo"], e["hi"]) for e in blocks(events, "reading"))
    assert bool(blocks(events, "computing")) == plan.facts["overlapped"] == (limit == OVERLAPPED)
    assert np.array_equal(np.load(tmp_path / "o.npy"), f.median_filter(X, 5))


@pytest.mark.parametrize("target", ["array", "out.zarr", "out.ome.zarr", "out.h5", "point"])
def test_any_target_tells_its_blocks(tmp_path, target):
    events = tmp_path / "run.jsonl"
    if target == "point":
        v.save(tmp_path / "o.npy", np.float32(3), events=events)
        assert read(events)[0]["t"] == "plan"
        return
    if target == "array":
        v.save(np.empty_like(X), work(), memory_limit=ONE_BY_ONE, events=events)
    else:
        pytest.importorskip("h5py" if target.endswith("h5") else "zarr")
        words = {"levels": 2} if "ome" in target else {}
        v.save(tmp_path / target, work(), chunks=(32, 32, 32), events=events, **words)
    check(read(events), X.shape)


@pytest.mark.parametrize("devices", ["cpu*2", "sim=4MiB"])
def test_workers_tell_their_blocks(tmp_path, devices):
    words = {"devices": devices, "memory_limit": "4MiB", "events": tmp_path / "run.jsonl"}
    v.save(tmp_path / "o.npy", work(), **words)
    events = read(tmp_path / "run.jsonl")
    check(events, X.shape)
    names = {event["dev"] for event in blocks(events, "done")}
    assert names <= {"cpu", "cpu worker 0", "cpu worker 1"}


@pytest.mark.parametrize("kind", ["pool", "cluster"])
def test_workers_elsewhere_tell_theirs(tmp_path, kind, request):
    pytest.importorskip("zarr")
    np.save(tmp_path / "in.npy", X)
    words = {"chunks": (16, 32, 32), "events": tmp_path / "run.jsonl"}
    if kind == "pool":
        with ThreadPoolExecutor(2) as pool:
            v.save(tmp_path / "o.zarr", work(tmp_path / "in.npy"), client=pool, **words)
    else:
        client = request.getfixturevalue("near_client")
        v.save(tmp_path / "o.zarr", work(tmp_path / "in.npy"), client=client, **words)
    events = read(tmp_path / "run.jsonl")
    check(events, X.shape)
    assert all(":" in event["dev"] for event in blocks(events, "done"))
    assert v.report(tmp_path / "run.jsonl").bottleneck == "reading and computing"


def test_a_run_that_is_cut_anew_tells_retries():
    lines = []
    told.LISTENERS.append(lambda event, line: lines.append(event))
    try:
        with told.recorded(None, "x") as recorder:
            recorder.begin(v.open(X), 9, bounds=None, done=[], devices=["cpu"], threads=1)
            recorder.expect(
                {"bounds": [[0, 4, 8], [0, 6]], "sweep": 0, "blocks": 2, "overlapped": True}
            )
            write, written = recorder.around(lambda *_: None, lambda *_: None)
            for lo, hi in [((0, 0), (4, 6)), ((4, 0), (8, 3)), ((4, 3), (8, 6))]:
                write((lo, hi), memoryview(b""))
                written(lo, hi)
            recorder.took({"blocks": 3, "halved": 1, "peak": 5})
    finally:
        told.LISTENERS.pop()
    states = [(e["i"], e["s"]) for e in lines if e["t"] == "block"]
    assert states == [
        (0, "reading"),
        (1, "computing"),
        (0, "done"),
        (1, "retried"),
        (1, "done"),
        (2, "done"),
    ]
    assert v.RunReport(lines).retries == 1


def test_a_report_says_how_it_went(tmp_path):
    words = {"memory_limit": ONE_BY_ONE, "events": tmp_path / "run.jsonl"}
    facts = v.save(tmp_path / "o.npy", work(), **words)
    report = v.report(tmp_path / "run.jsonl")
    assert (report.state, report.blocks, report.nbytes) == ("done", facts["blocks"], X.nbytes)
    assert report.peak == facts["peak"]
    assert report.retries == 0
    assert report.seconds > 0
    assert report.mb_per_second == report.nbytes / 1e6 / report.seconds
    assert set(report.stages) == {"reading and computing", "writing"}
    assert report.bottleneck in {"reading", "computing", "writing"}
    for word in (
        "o.npy: (96, 64, 64) float32, done",
        "rate",
        "bottleneck",
        "memory",
        "retries     0",
    ):
        assert word in str(report)


def test_an_interrupted_run_has_a_report(tmp_path):
    token = v.CancelToken()
    words = {"memory_limit": ONE_BY_ONE, "events": tmp_path / "run.jsonl"}
    with pytest.raises(CancelledError):
        v.save(
            tmp_path / "o.npy", work(), cancel=token, progress=lambda *_: token.cancel(), **words
        )
    report = v.report(tmp_path / "run.jsonl")
    assert (report.state, report.blocks) == ("stopped", 1)
    assert "error       the run was cancelled when" in str(report)
    # A process that was killed tells no end, and may tear its last line.
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_text("".join(lines[:-1]) + lines[-1][:20])
    report = v.report(tmp_path / "run.jsonl")
    assert (report.state, report.blocks) == ("interrupted", 1)
    report.html(tmp_path / "run.html")
    v.save(tmp_path / "o.npy", work(), resume=True, **words)
    events = read(tmp_path / "run.jsonl")
    check(events, X.shape, before=events[0]["done"])
    assert events[0]["done"] > 0
    assert v.report(tmp_path / "run.jsonl").nbytes == X.nbytes - 4 * events[0]["done"]


def test_an_error_is_told(tmp_path):
    def fails(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        v.save(tmp_path / "o.npy", work(), progress=fails, events=tmp_path / "run.jsonl")
    report = v.report(tmp_path / "run.jsonl")
    assert report.state == "failed"
    assert "error       ZeroDivisionError" in str(report)


def test_a_full_disk_ends_the_events_and_not_the_run(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("there is no full device here")
    words = {"memory_limit": ONE_BY_ONE, "events": "/dev/full"}
    with pytest.warns(
        RuntimeWarning, match="missing in /dev/full .No space left on device"
    ) as seen:
        v.save(tmp_path / "o.npy", work(), **words)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert np.array_equal(np.load(tmp_path / "o.npy"), f.median_filter(X, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            v.save(tmp_path / "p.npy", work(), **words)
        assert (tmp_path / "p.npy").exists()
        with pytest.raises(KeyboardInterrupt):
            v.save(tmp_path / "q.npy", work(), progress=stop, **words)


def stop(*_):
    raise KeyboardInterrupt


def test_a_place_without_a_folder_is_refused_before_the_run(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"events cannot be written to .*nowhere.*give a file"
    ):
        v.save(tmp_path / "o.npy", X, events=tmp_path / "nowhere" / "run.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a\n", '{"t": 1}\n', "[3]\n"])
def test_what_is_no_run_has_no_report(tmp_path, text):
    (tmp_path / "x").write_text(text)
    with pytest.raises(ValueError, match=r"line 1 of .*x is no event of a run; give a file"):
        v.report(tmp_path / "x")


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"", "is empty"), (b"junk", "has no whole line"), (b"\x00" * 99, "has no whole line")],
)
def test_files_without_events_have_no_report(tmp_path, capsys, content, text):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=f"x {text}, and so no event of a run; give a file"):
        v.report(tmp_path / "x")
    assert _cli.main(["report", str(tmp_path / "x")]) == 1
    assert f"x {text}" in capsys.readouterr().err


def test_other_files_have_no_report(tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    assert _cli.main(["report", str(tmp_path / "x.npy")]) == 1
    assert "x.npy is no event of a run" in capsys.readouterr().err
    assert _cli.main(["report", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err


def test_a_run_that_was_killed_early_has_a_report(tmp_path, capsys):
    v.save(tmp_path / "o.npy", v.open(X) * 2, events=tmp_path / "run.jsonl")
    first, *rest = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    for content in (first, first + rest[0][:9], first + rest[0] + rest[1][:1]):
        (tmp_path / "x").write_bytes(content)
        assert _cli.main(["report", str(tmp_path / "x")]) == 0
        assert "o.npy: (" in (out := capsys.readouterr().out)
        assert "interrupted" in out


def test_nothing_is_recorded_unless_somebody_wants_it(tmp_path, monkeypatch):
    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(told, "Recorder", refused)
    v.save(tmp_path / "o.npy", X)
    assert [path.name for path in tmp_path.iterdir()] == ["o.npy"]
    code = "import sys, arrayloom.volumes; print('http.server' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


EVIL = "</script><script>alert(1)</script><!--"


def test_texts_of_the_program_are_no_markup(tmp_path):
    events = [{"t": "plan", "at": 0, "run": 1, "target": EVIL, "shape": [1], "dtype": EVIL}]
    (tmp_path / "run.jsonl").write_text(json.dumps(events[0]) + "\n")
    report = v.report(tmp_path / "run.jsonl")
    report.html(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert page.count("</script") == page.count("<script") == 1
    assert "<!--" not in page
    assert "\\u003c/script>" in page
    frame = report._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"')
    assert frame.count("<") == 2


# Enough of a browser to run the script of the page; it prints what stands in the page then.
BROWSER = """
class Element {
  constructor(name) { this.name = name; this.children = []; this.attributes = {}; this.textContent = ""; }
  setAttribute(key, value) {
    if (String(value).includes("NaN") || String(value).includes("undefined")) throw new Error(`${this.name} ${key} ${value}`);
    this.attributes[key] = String(value);
  }
  append(...all) { this.children.push(...all); }
  replaceChildren(...all) { this.children = all; }
  text() { return this.textContent + this.children.map((c) => typeof c === "string" ? c : c.text()).join(" "); }
}
const ids = {};
globalThis.Node = Element;
globalThis.document = {
  getElementById: (id) => ids[id] ||= new Element(id),
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
};
globalThis.location = { search: "?token=x" };
globalThis.EventSource = class { constructor(address) { ids.asked = new Element(address); } };
eval(require("fs").readFileSync(0, "utf8"));
const found = Object.fromEntries(Object.entries(ids).map(([id, e]) => [id, e.text()]));
found.rects = ids.map ? ids.map.children.filter((e) => e.name === "rect").length : 0;
console.log(JSON.stringify(found));
"""


def shown(page):
    """What stands in a page after its script has run."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to run the script of a page")
    script = page.split("<script>")[1].split("</script>")[0]
    done = subprocess.run([node, "-e", BROWSER], input=script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("shape", [(40,), (30, 40), (4, 12, 20, 20)])
def test_the_page_shows_the_run(tmp_path, shape):
    x = np.zeros(shape, "f4")
    events = tmp_path / "run.jsonl"
    v.save(tmp_path / "o.npy", f.maximum_filter(v.open(x), 3), memory_limit="9KiB", events=events)
    report = v.report(events)
    report.html(tmp_path / "run.html")
    found = shown((tmp_path / "run.html").read_text())
    assert "o.npy: (" + ", ".join(map(str, shape)) in found["what"]
    assert found["state"] == "done"
    assert "done 100.0 %" in found["facts"]
    assert f"blocks {report.blocks} of {report.blocks}" in found["facts"]
    assert f"{report.blocks} blocks" in found["devices"]
    assert "limit 9.0 KiB" in found["memory"]
    assert found["rects"] >= 2


def test_the_page_shows_a_run_that_was_interrupted(tmp_path):
    lines = (
        '{"t":"plan","run":3,"at":0,"target":"x","shape":[8],"dtype":"u1","itemsize":1,"limit":9,"bounds":null,'
        '"done":0,"devices":["cpu"],"threads":null}\n{"t":"block","run":3,"at":1,"i":0,"s":"reading","lo":[0],"hi":[4]}\n'
    )
    (tmp_path / "run.jsonl").write_text(lines)
    v.report(tmp_path / "run.jsonl").html(tmp_path / "run.html")
    found = shown((tmp_path / "run.html").read_text())
    assert found["state"] == "interrupted"
    # A run of which there is nothing but its plan.
    (tmp_path / "run.jsonl").write_text(lines.splitlines()[0] + "\n")
    report = v.report(tmp_path / "run.jsonl")
    assert report.bottleneck == "nothing was written"
    report.html(tmp_path / "run.html")
    assert "NaN" not in str(shown((tmp_path / "run.html").read_text()))


def run(*words):
    return _cli.main([str(word) for word in words])


def test_the_command_line_writes_events_and_reports(tmp_path, capsys):
    np.save(tmp_path / "in.npy", X)
    events = tmp_path / "run.jsonl"
    words = [tmp_path / "in.npy", tmp_path / "out.npy", "--memory", "1MiB", "--events", events]
    assert run("filter", "median", *words) == 0
    check(read(events), X.shape)
    assert run("convert", *words, "--live") == 0
    assert "arrayloom: runs are shown at http://127.0.0.1:" in capsys.readouterr().err
    assert run("report", events, "--html", tmp_path / "run.html") == 0
    assert "out.npy: (96, 64, 64) float32, done" in capsys.readouterr().out
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    assert run("report", tmp_path / "nothing") == 1
    assert capsys.readouterr().err.count("\n") == 1
