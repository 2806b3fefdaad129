"""Prerequisites of building and running a kernel, and checks for them."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sojourn.base.errors import MissingError

TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "strip": "binutils",
    "ld": "binutils",
    "objcopy": "binutils",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
"""Programs that a build needs, with their Debian packages."""
RUN_TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "taskset": "util-linux",
    "setarch": "util-linux",
    "setpriv": "util-linux",
}
"""Programs that a run needs, with their Debian packages."""
DISK_BYTES = 3 * 10**9
"""Disk space that a build needs."""
_TRACE_ME = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"


def missing(place: Path) -> list[str]:
    """Missing prerequisites of a build in `place`, as sentences with the remedy."""
    return [*_machine(), *_programs(TOOLS | RUN_TOOLS), *_static_library(), *_ptrace(), *_disk(place)]


def missing_for_run() -> list[str]:
    """Missing prerequisites of a run."""
    return [*_machine(), *_programs(RUN_TOOLS), *_ptrace()]


def refuse(lacking: Sequence[str], what: str) -> None:
    """Raise `MissingError` if prerequisites are missing."""
    if lacking:
        raise MissingError("\n  ".join([f"{what} lacks:", *lacking]))


def _machine() -> list[str]:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return [f"Linux on x86-64: this is {sys.platform} on {platform.machine()}"]
    return []


def _programs(tools: dict[str, str]) -> list[str]:
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return [
        f"{tool}: install the package {package}"
        for tool, package in tools.items()
        if shutil.which(tool) is None and shutil.which(tool, path=path) is None
    ]


def _static_library() -> list[str]:
    """Check for libc.a: the guest's program and the kernel are linked statically."""
    if shutil.which("gcc") is None:
        return []
    path = subprocess.run(
        ["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return [] if Path(path).is_file() else ["libc.a: install the package libc6-dev"]


def _ptrace() -> list[str]:
    """Check for ptrace: User Mode Linux traces the guest's processes."""
    if sys.platform != "linux":
        return []
    done = subprocess.run([sys.executable, "-c", _TRACE_ME], check=False, capture_output=True)
    return [] if done.returncode == 0 else ["ptrace: allow it (in a container, --cap-add SYS_PTRACE)"]


def _disk(place: Path) -> list[str]:
    existing = next((folder for folder in (place, *place.parents) if folder.exists()), Path("/"))
    free = shutil.disk_usage(existing).free
    if free >= DISK_BYTES:
        return []
    return [f"space in {existing}: {free / 1e9:.1f} of {DISK_BYTES / 1e9:.0f} GB; free some or give --cache"]
