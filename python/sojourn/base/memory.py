"""Available memory: the minimum left by the address space limit, the control groups and the machine."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

ANNOUNCED_BYTES = 10**9
"""Bytes from which a memory need is announced beforehand."""


def address_limit() -> int | None:
    """Limit on the address space of this process in bytes (`ulimit -v`), if there is one."""
    try:
        import resource
    except ModuleNotFoundError:  # no rlimits on this system
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft if soft != resource.RLIM_INFINITY else None


def address_space(when: str = "VmSize") -> int:
    """Address space of this process in bytes, or its peak (`VmPeak`); 0 if the system does not report it."""
    return _kib(Path("/proc/self/status"), when) or 0


def free() -> int | None:
    """Bytes that this process can still allocate, the minimum over all limits; None if unknown."""
    limit = address_limit()
    left = [] if limit is None else [limit - address_space()]
    left += _groups()
    if (available := _kib(Path("/proc/meminfo"), "MemAvailable")) is not None:
        left.append(available)
    return max(0, min(left)) if left else None


def is_available(need: int) -> bool:
    """Whether `need` bytes are free; true if unknown."""
    left = free()
    return left is None or need <= left


def format_bytes(count: int) -> str:
    """Format bytes for messages: 300 MB, 2.3 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _groups() -> list[int]:
    """Bytes left in each control group of this process, v1 or v2 (`cgroups(7)`); inactive page cache counts as free."""
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
    """Bytes left in each group from `path` up to `root`."""
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
    """Value of a line of a /proc file, converted from kB to bytes."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def cap_threads() -> None:
    """Cap the threads of libraries loaded from now on to those that the address space limit has room for.

    Each thread reserves address space that it does not use: its stack, a malloc arena, a buffer of OpenBLAS. Variables
    set by the user stay.
    """
    limit = address_limit()
    if limit is None:
        return
    threads = max(1, (limit - LIBRARIES) // PER_THREAD)
    if threads < (os.cpu_count() or 1):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, str(threads))
        os.environ.setdefault("MALLOC_ARENA_MAX", "1")  # for child processes


LIBRARIES = 1 << 30
PER_THREAD = 192 << 20
"""Bytes of address space of NumPy, Polars, SciPy and matplotlib together, and of each of their threads (measured)."""
