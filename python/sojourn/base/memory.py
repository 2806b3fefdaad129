"""How much memory there is: what a limit on the address space, a control group and the machine leave."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SHOWN = 10**9
"""A need of more bytes than this is told before it arises."""


def address_limit() -> int | None:
    """Limit on the address space of this process in bytes (`ulimit -v`), if there is one."""
    try:
        import resource
    except ModuleNotFoundError:  # a system without limits of this kind
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft if soft != resource.RLIM_INFINITY else None


def address_space(when: str = "VmSize") -> int:
    """Address space that this process has, or had at most (`VmPeak`), in bytes; 0 where the system does not say."""
    return _kib(Path("/proc/self/status"), when) or 0


def free() -> int | None:
    """Bytes that this process can still have: the least of all limits. None where the system does not say."""
    limit = address_limit()
    left = [] if limit is None else [limit - address_space()]
    left += _groups()
    if (available := _kib(Path("/proc/meminfo"), "MemAvailable")) is not None:
        left.append(available)
    return max(0, min(left)) if left else None


def suffices(need: int) -> bool:
    """Whether `need` bytes can be had, as far as is known."""
    left = free()
    return left is None or need <= left


def shown(count: int) -> str:
    """A number of bytes for a sentence: 300 MB, 2.3 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _groups() -> list[int]:
    """What the control groups around this process leave, of version 2 or 1 (`cgroups(7)`); files may be given up."""
    left = []
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":
                left += _limits(Path("/sys/fs/cgroup"), path, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
                left += _limits(Path("/sys/fs/cgroup/memory"), path, limit, used, "total_inactive_file")
    return left


def _limits(root: Path, path: str, limit: str, used: str, cached: str) -> list[int]:
    """What each group from `path` up to `root` leaves."""
    left = []
    own = root / path.lstrip("/")
    for group in (own, *own.parents):
        with suppress(OSError, ValueError):
            statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            taken = int((group / used).read_text()) - int(statistics.get(cached, 0))
            left.append(int((group / limit).read_text()) - taken)  # "max" is no number
        if group == root:
            break
    return left


def _kib(file: Path, name: str) -> int | None:
    """A line of /proc in kB, as bytes."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def cap_threads() -> None:
    """Let libraries that are loaded from now on start as few threads as the limit on the address space has room for.

    Each thread reserves address space that it does not use: its stack, an arena of the allocator, a buffer of OpenBLAS.
    What the user has set stays.
    """
    limit = address_limit()
    if limit is None:
        return
    threads = max(1, (limit - LIBRARIES) // PER_THREAD)
    if threads < (os.cpu_count() or 1):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, str(threads))
        os.environ.setdefault("MALLOC_ARENA_MAX", "1")  # for processes that are started from here


LIBRARIES = 1 << 30
PER_THREAD = 192 << 20
"""Address space that NumPy, Polars, SciPy and matplotlib take, and what each of their threads takes (measured)."""
