"""A program whose address space is limited, watched by a parent: death for lack of memory is one line and an exit code.

A library that gets no memory may abort, fail while it is loaded, or raise something that says nothing of memory. So the
program goes on in a child, and its parent, which has loaded nothing, says what happened. Without a limit there is none.
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

from sojourn.base.memory import address_limit, address_space, cap_threads, shown

INPUT = 2
LACKING = 3
INTERRUPTED = 130
"""Exit codes: `INPUT`, `MACHINE`, `INTERRUPTED` of `sojourn.base.errors`, whose module may be what cannot be loaded."""
NAMED = re.compile(rb"^Error: (.*: .* ended the program: .*)\n", re.MULTILINE)
"""A queue manager's library that ended the program, in the words of the core (crates/library, crash.rs)."""
NEAR = 512 << 20
"""A library may ask for so much address space at once."""


def run(program: Callable[[], int]) -> int:
    """Exit code of the program: run here, or, where the address space is limited, in a child."""
    if address_limit() is None or not hasattr(os, "fork"):
        return program()
    import tempfile  # 20 modules that a command without a limit need not load

    cap_threads()
    with tempfile.TemporaryFile() as noise:
        ended, end = os.pipe()
        child = os.fork()
        if child == 0:
            _program(program, noise, end)
        os.close(end)
        return _wait(child, noise, ended)


def _program(program: Callable[[], int], noise: IO[bytes], end: int) -> NoReturn:
    """The child: what libraries write to the standard error output goes to `noise`, what we write does not.

    It writes to `end` when it ends by itself: a library may leave with any code.
    """
    _die_with_the_parent()
    if sys.stderr is not None:
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)
        os.dup2(noise.fileno(), 2)
    threading.excepthook = sys.unraisablehook = _note
    code = 1
    try:
        import hashlib  # noqa: F401 (loaded while there is memory: where one of its parts finds none, it logs a traceback)

        code = program()
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        code = code or LACKING
    except BaseException as error:
        if is_of_memory(error):
            code = LACKING
            _say(f"{type(error).__name__} in {shown(address_limit() or 0)} of address space")
        else:
            import traceback

            traceback.print_exception(error)
    finally:
        with suppress(OSError):
            os.write(end, b".")
        os._exit(code)


def is_of_memory(error: BaseException) -> bool:
    """Whether an exception that nobody expected is of memory: it says so, or there is next to none left."""
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or here.__context__
    if any(isinstance(one, MemoryError) or getattr(one, "errno", None) == errno.ENOMEM for one in chain):
        return True
    limit = address_limit()
    return limit is not None and limit - address_space("VmPeak") < NEAR


def _wait(child: int, noise: IO[bytes], ended: int) -> int:
    """The parent: pass signals on, wait, and end as the child did, or as one that lacked memory."""

    def forward(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    by_itself = bool(os.read(ended, 1)) or code == INTERRUPTED
    noise.seek(0)
    said = noise.read()
    if not by_itself and (line := NAMED.search(said)):
        with suppress(OSError):
            os.write(2, line[0])
        return INPUT
    if -code in DEADLY or (code >= 0 and not by_itself):
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        _say(f"its process ended with {how} in {shown(address_limit() or 0)} of address space")
        return LACKING
    if code != LACKING:
        with suppress(OSError):
            os.write(2, said)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _say(what: str) -> None:
    with suppress(OSError, ValueError):
        print(f"Error: out of memory: {what}; raise the limit (ulimit -v)", file=sys.stderr, flush=True)


def _note(about: Any) -> None:
    """What a thread or a destructor raised is no output of the program."""
    with suppress(OSError, ValueError):
        print(getattr(about, "exc_value", about), file=sys.__stderr__, flush=True)


def _die_with_the_parent() -> None:
    """Where the system can: a parent that is killed takes its child along."""
    parent = os.getppid()
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.mallopt(M_ARENA_MAX, 1)
    if os.getppid() != parent:
        os._exit(LACKING)


PR_SET_PDEATHSIG = 1
M_ARENA_MAX = -8
DEADLY = {getattr(signal, name, None) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGKILL")} - {
    None
}
"""Signals that a program ends itself with that gets no memory, or is ended with."""
