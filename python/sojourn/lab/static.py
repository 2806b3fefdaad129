"""The built page: its files lie in the package, where `make web` puts them."""

from __future__ import annotations

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
"""The files and what they are; nothing else is ever served or embedded."""


def is_built() -> bool:
    """Whether the page is in this installation."""
    return all((_folder() / name).is_file() for name in KINDS)


def read(name: str) -> bytes:
    """Contents of one of the files."""
    assert name in KINDS
    if not is_built():
        raise MissingError("the page is not in this installation; build it in the sources with: make web")
    return (_folder() / name).read_bytes()


def _folder() -> Path:
    return Path(str(files("sojourn.lab"))) / "static"
