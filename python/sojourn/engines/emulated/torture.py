"""Disturbs shells in every way that we know, and looks at what they say: ``python -m sojourn.emulated.torture``.

A run that was disturbed has to say so, none may hang, and nothing may be left behind: no process, no device, no route,
no socket. All of it happens in a network namespace of its own.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from sojourn.base.errors import InputError, MissingError

ME = [sys.executable, "-m", "sojourn"]
MARK = "SOJOURN_TORTURE"
"""Variable of every process of a run, by which those are found that it left."""
TALK = """
import os, select, socket, sys, time
plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    for _ in range(5):
        plug.sendto(b"x" * 500, (os.environ["SOJOURN_HOST"], 9))
"""
"""Sends 2500 datagrams a second at most, until it is told to end."""
LONGEST_S = 60.0
"""A shell that takes longer to end hangs."""
HOGS = 4
"""Programs for each CPU that do nothing but compute."""
STEPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    static unsigned turn;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(which, now);
    if (which == CLOCK_REALTIME)
        now->tv_sec += turn++ % 2 ? 3600 : -3600;
    return failed;
}
"""
"""A wall clock that is an hour fast and an hour slow in turn, for programs that are started with it (`LD_PRELOAD`)."""
WAITED = 0.2
"""Share of the time in which hogs make some program wait, at least; the report names it."""


class Wrong(Exception):  # noqa: N818 (what a run did, no error of this program)
    """What should not have happened."""


class Run:
    """One shell with its traffic; the folder of its log."""

    def __init__(self, folder: Path, *, file_limit: int | None = None, clock: Path | None = None) -> None:
        import resource  # other systems lack it

        self.folder, self.mark = folder, f"{os.getpid()}-{folder.name}"
        self.begin = time.monotonic()
        words = [*ME, "link", "--rate", "20mbit", "--aqm", "codel", "--log", str(folder), "--strict", "--"]

        def limit() -> None:
            if file_limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        pipe = subprocess.PIPE
        self.shell = subprocess.Popen(
            [*words, sys.executable, "-c", TALK],
            env={**os.environ, MARK: self.mark, **({"LD_PRELOAD": str(clock)} if clock else {})},
            preexec_fn=limit,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        assert self.shell.stdout is not None
        line = self.shell.stdout.readline()
        if not line:
            raise MissingError(f"no shell starts here: {self.shell.communicate()[1].strip()}; see `sojourn doctor`")
        self.command = int(line)

    @property
    def keeper(self) -> int:
        """The process on the inner side."""
        return int(Path(f"/proc/{self.command}/stat").read_text().rpartition(")")[2].split()[1])

    @property
    def helpers(self) -> list[int]:
        """Processes that lead beyond the machine."""
        pid = self.shell.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if int(child) != self.keeper]

    def end(self) -> str:
        """Let the command end; what the shell says."""
        try:
            _, said = self.shell.communicate("\n", timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"hangs for more than {LONGEST_S:.0f} s") from None
        return said

    def faults(self) -> list[str]:
        """What the result says of itself."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        faults: list[str] = manifest["summary"]["emulation"]["faults"]
        return faults


def _stopped(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.2, 0.6))
    os.kill(run.shell.pid, signal.SIGSTOP)
    time.sleep(draw.uniform(0.3, 1.2))
    os.kill(run.shell.pid, signal.SIGCONT)
    time.sleep(0.2)
    _told(run.end(), "read late")
    _in_result(run, "read late")


def _hogged(run: Run, draw: random.Random) -> None:
    count = HOGS * (os.cpu_count() or 1)
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(draw.uniform(1.0, 2.0))
        said = run.end()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    told = json.loads((run.folder / "shell.json").read_text())
    if not told["faults"] and (told["cpu_waiting"] or 0) < WAITED:
        raise Wrong(f"says nothing of {count} hogs: {said}")


def _killed_command(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    os.kill(run.command, signal.SIGKILL)
    run.end()
    if run.shell.returncode != -signal.SIGKILL:
        raise Wrong(f"the command was killed and the shell ends with {run.shell.returncode}")


def _killed_keeper(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    os.kill(run.keeper, signal.SIGKILL)
    _told(run.end(), "the process that keeps the command was killed")
    _in_result(run, "the process that keeps the command was killed")


def _killed_helper(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    helpers = run.helpers
    if not helpers:
        raise Wrong("there is no gateway")
    os.kill(draw.choice(helpers), signal.SIGKILL)
    time.sleep(0.1)
    _told(run.end(), "the gateway ended at")
    _in_result(run, "the gateway ended at")


def _killed_shell(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(1.2, 1.6))  # a log is written once a second
    run.shell.kill()
    run.end()
    done = subprocess.run([*ME, "log", "repair", str(run.folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"its log cannot be repaired: {done.stderr.strip()}")
    _in_result(run, "ended before it could tell")
    # Whoever asks next removes the socket.
    subprocess.run([*ME, "ctl"], capture_output=True, check=False)


def _full_disk(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(1.2, 1.6))
    _told(run.end(), "the log is not complete")
    if not run.shell.returncode:
        raise Wrong("its log is not complete and it ends with 0")


def _clock_steps(run: Run, draw: random.Random) -> None:
    """Nothing in a run goes by the wall clock but the date in its log, so this disturbs none."""
    _undisturbed(run, draw)
    most = time.monotonic() - run.begin
    told = json.loads((run.folder / "shell.json").read_text())
    if not 0 < told["wall_ns"] / 1e9 < most or told["stalls"]["total_ns"] / 1e9 > most:
        raise Wrong(f"its times follow the wall clock: {told['wall_ns'] / 1e9:.1f} s, of {most:.1f} s at most")
    if abs(abs(told["epoch_ns"] / 1e9 - time.time()) - 3600) > LONGEST_S:
        raise Wrong("it has not seen the clock that steps")


def _undisturbed(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.2, 0.6))
    said = run.end()
    if bool(run.faults()) != ("not faithful" in said) or bool(run.shell.returncode) != bool(run.faults()):
        raise Wrong(f"its report, its result and its exit code ({run.shell.returncode}) differ: {said}")


DISTURBANCES: dict[str, Callable[[Run, random.Random], None]] = {
    "undisturbed": _undisturbed,
    "stopped": _stopped,
    "beside hogs": _hogged,
    "full disk": _full_disk,
    "steps of the wall clock": _clock_steps,
    "kill -9 of the command": _killed_command,
    "kill -9 of the inner process": _killed_keeper,
    "kill -9 of the gateway": _killed_helper,
    "kill -9 of the shell": _killed_shell,
}


def _told(said: str, what: str) -> None:
    if what not in said:
        raise Wrong(f"does not say {what!r}: {said.strip()}")


def _in_result(run: Run, what: str) -> None:
    if not any(what in fault for fault in run.faults()):
        raise Wrong(f"its result does not say {what!r}: {run.faults()}")


def _left(mark: str) -> Iterator[str]:
    """What a run has left behind."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    yield f"process {process.name}"
    yield from (f"device {name}" for _, name in socket.if_nameindex() if name != "lo")
    yield from (f"route {line}" for line in Path("/proc/self/net/route").read_text().splitlines()[1:])
    sockets = Path(os.environ["XDG_RUNTIME_DIR"], "sojourn")
    yield from (f"socket {path}" for path in (sockets.iterdir() if sockets.exists() else ()))


def _try(name: str, folder: Path, draw: random.Random) -> str | None:
    """Disturb one shell; what was wrong."""
    limit = 40_000 if name == "full disk" else None
    run = Run(folder, file_limit=limit, clock=_stepping() if name == "steps of the wall clock" else None)
    try:
        DISTURBANCES[name](run, draw)
        end = time.monotonic() + LONGEST_S
        while (left := list(_left(run.mark))) and time.monotonic() < end:
            time.sleep(0.02)
        return f"leaves {', '.join(left)}" if left else None
    except Wrong as failure:
        return str(failure)
    finally:
        run.shell.kill()
        run.shell.wait()


@functools.cache
def _stepping() -> Path:
    """The library with the clock that steps, made in the folder of the sockets."""
    file = Path(os.environ["XDG_RUNTIME_DIR"], "steps.so")
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(file), "-ldl"]
    try:
        subprocess.run(words, input=STEPS, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(f"no clock that steps: {error}; install a C compiler") from None
    return file


def _alone(words: list[str]) -> None:
    """Go on in a network namespace of its own, in which only what a run leaves is left."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise MissingError("unshare is absent; install util-linux")
    own = ["-n"] if os.geteuid() == 0 else ["-Urn"]
    os.execv(unshare, [unshare, *own, sys.executable, "-m", "sojourn.engines.emulated.torture", "--inside", *words])


def _loopback() -> None:
    """Switch the loopback device on (SIOCSIFFLAGS, IFF_UP and IFF_RUNNING)."""
    import fcntl  # other systems lack it

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        fcntl.ioctl(plug, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


@click.command()
@click.option("--time", "length", default=600.0, show_default=True, help="How long to go on, in seconds.")
@click.option("--seed", default=1, show_default=True, help="Seed of instants and of the order.")
@click.option("--only", multiple=True, help="Only these disturbances; repeatable.")
@click.option("--inside", is_flag=True, hidden=True)
def main(length: float, seed: int, only: tuple[str, ...], inside: bool) -> None:
    """Disturb shells, each kind in turn, and fail if one does not say so, hangs or leaves something behind."""
    for name in only:
        if name not in DISTURBANCES:
            raise InputError(f"--only: {name!r} is no disturbance; there is {', '.join(DISTURBANCES)}")
    if not inside:
        sys.stdout.flush()
        _alone(sys.argv[1:])
    _loopback()
    draw, end, rounds, wrong = random.Random(seed), time.monotonic() + length, 0, 0
    names = list(only or DISTURBANCES)
    tried = dict.fromkeys(names, 0)
    with TemporaryDirectory(prefix="sojourn-torture-") as place:
        os.environ["XDG_RUNTIME_DIR"] = place
        while not rounds or time.monotonic() < end:
            for name in draw.sample(names, len(names)):
                # Each kind at least once.
                if rounds and time.monotonic() >= end:
                    break
                folder = Path(place, f"{rounds}-{names.index(name)}")
                failure = _try(name, folder, draw)
                tried[name] += 1
                if failure:
                    wrong += 1
                    click.echo(f"{name}, round {rounds}: {failure}")
                shutil.rmtree(folder, ignore_errors=True)
            rounds += 1
    for name, count in tried.items():
        click.echo(f"{count:4} {name}")
    click.echo(f"{sum(tried.values())} runs with seed {seed}, {wrong} of them wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
