"""The page that shows runs while they go on: who gets it, and what it says."""

import http.client
import json
import re
import socket
import threading
from contextlib import closing

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.events import LISTENERS

X = np.random.default_rng(4).integers(0, 4000, (48, 20, 20)).astype("u2")


@pytest.fixture
def page():
    with v.live() as page:
        yield page


def parts(page):
    return re.fullmatch(r"http://(127\.0\.0\.1:(\d+))/\?token=([\w-]{32})", page.url).groups()


def ask(page, path=None, *, method="GET", host=None):
    """The status, the headers and the text of an answer."""
    own, port, token = parts(page)
    path = f"/?token={token}" if path is None else path
    with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)) as connection:
        connection.putrequest(method, path, skip_host=True)
        for name in [own] if host is None else host:
            connection.putheader("Host", name)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def listen(page, ready):
    """Events until the page ends, in a thread."""
    _, port, token = parts(page)
    found = []

    def hear():
        with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)) as connection:
            connection.request("GET", f"/events?token={token}")
            answer = connection.getresponse()
            assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
            ready.set()
            for line in answer:
                if line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
                else:
                    assert line in {b"\n", b":\n"}

    thread = threading.Thread(target=hear)
    thread.start()
    return thread, found


def save(tmp_path, name="out.npy"):
    expression = f.maximum_filter(v.open(X), 3)
    events = tmp_path / "run.jsonl"
    v.save(tmp_path / name, expression, memory_limit="40KiB", events=events)
    return [json.loads(line) for line in events.read_text().splitlines()]


def test_the_page_is_served_with_a_policy(page):
    status, headers, text = ask(page)
    assert status == 200
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
    )
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "const EVENTS = /*EVENTS*/null;" in text
    assert not re.search(r"(src|href)=", text)


@pytest.mark.parametrize("path", ["/", "/events"])
def test_without_the_token_nothing_is_told(page, path):
    token = parts(page)[2]
    asked = ["", "?", "?token=", "?token=x", f"?token={token[:-1]}", f"?token={token}x"]
    asked += [
        f"?tok={token}",
        f"?token={token}&token=x",
        f"?token=x&token={token}",
        "?token=%ff%c3",
    ]
    for query in asked:
        status, _, text = ask(page, path + query)
        assert (status, text) == (403, "403 Forbidden\n"), query
    assert ask(page, f"/?x=1&token={token}")[0] == 200
    assert ask(page, f"/other?token={token}")[0] == 404


def test_tokens_are_compared_as_a_whole(page, monkeypatch):
    import hmac

    seen = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: seen.append((a, b)) or compare(a, b))
    ask(page, "/?token=wrong")
    assert seen == [(b"wrong", parts(page)[2].encode())]


def test_another_host_is_another_page(page):
    own, port, _ = parts(page)
    others = ["evil.example", f"evil.example:{port}", "127.0.0.1", f"localhost:{port}", f"{own}0"]
    for host in [*([name] for name in others), [], [own, own], [own, "evil.example"]]:
        status, _, text = ask(page, host=host)
        assert status == 421, host
        assert "arrayloom" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"])
def test_only_get_is_answered(page, method):
    status, headers, _ = ask(page, method=method)
    assert (status, headers["Allow"]) == (405, "GET")


def test_it_listens_to_this_machine_only(page):
    assert page._server.socket.getsockname()[0] == "127.0.0.1"
    assert page._server.socket.family == socket.AF_INET


def test_pages_hear_a_run_as_it_goes_on_and_afterwards(tmp_path, capsys):
    with v.live() as page:
        assert capsys.readouterr().err == f"arrayloom: runs are shown at {page.url}\n"
        early = threading.Event()
        first, heard = listen(page, early)
        assert early.wait(20)
        told = save(tmp_path)
        late = threading.Event()
        second, caught_up = listen(page, late)
        assert late.wait(20)
        page.close()
        first.join(20)
        second.join(20)
    assert heard == caught_up == told
    assert told[0]["t"] == "plan"
    assert told[-1]["t"] == "end"


def test_a_new_run_takes_the_place_of_those_that_are_over(tmp_path, page):
    save(tmp_path)
    told = save(tmp_path, "other.npy")
    with page.heard() as lines:
        kept = [json.loads(lines.get()) for _ in range(lines.qsize())]
    assert kept == told


def test_pages_that_read_nothing_take_no_more_memory(tmp_path, page, monkeypatch):
    monkeypatch.setattr("arrayloom._volumes.live._WAITING", 5)
    with page.heard() as lines:
        save(tmp_path)
        held = [lines.get() for _ in range(lines.qsize())]
    assert held[-1] is None
    assert len(held) <= 8


def test_nothing_is_left_when_it_is_closed(tmp_path):
    before = len(LISTENERS), threading.active_count()
    page = v.live()
    port = int(parts(page)[1])
    page.close()
    page.close()
    assert (len(LISTENERS), threading.active_count()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    save(tmp_path)


def test_runs_outlive_a_page(tmp_path):
    page = v.live()
    v.save(
        tmp_path / "out.npy",
        f.maximum_filter(v.open(X), 3),
        memory_limit="40KiB",
        progress=lambda *_: page.close(),
    )
    assert np.array_equal(np.load(tmp_path / "out.npy"), f.maximum_filter(X, 3))


def test_tokens_differ():
    with v.live() as one, v.live() as other:
        assert parts(one)[2] != parts(other)[2]
        assert ask(one, f"/?token={parts(other)[2]}")[0] == 403
