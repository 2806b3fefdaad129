"""Guard of a program with limited address space: running out of memory becomes one line and an exit code.

A library that gets no memory may abort, fail to load, or raise an unrelated exception. So the program runs in a forked
child, and the parent, which has loaded nothing, reports the cause. Without a limit there is no child.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import IO, Any, NoReturn

from sojourn.base.memory import address_limit, address_space, cap_threads, format_bytes

INPUT = 2
OUT_OF_MEMORY = 3
INTERRUPTED = 130
"""Exit codes as `INPUT`, `MACHINE`, `INTERRUPTED` of `sojourn.base.errors`, which itself may fail to load."""
LIBRARY_CRASH = re.compile(rb"^Error: (.*: .* ended the program: .*)\n", re.MULTILINE)
"""Line that the core prints when a queue manager's library end_reader the program (crates/library, crash.rs)."""
HEADROOM = 512 << 20
"""Bytes of address space that a library may request at once."""


def run(program: Callable[[], int]) -> int:
    """Run the program, in a child if the address space is limited; returns its exit code."""
    if address_limit() is None or not hasattr(os, "fork"):
        return program()
    import tempfile  # loads 20 modules, which a command without a limit does not need

    cap_threads()
    with tempfile.TemporaryFile() as noise:
        end_reader, end = os.pipe()
        child = os.fork()
        if child == 0:
            _program(program, noise, end)
        os.close(end)
        return _wait(child, noise, end_reader)


def _program(program: Callable[[], int], noise: IO[bytes], end: int) -> NoReturn:
    """Run the program in the child. Stderr of libraries goes to `noise`, ours does not.

    A byte in `end` marks a regular exit, because a library may exit with any code.
    """
    _die_with_the_parent()
    if sys.stderr is not None:
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)
        os.dup2(noise.fileno(), 2)
    threading.excepthook = sys.unraisablehook = _print_unraisable
    code = 1
    try:
        import hashlib  # noqa: F401 (loaded while memory is left; otherwise it logs a traceback)

        code = program()
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        code = code or OUT_OF_MEMORY
    except BaseException as error:
        if is_out_of_memory(error):
            code = OUT_OF_MEMORY
            _report(f"{type(error).__name__} in {format_bytes(address_limit() or 0)} of address space")
        else:
            import traceback

            traceback.print_exception(error)
    finally:
        with suppress(OSError):
            os.write(end, b".")
        os._exit(code)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an unexpected exception is due to memory: `MemoryError` or ENOMEM in its chain, or `HEADROOM` is gone."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    if any(isinstance(one, MemoryError) or getattr(one, "errno", None) == errno.ENOMEM for one in chain):
        return True
    limit = address_limit()
    return limit is not None and limit - address_space("VmPeak") < HEADROOM


def _wait(child: int, noise: IO[bytes], end_reader: int) -> int:
    """Forward signals to the child, wait, and exit as it did, or with `OUT_OF_MEMORY`."""

    def forward(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    by_itself = bool(os.read(end_reader, 1)) or code == INTERRUPTED
    noise.seek(0)
    output = noise.read()
    if not by_itself and (line := LIBRARY_CRASH.search(output)):
        with suppress(OSError):
            os.write(2, line[0])
        return INPUT
    if -code in DEADLY or (code >= 0 and not by_itself):
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        _report(f"its process ended with {how} in {format_bytes(address_limit() or 0)} of address space")
        return OUT_OF_MEMORY
    if code != OUT_OF_MEMORY:
        with suppress(OSError):
            os.write(2, output)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _report(what: str) -> None:
    with suppress(OSError, ValueError):
        print(f"Error: out of memory: {what}; raise the limit (ulimit -v)", file=sys.stderr, flush=True)


def _print_unraisable(about: Any) -> None:
    """Print an exception of a thread or a destructor to `noise`: it is no output of the program."""
    with suppress(OSError, ValueError):
        print(getattr(about, "exc_value", about), file=sys.__stderr__, flush=True)


def _die_with_the_parent() -> None:
    """Die with the parent, if the system supports that."""
    parent = os.getppid()
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.mallopt(M_ARENA_MAX, 1)
    if os.getppid() != parent:
        os._exit(OUT_OF_MEMORY)


PR_SET_PDEATHSIG = 1
M_ARENA_MAX = -8
DEADLY = {getattr(signal, name, None) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGKILL")} - {
    None
}
"""Signals that end a program without memory, its own or the kernel's."""
