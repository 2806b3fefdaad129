"""Boot of a kernel with a job."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from sojourn.base.children import child
from sojourn.base.errors import MissingError
from sojourn.base.files import temporary_folder
from sojourn.engines.kernel import needs
from sojourn.engines.kernel.cache import Kernel

MEMORY = "1G"
MAX_BYTES = 1_200_000_000
"""Maximum size of the guest's memory and its files."""
CONSOLE_LINES = 12
"""Lines of a crashed guest's console that its error shows."""

_free: list[int] = []
_cpu_freed = threading.Condition()
_is_initialised = False


@contextlib.contextmanager
def processor() -> Iterator[int]:
    """Reserve a CPU, since a guest that migrates between CPUs is five times slower."""
    global _is_initialised
    with _cpu_freed:
        if not _is_initialised:
            numbers = sorted(os.sched_getaffinity(0))
            first = os.getpid() % len(numbers)  # spread the guests of several processes over the CPUs
            _free.extend(numbers[first:] + numbers[:first])
            _is_initialised = True
        while not _free:
            _cpu_freed.wait()
        cpu = _free.pop()
    try:
        yield cpu
    finally:
        with _cpu_freed:
            _free.append(cpu)
            _cpu_freed.notify()


@contextlib.contextmanager
def job_folder() -> Iterator[Path]:
    """Folder for one job, in memory if possible; its path has no spaces."""
    with temporary_folder("sojourn-kernel-", _memory_folder()) as folder:
        yield folder


def boot(
    kernel: Kernel,
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    seed: int,
    tick: Callable[[float], None] | None = None,
) -> None:
    """Run the job given by `files` in `folder`, where it leaves its results.

    Equal kernels, jobs and seeds give equal results. `tick` gets the fraction done; an exception of it ends the guest.
    """
    _check_machine()
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with processor() as number:
        _run(_command(kernel, folder, number), folder, seed, tick or (lambda _share: None))
    if not (folder / "done").exists():
        raise MissingError(_crash(folder))


@cache
def _check_machine() -> None:
    needs.refuse(needs.missing_for_run(), "this machine")


def _command(kernel: Kernel, folder: Path, number: int) -> list[str]:
    return [
        # The kernel kills the guest when this process ends, even by a signal.
        "setpriv",
        "--pdeathsig",
        "KILL",
        "taskset",
        "-c",
        str(number),
        "setarch",
        "-R",
        str(kernel.image),
        f"mem={MEMORY}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={kernel.program}",
        "time-travel=inf-cpu",
        "time-travel-start=1000000000",
        "con0=null,fd:1",
        "con=null",
        "ssl=null",
        "quiet",
        f"uml_dir={folder}",
        "umid=machine",
        f"SOJOURN_JOB={folder}",
        f"TC_LIB_DIR={kernel.image.parent}",
    ]


def _run(command: list[str], folder: Path, seed: int, tick: Callable[[float], None]) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(_memory_folder() or tempfile.gettempdir()),
        "SOJOURN_SEED": str(seed % 2**64),
        # rseq would be registered twice, by the guest's program and by the User Mode Linux process.
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }
    try:
        running = child(command, stderr=subprocess.STDOUT, env=environment)
        with (folder / "console").open("wb") as console, running as guest:
            for line in guest.stdout or ():
                match = re.fullmatch(rb"@ ([\d.]+)\s*", line)
                if match:
                    tick(float(match[1]))
                else:
                    console.write(line)
    except FileNotFoundError as error:
        raise MissingError(f"{command[0]}: {error.strerror}; install util-linux") from None


def _crash(folder: Path) -> str:
    """Error message with the last console lines of a guest that did not finish its job."""
    text = (folder / "console").read_text(errors="replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    message = next((line[2:] for line in lines if line.startswith("! ")), None)
    if message:
        reason = f"the guest gave up: {message}"
    elif "ptrace" in text and ("Operation not permitted" in text or "EPERM" in text):
        reason = "the guest may not use ptrace; allow it (in a container --cap-add SYS_PTRACE)"
    elif os.strerror(errno.ENOSPC) in text:
        reason = "no space is left for the guest; free some in the folder of temporary files"
    else:
        reason = "the guest crashed"
    return "\n  ".join([f"{reason}; its console:", *lines[-CONSOLE_LINES:]])


def _memory_folder() -> str | None:
    """/dev/shm if it is large enough; in containers it often is not."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK | os.X_OK) or shutil.disk_usage(place).free < MAX_BYTES:
        return None
    return str(place)
