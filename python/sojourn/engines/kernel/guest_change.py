"""What runs in the guest to change a queue discipline at an instant: ``guest_change.py NANOSECONDS FILE``.

It waits until its clock, the monotonic one, is there, and has tc do what is in the file; what became of that is in
`FILE.code`, tc's exit code, and `FILE.said`. It needs nothing but Python's own modules.
"""

from __future__ import annotations

import ctypes
import os
import sys

CLOCK_MONOTONIC, TIMER_ABSTIME, PR_SET_TIMERSLACK = 1, 1, 29


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def wait_until(at_ns: int) -> None:
    """Sleep until the monotonic clock shows so many nanoseconds, to the nanosecond."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    at = _Timespec(*divmod(at_ns, 10**9))
    while libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(at), None):
        pass  # a signal came


def main() -> None:
    """Do it, in the background: the job goes on at once."""
    at_ns, file = int(sys.argv[1]), sys.argv[2]
    if os.fork():
        return
    wait_until(at_ns)
    code = os.system(f"tc -batch {file} > {file}.said 2>&1")
    with open(f"{file}.code", "w", encoding="ascii") as told:  # noqa: PTH123 (no more is loaded than has to be)
        told.write(str(code))
    os._exit(0)


if __name__ == "__main__":
    main()
