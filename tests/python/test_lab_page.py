"""The lab's page under Node and in headless Chromium: runs its own tests if the tools are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"

needs_node = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is missing (Debian: npm)")
needs_packages = pytest.mark.skipif(
    not (WEB / "node_modules").is_dir(), reason="the page's packages are missing (make web, or npm ci in web/)"
)


def run(*command: str) -> str:
    """Output of an npm script of the page; fails with that output."""
    environment = {**os.environ, "SOJOURN_PYTHON": sys.executable}
    done = subprocess.run(["npm", *command], cwd=WEB, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_node
@needs_packages
def test_types_and_formatting() -> None:
    run("run", "check")


@needs_node
@needs_packages
def test_pure_functions() -> None:
    message = run("test")
    assert re.search(r"^# pass [1-9]", message, re.MULTILINE), message


@needs_node
@needs_packages
def test_end_to_end() -> None:
    message = run("run", "e2e")
    reasons = re.findall(r"# SKIP (.*)", message)
    if reasons:
        pytest.skip(reasons[0])
    assert re.search(r"^# pass [1-9]", message, re.MULTILINE), message


def test_the_lock_file_names_no_host() -> None:
    lock = (WEB / "package-lock.json").read_text()
    assert '"integrity"' in lock
    assert "resolved" not in lock
