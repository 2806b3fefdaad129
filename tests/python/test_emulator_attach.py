"""Shells attached to existing interfaces with live traffic."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import Process
from shells import alone, missing


def _missing() -> str:
    release = tuple(int(part) for part in os.uname().release.split(".")[:2]) if hasattr(os, "uname") else (0, 0)
    if reason := missing():
        return reason
    if os.geteuid() != 0:
        return "not root"
    return "" if release >= (6, 6) else "Linux before 6.6"


needs_hooks = pytest.mark.skipif(bool(_missing()), reason=f"no hooks: {_missing()}")

PRELUDE = """
import atexit, hashlib, json, os, signal, socket, subprocess, sys, threading, time
from pathlib import Path
from shells import eventually, host_state, shell
from sojourn.studies.runs.store import load

os.chdir({folder!r})
peer = subprocess.Popen(["unshare", "-n", "sleep", "600"])
atexit.register(peer.kill)
own = os.readlink("/proc/self/ns/net")
eventually(lambda: os.readlink(f"/proc/{{peer.pid}}/ns/net") != own)
there = ["nsenter", "-t", str(peer.pid), "-n"]

def ip(*words, at=()):
    subprocess.run([*at, "ip", *words], check=True)

ip("link", "add", "a0", "type", "veth", "peer", "name", "b0", "netns", str(peer.pid))
for name, address, at in (("a0", "10.9.0.1/24", ()), ("b0", "10.9.0.2/24", there)):
    ip("address", "add", address, "dev", name, at=at)
    ip("link", "set", name, "up", at=at)

# The kernel has looked for others with its IPv6 address.
told = ["ip", "address", "show", "dev", "a0"]
eventually(lambda: "tentative" not in subprocess.run(told, capture_output=True, text=True, check=True).stdout)

def is_as(before):
    eventually(lambda: not Path("/proc/sys/net/ipv4/conf/sojourn0").exists())
    now = host_state()
    differing = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
    assert not differing, {{key: now.get(key) for key in differing}}

def attached(*words):
    command, *options = words
    line = [sys.executable, "-m", "sojourn", command, "--name", f"at-{{os.getpid()}}", *options]
    started = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    # It takes orders once its hooks are there.
    eventually(lambda: started.poll() is not None or shell("ctl", f"at-{{os.getpid()}}").returncode == 0)
    assert started.poll() is None, started.stderr.read()
    atexit.register(started.kill)
    return started
"""

ECHO = '''
SERVER = """
import socket
with socket.create_server(("10.9.0.2", 7)) as listener:
    print("listens", flush=True)
    peer, _ = listener.accept()
    while part := peer.recv(1 << 16):
        peer.sendall(part)
"""
server = subprocess.Popen([*there, sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
assert server.stdout.readline() == "listens\\n"
client = socket.create_connection(("10.9.0.2", 7))
sent, back, stop = hashlib.sha256(), hashlib.sha256(), threading.Event()
counted = [0, 0]

def send():
    number = 0
    while not stop.is_set():
        number += 1
        block = number.to_bytes(8, "big") * 8192
        time.sleep(0.002)  # the machine has other things to do
        client.sendall(block)
        sent.update(block)
        counted[0] += len(block)
    client.shutdown(socket.SHUT_WR)

def receive():
    while part := client.recv(1 << 16):
        back.update(part)
        counted[1] += len(part)

threads = [threading.Thread(target=send, daemon=True), threading.Thread(target=receive, daemon=True)]
for thread in threads:
    thread.start()

def grows():
    before = counted[1]
    eventually(lambda: counted[1] > before + 500_000)

grows()
'''
"""One TCP echo connection; the digests differ unless both directions are complete and in order."""

ENDS = """
stop.set()
for thread in threads:
    thread.join(60)
assert not any(thread.is_alive() for thread in threads)
assert sent.digest() == back.digest() and counted[0] == counted[1]
peer.kill()
"""


def run(folder: Path, *parts: str) -> None:
    done = alone(PRELUDE.format(folder=str(folder)) + "".join(parts))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_hooks
def test_an_interface_with_live_tcp_is_as_before_at_the_end(tmp_path: Path) -> None:
    body = """
before = host_state()
wait = ("sh", "-c", "until [ -e enough ]; do sleep 0.1; done")
started = attached("link", "--attach", "a0", "--rate", "20mbit", "--aqm", "codel", "--log", "log", "--", *wait)
eventually(lambda: all(Path(f"log/{side}.records").stat().st_size > 50_000 for side in ("up", "down")))
Path("enough").touch()
assert started.wait(60) == 0, started.stderr.read()
grows()
is_as(before)
told = json.loads(Path("log/shell.json").read_text())
for side in ("up", "down"):
    # No more than the link's rate can have passed.
    assert 300 < told[side]["departed"]["packets"]
    assert told[side]["departed"]["bytes"] * 8 < 20e6 * told["wall_ns"] / 1e9
    assert told[side]["malformed"] == 0
links = load(Path("log")).totals["emulation"]["links"]
assert all(link["agreeing"] == link["replayed"] > 300 for link in links.values()), links
"""
    run(tmp_path, ECHO, body, ENDS)


@needs_hooks
@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_an_interface_is_restored_after_the_shell_is_terminated_or_killed(tmp_path: Path, signal: str) -> None:
    body = f"""
before = host_state()
started = attached("link", "--attach", "a0", "--up", "8mbit", "--down", "9mbit", "--quiet")
grows()
os.kill(started.pid, signal.{signal})
code = started.wait(60)
assert code == (-9 if "{signal}" == "SIGKILL" else 0), started.stderr.read()
is_as(before)
grows()
"""
    run(tmp_path, ECHO, body, ENDS)


@needs_hooks
def test_frames_that_are_large_tagged_or_not_ip_pass(tmp_path: Path) -> None:
    body = '''
for name, at in (("a0", ()), ("b0", there)):
    ip("link", "set", name, "mtu", "9000", at=at)
LISTEN = """
import socket, struct, sys
# Of all kinds: the kernel removes a tag without a device before other listeners see the frame.
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as port:
    port.bind((sys.argv[1], 3))
    port.setsockopt(263, 8, 1)  # PACKET_AUXDATA
    print("listens", flush=True)
    heard = 0
    while heard < int(sys.argv[2]):
        frame, control, _, address = port.recvmsg(10000, 100)
        if frame[12:14] == bytes.fromhex("88b5") and address[2] != socket.PACKET_OUTGOING:
            tag = [struct.unpack("IIIHHHH", data)[5] for _, kind, data in control if kind == 8]
            print(len(frame), tag[0], frame[-1], flush=True)
            heard += 1
"""
SEND = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
    port.bind((sys.argv[1], 0))
    addresses = bytes.fromhex(sys.argv[2] + "020000000001")
    port.send(addresses + bytes.fromhex("88b5") + bytes(8000) + b"\\\\x01")
    port.send(addresses + bytes.fromhex("8100" "0007" "88b5") + bytes(100) + b"\\\\x02")
"""
def mac(name, at=()):
    told = subprocess.run([*at, "ip", "-json", "link", "show", name], capture_output=True, text=True, check=True).stdout
    return json.loads(told)[0]["address"].replace(":", "")

ways = (("a0", (), "b0", there), ("b0", there, "a0", ()))
for number, (source, source_at, target, target_at) in enumerate(ways):
    # At the interface itself, whoever listens to everything hears what comes in before the shell and after it.
    copies = 1 + (target == "a0")
    options = ("--mtu", "9000B", "--log", f"log{number}", "--quiet")
    started = attached("link", "--attach", "a0", "--rate", "50mbit", *options)
    listening = subprocess.Popen(
        [*target_at, sys.executable, "-c", LISTEN, target, str(2 * copies)], stdout=subprocess.PIPE, text=True
    )
    assert listening.stdout.readline() == "listens\\n"
    subprocess.run([*source_at, sys.executable, "-c", SEND, source, mac(target, target_at)], check=True)
    heard = sorted(listening.stdout.readline().strip() for _ in range(2 * copies))
    assert heard == sorted(["8015 0 1", "115 7 2"] * copies), heard
    # Also IP that fills a large frame, without fragments.
    if number == 0:
        large = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        large.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: never a fragment
        taking = [*there, sys.executable, "-c", """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
    port.bind(("10.9.0.2", 99))
    print("listens", flush=True)
    print(len(port.recv(10000)), flush=True)
"""]
        taker = subprocess.Popen(taking, stdout=subprocess.PIPE, text=True)
        assert taker.stdout.readline() == "listens\\n"
        large.sendto(bytes(8972), ("10.9.0.2", 99))
        assert taker.stdout.readline() == "8972\\n"
    os.kill(started.pid, signal.SIGTERM)
    assert started.wait(60) == 0
    told = json.loads(Path(f"log{number}/shell.json").read_text())
    assert told["up"]["malformed"] == told["down"]["malformed"] == 0
    assert told["up" if number == 0 else "down"]["arrived"]["bytes"] > 8000
peer.kill()
'''
    run(tmp_path, body)


@needs_hooks
def test_an_interface_in_another_namespace_and_refused_options(tmp_path: Path) -> None:
    body = """
ASK = '''
import socket, time
with socket.socket() as client:
    begun = time.monotonic()
    try:
        client.connect(("10.9.0.2", 9))
    except ConnectionRefusedError:
        print(time.monotonic() - begun >= 0.06)
'''
there_too = ("--attach", "b0", "--netns", peer.pid, "--quiet")
done = shell("delay", "30ms", *there_too, "--", sys.executable, "-c", ASK)
assert (done.returncode, done.stdout) == (0, "True\\n"), done
started = attached("link", "--attach", "a0", "--rate", "50mbit", "--quiet")
for words, code, error in (
    (["--attach", "a0"], 2, "--attach a0: another shell is attached to it; change that one (sojourn ctl)"),
    (["--attach", "a7"], 2, '--attach: no interface "a7"; see `ip link`'),
    (["--attach", "b0", "--netns", "nowhere"], 2, "--netns /run/netns/nowhere: "),
    (["--netns", "1"], 2, "--netns: needs --attach INTERFACE"),
    (["--attach", "a0", "--peer", "true"], 2, "--peer: not with --attach, as the peer is already there"),
):
    done = shell("link", "--rate", "1mbit", *words, "--", "true")
    assert done.returncode == code and done.stderr.startswith("Error: " + error), (words, done.stderr)
told = shell("ctl", f"at-{os.getpid()}", "rate", "1mbit")
assert told.returncode == 0, told.stderr
started.terminate()
assert started.wait(60) == 0
peer.kill()
"""
    run(tmp_path, body)


@needs_hooks
def test_a_command_that_cannot_start_leaves_no_hooks(process: Process, tmp_path: Path) -> None:
    body = """
before = host_state()
done = shell("link", "--attach", "a0", "--rate", "1mbit", "--", "no-such-program")
assert done.returncode == 127, (done.returncode, done.stderr)
is_as(before)
assert shell("link", "--attach", "a0", "--rate", "1mbit", "--", "sh", "-c", "exit 5").returncode == 5
peer.kill()
"""
    run(tmp_path, body)
