"""Fault injection for shells: ``python -m sojourn.emulated.torture``.

A disturbed run must report it, no run may hang, and none may leave a process, a device, a route or a socket behind. All
runs are in a network namespace of their own.
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

COMMAND = [sys.executable, "-m", "sojourn"]
MARK = "SOJOURN_TORTURE"
"""Environment variable that marks all processes of a run, to find leftovers."""
TALK = """
import os, select, socket, sys, time
plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    for _ in range(5):
        plug.sendto(b"x" * 500, (os.environ["SOJOURN_HOST"], 9))
"""
"""Sends at most 2500 datagrams per second until a line on stdin."""
TIMEOUT_S = 60.0
"""Timeout after which a shell counts as hung."""
HOGS = 4
"""Busy-looping processes per CPU."""
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
"""`LD_PRELOAD` library with a wall clock that is an hour fast and an hour slow in turn."""
MIN_CPU_WAITING = 0.2
"""Minimum fraction of the time that some program waits for a CPU beside the hogs; a field of the report."""


class Violation(Exception):  # noqa: N818 (misbehaviour of a run, no error of this program)
    """Misbehaviour of a run."""


class Run:
    """One shell with its traffic and the folder of its log."""

    def __init__(self, folder: Path, *, file_limit: int | None = None, clock: Path | None = None) -> None:
        import resource  # absent on Windows

        self.folder, self.mark = folder, f"{os.getpid()}-{folder.name}"
        self.begin = time.monotonic()
        words = [*COMMAND, "link", "--rate", "20mbit", "--aqm", "codel", "--log", str(folder), "--strict", "--"]

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
            raise MissingError(f"no shell can start here: {self.shell.communicate()[1].strip()}; see `sojourn doctor`")
        self.command = int(line)

    @property
    def keeper(self) -> int:
        """PID of the process inside the shell's namespace."""
        return int(Path(f"/proc/{self.command}/stat").read_text().rpartition(")")[2].split()[1])

    @property
    def helpers(self) -> list[int]:
        """PIDs of the gateway's processes."""
        pid = self.shell.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if int(child) != self.keeper]

    def end(self) -> str:
        """Let the command end and return the shell's stderr."""
        try:
            _, output = self.shell.communicate("\n", timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Violation(f"hangs for more than {TIMEOUT_S:.0f} s") from None
        return output

    def faults(self) -> list[str]:
        """Faults in the result's manifest."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        faults: list[str] = manifest["summary"]["emulation"]["faults"]
        return faults


def _stop_shell(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.2, 0.6))
    os.kill(run.shell.pid, signal.SIGSTOP)
    time.sleep(draw.uniform(0.3, 1.2))
    os.kill(run.shell.pid, signal.SIGCONT)
    time.sleep(0.2)
    _expect_output(run.end(), "read late")
    _expect_fault(run, "read late")


def _hog_cpus(run: Run, draw: random.Random) -> None:
    count = HOGS * (os.cpu_count() or 1)
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(draw.uniform(1.0, 2.0))
        output = run.end()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    report = json.loads((run.folder / "shell.json").read_text())
    if not report["faults"] and (report["cpu_waiting"] or 0) < MIN_CPU_WAITING:
        raise Violation(f"does not report {count} hogs: {output}")


def _kill_command(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    os.kill(run.command, signal.SIGKILL)
    run.end()
    if run.shell.returncode != -signal.SIGKILL:
        raise Violation(f"the command was killed and the shell ends with {run.shell.returncode}")


def _kill_keeper(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    os.kill(run.keeper, signal.SIGKILL)
    _expect_output(run.end(), "the supervisor of the command was killed")
    _expect_fault(run, "the supervisor of the command was killed")


def _kill_gateway(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.1, 0.5))
    helpers = run.helpers
    if not helpers:
        raise Violation("there is no gateway")
    os.kill(draw.choice(helpers), signal.SIGKILL)
    time.sleep(0.1)
    _expect_output(run.end(), "the gateway ended at")
    _expect_fault(run, "the gateway ended at")


def _kill_shell(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(1.2, 1.6))  # a log is written once a second
    run.shell.kill()
    run.end()
    done = subprocess.run([*COMMAND, "log", "repair", str(run.folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Violation(f"its log cannot be repaired: {done.stderr.strip()}")
    _expect_fault(run, "killed before it wrote its report")
    # The next query removes the stale socket.
    subprocess.run([*COMMAND, "ctl"], capture_output=True, check=False)


def _fill_disk(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(1.2, 1.6))
    _expect_output(run.end(), "the log is not complete")
    if not run.shell.returncode:
        raise Violation("its log is incomplete but it exits with 0")


def _step_clock(run: Run, draw: random.Random) -> None:
    """Only the date in the log uses the wall clock, so this run is undisturbed."""
    _leave_alone(run, draw)
    elapsed = time.monotonic() - run.begin
    report = json.loads((run.folder / "shell.json").read_text())
    if not 0 < report["wall_ns"] / 1e9 < elapsed or report["stalls"]["total_ns"] / 1e9 > elapsed:
        raise Violation(f"its times follow the wall clock: {report['wall_ns'] / 1e9:.1f} s, of {elapsed:.1f} s at most")
    if abs(abs(report["epoch_ns"] / 1e9 - time.time()) - 3600) > TIMEOUT_S:
        raise Violation("it did not notice the stepping clock")


def _leave_alone(run: Run, draw: random.Random) -> None:
    time.sleep(draw.uniform(0.2, 0.6))
    output = run.end()
    if bool(run.faults()) != ("not faithful" in output) or bool(run.shell.returncode) != bool(run.faults()):
        raise Violation(f"its report, its result and its exit code ({run.shell.returncode}) differ: {output}")


DISTURBANCES: dict[str, Callable[[Run, random.Random], None]] = {
    "undisturbed": _leave_alone,
    "stopped": _stop_shell,
    "beside hogs": _hog_cpus,
    "full disk": _fill_disk,
    "steps of the wall clock": _step_clock,
    "kill -9 of the command": _kill_command,
    "kill -9 of the inner process": _kill_keeper,
    "kill -9 of the gateway": _kill_gateway,
    "kill -9 of the shell": _kill_shell,
}


def _expect_output(output: str, expected: str) -> None:
    if expected not in output:
        raise Violation(f"does not report {expected!r}: {output.strip()}")


def _expect_fault(run: Run, expected: str) -> None:
    if not any(expected in fault for fault in run.faults()):
        raise Violation(f"its result does not report {expected!r}: {run.faults()}")


def _leftovers(mark: str) -> Iterator[str]:
    """Yield leftovers of a run."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    yield f"process {process.name}"
    yield from (f"device {name}" for _, name in socket.if_nameindex() if name != "lo")
    yield from (f"route {line}" for line in Path("/proc/self/net/route").read_text().splitlines()[1:])
    sockets = Path(os.environ["XDG_RUNTIME_DIR"], "sojourn")
    yield from (f"socket {path}" for path in (sockets.iterdir() if sockets.exists() else ()))


def _disturb(name: str, folder: Path, draw: random.Random) -> str | None:
    """Disturb one shell; returns the violation, if any."""
    limit = 40_000 if name == "full disk" else None
    run = Run(folder, file_limit=limit, clock=_stepping_clock() if name == "steps of the wall clock" else None)
    try:
        DISTURBANCES[name](run, draw)
        end = time.monotonic() + TIMEOUT_S
        while (leftovers := list(_leftovers(run.mark))) and time.monotonic() < end:
            time.sleep(0.02)
        return f"leaves behind {', '.join(leftovers)}" if leftovers else None
    except Violation as failure:
        return str(failure)
    finally:
        run.shell.kill()
        run.shell.wait()


@functools.cache
def _stepping_clock() -> Path:
    """Build the library with the stepping clock in the folder of the sockets."""
    file = Path(os.environ["XDG_RUNTIME_DIR"], "steps.so")
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(file), "-ldl"]
    try:
        subprocess.run(words, input=STEPS, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(f"no clock that steps: {error}; install a C compiler") from None
    return file


def _enter_namespace(words: list[str]) -> None:
    """Re-execute in a network namespace of its own, which starts empty."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise MissingError("unshare not found; install util-linux")
    own = ["-n"] if os.geteuid() == 0 else ["-Urn"]
    os.execv(unshare, [unshare, *own, sys.executable, "-m", "sojourn.engines.emulated.torture", "--inside", *words])


def _bring_up_loopback() -> None:
    """Bring the loopback device up (SIOCSIFFLAGS, IFF_UP | IFF_RUNNING)."""
    import fcntl  # absent on Windows

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        fcntl.ioctl(plug, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


@click.command()
@click.option("--time", "length", default=600.0, show_default=True, help="Total time in seconds.")
@click.option("--seed", default=1, show_default=True, help="Seed of times and order.")
@click.option("--only", multiple=True, help="Run only these disturbances; repeatable.")
@click.option("--inside", is_flag=True, hidden=True)
def main(length: float, seed: int, only: tuple[str, ...], inside: bool) -> None:
    """Disturb shells in each way in turn; fail if one does not report it, hangs or leaves something behind."""
    for name in only:
        if name not in DISTURBANCES:
            raise InputError(f"--only: unknown disturbance {name!r}; expected one of {', '.join(DISTURBANCES)}")
    if not inside:
        sys.stdout.flush()
        _enter_namespace(sys.argv[1:])
    _bring_up_loopback()
    draw, end, rounds, violations = random.Random(seed), time.monotonic() + length, 0, 0
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
                failure = _disturb(name, folder, draw)
                tried[name] += 1
                if failure:
                    violations += 1
                    click.echo(f"{name}, round {rounds}: {failure}")
                shutil.rmtree(folder, ignore_errors=True)
            rounds += 1
    for name, count in tried.items():
        click.echo(f"{count:4} {name}")
    click.echo(f"{sum(tried.values())} runs with seed {seed}, {violations} of them wrong")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
