"""Without modules of Linux or Unix the package loads and simulates; engines that need Linux report it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sojourn as sj


def test_the_package_is_loaded_and_simulates_without_what_is_linuxs() -> None:
    script = Path(__file__).with_name("other_systems.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert told["failed"] == "[]"
    here = sj.compare(["codel", "pie"], duration="2 s", progress=False)
    assert told["simulated"] == " ".join(result.fingerprint for result in here.results)
    assert "no-tun is missing" in told["refused"]
    assert "Linux on x86-64: this is other" in told["refused"]
    assert "run sojourn kernel build" in told["refused"]
