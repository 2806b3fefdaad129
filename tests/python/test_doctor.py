"""`sojourn doctor` in restricted set-ups: each command works exactly if doctor says so, and the remedies apply."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Cli
from shells import needs_shells

ME = [sys.executable, "-m", "sojourn"]
UNPREPARED = 90
"""Exit code of a set-up that this machine cannot make."""
DEVICE = "mount -t tmpfs -o mode=755 none /dev/net && mknod /dev/net/tun c 10 200 && chmod {mode} /dev/net/tun"
NO_DEVICE = "mount -t tmpfs none /dev/net"
USER = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all"
CONTAINER = (
    "chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,"
    "+audit_write,+setfcap"
)
"""Capabilities of a container by default (containers/common, moby)."""


class SetUp(NamedTuple):
    """Surroundings of a command."""

    prepare: str = "true"
    """Steps of root's in a mount and a network namespace."""
    prefix: str = ""
    """Command that restricts the rest."""
    possible: bool | None = None
    """Whether shells are possible; None if that depends on the machine."""
    remedy: str = ""
    """Pattern in the remedy if they are not; this machine may be a container itself."""
    is_root: bool = True


def without(*names: str) -> str:
    """Prefix that drops capabilities."""
    names = tuple(f"-{name}" for name in names)
    return f"setpriv --inh-caps {','.join(names)} --bounding-set {','.join(names)}"


SETUPS = {
    "root": SetUp(possible=True),
    "no device": SetUp(NO_DEVICE, possible=False, remedy="modprobe tun|--device /dev/net/tun"),
    "no device, in a container": SetUp(NO_DEVICE, "env container=podman", False, "--device /dev/net/tun"),
    "no device, as a user": SetUp(NO_DEVICE, USER, False, "sudo modprobe tun|--device /dev/net/tun", False),
    "a user, device 0600": SetUp(DEVICE.format(mode=600), USER, False, "chmod 666 /dev/net/tun", False),
    "a user, device 0666": SetUp(DEVICE.format(mode=666), USER, is_root=False),
    "without CAP_NET_ADMIN": SetUp(prefix=without("net_admin")),
    "without CAP_SYS_ADMIN": SetUp(prefix=without("sys_admin")),
    "without CAP_BPF": SetUp(prefix=without("bpf", "sys_admin")),
    "capabilities of a container": SetUp(
        prefix=f"env container=docker setpriv --inh-caps=-all --bounding-set=-all,+{CONTAINER}"
    ),
    "no capability, device 0600": SetUp(
        DEVICE.format(mode=600) + " && chown 1:1 /dev/net/tun",
        without("all"),
        False,
        "let this root open it|--device /dev/net/tun",
    ),
    "no user namespaces": SetUp(
        DEVICE.format(mode=666),
        "unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \"$@\"' sh",
        False,
        "sysctl -w user.max_user_namespaces=10000",
    ),
    "read-only /sys": SetUp("mount --rbind /sys /sys && mount -o remount,bind,ro /sys", possible=True),
    "read-only /proc/sys": SetUp("mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys"),
}
COMMANDS = {
    "link, delay, loss": ["delay", "0s"],
    "--peer, --isolated, run --engine emulate": ["delay", "0s", "--isolated"],
    "--host": ["delay", "0s", "--host", "www.test"],
    "--attach": ["link", "--rate", "1gbit", "--attach", "lo"],
}
"""Commands of rows."""
OPENED = """
aside=$1; closed=$2; shift 2
if [ -n "$closed" ]; then
    mount --rbind "$closed" "$aside" && mount -t tmpfs -o mode=755 none "$closed" || exit 90
    for entry in "$aside"/* "$aside"/.[!.]*; do
        [ -d "$entry" ] || continue
        mkdir "$closed/${entry##*/}" && mount --rbind "$entry" "$closed/${entry##*/}" || exit 90
    done
fi
"""
"""Lets all users reach the interpreter, even below root's home."""


def within(name: str, aside: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `sojourn WORDS` in a set-up."""
    setup = SETUPS[name]
    closed = [str(folder) for folder in Path(sys.executable).resolve().parents if not folder.stat().st_mode & 1]
    script = f'{OPENED} {{ ip link set lo up && {setup.prepare}; }} || exit {UNPREPARED}; exec {setup.prefix} "$@"'
    command = ["unshare", "-mn", "sh", "-c", script, "sh", str(aside), closed[-1] if closed else "", *ME, *words]
    environment = {key: value for key, value in os.environ.items() if key != "container"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd="/", env=environment | {"HOME": "/"}
    )


@needs_shells
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make set-ups")
@pytest.mark.parametrize("name", SETUPS)
def test_each_command_works_exactly_if_doctor_says_so(name: str, tmp_path: Path) -> None:
    setup = SETUPS[name]
    aside = tmp_path / "aside"
    aside.mkdir()
    examined = within(name, aside, "doctor", "--no-rates", "--json")
    if examined.returncode == UNPREPARED or "unshare" in examined.stderr or "setpriv" in examined.stderr:
        pytest.skip(f"{name}: {examined.stderr.strip()}")
    assert examined.returncode in (0, 3), examined.stderr
    found = json.loads(examined.stdout)
    rows: dict[str, dict[str, Any]] = {row["command"]: row for row in found["commands"]}
    assert found["possible"] == rows["link, delay, loss"]["possible"] == (examined.returncode == 0)
    assert setup.possible in (None, found["possible"]), rows
    for command, words in COMMANDS.items():
        row, done = rows[command], within(name, aside, *words, "--", "true")
        assert row["possible"] == (done.returncode == 0), (command, row, done.stderr)
        if row["possible"]:
            continue
        assert done.returncode == 3
        # The same text except for the name of the interface.
        assert done.stderr.replace("--attach lo", "--attach") == f"Error: {row['text']}\n"
        assert row["text"].endswith(f"; {row['remedy']}")
    remedies = [row["remedy"] for row in (*rows.values(), *found["checks"]) if row["remedy"]]
    if setup.is_root:
        assert not [remedy for remedy in remedies if "run as root" in remedy or "sudo" in remedy]
    if not found["possible"]:
        assert re.search(setup.remedy, rows["link, delay, loss"]["remedy"])


def test_the_needs_of_every_command_are_shown(cli: Cli) -> None:
    done = cli("doctor", "--no-rates")
    assert done.exit_code in (0, 3), done.output
    for text in ("device", "namespace", "capability", "kernel", "web replay", "--attach", "/dev/net/tun", "6.6"):
        assert text in done.output
    assert "Highest faithful rate" not in done.output
