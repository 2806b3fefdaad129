"""Web pages recorded once and replayed over links, loaded by a browser."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shells import needs_shells
from sojourn.apps.web import browser, names, proxy
from sojourn.base.errors import InputError, MissingError

ME = [sys.executable, "-m", "sojourn"]
SERVER = """
import http.server, socket
PAGE = b"<title>page</title><link rel=stylesheet href=/a.css><script src=/b.js></script>" + b"".join(
    b"<img src=http://img.test/%d.svg>" % n for n in range(6))
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><!--" + b"x" * 20000 + b"--></svg>"
class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        kinds = {"html": PAGE, "css": b"p{}", "js": b"1", "svg": SVG}
        end = "html" if self.path == "/" else self.path.rpartition(".")[2]
        types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
        body = kinds.get(end)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", types.get(end, "text/plain"))
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    address_family = socket.AF_INET6  # and IPv4, as the names have both
Server(("::", 80), Site).serve_forever()
"""
"""A page with nine objects from two hosts."""
OBJECTS = 9
HOSTS = ("--host", "www.test", "--host", "img.test")
UNTIL = "until curl -s -o /dev/null http://www.test/; do sleep 0.05; done; "


def _lacks(find: Any) -> str:
    try:
        find()
    except MissingError as error:
        return str(error)
    return ""


needs_proxy = pytest.mark.skipif(bool(_lacks(proxy.mitmdump)), reason=_lacks(proxy.mitmdump))
needs_browser = pytest.mark.skipif(bool(_lacks(browser.browser)), reason=_lacks(browser.browser))


def _site(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a command with the site's hosts as real servers at the other end."""
    server = folder / "server.py"
    server.write_text(SERVER)
    shell = [*ME, "delay", "0s", "--quiet", *HOSTS, "--peer", f"exec {sys.executable} {server}", "--"]
    waiting = ["sh", "-c", UNTIL + 'exec "$@"', "sh", *map(str, command)]
    return subprocess.run([*shell, *waiting], capture_output=True, text=True, timeout=300, check=False)


def _loaded(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_shells
@needs_proxy
@needs_browser
def test_a_page_is_recorded_once_and_loads_from_the_recording_behind_a_link(tmp_path: Path) -> None:
    flows = tmp_path / "page.flows"
    load = [*ME, "web", "load", "http://www.test/", "--json", "--runs", 2]
    recorded = _site(tmp_path, *ME, "web", "record", flows, *load)
    assert recorded.returncode == 0, recorded.stderr
    urls = {answer.url for answer in proxy.read_recording(flows)}
    images = {f"http://img.test/{n}.svg" for n in range(6)}
    assert urls >= {"http://www.test/", "http://www.test/a.css", "http://www.test/b.js", *images}
    # 4 Mbit/s and 20 ms per direction, from the servers and from the recording.
    link = [*ME, "link", "--rate", "4mbit", "--quiet", "--", *ME, "delay", "20ms", "--quiet", "--"]
    served = _loaded(_site(tmp_path, *link, *load))
    words = [*ME, "web", "replay", flows, *link, *load]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=False)
    replayed = _loaded(done)
    for runs in (served["runs"], replayed["runs"]):
        for run in runs:
            assert run["objects"] >= OBJECTS
            # Six images at 4 Mbit/s, plus a request and its response; Chromium may connect before it starts counting.
            assert run["load_ms"] > 6 * 20000 * 8 / 4e6 * 1e3
            assert run["first_byte_ms"] > 2 * 20
    assert served["median"]["objects"] == replayed["median"]["objects"]
    assert "answers of 2 hosts" in done.stderr
    assert "not in the recording" not in done.stderr.replace("http://www.test/favicon.ico", ""), done.stderr


@needs_shells
@needs_proxy
def test_unrecorded_requests_are_reported_with_the_command_s_exit_code(tmp_path: Path) -> None:
    flows = tmp_path / "page.flows"
    fetch = ["sh", "-c", "curl -sS -o /dev/null http://www.test/ && exit 7"]
    done = _site(tmp_path, *ME, "web", "record", flows, *fetch)
    assert done.returncode == 7, done.stderr
    assert "1 answers of 1 hosts" in done.stderr
    code = 'curl -s -o /dev/null -w "%{http_code} " http://www.test/ http://www.test/other; exit 3'
    words = [*ME, "web", "replay", "--json", str(flows), "--", "sh", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 3, done.stderr
    codes, _, reported = done.stdout.partition("{")
    assert codes.split() == ["200", "404"]
    reported = json.loads("{" + reported)
    assert [answer["path"] for answer in reported["answered"]] == ["/"]
    assert reported["missed"] == ["http://www.test/other"]
    again = subprocess.run([*ME, "web", "record", str(flows), "true"], capture_output=True, text=True, check=False)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)


@needs_shells
@needs_proxy
def test_a_replay_reaches_the_recording_only(tmp_path: Path) -> None:
    """The machine's servers, hosts that are not recorded, and addresses are refused and counted."""
    flows = tmp_path / "page.flows"
    done = _site(tmp_path, *ME, "web", "record", flows, "curl", "-sS", "-o", "/dev/null", "http://www.test/")
    assert done.returncode == 0, done.stderr
    with socket.create_server(("", 0)) as server:
        urls = f"http://$SOJOURN_HOST:{server.getsockname()[1]}/ http://192.0.2.1/ http://live.test/ http://www.test/"
        code = f'for url in {urls}; do curl -s -o /dev/null -w "%{{http_code}} " $url; done; true'
        words = [*ME, "web", "replay", "--json", str(flows), "--", "sh", "-c", code]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    codes, _, reported = done.stdout.partition("{")
    assert codes.split() == ["000", "000", "000", "200"]
    refused = json.loads("{" + reported)["refused"]
    assert refused.pop("192.0.2.1:80") == 1
    assert set(refused) == {"live.test"}, "asked for one or both kinds of addresses"


@needs_shells
@needs_proxy
def test_a_replay_without_an_answer_fails(tmp_path: Path) -> None:
    flows = tmp_path / "page.flows"
    _site(tmp_path, *ME, "web", "record", flows, "curl", "-sS", "-o", "/dev/null", "http://www.test/")
    words = [*ME, "web", "replay", str(flows), "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "0 answers of 0 hosts" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("files", "error"),
    [({"ready": "token"}, ""), ({"ready": "another", "ended": "", "said": "x\nport 80: in use\n"}, "port 80: in use")],
)
def test_only_the_token_starts_the_command(tmp_path: Path, files: dict[str, str], error: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-m", "sojourn.web.ready", str(tmp_path), "token", "echo", "started"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == ((1, "") if error else (0, "started\n")), done.stderr
    assert done.stderr == (f"Error: mitmproxy does not start: {error}\n" if error else "")


def test_the_name_server_of_a_replay_knows_no_name() -> None:
    question = b"\x04live\x04test\x00\x00\x01\x00\x01"
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + question
    name, response = names.answer(query) or ("", b"")
    assert (name, response) == ("live.test", b"\x12\x34\x81\x83\x00\x01" + bytes(6) + question)
    assert (names.answer(query[:12] + b"\x03a\n\xe4\x00\x00\x01\x00\x01") or ("", b""))[0] == "a??"
    for damaged in (b"", query[:20], query[:12] + b"\xc0\x0c" + query[14:], response):
        assert names.answer(damaged) is None


def test_hosts_without_a_name_are_not_replayed() -> None:
    answer = proxy.Answer("http", "www.test", 8080, "GET", "/a?b", 200, 9, False)
    assert answer.url == "http://www.test:8080/a?b"
    named = {host: answer._replace(host=host).is_named for host in ("www.test", "10.0.0.1", "[::1]", "localhost")}
    assert named == {"www.test": True, "10.0.0.1": False, "[::1]": False, "localhost": False}


def test_missing_tools_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOJOURN_MITMDUMP", str(tmp_path / "mitmdump"))
    monkeypatch.setenv("SOJOURN_BROWSER", str(tmp_path / "chromium"))
    with pytest.raises(MissingError, match="not found; install mitmproxy 10 or newer"):
        proxy.mitmdump()
    with pytest.raises(MissingError, match="not found; install Chromium"):
        browser.browser()
    with pytest.raises(InputError, match="no such file; make it with `sojourn web record"):
        proxy.read_recording(tmp_path / "page.flows")


@needs_shells
def test_names_of_hosts_lead_to_the_other_end(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    code = "import socket; print(sorted({each[4][0] for each in socket.getaddrinfo('www.test', 80)}))"
    words = [*ME, "delay", "0s", "--quiet", *HOSTS, "--", *ME, "delay", "0s", "--quiet", "--"]
    words += [
        "sh",
        "-c",
        f'{sys.executable} -c "{code}"; echo $SOJOURN_HOST $SOJOURN_HOST6; grep -c localhost /etc/hosts',
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    addresses, hosts, others = done.stdout.splitlines()
    assert addresses == str(sorted(hosts.split()))
    assert int(others) >= 1, "the machine's own names are still there"
