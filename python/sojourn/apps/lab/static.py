"""The built page: its files are in the package, where `make web` installs them."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

from sojourn.base.errors import MissingError

KINDS = {
    "index.html": "text/html; charset=utf-8",
    "lab.js": "text/javascript; charset=utf-8",
    "lab.css": "text/css; charset=utf-8",
    "component.js": "text/javascript; charset=utf-8",
    "sojourn.wasm": "application/wasm",
}
"""The files and their types; nothing else is ever served or embedded."""


def is_built() -> bool:
    """Whether the page is in this installation."""
    return all((_folder() / name).is_file() for name in KINDS)


def read(name: str) -> bytes:
    """Contents of one of the files."""
    assert name in KINDS
    if not is_built():
        raise MissingError(f"the page of the lab is not built; {remedy()}")
    return (_folder() / name).read_bytes()


def remedy() -> str:
    """Missing requirements of this machine for the page, and the command that builds it."""
    needs = Path(__file__).parents[4] / "web" / "needs.sh"
    if not needs.is_file():
        return "this installation does not include it; install Sojourn again from a wheel built by make wheel"
    try:
        output = subprocess.run(["bash", str(needs)], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        output = ""
    return output.strip() or f"run: make -C {needs.parents[1]} web"


def _folder() -> Path:
    return Path(str(files("sojourn.apps.lab"))) / "static"
