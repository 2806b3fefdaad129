"""The built plugin with our queue managers for ns-2: its folder and its version check."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sojourn import _core
from sojourn.base.caches import cache_folder
from sojourn.base.digests import digest_of
from sojourn.base.errors import MissingError
from sojourn.engines.ns2 import installed

PLUGIN, METADATA = "sojourn_ns2.so", "build.json"
SOURCE = Path(__file__).parent / "source"
"""C++ source of the plugin."""


@dataclass(frozen=True)
class Plugin:
    """A built plugin."""

    file: Path
    digest: str

    @property
    def identity(self) -> str:
        """Name in the hash of results, with the digests of ns-2 and of the plugin."""
        return f"{installed.identity()}-{self.digest}"


def root(given: Path | None = None) -> Path:
    """Root folder: the given one, $SOJOURN_NS2, or one in the user's cache."""
    return cache_folder("ns2", "SOJOURN_NS2", given)


def folder_of(place: Path) -> Path:
    """Folder of the plugin below the root."""
    return place / "plugin"


def find(given: Path | None = None) -> Plugin | None:
    """The plugin built last, if there is one."""
    folder = folder_of(root(given))
    metadata = _read_metadata(folder)
    return Plugin(folder / PLUGIN, metadata["digest"]) if metadata and (folder / PLUGIN).is_file() else None


def built(given: Path | None = None) -> Plugin:
    """The plugin; raises `MissingError` if there is none, or one of another version."""
    place = root(given)
    found, metadata = find(given), _read_metadata(folder_of(place))
    if found is None or metadata is None:
        raise MissingError(f"no plugin for ns-2 is built in {place}; run sojourn ns2 build")
    expected = {"sojourn": _core.version(), "recipe": recipe()}
    if any(metadata.get(key) != value for key, value in expected.items()):
        version = f"Sojourn {metadata.get('sojourn', 'unknown')}"
        raise MissingError(f"{found.file}: is the plugin of another version ({version}); run sojourn ns2 build")
    return found


@cache
def recipe() -> str:
    """Digest of our sources of the plugin, without libsojourn_aqm."""
    return digest_of((path.name, path.read_bytes()) for path in sorted(SOURCE.iterdir()))


def _read_metadata(folder: Path) -> dict[str, str] | None:
    try:
        metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return metadata if isinstance(metadata, dict) and isinstance(metadata.get("digest"), str) else None
