"""Where built kernels are kept: a folder for each version of Linux and each recipe."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sojourn.base.caches import cache_folder
from sojourn.base.errors import MissingError

VERSIONS = ("6.1", "6.12", "7.3")
"""That can be built; the first one is meant where none is named."""
ABOUT = "build.json"
INGREDIENTS = Path(__file__).parent / "guest"
"""What a kernel is made with beside its source; compilers read it where it lies."""
MADE_WITH = ("config*", "gpl2/edits.toml", "gpl2/Makefile", "gpl2/*.[ch]", "tool/*.c", "tool/*.h")


@dataclass(frozen=True)
class Kernel:
    """A kernel that can run."""

    image: Path
    program: Path
    """What runs in it as its only process."""
    version: str
    """Of Linux, in full."""
    digest: str
    """Of both files: equal ones give equal results."""

    @property
    def identity(self) -> str:
        """Name in the hash of results."""
        return f"kernel-{self.version}-{self.digest}"


def root(given: Path | None = None) -> Path:
    """Folder of all kernels: the given one, $SOJOURN_KERNEL, or one in the user's cache."""
    return cache_folder("kernel", "SOJOURN_KERNEL", given)


def folder_of(version: str, place: Path) -> Path:
    """Folder of a kernel: what it is made with is part of its name, so a new recipe makes a new kernel."""
    return place / f"linux-{version}-{recipe()}"


def find(version: str = VERSIONS[0], place: Path | None = None) -> Kernel | None:
    """Return the built kernel of a version, if there is one of this recipe."""
    folder = folder_of(version, root(place))
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return Kernel(folder / "linux", folder / "guest", about["linux"], about["digest"])
    except (OSError, ValueError, KeyError):
        return None


def built(version: str = VERSIONS[0], place: Path | None = None) -> Kernel:
    """Return the built kernel of a version; refused if there is none."""
    found = find(version, place)
    if found is None:
        option = "" if version == VERSIONS[0] else f" --version {version}"
        raise MissingError(f"no kernel {version} is built in {root(place)}; run sojourn kernel build{option}")
    return found


@cache
def recipe() -> str:
    """Digest of everything that a kernel is made with beside its source."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in MADE_WITH for path in INGREDIENTS.glob(pattern)):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(INGREDIENTS)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:12]
