"""Where built kernels are kept: a folder for each version of Linux and each recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as distribution_version
from importlib.util import find_spec
from pathlib import Path

from sojourn import _core
from sojourn.base.caches import cache_folder
from sojourn.base.errors import MissingError

VERSIONS = ("6.1", "6.12", "7.3")
"""That can be built; the first one is meant where none is named."""
ABOUT = "build.json"
INGREDIENTS = Path(__file__).parent / "guest"
"""What a kernel is made with beside its source; compilers read it where it lies."""
MADE_WITH = ("config*", "tool/*.c", "tool/*.h")
GPL_MADE_WITH = ("edits.toml", "Makefile", "*.[ch]")
"""The same of what becomes part of the kernel, which is a package of its own."""
GPL_PACKAGE, GPL_MODULE = "sojourn-kernel", "sojourn_kernel"
CHECKOUT = Path(__file__).parents[4] / "packages" / "kernel" / GPL_MODULE
"""Where that package is in a checkout."""


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
    if gpl_part() is None:
        return None
    folder = folder_of(version, root(place))
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return Kernel(folder / "linux", folder / "guest", about["linux"], about["digest"])
    except (OSError, ValueError, KeyError):
        return None


def built(version: str = VERSIONS[0], place: Path | None = None) -> Kernel:
    """Return the built kernel of a version; refused if there is none."""
    needed_gpl_part()
    found = find(version, place)
    if found is None:
        option = "" if version == VERSIONS[0] else f" --version {version}"
        raise MissingError(f"no kernel {version} is built in {root(place)}; run sojourn kernel build{option}")
    return found


def gpl_part() -> Path | None:
    """Folder of what becomes part of the kernel: that of the checkout, or of the installed package; None without it."""
    if (CHECKOUT / "edits.toml").is_file():
        return CHECKOUT
    found = find_spec(GPL_MODULE)
    return Path(found.origin).parent if found and found.origin else None


def needed_gpl_part() -> Path:
    """Return the same; refused where it is missing, or belongs to another version of Sojourn."""
    found, own = gpl_part(), _core.version()
    if found is None:
        raise MissingError(
            f"the kernel engine needs its part under the GPL, a package of its own; install it: "
            f"pip install {GPL_PACKAGE}=={own}"
        )
    if found != CHECKOUT and (other := distribution_version(GPL_PACKAGE)) != own:
        raise MissingError(f"{GPL_PACKAGE} {other} is not that of Sojourn {own}; pip install {GPL_PACKAGE}=={own}")
    return found


@cache
def recipe() -> str:
    """Digest of everything that a kernel is made with beside its source."""
    own = {str(path.relative_to(INGREDIENTS)): path for path in _files(INGREDIENTS, MADE_WITH)}
    own |= {f"gpl2/{path.name}": path for path in _files(needed_gpl_part(), GPL_MADE_WITH)}
    digest = hashlib.sha256()
    for name, path in sorted(own.items(), key=lambda one: Path(one[0])):
        text = path.read_bytes()
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:12]


def _files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in folder.glob(pattern)]
