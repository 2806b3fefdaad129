"""`sojourn lab`: the page on an address of this machine that nobody else knows.

Only this machine reaches it (127.0.0.1), and the address holds a random token, which other users do not see: a browser
is given a file of ours that leads there. Requests that name another host are refused, so that no page elsewhere can
reach it by a name of its own (DNS rebinding); so are requests of other pages. What is served is a fixed list of files
and three answers; no path is ever looked up on disk. A request has to come in within a few seconds, and ending waits
for none.
"""

from __future__ import annotations

import html
import io
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import BoundedSemaphore
from typing import Any

from sojourn.apps.lab import static
from sojourn.apps.lab.native import requested
from sojourn.apps.lab.start import Start
from sojourn.base.errors import InputError, error_line, explain
from sojourn.base.files import temporary_folder
from sojourn.base.inputs import parse_json

HOST = "127.0.0.1"
MAX_REQUEST = 128_000_000
"""Bytes of a request."""
WAIT_S = 10.0
"""Seconds in which a request has to come in, and its answer to be taken."""
MAX_CONNECTIONS = 64
"""Connections at once; more are closed."""
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""What the page may do: no inline script, no eval but what WebAssembly needs, no other host."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """Serves one start; `url` is its address."""

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, start: Start, port: int = 0) -> None:
        """Take a port of this machine, any free one for 0; the page has to be built."""
        self.files = {name: (kind, static.read(name)) for name, kind in static.KINDS.items()}
        self.start = start
        self.token = secrets.token_urlsafe(32)
        self._free = BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((HOST, port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    @property
    def hosts(self) -> set[str]:
        """What a request may call this machine."""
        return {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        """The address, with the token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has gone; anything else is a defect of the program, in one line."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            print(f"Error: {_defect(error)}", file=sys.stderr)

    @contextmanager
    def page(self) -> Iterator[Path]:
        """Keep a file that leads a browser here: others see what a browser is started with, and cannot read this."""
        address = html.escape(self.url)
        text = (
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={address}"><title>sojourn lab</title>'
            f'<a href="{address}">sojourn lab</a>'
        )
        with temporary_folder("sojourn-lab-") as folder:
            page = folder / "lab.html"
            page.touch(0o600)
            page.write_text(text, encoding="utf-8")
            yield page


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    timeout = WAIT_S
    server_version = "sojourn"
    sys_version = ""

    def setup(self) -> None:
        """Read a request that has to be here in time, however many bytes come at once."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_InTime(self.connection, time.monotonic() + WAIT_S))

    def do_GET(self) -> None:
        """Give a file of the page, the start, or the result."""
        name = self._name()
        if name is None:
            return
        if name == "start.json":
            has_result = self.server.start.result is not None
            told = self.server.start.to_json(native="native", result="result.bin" if has_result else None)
            self._answer("application/json", json.dumps(told).encode())
        elif name == "result.bin" and self.server.start.result is not None:
            self._answer("application/octet-stream", self.server.start.result)
        elif (name or "index.html") in self.server.files:
            self._answer(*self.server.files[name or "index.html"])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Run a scenario natively; its result, or 400 with what is wrong with it."""
        name, length = self._name(), self.headers.get("Content-Length", "")
        if name is None:
            return
        if name != "native":
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not length.isdecimal() or int(length) > MAX_REQUEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._answer(*self._run(self.rfile.read(int(length))))

    def _run(self, request: bytes) -> tuple[str, bytes, HTTPStatus]:
        try:
            return "application/octet-stream", requested(_parsed(request)), HTTPStatus.OK
        except Exception as error:
            plain = "text/plain; charset=utf-8"
            if (known := explain(error)) is not None:
                return plain, known[1].encode(errors="replace"), HTTPStatus.BAD_REQUEST
            return plain, _defect(error).encode(errors="replace"), HTTPStatus.INTERNAL_SERVER_ERROR

    def _name(self) -> str | None:
        """What is asked for below the token; None where the request is refused."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        own = {f"http://{name}" for name in self.server.hosts}
        if host not in self.server.hosts or origin not in {None, *own}:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        path = self.path.partition("?")[0]
        token, _, name = path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or not path.startswith(f"/{token}/"):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return name

    def _answer(self, kind: str, body: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.connection.settimeout(WAIT_S)  # for all of it
        self.send_response(status)
        for header, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._answer("text/plain; charset=utf-8", status.phrase.encode(), status)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as its base calls it
        """Say nothing: the terminal shows the address, and addresses hold the token."""


class _InTime(io.RawIOBase):
    """What comes in over a connection until a time of the monotonic clock; then it is a `TimeoutError`."""

    def __init__(self, connection: socket, until_s: float) -> None:
        self.connection = connection
        self.until_s = until_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left_s = self.until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request did not come in")
        self.connection.settimeout(left_s)
        return self.connection.recv_into(buffer)


def _defect(error: BaseException) -> str:
    return f"lab: a defect of the program: {error_line(error)}"


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"the request is no JSON: {error}") from None
