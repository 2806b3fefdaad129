"""Booting a kernel on a job, and waiting for it."""

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
ROOM_BYTES = 1_200_000_000
"""What the guest's memory and its files may come to."""
CONSOLE_LINES = 12
"""Lines of a crashed guest's console that its error shows."""

_free: list[int] = []
_given = threading.Condition()
_known = False


@contextlib.contextmanager
def processor() -> Iterator[int]:
    """A processor of this process's own: a guest that changes between two is five times slower."""
    global _known
    with _given:
        if not _known:
            numbers = sorted(os.sched_getaffinity(0))
            turn = os.getpid() % len(numbers)  # another program that runs guests begins with another one
            _free.extend(numbers[turn:] + numbers[:turn])
            _known = True
        while not _free:
            _given.wait()
        mine = _free.pop()
    try:
        yield mine
    finally:
        with _given:
            _free.append(mine)
            _given.notify()


@contextlib.contextmanager
def job_folder() -> Iterator[Path]:
    """A folder for one job, in memory where there is such a place; its name has no space in it."""
    with temporary_folder("sojourn-kernel-", _fast_place()) as folder:
        yield folder


def boot(
    kernel: Kernel,
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    seed: int,
    tick: Callable[[float], None] | None = None,
) -> None:
    """Run the job that `files` are, in `folder`; what it leaves there is its result.

    The same kernel, job and seed leave the same results. `tick` gets the share done; what it raises ends the guest.
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
        # However this process ends, by a signal too, the system ends the guest with it.
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
    ]


def _run(command: list[str], folder: Path, seed: int, tick: Callable[[float], None]) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(_fast_place() or tempfile.gettempdir()),
        "SOJOURN_SEED": str(seed % 2**64),
        # A guest's program would be registered twice, by itself and by the kernel under it.
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
    """What a guest that did not finish its job said last."""
    text = (folder / "console").read_text(errors="replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    said = next((line[2:] for line in lines if line.startswith("! ")), None)
    if said:
        reason = f"the guest gave up: {said}"
    elif "ptrace" in text and ("Operation not permitted" in text or "EPERM" in text):
        reason = "the guest may not use ptrace; allow it (in a container --cap-add SYS_PTRACE)"
    elif os.strerror(errno.ENOSPC) in text:
        reason = "no space is left for the guest; free some in the folder of temporary files"
    else:
        reason = "the guest crashed"
    return "\n  ".join([f"{reason}; its console:", *lines[-CONSOLE_LINES:]])


def _fast_place() -> str | None:
    """Memory as a folder, if it is large enough: a container's often is not."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK | os.X_OK) or shutil.disk_usage(place).free < ROOM_BYTES:
        return None
    return str(place)
