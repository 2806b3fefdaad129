"""Timed change of a queue discipline inside the guest: ``guest_change.py NANOSECONDS FILE``.

Waits until that time of the monotonic clock and runs tc with the batch file; `FILE.code` gets tc's exit code and
`FILE.said` its output. Needs only Python's standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys

CLOCK_MONOTONIC, TIMER_ABSTIME, PR_SET_TIMERSLACK = 1, 1, 29


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def wait_until(at_ns: int) -> None:
    """Sleep until a time of the monotonic clock, without timer slack."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    at = _Timespec(*divmod(at_ns, 10**9))
    while libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(at), None):
        pass  # EINTR


def main() -> None:
    """Wait in the background; the job continues at once."""
    at_ns, file = int(sys.argv[1]), sys.argv[2]
    if os.fork():
        return
    wait_until(at_ns)
    code = os.system(f"tc -batch {file} > {file}.said 2>&1")
    with open(f"{file}.code", "w", encoding="ascii") as status:  # noqa: PTH123 (avoids the import of pathlib)
        status.write(str(code))
    os._exit(0)


if __name__ == "__main__":
    main()
