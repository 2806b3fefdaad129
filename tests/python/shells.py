"""Common code of the emulator's tests: whether shells are possible, and running them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TUN = Path("/dev/net/tun")
PROBE = """
import fcntl, os, struct
fcntl.ioctl(os.open("/dev/net/tun", os.O_RDWR), 0x400454CA, struct.pack("16sH14x", b"probe%d", 0x1001))
"""
"""Creates a device (TUNSETIFF) independently, to distinguish a fault of the emulator from a missing permission."""


@functools.cache
def missing() -> str:
    """Reason why no shell can run here; empty if one can.

    If a device can be created at all, everything else is the emulator's responsibility, and tests must pass.
    """
    if sys.platform != "linux":
        return "not Linux"
    if not TUN.exists():
        return f"{TUN} is absent"
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as error:
        return f"{TUN}: {error.strerror}"
    unshare = ["unshare", "-n" if os.geteuid() == 0 else "-Urn"]
    try:
        made = subprocess.run([*unshare, sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return f"{TUN}: {made.stderr.strip().splitlines()[-1]}" if made.returncode else ""


needs_shells = pytest.mark.skipif(bool(missing()), reason=f"no shells: {missing()}")


def shell(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `sojourn WORDS`, with a generous timeout."""
    command = [sys.executable, "-m", "sojourn", *(str(word) for word in words)]
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run(command, check=False, **options)


WITHOUT_NET_ADMIN = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"] if os.geteuid() == 0 else []
"""Prefix of a shell whose outer end is in a network namespace of its own, as a user's: this machine lies beyond the
gateway."""


def private_shell(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `sojourn WORDS` with an outer end in a network namespace of its own."""
    command = [*WITHOUT_NET_ADMIN, sys.executable, "-m", "sojourn", *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def python(code: str) -> list[str]:
    """Command that runs `code` in Python."""
    return [sys.executable, "-c", code]


def alone(code: str, *unshared: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a separate network namespace, which no other process changes."""
    unshare = ["unshare", "-n" if os.geteuid() == 0 else "-Urn", *unshared]
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    command = [*unshare, "sh", "-c", 'ip link set lo up; exec "$@"', "sh", sys.executable, "-c", start + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@contextlib.contextmanager
def others() -> Iterator[None]:
    """Other users of the machine: a shell with traffic, and as root a named network namespace."""
    name = f"beside-{os.getpid()}"
    code = """
import os, socket, time
plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    plug.sendto(b"x" * 500, (os.environ["SOJOURN_HOST"], 9))
    time.sleep(0.002)
"""
    command = [sys.executable, "-m", "sojourn", "link", "--rate", "9mbit", "--aqm", "pie", "--name", name, "--quiet"]
    with subprocess.Popen([*command, "--", *python(code)], stdout=subprocess.PIPE, text=True) as link:
        try:
            assert link.stdout is not None and link.stdout.readline() == "ready\n"
            named = os.geteuid() == 0 and subprocess.run(["ip", "netns", "add", name], check=False).returncode == 0
            try:
                yield
            finally:
                if named:
                    subprocess.run(["ip", "netns", "delete", name], check=True)
        finally:
            link.kill()


def host_state() -> dict[str, Any]:
    """State that shells must not change: addresses, routes, rules, firewall, sysctls of the network."""
    commands = {
        "links": ["ip", "-json", "link"],
        "addresses": ["ip", "-json", "address"],
        "routes": ["ip", "-json", "route", "show", "table", "all"],
        "routes6": ["ip", "-json", "-6", "route", "show", "table", "all"],
        "rules": ["ip", "-json", "rule"],
        "iptables": ["iptables-save"],
        "nft": ["nft", "list", "ruleset"],
    }
    state: dict[str, Any] = {}
    for name, command in commands.items():
        try:
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            continue
        state[name] = _without_counters(json.loads(text)) if "-json" in command and text else text
    # The only state that is global instead of per network namespace; other processes may add names.
    state["namespaces"] = sorted(path.name for path in Path("/run/netns").glob("sojourn*"))
    # Not `rglob`: `os.walk` ignores interfaces that disappear meanwhile.
    for folder, _, names in os.walk("/proc/sys/net"):
        # Exclude counters and measurements.
        for name in set(names) - {"nf_conntrack_count", "tcp_mem", "udp_mem"}:
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                state[str(path)] = path.read_text()
    return state


def _without_counters(found: Any) -> Any:
    drop = {"valid_life_time", "preferred_life_time", "expires", "stats64"}
    if isinstance(found, list):
        return [_without_counters(item) for item in found]
    if isinstance(found, dict):
        return {key: _without_counters(value) for key, value in found.items() if key not in drop}
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def eventually(happened: Callable[[], bool]) -> None:
    """Wait for an asynchronous action of the kernel."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)
