"""Changes to a running shell by its owner, and their record in the result."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest

import sojourn as sj
from shells import eventually, needs_shells, python, shell

pytestmark = needs_shells

ME = [sys.executable, "-m", "sojourn"]

TALK = """
import os, socket, sys
plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("here", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        plug.sendto(b"x" * 1000, (os.environ["SOJOURN_HOST"], 9))
    print("sent", flush=True)
"""
"""Sends the requested number of datagrams."""


class Running:
    """A shell whose command waits for orders, with its output."""

    def __init__(self, *words: object) -> None:
        command = [*ME, *(str(word) for word in words), "--", *python(TALK)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.received("here")

    def received(self, word: str) -> None:
        assert _open(self.process.stdout).readline().strip() == word

    def send(self, datagrams: int) -> None:
        stdin = _open(self.process.stdin)
        stdin.write(f"{datagrams}\n")
        stdin.flush()
        self.received("sent")

    def end(self) -> str:
        _, message = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, message
        return message


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@contextlib.contextmanager
def running(*words: object) -> Iterator[Running]:
    found = Running(*words)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the sockets of these tests alone."""
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    return place / "sojourn"


def test_running_shells_are_listed_by_number_name_and_command(folder: Path) -> None:
    with (
        running("link", "--rate", "12mbit", "--aqm", "codel", "--name", "home") as one,
        running("delay", "20ms") as two,
    ):
        reported = {
            entry["pid"]: entry
            for entry in json.loads(shell("ctl", "--json").stdout)
            if entry["pid"] in _pids(one, two)
        }
        assert reported[one.process.pid]["name"] == "home"
        assert reported[one.process.pid]["up"]["does"] == "12 Mbit/s, codel"
        assert reported[two.process.pid]["down"]["does"] == "20 ms"
        lines = shell("ctl").stdout.splitlines()
        assert lines[0].split() == ["pid", "name", "shell", "up", "down", "command"]
        assert any(line.startswith(f"{one.process.pid} ") and " home " in line for line in lines)
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            [f"{one.process.pid}.home", f"{two.process.pid}"]
        )
        taken = shell("link", "--rate", "1mbit", "--name", "home", "--", "true")
        assert (taken.returncode, taken.stderr) == (
            2,
            f"Error: --name home: already used by shell {one.process.pid}; choose another one\n",
        )
        two.process.kill()
        two.process.wait()
        # A stale socket is removed by the next command.
        assert str(two.process.pid) not in shell("ctl").stdout
        assert [path.name for path in folder.iterdir()] == [f"{one.process.pid}.home"]
        one.end()
    assert list(folder.iterdir()) == []


def _pids(*shells: Running) -> set[int]:
    return {one.process.pid for one in shells}


def test_wrong_orders_are_one_line_and_change_nothing() -> None:
    with running("link", "--rate", "12mbit", "--name", "home") as link, running("delay", "20ms", "--name", "far"):
        for words, error in [
            (["nobody", "rate", "1mbit"], 'unknown shell "nobody"'),
            (["home", "rat", "1mbit"], 'unknown change "rat"; did you mean "rate"?'),
            (["home", "rate", "7"], 'rate: "7" has no unit; write e.g. "10 Mbit/s"'),
            (["home", "aqm", "codell"], 'aqm: unknown AQM "codell"; did you mean "codel"?'),
            (["home", "resume"], "it is not paused; pause it first"),
            (["far", "rate", "1mbit"], "rate: a delay has no queue; only its delay can be changed"),
            (["far", "pause"], "only a link with a rate can be paused; start one around it"),
        ]:
            done = shell("ctl", *words)
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), words
            assert done.stderr.startswith(f"Error: {error}")
        assert json.loads(shell("ctl", "home", "--json").stdout)["up"]["does"] == "12 Mbit/s, droptail"
        link.end()


def test_untidy_orders_are_refused_in_one_line_and_change_nothing(folder: Path) -> None:
    with running("link", "--rate", "12mbit", "--name", "home") as link:
        path = folder / f"{link.process.pid}.home"
        for order in (
            b"\xff",
            b"[]",
            b"{}{}",
            b'{"key": {"rate": "1mbit"}}',
            b'{"keys": {}}',
            b'{"keys": {"rate": "1mbit"}, "pause": true}',
            b'{"pause": "yes"}',
            b'{"pause": true, "pause": false}',
            b'{"side": "up"}',
        ):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as plug:
                plug.connect(str(path))
                plug.send(order)
                answer = json.loads(plug.recv(1 << 16))
            assert list(answer) == ["error"], order
            assert re.fullmatch(r"order: [^\n]+; write e\.g\. [^\n]+", answer["error"]), answer
        reported = json.loads(shell("ctl", "home", "--json").stdout)
        assert [reported[side]["does"] for side in ("up", "down")] == ["12 Mbit/s, droptail"] * 2
        link.end()


def test_netem_changes_to_tables_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path is relative to the working folder of the ordering process; queued packets are kept."""
    for name, table in (("start", "0\n"), ("other", "8192\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bell.dist").write_text(table)
    monkeypatch.chdir(tmp_path / "start")
    line = "delay 20ms 5ms distribution bell"
    log = tmp_path / "log"
    words = ("--netem", line, "--name", "home", "--log", log, "--quiet")
    with running("link", "--rate", "9mbit", *words) as link:
        link.send(30)
        monkeypatch.chdir(tmp_path / "other")
        change = ["netem", *line.split()]
        assert (done := shell("ctl", "home", "aqm", *change)).returncode == 0, done.stderr
        link.send(30)
        time.sleep(0.3)  # until the queue is empty
        link.send(1)
        reported = json.loads(shell("ctl", "home", "--json").stdout)["up"]["does"]
        assert f"distribution {tmp_path}/other/bell.dist" in reported
        refused = shell("ctl", "home", "aqm", *change[:-1], "bel")
        assert refused.returncode == 2 and "not one of uniform, normal, pareto, paretonormal, and " in refused.stderr
        link.end()
    result = sj.load(log)
    assert [path.parent.name for path in dict.fromkeys(result.scenario.traces())] == ["start", "other"]
    times = result.packets.filter((pl.col("link") == "up") & (pl.col("fate") == "sent"))["sojourn_ms"]
    assert len(times) == 61
    # Tables with one entry: the mean, and the mean plus one jitter; then packets leave in order.
    assert min(times[:30].to_list()) == pytest.approx(20, abs=0.01)
    assert times[-1] == pytest.approx(25, abs=0.01)
    assert min(times[30:].to_list()) >= 25 - 0.01
    links = result.totals["emulation"]["links"]
    assert all(link["agreeing"] == link["replayed"] for link in links.values())


def test_the_log_of_a_changed_link_is_a_scenario_that_the_simulator_runs(tmp_path: Path) -> None:
    """A replay of the log gives every packet its verdict, and the scenario in the result runs."""
    log = tmp_path / "log"
    words = ("--log", log, "--quiet", "--seed", 5, "--name", "home")
    with running("link", "--rate", "4mbit", "--aqm", "codel target 1ms interval 10ms", *words) as link:
        link.send(90)
        for change in (
            "rate 3mbit --up",
            "aqm codel target 7ms interval 30ms",
            "limit 40 packets --up",
            "loss 3%",
            "delay 11ms",
            "pause --up",
            "resume --up",
            "aqm pie --up",
        ):
            done = shell("ctl", "home", *change.split())
            assert (done.returncode, done.stderr) == (0, ""), change
            link.send(60)
        link.end()
    result = sj.load(log)
    reported = result.totals["emulation"]["links"]
    for direction in ("down", "up"):
        assert reported[direction]["agreeing"] == reported[direction]["replayed"]
    assert reported["up"]["replayed"] > 300
    changes = result.scenario.document["changes"]
    keys = [key for change in changes for key in change.get("reverse", {})]
    assert sorted(set(keys)) == ["aqm", "limit", "loss"]
    assert [change["reverse"]["aqm"]["name"] for change in changes if "aqm" in change.get("reverse", {})] == [
        "codel",
        "pie",
    ]
    # Changes of rate and delay are written as a schedule.
    assert re.findall(
        r"(\d+ \w+bit/s)@", result.scenario.document["reverse"]["rate"].replace("0 bit/s", "0 xbit/s")
    ) == [
        "4 Mbit/s",
        "3 Mbit/s",
        "0 xbit/s",
        "3 Mbit/s",
    ]
    assert result.scenario.document["link"]["delay"].startswith("0 s@0 s,11 ms@")
    again = sj.Scenario.build(
        {**result.scenario.document, "flows": [{"kind": "cbr", "rate": "3 Mbit/s", "direction": "reverse"}]}
    )
    assert again.run().totals["links"]["reverse"]["packets"] > 0


CHANGES = (
    "rate 3mbit",
    "loss 10%",
    "aqm codel target 7ms interval 30ms",
    "limit 40 packets",
    "pause --up",
    "resume --up",
    "aqm pie",
    "delay 5ms",
)


def test_every_packet_of_a_changed_log_has_its_fate_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table with all losses, in `aqm diff` for both directions, and in a simulation of the result."""
    monkeypatch.chdir(tmp_path)
    words = ("--log", "log", "--quiet", "--seed", 5, "--name", "home")
    with running("link", "--rate", "4mbit", "--aqm", "codel target 1ms interval 10ms", *words) as link:
        link.send(90)
        for change in CHANGES:
            done = shell("ctl", "home", *change.split())
            assert (done.returncode, done.stderr) == (0, ""), change
            link.send(60)
        link.end()
    result = sj.load("log")
    report = json.loads(Path("log/shell.json").read_text())
    packets = result.packets
    for side in ("down", "up"):
        gone = packets.filter(
            (pl.col("link") == side) & (pl.col("lost") | pl.col("fate").cast(str).str.contains("drop"))
        )
        assert gone.height == report[side]["dropped"]
    assert packets["lost"].sum() > 0
    compared = shell("aqm", "diff", "codel target 1ms interval 10ms", "--log", "log", "--json")
    assert compared.returncode == 0, compared.stdout
    found = json.loads(compared.stdout)
    assert found["agreeing"] == found["packets"] > 500
    assert shell("aqm", "diff", "droptail", "--log", "log", "--link", "up").returncode == 1
    done = shell("run", "log", "--json")
    assert done.returncode == 0, done.stderr
    again = sj.load(json.loads(done.stdout)["folder"])
    assert again.engine == "simulate"
    for number in (0, 1):
        fates = [
            one.table("packets")
            .filter(pl.col("link") == number)
            .sort("arrival")
            .select("time_ns", "sojourn_ns", "bytes", "fate")
            for one in (result, again)
        ]
        assert fates[0].equals(fates[1])


def test_the_list_has_a_line_for_each_shell_and_its_limits() -> None:
    with running("link", "--rate", "12mbit", "--limit-up", "250 kB", "--name", "home") as link:
        first = shell("ctl", "home").stdout.splitlines()
        assert len(first) == 2, "the command of this shell has line breaks"
        assert "12 Mbit/s, droptail, limit 250000 B  12 Mbit/s, droptail  " in first[1]
        assert shell("ctl", "home", "limit", "1000 packets").returncode == 0
        shown = json.loads(shell("ctl", "home", "--json").stdout)
        assert [shown[side]["does"] for side in ("up", "down")] == ["12 Mbit/s, droptail, limit 1000 packets"] * 2
        link.end()


def test_another_queue_manager_drops_the_backlog() -> None:
    with running("link", "--rate", "80kbit", "--aqm", "codel", "--quiet", "--name", "slow") as link:

        def reported() -> dict[str, Any]:
            up: dict[str, Any] = json.loads(shell("ctl", "slow", "--json").stdout)["up"]
            return up

        # No packet leaves, however long the orders take.
        assert shell("ctl", "slow", "pause").returncode == 0
        link.send(20)
        eventually(lambda: reported()["backlog"] == 19)
        assert shell("ctl", "slow", "aqm", "codel", "target", "50ms").returncode == 0
        assert (reported()["backlog"], reported()["dropped"], reported()["does"]) == (
            19,
            0,
            "paused, codel target 50ms",
        )
        assert shell("ctl", "slow", "aqm", "pie").returncode == 0
        assert (reported()["backlog"], reported()["dropped"], reported()["does"]) == (0, 19, "paused, pie")
        assert shell("ctl", "slow", "resume").returncode == 0
        assert reported()["does"] == "80 kbit/s, pie"


def test_others_cannot_give_orders(folder: Path, tmp_path: Path) -> None:
    """A folder that other users can enter is not used, nor a socket of another user."""
    with running("delay", "1ms", "--name", "mine") as delay:
        assert folder.stat().st_mode & 0o777 == 0o700
        delay.end()
    folder.chmod(0o755)
    done = shell(
        "delay", "1ms", "--name", "open", "--", "true", env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    )
    # This user's folder in /tmp is used instead.
    assert done.returncode == 0
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_user_sees_and_changes_nothing_of_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
plug = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    plug.connect(sys.argv[1])
except PermissionError:
    print("refused")
"""
    with tempfile.TemporaryDirectory() as name, monkeypatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", name)
        _looks_at_who_it_is(code, Path(name, "sojourn"))


def _looks_at_who_it_is(code: str, folder: Path) -> None:
    with running("delay", "1ms") as delay:
        path = folder / str(delay.process.pid)
        done = subprocess.run([*python(code), str(path)], capture_output=True, text=True, check=True)
        assert done.stdout == "refused\n"
        # Even if the folder is accessible, the shell checks the peer's user.
        for place in (folder.parent, folder):
            place.chmod(0o755)
        path.chmod(0o777)
        asks = code.replace(
            "except PermissionError", "    plug.send(b'{}'); print(plug.recv(100) or 'refused')\nexcept OSError"
        )
        done = subprocess.run([*python(asks), str(path)], capture_output=True, text=True, check=True)
        # The shell closes the connection before or after it receives the order.
        assert done.stdout == "refused\n"


def test_the_page_of_the_live_view() -> None:
    with running("link", "--rate", "4mbit", "--aqm", "codel", "--meter-web") as link:
        line = _open(link.process.stderr).readline()
        found = re.fullmatch(r"link: live view at (http://127\.0\.0\.1:\d+)(/[0-9a-f]{32}/)\n", line)
        assert found, line
        host, path = found.groups()
        page = _get(host + path)
        assert "<title>link: live view</title>" in page
        assert "Mean sojourn time (ms)" in page
        assert "http" not in page
        link.send(50)
        rows: list[list[float]] = []
        while sum(row[1] for row in rows) == 0:
            rows = json.loads(_get(f"{host}{path}data?since=0"))["rows"]
        busy = [row for row in rows if row[1] > 0]
        assert all(row[3] is not None for row in busy)
        for address, headers, code in [
            (host + "/", {}, 404),
            (host + path, {"Host": "elsewhere.example"}, 403),
            (host + path.replace("/", "/0", 1), {}, 404),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                _get(address, headers)
            assert refused.value.code == code
            refused.value.close()
        link.end()
    with pytest.raises(urllib.error.URLError):
        _get(host + path)


def test_the_end_of_a_shell_waits_for_no_reader_of_its_page() -> None:
    """Clients without the token that send a byte at a time, forever: the owner is still served, and the shell ends."""
    drips = """
import socket, sys, time
while True:
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as one:
            while True:
                one.send(b"x")
                time.sleep(0.05)
    except ConnectionRefusedError:
        break
    except OSError:
        pass
"""
    with contextlib.ExitStack() as stack, running("link", "--rate", "4mbit", "--meter-web") as link:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\w+/", _open(link.process.stderr).readline())
        assert found
        for _ in range(6):
            client = stack.enter_context(subprocess.Popen([*python(drips), found[1]]))
            stack.callback(client.kill)
        for since in range(5):
            assert "rows" in json.loads(_get(f"{found[0]}data?since={since}"))
        link.end()


def _get(address: str, headers: dict[str, str] | None = None) -> str:
    request = urllib.request.Request(address, headers=headers or {})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_planned_changes_happen_in_the_emulator() -> None:
    """A scenario whose queue changes runs on the engine, and its result has the changes."""
    scenario = sj.Scenario.build(
        {
            "duration": "2 s",
            "link": {"rate": "8 Mbit/s", "delay": "5 ms", "aqm": "codel"},
            "flows": [{"kind": "tcp", "cc": "cubic"}],
            "changes": [
                {"at": "700 ms", "link": {"aqm": "codel target 20ms"}},
                {"at": "1.1 s", "link": {"aqm": "pie", "loss": 0.01}},
            ],
        }
    )
    result = scenario.run(engine="emulate")
    reported = result.totals["emulation"]["links"]["forward"]
    assert reported["agreeing"] == reported["replayed"] > 300
    assert [change["at"] for change in result.scenario.document["changes"]] == ["700 ms", "1.1 s"]
