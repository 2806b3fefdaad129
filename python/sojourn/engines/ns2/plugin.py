"""The built plugin, which has our queue managers for ns-2: where it is kept, and whether it fits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sojourn import _core
from sojourn.base.caches import cache_folder
from sojourn.base.errors import MissingError
from sojourn.engines.ns2 import installed

PLUGIN, ABOUT = "sojourn_ns2.so", "build.json"
SOURCE = Path(__file__).parent / "source"
"""What the plugin is compiled from beside ns-2's headers and libsojourn_aqm."""


@dataclass(frozen=True)
class Plugin:
    """A plugin that can be loaded."""

    file: Path
    digest: str

    @property
    def identity(self) -> str:
        """Name in the hash of results: both digests are part of it."""
        return f"{installed.identity()}-{self.digest}"


def root(given: Path | None = None) -> Path:
    """Folder of the plugin: the given one, $SOJOURN_NS2, or one in the user's cache."""
    return cache_folder("ns2", "SOJOURN_NS2", given)


def folder_of(place: Path) -> Path:
    """Folder of the plugin itself."""
    return place / "plugin"


def find(given: Path | None = None) -> Plugin | None:
    """Return the plugin that was built last, if there is one."""
    folder = folder_of(root(given))
    about = _about(folder)
    return Plugin(folder / PLUGIN, about["digest"]) if about and (folder / PLUGIN).is_file() else None


def built(given: Path | None = None) -> Plugin:
    """Return the plugin; refused if there is none, or one of another version."""
    place = root(given)
    found, about = find(given), _about(folder_of(place))
    if found is None or about is None:
        raise MissingError(f"no plugin for ns-2 is built in {place}; run sojourn ns2 build")
    ours = {"sojourn": _core.version(), "recipe": recipe()}
    if any(about.get(key) != value for key, value in ours.items()):
        told = f"Sojourn {about.get('sojourn', 'unknown')}"
        raise MissingError(f"{found.file}: is the plugin of another version ({told}); run sojourn ns2 build")
    return found


@cache
def recipe() -> str:
    """Digest of everything of ours that it is made with beside libsojourn_aqm."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.iterdir()):
        text = path.read_bytes()
        digest.update(f"{path.name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:12]


def _about(folder: Path) -> dict[str, str] | None:
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and isinstance(about.get("digest"), str) else None
