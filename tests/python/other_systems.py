"""Loads the package and simulates without the modules that exist only on Linux or Unix.

Run by test_other_systems.py in a separate process, because hidden modules stay hidden.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
from importlib.abc import MetaPathFinder

# Load other packages first: they may use the hidden modules.
for name in ("click", "gymnasium", "matplotlib.figure", "numpy", "pettingzoo", "polars", "rich.progress", "subprocess"):
    importlib.import_module(name)

MODULES = {
    "crypt",
    "fcntl",
    "grp",
    "nis",
    "ossaudiodev",
    "posix",
    "pty",
    "pwd",
    "resource",
    "spwd",
    "syslog",
    "termios",
}
MODULES |= {"tty"}
OF_OS = """
chroot eventfd fchmod fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpriority getresuid getsid
getuid killpg lchown mkfifo mknod nice openpty pidfd_open posix_fallocate posix_spawn pread pwrite sched_getaffinity
sched_setaffinity sched_setscheduler sched_yield sendfile setgid setgroups setpriority setsid setuid statvfs sync
tcgetpgrp uname wait3 wait4 waitid
"""
OF_SIGNAL = "SIGALRM SIGBUS SIGCHLD SIGHUP SIGKILL SIGQUIT SIGTRAP SIGUSR1 SIGUSR2 SIGWINCH setitimer pthread_sigmask"


class Hidden(MetaPathFinder):
    """Import hook that rejects the hidden modules."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide() -> None:
    sys.meta_path.insert(0, Hidden())
    for name in MODULES:
        sys.modules.pop(name, None)
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)


def load_all() -> list[str]:
    """Load all modules of the package; return the errors."""
    import sojourn

    failed = []
    for found in pkgutil.walk_packages(sojourn.__path__, "sojourn."):
        if found.name.rpartition(".")[2] == "__main__":
            continue
        try:
            importlib.import_module(found.name)
        except Exception as error:
            failed.append(f"{found.name}: {error!r}")
    return failed


def simulate() -> str:
    """Compare two queue managers, with one process and with two; return the fingerprints."""
    import sojourn as sj

    found = [sj.compare(["codel", "pie"], duration="2 s", jobs=jobs, progress=False) for jobs in (1, 2)]
    texts = {" ".join(result.fingerprint for result in one.results) for one in found}
    assert len(texts) == 1
    return texts.pop()


def refused() -> list[str]:
    """Errors of the engines that need Linux."""
    import sojourn as sj
    from sojourn.engines.emulated import engine
    from sojourn.engines.kernel import cache, needs

    engine.DEVICE = engine.DEVICE.with_name("no-tun")
    sys.platform = "other"
    scenario = sj.Scenario.parse('duration = "2 s"\nlink = { rate = "5 Mbit/s" }\nflows = [{ kind = "tcp" }]')
    message = []
    for ask in (
        lambda: engine.check(scenario),
        lambda: needs.refuse(needs.missing_for_run(), "this machine"),
        lambda: cache.built("6.1", engine.DEVICE / "none"),
    ):
        try:
            ask()
        except Exception as error:
            message.append(str(error).splitlines()[-1].strip())
    return message


if __name__ == "__main__":
    hide()
    print("failed", load_all())
    print("simulated", simulate())
    print("refused", refused())
