"""Anchored edits of a source tree: each finds its place exactly as often as it says, or nothing is changed."""

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
    """What takes its place; groups of the anchor by `\\g<1>`."""
    why: str
    count: int = 1
    """How often the anchor has to be found."""
    versions: Sequence[str] = ()
    """Of Linux, for which it is; all if empty."""

    def apply(self, text: str) -> str:
        """Return the text with the edit; an anchor that is not there as often as it should be is an error."""
        edited, found = re.subn(self.anchor, self.new, text, flags=re.DOTALL)
        if found != self.count:
            raise MissingError(
                f"{self.file}: the place for an edit was found {found} times instead of {self.count} ({self.why}); "
                "this version of the source cannot be used"
            )
        return edited


def read_edits(text: str, version: str) -> list[Edit]:
    """Edits of a TOML file for a version of Linux."""
    tables: list[dict[str, Any]] = tomllib.loads(text)["edit"]
    edits = [Edit(**table) for table in tables]
    return [edit for edit in edits if version in (edit.versions or (version,))]


def apply_edits(edits: Iterable[Edit], tree: Path) -> list[str]:
    """Edit the files of a tree, all or none of them; their names."""
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
