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
                f"{_REMEDY}"
            )
        return edited


def read_edits(text: str, version: str) -> list[Edit]:
    """Read the edits for a Linux version from TOML."""
    tables: list[dict[str, Any]] = tomllib.loads(text)["edit"]
    edits = [Edit(**table) for table in tables]
    return [edit for edit in edits if version in (edit.versions or (version,))]


def apply_edits(edits: Iterable[Edit], tree: Path) -> list[str]:
    """Edit all files of a tree, or none if an edit fails; returns their names. The error names each that fails."""
    texts: dict[str, str] = {}
    failed: list[str] = []
    for edit in edits:
        try:
            if edit.file not in texts:
                texts[edit.file] = _read(tree, edit.file)
            texts[edit.file] = edit.apply(texts[edit.file])
        except MissingError as error:
            failed.append(str(error))
    if failed:
        raise MissingError("\n  ".join(dict.fromkeys(failed)))
    for name, text in texts.items():
        (tree / name).write_text(text, encoding="utf-8")
    return list(texts)


def _read(tree: Path, name: str) -> str:
    try:
        return (tree / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "not UTF-8")
        raise MissingError(f"{name}: {reason} in the kernel's source; {_REMEDY}") from None


_REMEDY = "this version of the source cannot be used"
