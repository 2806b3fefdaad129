"""Order of a study's runs, stored beside them: figures drawn later use it for legend and colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sojourn.base.files import write_if_changed
from sojourn.model.results.result import Result

ORDER = ".order"
"""File in a folder of results: one run folder per line, those of the latest study first."""


def remember(results: Sequence[Result]) -> None:
    """Store the order of a study's results, before those of earlier studies in the same folder."""
    folders = [result.folder for result in results if result.folder is not None]
    if len(folders) < 2:
        return
    root = folders[0].parent
    names = dict.fromkeys(folder.name for folder in folders)
    earlier = [name for name in _read(root) if name not in names]
    text = "".join(f"{name}\n" for name in [*names, *earlier][:MAX_RUNS])
    with suppress(OSError):  # the folder may be read-only, and results are complete without their order
        write_if_changed(root / ORDER, lambda file: file.write(text.encode()))


def places(root: Path) -> dict[str, int]:
    """Index of each run of a folder by its name; empty for a folder without studies."""
    return {name: place for place, name in enumerate(_read(root))}


def _read(root: Path) -> list[str]:
    try:
        with (root / ORDER).open("rb") as file:
            text = file.read(MAX_BYTES)
    except OSError:
        return []
    return re.findall(r"^[0-9a-f]{16}$", text.decode("ascii", "replace"), re.MULTILINE)


MAX_RUNS = 200_000
MAX_BYTES = 17 * MAX_RUNS
"""Size of a file with the maximum number of names."""
