"""A page on this machine that shows runs while they go on.

The server listens to this machine only, on any free port. Its address has a random token, so other users of the machine
do not see the page; requests have to name the address exactly, so other pages of a browser cannot reach it by a name of
their own for this machine.
"""

import contextlib
import hmac
import secrets
import socketserver
import sys
import threading
from collections import deque
from collections.abc import Generator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from arrayloom._volumes.events import LISTENERS
from arrayloom._volumes.page import POLICY, run_page

__all__ = ["Live"]

_HOST = "127.0.0.1"
# Lines that a page which is opened later still gets.
_KEPT = 50_000
# Lines that wait for a page; one that is slower is let go, asks again and gets those that are kept.
_WAITING = 2 * _KEPT
# Seconds after which a page that has gone is noticed.
_QUIET = 5.0


class Live:
    """A page that shows runs which begin while it is open; a context manager that closes it.

    Its address is in `url`, and told on standard error.
    """

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._plan: str | None = None
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._going: set[int] = set()
        self._pages: list[SimpleQueue[str | None]] = []
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="arrayloom-live", daemon=True
        )
        self._thread.start()
        LISTENERS.append(self._hear)
        sys.stderr.write(f"arrayloom: runs are shown at {self.url}\n")

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{self.host}/?token={self._token}"

    @property
    def host(self) -> str:
        """The address and the port that the server listens to."""
        return f"{_HOST}:{self._server.server_port}"

    def is_known(self, token: str) -> bool:
        """True for the token of this page; it takes equally long for all others."""
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _hear(self, event: Mapping[str, Any], line: str) -> None:
        """One event of a run."""
        with self._lock:
            if event["t"] == "plan":
                if not self._going:
                    self._kept.clear()
                self._going.add(event["run"])
                self._plan = line
            elif event["t"] == "end":
                self._going.discard(event["run"])
            self._kept.append(line)
            for page in self._pages:
                page.put(line)
            # A page that reads nothing takes no more memory.
            for page in [page for page in self._pages if page.qsize() > _WAITING]:
                self._pages.remove(page)
                page.put(None)

    @contextlib.contextmanager
    def heard(self) -> Generator[SimpleQueue[str | None]]:
        """What a page hears: lines that are kept, then new ones, and None at the end."""
        page: SimpleQueue[str | None] = SimpleQueue()
        with self._lock:
            if self._plan is not None and self._plan not in self._kept:
                page.put(self._plan)
            for line in self._kept:
                page.put(line)
            if self._closed:
                page.put(None)
            self._pages.append(page)
        try:
            yield page
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._pages.remove(page)

    def close(self) -> None:
        """End the server and its pages; runs go on."""
        if self._closed:
            return
        LISTENERS.remove(self._hear)
        with self._lock:
            self._closed = True
            for page in self._pages:
                page.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    """Serves the page of `page`."""

    daemon_threads = True

    def __init__(self, page: Live) -> None:
        self.page = page
        super().__init__((_HOST, 0), _Handler)

    def server_bind(self) -> None:  # pyright: ignore[reportImplicitOverride]
        # The class between looks the name of the machine up, which may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:  # pyright: ignore[reportImplicitOverride]
        """A browser that has gone is no error of the program."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET of the page and of its events, to who knows its address and its token."""

    timeout = 30
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(  # pyright: ignore[reportImplicitOverride]
        self,
        format: str,
        *args: Any,
    ) -> None:
        """Tells nothing on standard error."""

    def version_string(self) -> str:  # pyright: ignore[reportImplicitOverride]
        """The name of the server, without versions."""
        return "arrayloom"

    def _head(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Allow", "GET"),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()

    def send_error(  # pyright: ignore[reportImplicitOverride]
        self,
        code: int,
        message: str | None = None,  # noqa: ARG002 - of the standard library
        explain: str | None = None,  # noqa: ARG002 - of the standard library
    ) -> None:
        """A request that is no GET, or none at all."""
        unknown = code == HTTPStatus.NOT_IMPLEMENTED
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED if unknown else HTTPStatus(code))

    def _refuse(self, status: HTTPStatus) -> None:
        self._head(status, "text/plain")
        self.wfile.write(f"{status.value} {status.phrase}\n".encode())

    def do_GET(self) -> None:
        """The page, or its events as they come."""
        page, asked = self.server.page, urlsplit(self.path)
        tokens = parse_qs(asked.query).get("token", [])
        if self.headers.get_all("Host") != [page.host]:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        elif len(tokens) != 1 or not page.is_known(tokens[0]):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif asked.path == "/":
            self._head(HTTPStatus.OK, "text/html")
            self.wfile.write(run_page().encode())
        elif asked.path == "/events":
            self._head(HTTPStatus.OK, "text/event-stream")
            self._send_events()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _send_events(self) -> None:
        with self.server.page.heard() as lines:
            while True:
                try:
                    line = lines.get(timeout=_QUIET)
                except Empty:
                    # A comment, which fails where nobody listens any more.
                    self.wfile.write(b":\n\n")
                    continue
                if line is None:
                    return
                self.wfile.write(f"data: {line}\n\n".encode())
