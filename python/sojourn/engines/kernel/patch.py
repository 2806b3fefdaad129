"""Anchored edits of a source tree: each anchor must match exactly `count` times, or nothing is changed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.base.errors import MissingError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Edit:
    """A replacement in one file."""

    file: str
    anchor: str
    """Regular expression; `.` matches newlines."""
    new: str
    """Replacement; groups of the anchor by `\\g<1>`."""
    why: str
    count: int = 1
    """Number of matches that the anchor must have."""
    versions: Sequence[str] = ()
    """Linux versions of the edit; all if empty."""

    def apply(self, text: str) -> str:
        """Apply the edit; raises `MissingError` if the anchor does not match `count` times."""
        edited, found = re.subn(self.anchor, self.new, text, flags=re.DOTALL)
        if found != self.count:
            raise MissingError(
                f"{self.file}: the place for an edit was found {found} times instead of {self.count} ({self.why}); "
                "this version of the source cannot be used"
            )
        return edited


def read_edits(text: str, version: str) -> list[Edit]:
    """Read the edits for a Linux version from TOML."""
    tables: list[dict[str, Any]] = tomllib.loads(text)["edit"]
    edits = [Edit(**table) for table in tables]
    return [edit for edit in edits if version in (edit.versions or (version,))]


def apply_edits(edits: Iterable[Edit], tree: Path) -> list[str]:
    """Edit all files of a tree, or none if an edit fails; returns their names."""
    texts: dict[str, str] = {}
    for edit in edits:
        if edit.file not in texts:
            try:
                texts[edit.file] = (tree / edit.file).read_text(encoding="utf-8")
            except OSError as error:
                remedy = "this version of the source cannot be used"
                raise MissingError(f"{edit.file}: {error.strerror} in the kernel's source; {remedy}") from None
        texts[edit.file] = edit.apply(texts[edit.file])
    for name, text in texts.items():
        (tree / name).write_text(text, encoding="utf-8")
    return list(texts)
