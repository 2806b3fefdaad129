"""`sojourn lab`: serves the page at a secret address of this machine.

Only this machine can connect (127.0.0.1), and the address contains a random token, which other users cannot see: the
browser opens a private file that redirects to it. Requests with another Host are rejected, so that no other page can
reach it by a name of its own (DNS rebinding); so are cross-origin requests. Only a fixed list of files and three
responses are served; no path is ever looked up on disk. A request must arrive within a few seconds, and shutdown waits
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
from sojourn.apps.lab.native import run_request
from sojourn.apps.lab.start import Start
from sojourn.base.errors import InputError, error_line, explain
from sojourn.base.files import temporary_folder
from sojourn.base.inputs import parse_json

HOST = "127.0.0.1"
MAX_REQUEST = 128_000_000
"""Maximum bytes of a request."""
WAIT_S = 10.0
"""Timeout for receiving a request and for sending its response, in seconds."""
MAX_CONNECTIONS = 64
"""Maximum number of concurrent connections; further ones are closed."""
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
"""Permissions of the page: no inline script, no eval except for WebAssembly, no other host."""
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
        """Bind a port of this machine, any free one for 0; the page must be built."""
        self.files = {name: (kind, static.read(name)) for name, kind in static.KINDS.items()}
        self.start = start
        self.token = secrets.token_urlsafe(32)
        self._free = BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((HOST, port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Respond in a new thread, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Respond, and release the slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    @property
    def hosts(self) -> set[str]:
        """Permitted values of the Host header."""
        return {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        """The address, with the token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnects of a browser; print any other error as a defect of the program, in one line."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            print(f"Error: {_defect(error)}", file=sys.stderr)

    @contextmanager
    def page(self) -> Iterator[Path]:
        """Keep a private file that redirects a browser here: command lines are visible to others, the file is not."""
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
    """Handler of one request."""

    server: Server
    timeout = WAIT_S
    server_version = "sojourn"
    sys_version = ""

    def setup(self) -> None:
        """Read a request with an absolute deadline, regardless of its transfer rate."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_DeadlineReader(self.connection, time.monotonic() + WAIT_S))

    def do_GET(self) -> None:
        """Respond with a file of the page, the start, or the result."""
        name = self._name()
        if name is None:
            return
        if name == "start.json":
            has_result = self.server.start.result is not None
            document = self.server.start.to_json(native="native", result="result.bin" if has_result else None)
            self._answer("application/json", json.dumps(document).encode())
        elif name == "result.bin" and self.server.start.result is not None:
            self._answer("application/octet-stream", self.server.start.result)
        elif (name or "index.html") in self.server.files:
            self._answer(*self.server.files[name or "index.html"])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Run a scenario natively; responds with its result, or 400 with the error."""
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
            return "application/octet-stream", run_request(_parsed(request)), HTTPStatus.OK
        except Exception as error:
            plain = "text/plain; charset=utf-8"
            if (known := explain(error)) is not None:
                return plain, known[1].encode(errors="replace"), HTTPStatus.BAD_REQUEST
            return plain, _defect(error).encode(errors="replace"), HTTPStatus.INTERNAL_SERVER_ERROR

    def _name(self) -> str | None:
        """Requested name below the token; None if the request is rejected."""
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
        self.connection.settimeout(WAIT_S)  # for the whole response
        self.send_response(status)
        for header, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._answer("text/plain; charset=utf-8", status.phrase.encode(), status)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # name of the base class's parameter
        """Log nothing: the terminal shows the address, and addresses contain the token."""


class _DeadlineReader(io.RawIOBase):
    """Reads from a connection until a deadline of the monotonic clock, then raises `TimeoutError`."""

    def __init__(self, connection: socket, until_s: float) -> None:
        self.connection = connection
        self.until_s = until_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left_s = self.until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request was not received completely")
        self.connection.settimeout(left_s)
        return self.connection.recv_into(buffer)


def _defect(error: BaseException) -> str:
    return f"lab: internal error: {error_line(error)}"


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"the request is not JSON: {error}") from None
