"""Folders in which what was built is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str, variable: str, given: Path | None = None) -> Path:
    """Folder of this name: the given one, the one that an environment variable names, or the user's."""
    if given is not None:
        return given.absolute()
    if named := os.environ.get(variable):
        return Path(named).absolute()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "sojourn" / name
