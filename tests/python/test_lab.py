"""`sojourn lab`: access, responses and rejected requests."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.client import BadStatusLine, HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sojourn import Scenario, _core
from sojourn.apps.cli import cli
from sojourn.apps.lab import embedded, static, widget
from sojourn.apps.lab.native import run_request
from sojourn.apps.lab.payload import payload
from sojourn.apps.lab.server import Server
from sojourn.apps.lab.start import Start, of_path, of_result, of_scenario
from sojourn.apps.lab.written import scenario_toml
from sojourn.base.errors import InputError, MissingError
from sojourn.base.inputs import tomllib
from sojourn.model.aqms.spelling import DISTRIBUTIONS
from sojourn.model.scenarios.named import KEYS, LAWS, named_files
from sojourn.studies.runs.store import save

ROOT = Path(__file__).parents[2]
NAME = "<script>alert('x')</script>"
TEXT = f"""
name = "{NAME}"
duration = "2.3 s"
[link]
rate = "3.7 Mbit/s"
aqm = "codel"
[[flows]]
kind = "tcp"
count = 2
rtt = "57 ms"
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stub of the built page: each file contains its name."""
    monkeypatch.setattr(static, "read", lambda name: name.encode())
    monkeypatch.setattr(static, "is_built", lambda: True)


@pytest.fixture
def server(page: None) -> Iterator[Server]:
    with Server(Start(NAME, TEXT)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Server, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """Status, contents and headers of a response; `path` is below the token unless it starts with a slash."""
    whole = path if path.startswith("/") else f"/{server.token}/{path}"
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, whole, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_the_page_is_served_below_the_token(server: Server) -> None:
    for path, contents in (("", b"index.html"), ("lab.js", b"lab.js"), ("sojourn.wasm?x=1", b"sojourn.wasm")):
        status, body, headers = ask(server, path)
        assert (status, body) == (200, contents)
        policy = headers["Content-Security-Policy"]
        assert "'wasm-unsafe-eval'" in policy and "'unsafe-eval'" not in policy
        assert re.search(r"script-src 'self' 'wasm-unsafe-eval'(;|$)", policy), "no inline script"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "sojourn.wasm")[2]["Content-Type"] == "application/wasm"


def test_requests_without_the_token_are_refused(server: Server) -> None:
    other = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    for path in ("/", "/lab.js", f"/{other}/", f"/{server.token}", f"/{server.token}x/lab.js"):
        status, body, _ = ask(server, path)
        assert status == 404 and b"lab.js" not in body, path
    assert len(server.token) >= 40


def test_two_servers_have_two_tokens(page: None) -> None:
    with Server(Start()) as one, Server(Start()) as other:
        assert one.token != other.token


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_another_host_is_refused(server: Server, host: str) -> None:
    assert ask(server, "lab.js", Host=host)[0] == 403


def test_this_machine_may_be_called_localhost(server: Server) -> None:
    assert ask(server, "lab.js", Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1"])
def test_a_page_of_another_origin_is_refused(server: Server, origin: str) -> None:
    assert ask(server, "native", method="POST", body=b"{}", Origin=origin)[0] == 403


def test_it_listens_on_loopback_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "%2e%2e/server.py",
        "..%2fserver.py",
        "static/../../server.py",
        "/etc/passwd",
        "a\\..\\b",
        "lab.js/",
        ".",
    ],
)
def test_no_path_leads_out(server: Server, path: str) -> None:
    for place in (f"/{server.token}/{path}", path if path.startswith("/") else f"/{path}"):
        status, body, _ = ask(server, place)
        assert (status, body) == (404, b"Not Found"), place


def test_the_start_has_the_scenario_as_data(server: Server) -> None:
    status, body, headers = ask(server, "start.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    reported = json.loads(body)
    assert (reported["name"], reported["text"], reported["native"]) == (NAME, TEXT, "native")
    assert ask(server, "result.bin")[0] == 404


def test_a_scenario_is_run_natively(server: Server) -> None:
    status, body, _ = ask(server, "native", method="POST", body=json.dumps({"text": TEXT, "seed": 7}).encode())
    assert status == 200
    head, tables = decoded(body)
    assert head["summary"]["fingerprint"] == Scenario.parse(TEXT).run(7).fingerprint
    assert head["seed"] == 7 and head["checked"]["queues"] == ["forward", "reverse"]
    link = head["summary"]["links"]["forward"]
    packets = tables["packets"]
    local = packets["fate"][packets["link"] == 0]
    assert (local <= 1).sum() == link["packets"] and (local > 1).sum() == link["dropped"]
    assert {"state", "flows", "waiting", "sojourn_histogram"} <= tables.keys()


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "no text"),
        (b'{"text": 3}', "no text"),
        (json.dumps({"text": TEXT.replace("3.7 Mbit/s", "3.7")}).encode(), 'link.rate: "3.7" has no unit'),
        (json.dumps({"text": TEXT, "seed": -1}).encode(), "seed: -1"),
        (json.dumps({"text": TEXT, "files": {"../x": ""}}).encode(), "is not the name of a file"),
        (json.dumps({"text": TEXT, "files": {"/x": ""}}).encode(), "is not the name of a file"),
        (json.dumps({"text": TEXT, "files": {"x": "?"}}).encode(), "not base64"),
        (
            json.dumps({"text": TEXT.replace('rate = "3.7 Mbit/s"', 'trace = "/etc/passwd"')}).encode(),
            "is missing here",
        ),
        (json.dumps({"text": TEXT.replace('"codel"', '"nowhere/own.py:Own"')}).encode(), "own.py"),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_its_reason(server: Server, request_: bytes, message: str) -> None:
    status, body, headers = ask(server, "native", method="POST", body=request_)
    assert status == 400 and message in body.decode(), body
    assert headers["Content-Type"].startswith("text/plain")


POLICY = {
    "sojourn_policy": 1,
    "note": "x",
    "step": "10 ms",
    "action": "probability-log",
    "observe": ["sojourn_now"],
    "stack": 1,
    "layers": [{"weights": [[2.0]], "bias": [-8.0], "activation": "linear"}],
}
NAMING = {
    "trace": ('rate = "3.7 Mbit/s"', "trace = {}"),
    "delay_trace": ('rate = "3.7 Mbit/s"', 'rate = "3.7 Mbit/s"\ndelay_trace = {}'),
    "file": ('kind = "tcp"\ncount = 2\nrtt = "57 ms"', 'kind = "pcap"\nfile = {}'),
    "distribution": ('aqm = "codel"', "aqm = {{ name = 'netem', delay = '9 ms', jitter = '2 ms', distribution = {} }}"),
    "distribution in a text": ('aqm = "codel"', "aqm = 'netem delay 9ms 2ms distribution BARE'"),
    "slot_distribution": ('aqm = "codel"', "aqm = 'netem slot distribution BARE 9ms 2ms'"),
    "distribution within": (
        'aqm = "codel"',
        "aqm = 'tbf rate 3mbit burst 9kb {{ netem delay 9ms 2ms distribution BARE }}'",
    ),
    "policy": ('aqm = "codel"', "aqm = 'policy:BARE'"),
    "policy within": ('aqm = "codel"', "aqm = 'fq(policy:BARE)'"),
    "changes": ("[[flows]]", "[[changes]]\nat = '1 s'\nlink = {{ aqm = 'policy:BARE' }}\n[[flows]]"),
    "library": ('aqm = "codel"', "aqm = 'BARE.so'"),
    "class": ('aqm = "codel"', "aqm = 'BARE.py:Own'"),
}
"""All keys that name files: text to replace in `TEXT`, and its replacement."""


def naming(way: str, name: str) -> str:
    """The scenario that names a file with one of these keys."""
    before, after = NAMING[way]
    assert before in TEXT
    return TEXT.replace(before, after.format(json.dumps(name)).replace("BARE", name))


@pytest.mark.parametrize("way", NAMING)
def test_a_page_names_no_file_of_this_machine(server: Server, tmp_path: Path, way: str, capfd: Any) -> None:
    """The response reveals neither its contents nor its existence, nor a temporary folder."""
    secret = tmp_path / "secret"
    for ending in ("", ".so", ".py", ".dist"):
        (tmp_path / f"secret{ending}").write_text("root:hunter2:19000\n" if ending != ".py" else "raise SystemExit")
    answers = set()
    for there in (str(secret), str(tmp_path / "absent"), "../secret", "../../../../../../etc/passwd", "/etc/passwd"):
        status, body, _ = ask(server, "native", method="POST", body=json.dumps({"text": naming(way, there)}).encode())
        message = body.decode()
        assert status == 400 and "hunter2" not in message and "root:" not in message, message
        assert "sojourn-lab-" not in message and len(message.splitlines()) == 1, message
        # Long names are truncated, so ignore the length of the temporary folder's name.
        answers.add(re.sub(r'"[^"]*"…?', '"NAME"', message.replace(there, "NAME")))
    assert len(answers) == 1, answers
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"text": "name = '\ud83d'\n" + TEXT}, "text: contains an unpaired surrogate; send valid Unicode"),
        ({"text": TEXT, "files": {"\udc95": ""}}, "is not a file name; give up to 900 characters of Unicode"),
        ({"text": TEXT, "files": {"ä" * 128: ""}}, "is not a file name; give up to"),
        ({"text": TEXT, "files": {"a/" * 450 + "b": ""}}, "is not a file name; give up to"),
        ({"text": TEXT, "files": {"a": "", "a/b": ""}}, "is inside another file; give each a name of its own"),
    ],
)
def test_texts_and_names_that_no_file_has_are_refused_in_a_line(server: Server, request_: Any, message: str) -> None:
    status, body, _ = ask(server, "native", method="POST", body=json.dumps(request_).encode())
    assert status == 400 and message in body.decode(), body
    assert "sojourn-lab-" not in body.decode() and len(body.decode().splitlines()) == 1


def test_names_as_long_as_file_systems_take_are_read(server: Server) -> None:
    for name in ("ä" * 127, "/".join(["b" * 255] * 3)):
        text = naming("trace", name)
        request = json.dumps({"text": text, "files": {name: b64encode(b"1\n4\n5\n").decode()}})
        status, body, _ = ask(server, "native", method="POST", body=request.encode())
        assert status == 200, body


def test_files_that_come_with_a_request_are_read_and_called_as_they_were(server: Server) -> None:
    sent = {
        "trace": ("deep/cell.down", "1\n4\n5\n"),
        "delay_trace": ("steps", "20 ms@0 s\n60 ms@700 ms\n"),
        "distribution": ("bell.dist", "-100 0 100 0 -100 50\n"),
        "policy": ("p.json", json.dumps(POLICY)),
    }
    for way, (name, text) in sent.items():
        files = {name: b64encode(text.encode()).decode()}
        request = json.dumps({"text": naming(way, name), "files": files}).encode()
        status, body, _ = ask(server, "native", method="POST", body=request)
        assert status == 200, body
        assert b"sojourn-lab-" not in body, way
        request = json.dumps({"text": naming(way, name), "files": {name: b64encode(b"?\n").decode()}}).encode()
        status, body, _ = ask(server, "native", method="POST", body=request)
        assert status == 400 and name in body.decode() and b"sojourn-lab-" not in body, body
        assert len(body.decode().splitlines()) == 1, body
    request = json.dumps({"text": TEXT, "files": {"a": "", "a/b": ""}}).encode()
    status, body, _ = ask(server, "native", method="POST", body=request)
    assert status == 400 and b"inside another file" in body


def test_keys_that_name_files_are_listed() -> None:
    """A new key or parameter that names a file must be in the list."""

    def keys(schema: Any) -> set[str]:
        inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        found = set().union(*map(keys, inner)) if inner else set()
        properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return found | {key for key, one in properties.items() if isinstance(one, dict) and one.get("format") == "path"}

    assert keys(json.loads(_core.scenario_schema())) == set(KEYS)
    parameters = [param for aqm in json.loads(_core.registry())["aqms"] for param in aqm["params"]]
    files = [param for param in parameters if param["kind"] == "distribution"]
    assert {param["name"] for param in files} == set(DISTRIBUTIONS)
    assert {word for param in files for word in param["choices"]} == set(LAWS)
    assert set(NAMING) >= {*KEYS, *DISTRIBUTIONS}
    for way in NAMING:
        if way not in ("library", "class"):
            assert named_files(tomllib.loads(naming(way, "a/b.c"))) == ["a/b.c"], way
    for law in LAWS:
        assert named_files(tomllib.loads(naming("distribution", law))) == []


def test_the_address_is_not_among_the_words_of_a_browser(page: None, tmp_path: Path) -> None:
    with Server(Start()) as server:
        with server.page() as leading:
            assert (leading.stat().st_mode & 0o777, leading.parent.stat().st_mode & 0o777) == (0o600, 0o700)
            assert server.token not in leading.as_uri()
            assert f'content="0; url={server.url}"' in leading.read_text()
        assert not leading.parent.exists()


def test_a_defect_is_reported_in_one_line(server: Server, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    def fails(_request: object) -> bytes:
        raise ZeroDivisionError("of\nours")

    monkeypatch.setattr("sojourn.apps.lab.server.run_request", fails)
    status, body, _ = ask(server, "native", method="POST", body=b"{}")
    assert (status, body) == (500, b"lab: internal error: ZeroDivisionError: of: ours")
    monkeypatch.setattr("sojourn.apps.lab.server.Handler._run", fails)
    with pytest.raises((ConnectionError, BadStatusLine)):
        ask(server, "native", method="POST", body=b"{}")
    reported = capfd.readouterr()
    assert "Traceback" not in reported.err and len(reported.err.splitlines()) == 1


def test_nested_requests_are_one_line(server: Server) -> None:
    for body in (
        b"[" * 100_000,
        b'{"text": ' + b"[" * 70 + b"]" * 70 + b"}",
        b"\xff\xfe{}",
        b"nul",
        b'{"seed": 1e999}',
    ):
        status, reported, _ = ask(server, "native", method="POST", body=body)
        assert status == 400 and len(reported.decode().splitlines()) == 1, reported


def test_a_slow_request_blocks_no_other(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte at a time, with or without the token: each request has a timeout, and others are served meanwhile."""
    monkeypatch.setattr("sojourn.apps.lab.server.WAIT_S", 1.0)
    dripping = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(3)]
    dripping[1].sendall(f"POST /{server.token}/native HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n".encode())
    dripping[1].sendall(b"Content-Length: 1000000\r\n\r\n")
    ended: set[int] = set()
    for _ in range(200):
        for number, one in enumerate(dripping):
            if number not in ended:
                try:
                    one.sendall(b"x")
                    one.settimeout(0.02)
                    if one.recv(9) == b"":
                        ended.add(number)
                except TimeoutError:
                    continue
                except OSError:
                    ended.add(number)
        if len(ended) == 3:
            break
        assert ask(server, "lab.js")[0] == 200
    assert len(ended) == 3
    for one in dripping:
        one.close()


def test_more_connections_than_there_is_room_for_are_closed(server: Server) -> None:
    held = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(64)]
    with pytest.raises((ConnectionError, BadStatusLine)):
        ask(server, "lab.js")
    for one in held:
        one.close()


def test_a_request_without_an_end_is_refused(server: Server) -> None:
    assert ask(server, "native", method="POST", **{"Content-Length": "999999999999"})[0] == 413
    assert ask(server, "native", method="POST", body=b"", **{"Transfer-Encoding": "chunked"})[0] == 413
    assert ask(server, "other", method="POST", body=b"{}")[0] == 404


def test_the_code_of_a_user_is_not_run_for_a_page(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    text = TEXT.replace('"codel"', json.dumps(f"{tmp_path / 'own.py'}:Own"))
    with pytest.raises(InputError):
        run_request({"text": text})
    assert not (tmp_path / "ran").exists()


def test_a_scenario_is_given_with_its_files() -> None:
    start = of_path(ROOT / "scenarios" / "outages.toml")
    assert start.files == {"outages.down": (ROOT / "scenarios" / "outages.down").read_bytes()}
    assert start.text == (ROOT / "scenarios" / "outages.toml").read_text()


def test_a_drawn_scenario_is_given_as_drawn() -> None:
    start = of_path(ROOT / "scenarios" / "hunt.toml")
    assert start.text is not None and "[draw]" not in start.text
    assert Scenario.parse(start.text) == Scenario.load(ROOT / "scenarios" / "hunt.toml")


def test_a_study_is_refused_with_the_remedy() -> None:
    done = CliRunner().invoke(cli, ["lab", str(ROOT / "scenarios" / "loads.toml"), "--no-browser"])
    assert done.exit_code == 2 and "sojourn sweep" in str(done.output) + str(done.stderr)


def test_a_result_is_played_back_if_it_has_packets_and_else_run_again(tmp_path: Path) -> None:
    plain = save(Scenario.parse(TEXT).run(3), tmp_path, [])
    assert plain.folder is not None
    start = of_path(plain.folder)
    assert start.result is None and start.seed == 3 and start.text is not None
    assert Scenario.parse(start.text) == plain.scenario
    packets = Scenario.parse(TEXT, {"probes.packets": True}).run(3)
    start = of_result(packets)
    assert start.text is None and start.result == payload(packets)
    head, tables = decoded(start.result)
    assert head["checked"]["scenario"]["name"] == NAME
    times = packets.table("packets")["time_ns"].to_numpy()
    assert np.array_equal(tables["packets"]["time_ns"], times.astype(float))


def test_a_queue_manager_in_python_is_run_here() -> None:
    own = ROOT / "examples" / "python-aqm" / "my_codel.py"
    scenario = Scenario.parse(TEXT, {"link.aqm": f"{own}:MyCodel"})
    start = of_scenario(scenario)
    assert start.text is None and start.result is not None
    assert decoded(start.result)[0]["summary"]["fingerprint"] == scenario.run().fingerprint


def test_no_name_ends_the_script_of_a_standalone_page(page: None) -> None:
    script = embedded.script({"lab": Start(NAME + "<!--", TEXT)})
    assert "</script" not in script and "<!--" not in script
    assert "\\u003c/script>" in script


def test_a_widget_without_anywidget_gives_an_error(page: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingError, match=r"sojourn\[lab\]"):
        Scenario.parse(TEXT).lab()


def test_a_widget_has_all_that_it_needs(page: None) -> None:
    pytest.importorskip("anywidget")
    shown = widget.show(Scenario.parse(TEXT))
    assert json.loads(shown.start)["name"] == NAME
    assert "export default { render }" in shown._esm
    assert "http" not in re.sub(r"[A-Za-z0-9+/=]{40,}", "", shown._esm), "it asks for nothing"


def test_without_the_page_the_command_names_the_build_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "is_built", lambda: False)
    with pytest.raises(MissingError, match=r"not built; .*make -C \S+ web$"):
        Server(Start())


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (
            (),
            "lacks a Rust for wasm32-unknown-unknown, node, npm; install Rust from https://rustup.rs and Node.js from",
        ),
        (
            ("apt-get",),
            "npm; run: (sudo )?apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src nodejs npm ",
        ),
        (
            ("rustup", "apt-get", "node"),
            "lacks npm; run: (sudo )?apt-get install -y --no-install-recommends npm && make -C",
        ),
        (("rustup",), "lacks node, npm; install Node.js"),
        (("rustup", "node", "npm"), "^run: make -C"),
    ],
)
def test_missing_tools_are_named_with_a_command(tmp_path: Path, tools: tuple[str, ...], message: str) -> None:
    for tool in ("bash", "dirname", "cat"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/true")
    for tool in tools:
        (tmp_path / tool).symlink_to("/bin/true")
    bash = str(tmp_path / "bash")
    done = subprocess.run(
        [bash, ROOT / "web" / "needs.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    if Path("/usr/bin/rustc").exists() and ("Rust for" in message + done.stdout or "rustc-web" in message):
        pytest.skip("Debian's own Rust is found without PATH")
    assert re.search(message, done.stdout), done.stdout
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
    assert done.returncode == (0 if "npm" in tools else 4)


def test_a_page_without_a_run_reports_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(static, "is_built", lambda: False)
    page = tmp_path / "page.html"
    words = ["compare", "--aqm", "codel", "--duration", "1.3s", "--html", str(page), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert f"Warning: {page}: it has no run inside, as the page of the lab is not built; " in done.stderr


def test_ctrl_c_ends_the_command_quietly(tmp_path: Path) -> None:
    if not static.is_built():
        pytest.skip("the page is not built (make web)")
    command = [sys.executable, "-m", "sojourn", "lab", str(ROOT / "scenarios" / "codel.toml"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        url = lab.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/[\w-]{40,}/", url)
        assert found, url
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=30):
            lab.send_signal(signal.SIGINT)
            _, errors = lab.communicate(timeout=30)
    assert (lab.returncode, errors) == (0, "")


def decoded(data: bytes) -> tuple[dict[str, object], dict[str, dict[str, np.ndarray]]]:  # type: ignore[type-arg]
    """Decode a payload like the page."""
    assert data[:8] == b"SOJOURN1"
    length = int.from_bytes(data[8:12], "little")
    head = json.loads(data[12 : 12 + length])
    begin = -(-(12 + length) // 8) * 8
    dtypes = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f64": "<f8"}
    tables = {
        name: {
            column: np.frombuffer(data, dtypes[kind], count, begin + offset)
            for column, (kind, offset, count) in table.items()
        }
        for name, table in head["tables"].items()
    }
    return head, tables


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "scenarios").glob("*.toml")))
def test_a_scenario_is_written_as_toml_that_is_the_same_scenario(name: str) -> None:
    try:
        scenario = Scenario.load(ROOT / "scenarios" / name)
    except InputError as error:
        assert "study" in str(error)
        return
    assert Scenario.parse(scenario_toml(scenario)) == scenario
