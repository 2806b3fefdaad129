"""The acceptance of this example: budgets, equal decisions in eight processes each, the cost of 20 s at 10 Mbit/s."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROCESSES = 8
CPU_S = 3.0


def run(script: str, number: int, *options: str) -> str:
    """Output of a script in a process with another hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": str(number), "SOJOURN_SEED": ""}
    command = [sys.executable, str(HERE / script), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print what was measured; the exit code is 1 if processes differ or 20 s cost too much."""
    is_good = True
    for script in ("sans_io.py", "transfer.py"):
        outputs = [run(script, number) for number in range(1, PROCESSES + 1)]
        decisions = {re.search(r"decisions (\w+)", output)[1] for output in outputs}
        is_good &= len(decisions) == 1
        print(f"{script}: {PROCESSES} processes, {len(decisions)} different decisions: {' '.join(sorted(decisions))}")
    # The minimum: other programs on the machine only add to it.
    outputs = [run("transfer.py", 1, "--size", "23000000") for _ in range(3)]
    cpu = min(float(re.search(r"([\d.]+) s of CPU", output)[1]) for output in outputs)
    is_good &= cpu <= CPU_S
    print(f"transfer.py --size 23000000, 19.5 s: {cpu} s of CPU time, at most {CPU_S} allowed")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
