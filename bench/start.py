"""CPU time of commands from start to end: `make bench-start`.

User and system time of a process in seconds: the minimum of several calls after one that warms the caches. Busy
cores share caches, so compare numbers of one idle machine only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CALLS = 5
ENV = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""The environment; installed packages have their bytecode stored, too."""
SCENARIO = Path(__file__).parent.parent / "scenarios" / "codel.toml"
COMPARE = ["-m", "sojourn", "compare", "--aqm", "droptail,codel,pie,fq_codel", "--duration", "60 s"]
COMMANDS = {
    "Python alone": ["-c", "pass"],
    "import matplotlib, with its Agg backend": [
        "-c",
        "import matplotlib.figure, matplotlib.axes, matplotlib.backends.backend_agg",
    ],
    "import polars": ["-c", "import polars"],
    "import sojourn": ["-c", "import sojourn"],
    "sojourn --help": ["-m", "sojourn", "--help"],
    "sojourn run, a second": ["-m", "sojourn", "run", str(SCENARIO), "--set", "duration=1 s", "--set", "warmup=0 s"],
    "sojourn compare, four queues, 60 s": COMPARE,
    "the same, read again": COMPARE,
}
"""Arguments of the interpreter by name; each call has an empty folder, the last one that of the call before."""


def cpu_s(command: Sequence[str], folder: str) -> float:
    """Run a command in a folder; return its user and system time in seconds."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, env=ENV, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}: {errors.read().decode()}")
    return usage.ru_utime + usage.ru_stime


def measured(name: str) -> float:
    """Minimum CPU time of a command of `COMMANDS`, in seconds."""
    found = []
    for _ in range(CALLS + 1):
        with tempfile.TemporaryDirectory() as folder:
            if name == "the same, read again":
                cpu_s(COMMANDS[name], folder)
            found.append(cpu_s(COMMANDS[name], folder))
    return min(found[1:])


def main() -> None:
    """Print a row for each command."""
    print("| command | CPU, s |")
    print("|---|--:|")
    for name in COMMANDS:
        print(f"| {name} | {measured(name):.3f} |", flush=True)


if __name__ == "__main__":
    main()
