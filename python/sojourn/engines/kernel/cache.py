"""Cache of built kernels, with a folder per Linux version and recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as distribution_version
from importlib.util import find_spec
from pathlib import Path

from sojourn import _core
from sojourn.base.caches import cache_folder
from sojourn.base.digests import digest_of
from sojourn.base.errors import MissingError
from sojourn.engines.kernel import library

VERSIONS = ("6.1", "6.12", "7.3")
"""Linux versions that can be built; the first one is the default."""
METADATA = "build.json"
GUEST_SOURCES = Path(__file__).parent / "guest"
"""Kernel configuration and source of the guest's program."""
GUEST_FILES = ("config*", "tool/*.c", "tool/*.h")
GPL_FILES = ("edits.toml", "Makefile", "*.[ch]")
"""Files of sojourn-kernel, a package of its own, that become part of the kernel."""
QDISC = "qdisc"
"""Its folder with the queue discipline `sojourn`, which is exchanged together with the library below it."""
OWN = "own"
"""Its folder for files of users, which is exchanged likewise."""
QDISC_FILES = ("Makefile", "*.[ch]")
GPL_PACKAGE, GPL_MODULE = "sojourn-kernel", "sojourn_kernel"
CHECKOUT = Path(__file__).parents[4] / "packages" / "kernel" / GPL_MODULE
"""Folder of that package in a checkout."""


@dataclass(frozen=True)
class Own:
    """Names of queue disciplines, congestion controls and crates that users add to a kernel."""

    qdiscs: frozenset[str] = frozenset()
    controls: frozenset[str] = frozenset()
    crates: frozenset[str] = frozenset()
    """Libraries of queue managers in Rust: `my_aqm` of `libmy_aqm.so`."""

    def __bool__(self) -> bool:
        return bool(self.qdiscs or self.controls or self.crates)

    def __le__(self, other: Own) -> bool:
        """Whether the other has all of these."""
        return self.qdiscs <= other.qdiscs and self.controls <= other.controls and self.crates <= other.crates

    def __str__(self) -> str:
        kinds = (("discipline", self.qdiscs), ("control", self.controls), ("crate", self.crates))
        lists = (f"the {kind}{'s' * (len(names) > 1)} {', '.join(sorted(names))}" for kind, names in kinds if names)
        return " and ".join(lists)

    @property
    def options(self) -> str:
        """Options of `sojourn kernel build` for these."""
        kinds = (("--qdisc FILE.c", self.qdiscs), ("--cc FILE.c", self.controls), ("--aqm CRATE", self.crates))
        return "".join(f" {option}" for option, names in kinds for _ in names)


NOTHING = Own()


@dataclass(frozen=True)
class Kernel:
    """A built kernel."""

    image: Path
    program: Path
    """The guest's program, which runs as init."""
    version: str
    """Full Linux version."""
    digest: str
    """Digest of both files; equal digests give equal results."""
    own: Own = NOTHING
    """Disciplines and controls of a user's files."""

    @property
    def identity(self) -> str:
        """Name in the hash of results."""
        return f"kernel-{self.version}-{self.digest}"


def root(given: Path | None = None) -> Path:
    """Root folder of all kernels: the given one, $SOJOURN_KERNEL, or one in the user's cache."""
    return cache_folder("kernel", "SOJOURN_KERNEL", given)


def folder_of(version: str, place: Path, own: str = "") -> Path:
    """Folder of a kernel; the digests of its sources are part of its name, so that changed ones need a new build.

    `own` is the digest of a user's files, if the kernel has some.
    """
    return place / f"linux-{version}-{recipe()}-{qdisc_recipe()}{f'+{own}' if own else ''}"


def read(folder: Path) -> Kernel | None:
    """The kernel in a folder; None if there is none."""
    try:
        metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
        own = Own(*(frozenset(metadata.get(key, {})) for key in ("qdiscs", "controls", "crates")))
        return Kernel(folder / "linux", folder / "guest", metadata["linux"], metadata["digest"], own)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def find(version: str = VERSIONS[0], place: Path | None = None, own: Own = NOTHING) -> Kernel | None:
    """Built kernel of a version with the current recipe, if there is one; with `own` the last one that has these."""
    if gpl_part() is None or not library.is_at_hand():
        return None
    base = folder_of(version, root(place))
    if not own:
        return read(base)
    folders = sorted(base.parent.glob(f"{base.name}+*"), key=lambda folder: (_built_ns(folder), folder.name))
    kernels = (read(folder) for folder in reversed(folders))
    return next((kernel for kernel in kernels if kernel and own <= kernel.own), None)


def _built_ns(folder: Path) -> int:
    """Time of a build or of its repetition, in ns; 0 without one."""
    try:
        return (folder / METADATA).stat().st_mtime_ns
    except OSError:
        return 0


def built(version: str = VERSIONS[0], place: Path | None = None, own: Own = NOTHING) -> Kernel:
    """Built kernel of a version; raises `MissingError` if there is none, or none with `own`."""
    require_gpl_part()
    found = find(version, place, own)
    if found is None:
        what = f" with {own}" if own else ""
        command = "sojourn kernel build" + ("" if version == VERSIONS[0] else f" --version {version}")
        raise MissingError(f"no kernel {version}{what} is built in {root(place)}; run {command}{own.options}")
    return found


def gpl_part() -> Path | None:
    """Folder of sojourn-kernel, in the checkout or installed; None if missing."""
    if (CHECKOUT / "edits.toml").is_file():
        return CHECKOUT
    found = find_spec(GPL_MODULE)
    return Path(found.origin).parent if found and found.origin else None


def require_gpl_part() -> Path:
    """Folder of sojourn-kernel; raises `MissingError` if it is missing or of another version of Sojourn."""
    found, own = gpl_part(), _core.version()
    if found is None:
        raise MissingError(
            f"the kernel engine needs its GPL part, a separate package; install it: pip install {GPL_PACKAGE}=={own}"
        )
    if found != CHECKOUT and (other := distribution_version(GPL_PACKAGE)) != own:
        raise MissingError(f"{GPL_PACKAGE} {other} is not that of Sojourn {own}; pip install {GPL_PACKAGE}=={own}")
    return found


@cache
def recipe() -> str:
    """Digest of our inputs of a kernel build, without the Linux source and without our queue disciplines."""
    own = {str(path.relative_to(GUEST_SOURCES)): path for path in _files(GUEST_SOURCES, GUEST_FILES)}
    own |= {f"gpl2/{path.name}": path for path in _files(require_gpl_part(), GPL_FILES)}
    return _digest_of(own)


@cache
def qdisc_recipe() -> str:
    """Digest of our queue disciplines and of the discipline of the kernel that calls them."""
    folders = {name: require_gpl_part() / name for name in (QDISC, OWN)}
    own = {f"{name}/{path.name}": path for name, at in folders.items() for path in _files(at, QDISC_FILES)}
    return hashlib.sha256(f"{library.digest()} {_digest_of(own)}".encode()).hexdigest()[:12]


def _digest_of(own: Mapping[str, Path]) -> str:
    return digest_of((name, path.read_bytes()) for name, path in sorted(own.items(), key=lambda one: Path(one[0])))


def _files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in folder.glob(pattern)]
