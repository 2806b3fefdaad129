"""Requests to the server of `sojourn lab`: valid and mutated ones."""

from __future__ import annotations

import json
import random
import threading
from base64 import b64encode
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from attack.exits import Exit
from attack.mutate import mutated_bytes, mutated_document, odd_text, odd_value
from attack.scenarios import SINGLE, scenario, toml

FILE = "request.json"
SECRET = "root:a-secret-that-no-answer-has"
"""Contents of a file beside the server; requests name the file, but no response may contain it."""
NAMED = ("secret", "../secret", "/etc/passwd", "/etc/shadow", "/proc/self/environ", "/dev/zero", "/dev/stdin", ".", "")
NAMING = (
    ("link", "trace", "{}"),
    ("link", "delay_trace", "{}"),
    ("link", "aqm", "netem delay 9ms 2ms distribution {}"),
    ("link", "aqm", "netem slot distribution {} 9ms 2ms"),
    ("link", "aqm", "tbf rate 3mbit burst 9kb {{ netem delay 9ms 2ms distribution {} }}"),
    ("link", "aqm", "policy:{}"),
    ("link", "aqm", "fq(policy:{})"),
    ("link", "aqm", "{}.py:Own"),
    ("link", "aqm", "./{}.so"),
    ("reverse", "aqm", "policy:{}"),
    ("reverse", "trace", "{}"),
)
"""Keys that name files: table, key, value."""
CIRCLES = (
    "htb {{ class {0} parent {1} rate 1mbit; class {1} parent {0} rate 1mbit }}",
    "htb default {0} {{ class {0} parent {0} rate 1mbit }}",
    "htb {{ class {0} parent {1} rate 1mbit; class {1} parent {2} rate 1mbit; class {2} parent {0} rate 1mbit }}",
    "htb {{ class {0} parent {1} rate 1mbit }}",
)
"""Classes whose parents form a cycle or do not exist."""
NESTS = (
    ("tbf rate 9mbit burst 9kb { ", " }"),
    ("fq(", ")"),
    ("prio { band 1 { ", " } }"),
    ("htb { class 1 rate 1mbit { ", " } }"),
    ("netem delay 1ms { ", " }"),
    ("{", "}"),
    ("(", ""),
    ("", "}"),
)
HUGE = (10**19, -1, 10**400, 1e308, 2**63, 2**64, float("nan"), float("inf"))


def request(rng: random.Random) -> dict[str, Any]:
    """Draw a valid request, which gives a result."""
    document = scenario(rng)
    document.pop("wlan", None)
    document["link"] |= {"aqm": rng.choice(SINGLE[:14])}
    document["link"].pop("trace", None)
    if not {"rate", "bucket", "poisson", "cox"} & document["link"].keys():
        document["link"]["rate"] = "9 Mbit/s"
    for link in document.get("links", []):
        link["aqm"] = "pie"
    found: dict[str, Any] = {"text": toml(document).decode()}
    if rng.random() < 0.5:
        found["seed"] = rng.choice((0, 7, 2**63 + 1))
    if rng.random() < 0.3:
        document["link"] = {"trace": "deep/cell.down", "aqm": "codel"}
        found["files"] = {"deep/cell.down": b64encode(b"1\n4\n5\n").decode(), "other": ""}
        found["text"] = toml(document).decode()
    return found


def _with(document: dict[str, Any], table: str, key: str, value: Any) -> str:
    return toml(document | {table: document.get(table, {"rate": "5 Mbit/s"}) | {key: value}}).decode()


def draw_request(rng: random.Random, runs: bool) -> tuple[list[str], dict[str, bytes]]:
    """Draw the body of a request, and a file that no response may contain."""
    found = request(rng)
    files = {"secret": f"{SECRET}\n".encode(), FILE: b""}
    if not runs:
        document = {"duration": "60 ms", "link": {"rate": "5 Mbit/s"}, "flows": [{"kind": "tcp", "rtt": "9 ms"}]}
        change = rng.randrange(9)
        if change == 0:
            table, key, value = rng.choice(NAMING)
            found["text"] = _with(document, table, key, value.format(rng.choice(NAMED)))
        elif change == 1:
            begin, end = rng.choice(NESTS)
            depth = rng.choice((1, 63, 64, 65, 66, 3000, 20_000))
            found["text"] = _with(document, "link", "aqm", begin * depth + rng.choice(("codel", "", "x")) + end * depth)
        elif change == 2:
            classes = rng.sample((1, 2, 3, 10, 65535, 65536, "a", "1:1"), 3)
            found["text"] = _with(document, "link", "aqm", rng.choice(CIRCLES).format(*classes))
        elif change == 3:
            key = rng.choice(("rate", "limit", "delay", "mtu", "loss", "aqm", "bucket"))
            value = rng.choice((*(str(number) for number in HUGE), *(f"{number} ms" for number in HUGE)))
            found["text"] = _with(document, "link", key, value)
        elif change == 4:
            found[rng.choice(("seed", "files", "text", odd_text(rng)))] = rng.choice((*HUGE, odd_value(rng), [[]]))
        elif change == 5:
            name = rng.choice(
                (*NAMED, odd_text(rng), "a" * 300, "a/" * 900 + "b", "deep", "deep/cell.down/x", "\ud800")
            )
            found["files"] = {"deep/cell.down": "MQo=", name: rng.choice(("MQo=", "!", "", odd_value(rng)))}
        elif change == 6:
            found["text"] = mutated_bytes(rng, found["text"].encode()).decode(errors="surrogateescape")
        elif change == 7:
            found = mutated_document(rng, found)
        else:
            found["text"] = "a = " + "[" * rng.choice((64, 70, 9000)) + rng.choice(("", "]" * 70))
    body = json.dumps(found).encode("utf-8", "surrogatepass")
    if not runs and rng.random() < 0.15:
        body = rng.choice((mutated_bytes(rng, body), b"[" * 100_000, b"", b"\xff" * 99, b'"\\ud800"'))
    return ["lab", FILE], files | {FILE: body}


def run(words: list[str]) -> Exit:
    """Send the request to a server, and check that it still serves."""
    from sojourn.apps.lab import static
    from sojourn.apps.lab.server import Server
    from sojourn.apps.lab.start import Start

    class Stoppable(Server):
        """A server that records whether a run was stopped because it takes too long."""

        stopped = False

        def process_request_thread(self, request: Any, client_address: Any) -> None:
            try:
                super().process_request_thread(request, client_address)
            except KeyboardInterrupt:
                self.stopped = True

    read, static.read = static.read, lambda name: name.encode()  # the page need not be built
    try:
        with Stoppable(Start("attack", "")) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                return _response(server, Path(words[1]).read_bytes())
            finally:
                server.shutdown()
                thread.join()
    finally:
        static.read = read


def _response(server: Any, body: bytes) -> Exit:
    answer = _answer(server, "POST", "native", body)
    again = _answer(server, "GET", "lab.js", None)
    if again is None or again != (200, b"lab.js"):
        return Exit(1, exception=RuntimeError(f"the server does not go on: {again!r}"))
    if answer is None:
        return Exit(130) if server.stopped else Exit(1, exception=RuntimeError("no answer"))
    status, text = answer
    body_text = text.decode(errors="replace") if status != 200 else ""
    if status not in (200, 400):
        return Exit(1, exception=RuntimeError(f"status {status}: {body_text[:300]}"))
    if SECRET.encode() in text or b"root:" in text or b"sojourn-lab-" in text:
        return Exit(1, exception=RuntimeError(f"shows a file or a folder of the machine: {body_text[:300]}"))
    if len(body_text.splitlines()) > 1:
        return Exit(1, exception=RuntimeError(f"more than one line: {body_text[:300]!r}"))
    return Exit(0) if status == 200 else Exit(2, "", ascii(body_text))  # for the page, not for a terminal


def _answer(server: Any, method: str, name: str, body: bytes | None) -> tuple[int, bytes] | None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=50)
    with suppress(HTTPException, OSError):
        connection.request(method, f"/{server.token}/{name}", body)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found
    return None
