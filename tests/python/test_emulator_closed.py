"""Closed shells (`--peer`, `--isolated`): programs inside reach the other end, or nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shells import needs_shells, python, shell

pytestmark = needs_shells

FETCH = """
import os, socket, sys
for host, port in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        with socket.create_connection((os.environ.get(host, host), int(port)), 20) as connection:
            print(connection.recv(9).decode(), end=" ")
    except OSError as error:
        print(type(error).__name__, end=" ")
"""
"""Prints what answers at each host (or variable with one) and port, or the error."""
SERVE = "import socket; s = socket.create_server(('', 7)); c, _ = s.accept(); c.sendall(b'peer'); s.accept()"


@pytest.fixture
def server() -> Iterator[int]:
    """Port of this machine that says `machine` to every client."""
    with socket.create_server(("", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.sendall(b"machine")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def fetched(*words: object, hosts: list[object]) -> list[str]:
    done = shell("delay", "0s", *words, "--", *python(FETCH), *hosts)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_port_at_which_the_peer_does_not_listen_is_not_the_machine_s(server: int) -> None:
    ask = ["SOJOURN_HOST", server, "SOJOURN_HOST6", server]
    assert fetched(hosts=["SOJOURN_HOST", server]) == ["machine"]
    assert fetched("--peer", "sleep 100", hosts=ask) == ["ConnectionRefusedError"] * 2
    assert fetched("--isolated", hosts=ask) == ["ConnectionRefusedError"] * 2


def test_the_peer_answers() -> None:
    code = (
        "import time, socket, os\n"
        + """
for _ in range(600):
    try: connection = socket.create_connection((os.environ["SOJOURN_HOST"], 7)); break
    except ConnectionRefusedError: time.sleep(0.05)
print(connection.recv(9))
"""
    )
    done = shell("delay", "0s", "--peer", f'{sys.executable} -c "{SERVE}"', "--", *python(code))
    assert done.stdout == "b'peer'\n", done.stderr


@pytest.mark.parametrize("option", ["--peer", "--isolated"])
def test_other_hosts_are_refused_at_once_and_counted(option: str, tmp_path: Path) -> None:
    words = ["--peer", "sleep 100"] if option == "--peer" else ["--isolated"]
    log = tmp_path / "log"
    hosts: list[object] = ["192.0.2.1", 443, "192.0.2.1", 443, "192.0.2.2", 80, "www.example.org", 80]
    answers = fetched(*words, "--log", log, hosts=hosts)
    assert answers[:3] == ["OSError"] * 3
    assert answers[3] == "gaierror"
    refused = json.loads((log / "shell.json").read_text())["refused"]
    tcp = {(one["address"], one["port"]): one["packets"] for one in refused["destinations"] if one["protocol"] == "TCP"}
    assert tcp == {("192.0.2.1", 443): 2, ("192.0.2.2", 80): 1}
    # The name server of a closed shell is its outer end, so no query leaves either.
    assert refused["packets"] == 3


def test_a_shell_in_a_closed_one_is_closed_too(server: int) -> None:
    inner = [sys.executable, "-m", "sojourn", "delay", "0s", "--quiet", "--", *python(FETCH)]
    done = shell("delay", "0s", "--isolated", "--quiet", "--", *inner, "SOJOURN_HOST", server, "192.0.2.1", 80)
    assert done.stdout.split() == ["ConnectionRefusedError", "OSError"], done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a machine other hosts")
def test_a_line_of_the_machine_s_hosts_does_not_beat_a_name_of_the_shell(tmp_path: Path) -> None:
    hosts, switch = tmp_path / "hosts", tmp_path / "nsswitch.conf"
    hosts.write_text("127.0.0.1 localhost\n192.0.2.7 www.test other.test\n192.0.2.8 WWW.test\n")
    switch.write_text("hosts: nosuchsource [!UNAVAIL=return] files\n")
    binds = f"mount --bind {hosts} /etc/hosts"
    if Path("/etc/nsswitch.conf").exists():
        binds += f" && mount --bind {switch} /etc/nsswitch.conf"
    code = """
import os, socket
addresses = {each[4][0] for each in socket.getaddrinfo("www.test", 80)}
print(addresses <= {os.environ["SOJOURN_HOST"], os.environ["SOJOURN_HOST6"]}, open("/etc/hosts").read().split()[-1])
"""
    words = [sys.executable, "-m", "sojourn", "delay", "0s", "--quiet", "--host", "www.test", "--", *python(code)]
    command = ["unshare", "-m", "sh", "-c", f'{binds} && exec "$@"', "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "True other.test\n", done.stderr
