"""Order in which a study has its runs, kept beside them: figures drawn later have its legend and its colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sojourn.base.files import write_if_changed
from sojourn.model.results.result import Result

ORDER = ".order"
"""File in a folder of results: a name of a run's folder per line, those of the last study first."""


def remember(results: Sequence[Result]) -> None:
    """Write down the order of stored results of a study, before those of earlier studies in the same folder."""
    folders = [result.folder for result in results if result.folder is not None]
    if len(folders) < 2:
        return
    root = folders[0].parent
    names = dict.fromkeys(folder.name for folder in folders)
    earlier = [name for name in _read(root) if name not in names]
    text = "".join(f"{name}\n" for name in [*names, *earlier][:MOST])
    with suppress(OSError):  # results may lie where nothing can be written, and are whole without their order
        write_if_changed(root / ORDER, lambda file: file.write(text.encode()))


def places(root: Path) -> dict[str, int]:
    """Place of each run of a folder by its name; empty of a folder without studies."""
    return {name: place for place, name in enumerate(_read(root))}


def _read(root: Path) -> list[str]:
    try:
        with (root / ORDER).open("rb") as file:
            text = file.read(LARGEST)
    except OSError:
        return []
    return re.findall(r"^[0-9a-f]{16}$", text.decode("ascii", "replace"), re.MULTILINE)


MOST = 200_000
LARGEST = 17 * MOST
"""Bytes of a file with so many names."""
