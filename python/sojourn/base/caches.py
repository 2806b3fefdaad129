"""Cache folders for builds."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str, variable: str, given: Path | None = None) -> Path:
    """Cache folder `name`: `given`, else the value of the environment variable, else below the user's `~/.cache`."""
    if given is not None:
        return given.absolute()
    if named := os.environ.get(variable):
        return Path(named).absolute()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "sojourn" / name
