"""Shells: a program behind an emulated path, without changes to the machine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from shells import alive, alone, eventually, needs_shells, others, private_shell, python, shell

pytestmark = needs_shells

LONG_S = 60
"""Timeout that is reached only by a hang."""


@pytest.fixture
def server() -> Iterator[int]:
    """Port of an echo server on this machine, for TCP and UDP."""
    tcp = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("", port))

    def echo(connection: socket.socket) -> None:
        # A connection may end in the middle, with its shell.
        with connection, suppress(OSError):
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = tcp.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    def answer() -> None:
        while True:
            try:
                data, sender = udp.recvfrom(1 << 16)
                udp.sendto(data, sender)
            except OSError:
                return

    for work in (accept, answer):
        threading.Thread(target=work, daemon=True).start()
    yield port
    for listening in (tcp, udp):
        listening.shutdown(socket.SHUT_RDWR) if listening is tcp else None
        listening.close()


def test_a_delay_delays(server: int) -> None:
    code = f"""
import os, socket, time
s = socket.create_connection((os.environ["SOJOURN_HOST"], {server}))
began = time.monotonic()
s.sendall(b"x"); s.recv(1)
print((time.monotonic() - began) * 1e3)
"""
    done = shell("delay", "--up", "30ms", "--down", "50ms", "--", *python(code))
    assert done.returncode == 0, done.stderr
    # A busy machine is late, never early.
    assert float(done.stdout) >= 80


@pytest.mark.parametrize("family", ["SOJOURN_HOST", "SOJOURN_HOST6"])
def test_bytes_pass_unchanged(server: int, family: str) -> None:
    code = f"""
import os, socket, threading, hashlib
s = socket.create_connection((os.environ["{family}"], {server}))
data = os.urandom(1 << 16) * 20
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
got = b"".join(iter(lambda: s.recv(1 << 16), b""))
print(got == data, len(got))
"""
    for words in (["link", "--rate", "200mbit", "--aqm", "fq_codel"], ["delay", "1ms"], ["loss", "1%"]):
        done = shell(*words, "--", *python(code))
        assert done.stdout.split() == ["True", str(20 << 16)], (words, done.stderr)


def test_datagrams_pass_with_their_ecn_field(server: int) -> None:
    code = f"""
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
s.settimeout(60)
s.connect((os.environ["SOJOURN_HOST"], {server}))
for size in (0, 1, 1472, 1400):
    s.send(bytes(size))
    assert len(s.recv(2000)) == size
print("all")
"""
    done = shell("link", "--rate", "10mbit", "--aqm", "codel ecn", "--", *python(code))
    assert done.stdout.strip() == "all", done.stderr


def test_shells_lie_inside_each_other_in_any_order(server: int) -> None:
    code = f"""
import os, socket
s = socket.create_connection((os.environ["SOJOURN_HOST"], {server}))
s.sendall(b"hello"); print(s.recv(5), os.environ["SOJOURN_SHELL"])
"""
    me = [sys.executable, "-m", "sojourn"]
    kinds = {"link": ["link", "--rate", "50mbit"], "delay": ["delay", "5ms"], "loss": ["loss", "0"]}
    for order in (["link", "delay", "loss"], ["loss", "delay", "link"], ["delay", "delay", "delay"]):
        first, second, third = (kinds[kind] for kind in order)
        done = shell(*first, "--", *me, *second, "--", *me, *third, "--", *python(code))
        assert done.stdout.split() == ["b'hello'", *order], done.stderr


def test_too_many_shells_are_refused_in_one_line() -> None:
    words: list[str] = []
    for _ in range(40):
        words += [sys.executable, "-m", "sojourn", "delay", "0s", "--"]
    done = shell("delay", "0s", "--", *words, "true")
    assert done.returncode == 3
    assert done.stderr.strip().splitlines()[0].startswith("Error: already nested in 32 shells, the maximum")


def test_both_ends_of_a_link_hold_programs_behind_delays_of_their_own(tmp_path: Path) -> None:
    where = tmp_path / "address"
    serve = f"""
import os, pathlib, socket
listening = socket.create_server((os.environ["SOJOURN_INSIDE"], 0))
new = pathlib.Path({str(where)!r} + ".new")
new.write_text(" ".join(map(str, listening.getsockname())))
new.rename({str(where)!r})
while True:
    connection, _ = listening.accept()
    connection.sendall(connection.recv(10)); connection.close()
"""
    ask = f"""
import pathlib, socket, time
where = pathlib.Path({str(where)!r})
while not where.exists(): time.sleep(0.01)
host, port = where.read_text().split()
s = socket.create_connection((host, int(port)))
began = time.monotonic()
s.sendall(b"x"); assert s.recv(1) == b"x"
print((time.monotonic() - began) * 1e3)
"""
    script = tmp_path / "serve.py"
    script.write_text(serve)
    # Two shells on each side: with equal addresses packets would bypass a link.
    me = f"{sys.executable} -m sojourn"
    peer = f"{me} delay 15ms -- {me} delay 5ms -- {sys.executable} {script}"
    inner = [*me.split(), "delay", "6ms", "--", *me.split(), "delay", "4ms", "--", *python(ask)]
    done = shell("link", "--rate", "10mbit", "--peer", peer, "--", *inner)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) >= 60


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_the_exit_of_the_command_ends_the_shell(code: str, status: int) -> None:
    assert shell("delay", "0s", "--", *python(code)).returncode == status


def test_a_command_that_cannot_start() -> None:
    done = shell("delay", "0s", "--", "no-such-program")
    assert done.returncode == 127
    assert done.stderr.startswith("Error: no-such-program: No such file or directory")
    done = shell("delay", "0s", "--", "/etc/passwd")
    assert done.returncode == 126
    assert "Permission denied" in done.stderr


def test_signals_reach_the_command() -> None:
    code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print("ready", flush=True)
signal.pause()
"""
    with start("delay", "0s", "--", *python(code)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(LONG_S) == 9


def test_background_processes_of_the_command_are_ended(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    code = f"""
import os, pathlib, time
for daemon in (False, True):
    if os.fork() == 0:
        if daemon:
            os.setsid()
            if os.fork(): os._exit(0)
        with open({str(numbers)!r}, "a") as file: file.write(f"{{os.getpid()}}\\n")
        time.sleep(1000)
while len(pathlib.Path({str(numbers)!r}).read_text().split() if os.path.exists({str(numbers)!r}) else []) < 2:
    time.sleep(0.01)
"""
    assert shell("delay", "0s", "--", *python(code)).returncode == 0
    pids = [int(line) for line in numbers.read_text().split()]
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_a_killed_shell_leaves_nothing(tmp_path: Path) -> None:
    """Only its own traces are checked, not changes by other processes."""
    numbers = tmp_path / "numbers"
    inside = f"""
import os, time
if os.fork() == 0: os.setsid()
with open({str(numbers)!r}, "a") as file: file.write(f"{{os.getpid()}}\\n")
time.sleep(1000)
"""
    code = f"""
import pathlib, subprocess
from shells import alive, eventually, host_state
numbers = pathlib.Path({str(numbers)!r})
before = host_state()
(numbers.parent / "seen").touch()
eventually((numbers.parent / "go on").exists)
command = [sys.executable, "-m", "sojourn", "delay", "0s", "--", sys.executable, "-c", {inside!r}]
with subprocess.Popen(command) as process:
    eventually(lambda: numbers.exists() and len(numbers.read_text().split()) == 2)
    assert host_state() != before
    process.kill()
eventually(lambda: not any(alive(int(pid)) for pid in numbers.read_text().split()))
eventually(lambda: host_state() == before)
print("nothing")
"""
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(alone, code)
        eventually(lambda: (tmp_path / "seen").exists() or killing.done())
        with others():
            (tmp_path / "go on").touch()
            done = killing.result()
    assert done.stdout == "nothing\n", done.stderr


def test_nothing_outside_is_touched() -> None:
    done = alone("""
import socket
from shells import host_state, shell
server = socket.create_server(("", 0))
code = f"import os, socket; socket.create_connection((os.environ['SOJOURN_HOST'], {server.getsockname()[1]}))"
before = host_state()
me = [sys.executable, "-m", "sojourn"]
for words in (["link", "--rate", "10mbit"], ["loss", "0", *me, "delay", "1ms"]):
    done = shell(*words, "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
done = shell("delay", "1ms", "--peer", "true", "--host", "www.test", "--", "true")
assert done.returncode == 0, done.stderr
after = host_state()
print(len(before) > 100, sorted(key for key in before | after if before.get(key) != after.get(key)))
""")
    assert done.stdout == "True []\n", done.stderr


def test_a_refusal_outside_is_one_inside() -> None:
    # No server listens there; a private outer end reaches this machine through the gateway.
    code = """
import os, socket
try: socket.create_connection((os.environ["SOJOURN_HOST"], 9), 60)
except ConnectionRefusedError: print("refused")
"""
    for run in (shell, private_shell):
        assert run("delay", "1ms", "--", *python(code)).stdout == "refused\n"


@pytest.mark.parametrize(
    ("family", "kind", "host"),
    [
        ("AF_INET", "SOCK_STREAM", "SOJOURN_HOST"),
        ("AF_INET", "SOCK_DGRAM", "SOJOURN_HOST"),
        ("AF_INET6", "SOCK_STREAM", "SOJOURN_HOST6"),
    ],
)
def test_the_gateway_carries_on(server: int, family: str, kind: str, host: str) -> None:
    # With a private outer end this machine itself is beyond the gateway.
    code = f"""
import os, socket
s = socket.socket(socket.{family}, socket.{kind})
s.settimeout(60)
s.connect((os.environ["{host}"], {server}))
got = b""
for i in range(50):
    data = bytes([i]) * 1000
    s.sendall(data)
    while len(got) < 1000 * (i + 1): got += s.recv(1000)
    assert got[-1000:] == data
print("all")
"""
    done = private_shell("delay", "1ms", "--", *python(code))
    assert done.stdout == "all\n", done.stderr


def test_a_large_transfer_passes_the_gateway_whole(server: int) -> None:
    code = f"""
import os, socket, threading
s = socket.create_connection((os.environ["SOJOURN_HOST"], {server}))
data = os.urandom(1 << 16) * 80
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
got = b"".join(iter(lambda: s.recv(1 << 16), b""))
print(got == data)
"""
    done = private_shell("delay", "1ms", "--", *python(code))
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a machine another name server")
def test_names_are_resolved_where_the_name_server_is_at_a_loopback_address(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.53\noptions timeout:20\n")
    # A DNS server that answers every query with 192.0.2.7.
    code = f"""
import os, socket, struct, subprocess, threading
from shells import shell
subprocess.run(["mount", "--bind", {str(tmp_path / "resolv.conf")!r}, "/etc/resolv.conf"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.53", 53))
def answer():
    while True:
        asked, sender = server.recvfrom(512)
        question = asked[12:asked.index(0, 12) + 5]
        address = struct.pack("!HHHIH4B", 0xC00C, 1, 1, 60, 4, 192, 0, 2, 7)
        server.sendto(asked[:2] + struct.pack("!5H", 0x8180, 1, 1, 0, 0) + question + address, sender)
threading.Thread(target=answer, daemon=True).start()
inside = "import socket; print(socket.gethostbyname('far.example'), open('/etc/resolv.conf').read())"
done = shell("delay", "1ms", "--quiet", "--", sys.executable, "-c", inside)
print(done.stdout + done.stderr, end="", flush=True)
assert open("/etc/resolv.conf").readline() == "nameserver 127.0.0.53\\n"
"""
    done = alone(code, "-m")
    found = done.stdout.split()
    assert found == ["192.0.2.7", "options", "timeout:20", "nameserver", "100.64.0.252"], done.stdout + done.stderr


def test_many_short_connections(server: int) -> None:
    code = f"""
import os, socket
host = os.environ["SOJOURN_HOST"]
for i in range(2000):
    with socket.create_connection((host, {server})) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
        s.sendall(b"x"); assert s.recv(1) == b"x"
print("all")
"""
    done = shell("link", "--rate", "1gbit", "--", *python(code))
    assert done.stdout == "all\n", done.stderr


def test_the_congestion_control_is_chosen_at_both_ends() -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    with socket.create_server(("", 0)) as listening:
        port = listening.getsockname()[1]
        code = f"""
import os, socket
s = socket.create_connection((os.environ["SOJOURN_HOST"], {port}))
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode(), flush=True)
s.recv(1)
"""
        me = [sys.executable, "-m", "sojourn", "delay", "0s", "--"]
        for name in known:
            for inner in ([], me):
                with start("delay", "0s", "--cc", name, "--", *inner, *python(code)) as process:
                    connection, _ = listening.accept()
                    option = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                    connection.close()
                    reported, _ = process.communicate(timeout=LONG_S)
                assert option.rstrip(b"\0").decode() == name
                assert inner or reported.strip() == name
    done = shell("delay", "0s", "--cc", "no-such", "--", "true")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: --cc no-such: this kernel has no such congestion control; it has ")


def test_out_of_descriptors() -> None:
    limited = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))
os.execv(sys.argv[1], sys.argv[1:])
"""
    command = [sys.executable, "-c", limited, sys.executable, "-m", "sojourn", "delay", "0s", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert done.returncode == 3, done.stderr
    assert "raise the limit on open files (ulimit -n)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take rights away")
def test_no_device_and_no_permission(tmp_path: Path) -> None:
    hide = "mount -t tmpfs none /dev/net"
    for prepare, reported in [
        # The remedy depends on whether this machine is a container (test_doctor.py).
        (hide, "/dev/net/tun: No such file or directory (os error 2); "),
        (f"{hide} && touch /dev/net/tun && chmod 0 /dev/net/tun", "/dev/net/tun: "),
    ]:
        script = f'{prepare} && exec "$@"'
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if "chmod" in prepare else []
        command = ["unshare", "-m", "sh", "-c", script, "sh", *user, sys.executable, "-m", "sojourn"]
        done = subprocess.run(
            [*command, "delay", "0s", "--", "true"], capture_output=True, text=True, timeout=LONG_S, check=False
        )
        assert done.returncode == 3, done.stderr
        assert done.stderr.startswith(f"Error: {reported}")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
@pytest.mark.parametrize("mode", ["600", "666"])
def test_doctor_reports_to_root_whether_users_have_shells(mode: str) -> None:
    make = f"mount -t tmpfs -o mode=755 none /dev/net && mknod /dev/net/tun c 10 200 && chmod {mode} /dev/net/tun"
    script = f'{make} && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-m", "sojourn", "doctor", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG_S, check=True)
    users = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "unprivileged")
    if mode == "600":
        assert users["remedy"] == "let users open /dev/net/tun (chmod 666 /dev/net/tun)"
    else:
        assert users["ok"] or "user namespaces" in users["remedy"]


OPEN_FOR_ALL = """
mount -t tmpfs none /dev/net && mknod /dev/net/tun c 10 200 && chmod 666 /dev/net/tun || exit 90
aside=$1; closed=$2; shift 2
if [ -n "$closed" ]; then
    mount --rbind "$closed" "$aside" && mount -t tmpfs -o mode=755 none "$closed" || exit 91
    for entry in "$aside"/* "$aside"/.[!.]*; do
        [ -d "$entry" ] || continue
        mkdir "$closed/${entry##*/}" && mount --rbind "$entry" "$closed/${entry##*/}" || exit 92
    done
fi
exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
"""
"""In a mount namespace: all users may open the device and reach the interpreter, even below root's home."""


def test_users_have_shells_too(server: int, tmp_path: Path) -> None:
    code = f"""
import os, socket
s = socket.create_connection((os.environ["SOJOURN_HOST"], {server}), 60)
s.sendall(b"hello"); print(s.recv(5), os.getuid(), os.environ["SOJOURN_SHELL"])
"""
    me = [sys.executable, "-m", "sojourn"]
    words = [*me, "delay", "1ms", "--", *me, "link", "--rate", "10mbit", "--", *python(code)]
    user = os.getuid()
    if user == 0:
        user = 65534
        aside = tmp_path / "aside"
        aside.mkdir()
        parents = Path(sys.executable).resolve().parents
        closed = [str(folder) for folder in parents if not folder.stat().st_mode & 1]
        words = ["unshare", "-m", "sh", "-c", OPEN_FOR_ALL, "sh", str(aside), closed[-1] if closed else "", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG_S, check=False, cwd="/")
    if "lets users make user namespaces" in done.stderr:
        pytest.skip("the kernel lets users make no user namespaces")
    assert done.stdout == f"b'hello' {user} delay link\n", done.stderr


def test_mahimahi_s_names(server: int, tmp_path: Path) -> None:
    trace = tmp_path / "12mbit.trace"
    trace.write_text("1\n")
    code = f"""
import os, socket
s = socket.create_connection((os.environ["MAHIMAHI_BASE"], {server}))
s.sendall(b"hello"); print(s.recv(5))
"""
    me = [sys.executable, "-m", "sojourn"]
    link = ["mm-link", trace, trace, "--uplink-queue=codel", "--uplink-queue-args=packets=100, target=5, interval=100"]
    done = shell(*link, "--", *me, "mm-delay", "5", *me, "mm-loss", "uplink", "0", *python(code))
    assert done.stdout == "b'hello'\n", done.stderr
    done = shell("mm-onoff", "downlink", "1000", "0", *python(code))
    assert done.stdout == "b'hello'\n", done.stderr
    done = shell("mm-intermittent", "uplink", "1000", "1", *python(code))
    assert done.stdout == "b'hello'\n", done.stderr


def test_a_meter_shows_the_requested_direction_and_number() -> None:
    done = shell("mm-meter", "-d", "--meter-uplink-delay", "sleep", "2.5")
    lines = done.stderr.splitlines()
    assert lines, "no line in 2.5 s"
    assert all(re.fullmatch(r"mm-meter  up +\S+ ms  down +\S+ Mbit/s .* marked", line) for line in lines), lines


def test_a_shell_loads_nothing_that_it_does_not_need() -> None:
    """Start-up is fast because few modules are imported; docs/emulator/measured.md has its CPU time."""
    command = [sys.executable, "-X", "importtime", "-m", "sojourn", "delay", "0s", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=True)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "sojourn" in loaded
    assert not loaded & {"asyncio", "click", "json", "matplotlib", "numpy", "polars", "rich", "scipy"}


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sojourn", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
