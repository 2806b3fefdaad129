"""Shells with a missing part, and their surroundings: gateways, senders, the machine's servers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shells import WITHOUT_NET_ADMIN, alive, alone, eventually, needs_shells, private_shell, python, shell

pytestmark = needs_shells

ME = [sys.executable, "-m", "sojourn"]
LONG_S = 60


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_nothing_is_left_when_the_inner_process_is_killed(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    inside = f"""
import os, time
for generation in range(2):
    if os.fork(): break
    os.setsid()
with open({str(numbers)!r}, "a") as file: file.write(f"{{os.getpid()}}\\n")
time.sleep(1000)
"""
    words = [*ME, "delay", "0s", "--", *python(inside)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: numbers.exists() and len(numbers.read_text().split()) == 3)
        pids = [int(line) for line in numbers.read_text().split()]
        [keeper] = {parent(pid) for pid in pids} - set(pids)
        assert parent(keeper) == process.pid
        os.kill(keeper, signal.SIGKILL)
        _, reported = process.communicate(timeout=LONG_S)
    assert process.returncode == -signal.SIGKILL
    assert not [pid for pid in pids if alive(pid)]
    assert "not faithful: the supervisor of the command was killed" in reported


@pytest.mark.parametrize("which", ["porter", "gateway", "private gateway"])
def test_an_ended_gateway_is_reported(which: str) -> None:
    code, out, reported = _end_gateway(which, "--strict")
    assert (code, out) == (1, "over\n"), reported
    assert "not faithful: the gateway ended at " in reported


def test_a_quiet_shell_adds_nothing_to_the_output_of_its_command() -> None:
    assert _end_gateway("gateway", "--quiet") == (0, "over\n", "")
    code, _, reported = _end_gateway("gateway", "--quiet", "--strict")
    assert (code, reported.splitlines()[0][:29]) == (1, "delay: not faithful: the gate")


def _end_gateway(which: str, *options: str) -> tuple[int, str, str]:
    """Kill a process of a shell's gateway; returns the exit code and the output."""
    alone = WITHOUT_NET_ADMIN if which == "private gateway" else []
    waits = 'import os; print(os.getpid(), flush=True); input(); print("over")'
    words = [*alone, *ME, "delay", "0s", *options, "--", *python(waits)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:  # type: ignore[call-overload]
        command = int(process.stdout.readline())
        keeper = parent(command)
        if which == "private gateway":
            [victim] = [pid for pid in children(keeper) if pid != command and alive(pid)]
        else:
            helpers = [pid for pid in children(process.pid) if pid != keeper]
            victim = helpers[["porter", "gateway"].index(which)]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: not alive(victim))
        out, reported = process.communicate("\n", timeout=LONG_S)
    return process.returncode, out, reported


def test_a_living_gateway_is_not_reported() -> None:
    for run in (shell, private_shell):
        done = run("delay", "0s", "--strict", "--", "true")
        assert (done.returncode, "gateway" in done.stderr) == (0, False), done.stderr


def test_the_last_data_passes_the_gateway() -> None:
    got: list[int] = []
    with socket.create_server(("", 0)) as server:

        def take() -> None:
            peer, _ = server.accept()
            with peer:
                got.append(sum(iter(lambda: len(peer.recv(1 << 16)), 0)))

        thread = threading.Thread(target=take)
        thread.start()
        # 60 kB are still in flight for half a second when the command ends.
        send = f"""
import os, socket
peer = socket.create_connection((os.environ["SOJOURN_HOST"], {server.getsockname()[1]}))
peer.sendall(bytes(60000))
"""
        done = private_shell("link", "--rate", "1mbit", "--", *python(send))
        thread.join(LONG_S)
    assert (done.returncode, got) == (0, [60_000]), done.stderr


HELD = """
import json, pathlib, socket, subprocess, threading
from shells import shell
pathlib.Path("/proc/sys/net/ipv4/tcp_wmem").write_text("4096 16384 {most}")
program = '''
import os, socket, sys, time
if sys.argv[1] == "serve":
    server = socket.create_server(("", 7000))
    print("ready", flush=True)
    while True:
        peer, _ = server.accept()
        try:
            while True: peer.sendall(bytes(1 << 16))
        except OSError: pass
end = time.monotonic() + 20
while True:
    try: peer = socket.create_connection((os.environ["SOJOURN_HOST"], 7000))
    except OSError:
        if time.monotonic() > end: raise
        time.sleep(0.1)
    else: break
end = time.monotonic() + 3
while time.monotonic() < end: peer.recv(1 << 16)
'''
peer = {peer}
server = None
if not peer:
    server = subprocess.Popen([sys.executable, "-c", program, "serve"], stdout=subprocess.PIPE)
    server.stdout.readline()
pathlib.Path({folder!r}, "program.py").write_text(program)
words = [sys.executable, pathlib.Path({folder!r}, "program.py")]
options = ["--peer", f"exec {{words[0]}} {{words[1]}} serve >/dev/null"] if peer else []
log = pathlib.Path({folder!r}, "log")
done = shell(*{words!r}, "--log", log, *options, "--", *words, "ask")
if server: server.kill()
assert done.returncode == 0, done.stderr
print(json.dumps([json.loads((log / "shell.json").read_text())["sender_held"], done.stderr]))
"""


@pytest.mark.parametrize(
    ("words", "most", "peer", "held"),
    [
        (["delay", "20ms"], 200_000, False, True),
        (["delay", "20ms"], 200_000, True, False),
        (["link", "--rate", "5mbit"], 4_000_000, False, False),
    ],
)
def test_a_sndbuf_limited_download_is_reported(
    tmp_path: Path, words: list[str], most: int, peer: bool, held: bool
) -> None:
    done = alone(HELD.format(words=words, most=most, peer=peer, folder=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    found, reported = json.loads(done.stdout)
    if not held:
        assert found is None and "tcp_wmem" not in reported
        return
    assert found["share"] >= 0.1
    assert 39 < found["rtt_ms"] < 80
    # The buffer also contains headers and bookkeeping.
    assert 0.3 < found["rate_bps"] * found["rtt_ms"] / 8e3 / most <= 1
    assert found["buffer_bytes_per_gbit"] == pytest.approx(most * 1e9 / found["rate_bps"])
    assert "the sender at port 7000 waited" in reported and 'net.ipv4.tcp_wmem="4096 16384 ' in reported


REACHED = """
import socket, subprocess, threading
from shells import private_shell, shell
PROBE = '''
import os, socket
for kind, port, name in {probes!r}:
    peer = socket.socket(socket.AF_INET6 if name == "SOJOURN_HOST6" else socket.AF_INET, kind)
    peer.settimeout(2)
    try:
        peer.connect((os.environ[name], port))
        peer.send(b"x")
        print(peer.recv(9).decode(), end=" ")
    except OSError:
        print("no", end=" ")
'''
def stream(port, address, family=socket.AF_INET):
    server = socket.create_server((address, port), family=family, dualstack_ipv6=family == socket.AF_INET6)
    def answer():
        while True:
            peer, _ = server.accept()
            peer.recv(1); peer.send(b"tcp"); peer.close()
    threading.Thread(target=answer, daemon=True).start()
def datagrams(port, address):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, port))
    def answer():
        while True:
            _, peer = server.recvfrom(9)
            server.sendto(b"udp", peer)
    threading.Thread(target=answer, daemon=True).start()
stream(7001, "127.0.0.1")
stream(7002, "0.0.0.0")
stream(7003, "::", socket.AF_INET6)
datagrams(7004, "0.0.0.0")
datagrams(7005, "127.0.0.1")
for run in (shell, private_shell):
    done = run("delay", "0s", "--", sys.executable, "-c", PROBE)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
"""


def test_the_same_servers_are_reached_through_the_gateway_as_without(tmp_path: Path) -> None:
    tcp, udp = int(socket.SOCK_STREAM), int(socket.SOCK_DGRAM)
    host, host6 = "SOJOURN_HOST", "SOJOURN_HOST6"
    probes = [(tcp, 7001, host), (tcp, 7002, host), (tcp, 7003, host), (tcp, 7003, host6)]
    probes += [(udp, 7004, host), (udp, 7005, host)]
    # The machine has a non-loopback address.
    addresses = """
import subprocess
for address in ("192.0.2.7/32", "2001:db8::7/128"):
    subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)
"""
    done = alone(addresses + REACHED.replace("{probes!r}", repr(probes)))
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [["no", "tcp", "tcp", "tcp", "udp", "no"]] * 2


@pytest.mark.parametrize("to_group", [True, False])
def test_ctrl_c_ends_the_doctor_between_measurements_and_in_one(to_group: bool) -> None:
    """From the terminal all processes get SIGINT, otherwise only the first one."""
    command = [sys.executable, "-m", "sojourn", "doctor"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as doctor:
        assert doctor.stderr is not None
        line = doctor.stderr.readline()
        found = re.match(r"(\d+) of (\d+) measurements", line)
        assert found, line
        (os.killpg if to_group else os.kill)(doctor.pid, signal.SIGINT)
        message, errors = doctor.communicate(timeout=120)
    assert (doctor.returncode, message) == (130, "")
    later = [int(one) for one in re.findall(r"^(\d+) of", errors, re.MULTILINE)]
    assert all(one < int(found[2]) for one in later)
    assert errors.endswith("Interrupted; finished runs are kept.\n")


def test_doctor_reports_the_spread_of_its_rounds() -> None:
    done = shell("doctor", "--json", timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rates = [rate["rate"] for rate in found["rates"]]
    highest = [-1 if rate is None else rates.index(rate) for rate in found["highest_faithful_rates"]]
    assert len(highest) == 5 and highest == sorted(highest)
    assert found["highest_faithful_rates"][2] == found["highest_faithful_rate"]
    assert {rate["runs"] for rate in found["rates"]} == {5}
    assert all(0 <= rate["faithful_runs"] <= 5 for rate in found["rates"])
