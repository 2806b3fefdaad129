"""Without modules of Linux or Unix the package loads and simulates; engines that need Linux report it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sojourn as sj


def test_the_package_loads_and_simulates_without_linux_modules() -> None:
    script = Path(__file__).with_name("other_systems.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    reported = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert reported["failed"] == "[]"
    here = sj.compare(["codel", "pie"], duration="2 s", progress=False)
    assert reported["simulated"] == " ".join(result.fingerprint for result in here.results)
    assert "no-tun is missing" in reported["refused"]
    assert "Linux on x86-64: this is other" in reported["refused"]
    assert "run sojourn kernel build" in reported["refused"]
