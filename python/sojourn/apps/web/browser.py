"""Loads a page in headless Chromium and measures the loading times.

Chromium is controlled by its DevTools protocol over two pipes (``--remote-debugging-pipe``): JSON messages, each
followed by a zero byte.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sojourn.base.errors import MissingError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STARTS_S = 60.0
"""Timeout for commands that need no network."""
TIMING = """
(() => { const t = performance.getEntriesByType('navigation')[0];
         return {first_byte: t.responseStart, ready: t.domContentLoadedEventEnd, load: t.loadEventEnd}; })()
"""


class PageLoad(NamedTuple):
    """A loaded page; times count from the start of the navigation."""

    load_ms: float
    """To the end of the event `load`."""
    ready_ms: float
    """To the end of the event `DOMContentLoaded`."""
    first_byte_ms: float
    """To the first byte of the document."""
    objects: int
    """Requests with a response, including error statuses."""
    bytes: int
    """Received bytes, with headers and without TLS."""
    failed: int
    """Requests without a response, or with a status of 400 or more."""


def browser() -> str:
    """Path of Chromium: from SOJOURN_BROWSER, or the first of `PROGRAMS`."""
    names = (os.environ["SOJOURN_BROWSER"],) if os.environ.get("SOJOURN_BROWSER") else PROGRAMS
    for name in names:
        if found := shutil.which(name):
            return found
    raise MissingError(f"{names[0]} not found; install Chromium, or name its program in SOJOURN_BROWSER")


def load(url: str, runs: int, *, longest_s: float = 60.0) -> Iterator[PageLoad]:
    """Load a page several times, each time without a cache and without open connections."""
    with _started() as chromium:
        for _ in range(runs):
            yield _load(chromium, url, longest_s)


class _Chromium:
    """Pipes to a running browser."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._read = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its result; intermediate messages go to `events`."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        end = time.monotonic() + STARTS_S
        while True:
            message = self.next(end)
            if message.get("id") != self._number:
                self.events.append(message)
                continue
            if "error" in message:
                raise MissingError(f"Chromium refuses {method}: {message['error'].get('message')}")
            result: dict[str, Any] = message["result"]
            return result

    def next(self, end: float) -> dict[str, Any]:
        """Return the next message; raises `MissingError` if there is none until `end` of the monotonic clock."""
        while b"\0" not in self._read:
            if not select.select([self._answers], [], [], max(0.0, end - time.monotonic()))[0]:
                raise MissingError("Chromium did not respond in time; the page may need longer (--longest)")
            more = os.read(self._answers, 1 << 16)
            if not more:
                raise MissingError("Chromium exited; start it by hand to see why")
            self._read += more
        text, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def _started() -> Iterator[_Chromium]:
    """Start a browser with a temporary profile."""
    words = [browser(), "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"]
    words += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"]
    words += ["--disable-dev-shm-usage", "--no-pings"]
    proxy = os.environ.get("http_proxy")
    words += [f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"] if proxy else ["--no-proxy-server"]
    if os.environ.get("SOJOURN_WEB"):
        words.append("--ignore-certificate-errors")  # the proxy's certificates are from its own authority
    if os.geteuid() == 0:
        words.append("--no-sandbox")  # Chromium requires it for root
    child_in, orders = os.pipe()
    answers, child_out = os.pipe()

    def place() -> None:
        """Move the pipes to file descriptors 3 and 4, where Chromium expects them."""
        high = [os.dup2(fd, fd + 100) for fd in (child_in, child_out)]
        for at, fd in enumerate(high, 3):
            os.dup2(fd, at)

    with TemporaryDirectory(prefix="sojourn-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [*words, f"--user-data-dir={Path(profile)}", "about:blank"],
            preexec_fn=place,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(child_in)
        os.close(child_out)
        try:
            yield _Chromium(orders, answers)
        finally:
            os.close(orders)  # ends the browser
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(answers)


def _load(chromium: _Chromium, url: str, longest_s: float) -> PageLoad:
    context = chromium.ask("Target.createBrowserContext")["browserContextId"]
    target = chromium.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = chromium.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Network"):
        chromium.ask(f"{domain}.enable", session)
    chromium.events.clear()
    wrong = chromium.ask("Page.navigate", session, url=url).get("errorText")
    if wrong:
        raise MissingError(f"{url}: Chromium cannot load it: {wrong}")
    end = time.monotonic() + longest_s
    while not any(event.get("method") == "Page.loadEventFired" for event in chromium.events):
        chromium.events.append(chromium.next(end))
    timing = chromium.ask("Runtime.evaluate", session, expression=TIMING, returnByValue=True)["result"]["value"]
    seen = [event for event in chromium.events if event.get("sessionId") == session]
    chromium.ask("Target.disposeBrowserContext", browserContextId=context)
    of = {
        name: [event["params"] for event in seen if event.get("method") == f"Network.{name}"] for name in NETWORK_EVENTS
    }
    refused = sum(each["response"]["status"] >= 400 for each in of["responseReceived"])
    return PageLoad(
        timing["load"],
        timing["ready"],
        timing["first_byte"],
        len(of["responseReceived"]),
        round(sum(each["encodedDataLength"] for each in of["loadingFinished"])),
        refused + len(of["loadingFailed"]),
    )


NETWORK_EVENTS = ("responseReceived", "loadingFinished", "loadingFailed")
