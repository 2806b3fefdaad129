"""Writing files so that nothing half-written is ever seen, whatever fails or whoever presses Ctrl-C."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from io import BytesIO
from pathlib import Path
from typing import IO


def write_file(path: Path | str, write: Callable[[IO[bytes]], object]) -> Path:
    """Let `write` fill a file that appears at `path` as a whole or not at all.

    The bytes are made in memory first: whatever library makes them, a full disk is then an `OSError` of ours.
    """
    buffer = BytesIO()
    write(buffer)
    return _write_buffer(Path(path), buffer)


def write_changed(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Do the same, but leave a file alone that has these contents: it may lie where nothing can be written."""
    buffer = BytesIO()
    write(buffer)
    if path.is_file() and path.read_bytes() == buffer.getbuffer():
        return path
    return _write_buffer(path, buffer)


def write_unseen(path: Path, contents: bytes) -> None:
    """Write a file into a folder that nobody has seen yet: in the block of `new_folder`."""
    try:
        path.write_bytes(contents)
    except OSError as error:
        error.filename = str(path)  # a full disk names none
        raise


def _write_buffer(path: Path, buffer: BytesIO) -> Path:
    try:
        _write(path.resolve(), buffer)
    except OSError as error:
        error.filename = str(path)  # the user's name for it, and a full disk names none
        raise
    return path


def _write(target: Path, buffer: BytesIO) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        target.write_bytes(buffer.getbuffer())
        return
    unseen = not {part.absolute() for part in _parts.copy()}.isdisjoint(target.parents)
    if not unseen:
        clean(target.parent, target.name)
    with _unfinished(target, Path.touch) as part:
        with part.open("wb") as file:
            file.write(buffer.getbuffer())
            if not unseen:  # some file systems notice only here that they are full
                file.flush()
                os.fsync(file.fileno())
        with _commit:
            part.replace(target)


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a temporary sibling of `path` that becomes `path` when the block ends well, and vanishes otherwise.

    A folder that is there already stays, and what the block made goes, unless it is to `replace` it.
    """
    with _unfinished(path, _make_empty) as part:
        yield part
        with _commit:
            before = _set_aside(path) if replace and path.is_dir() else None
            try:
                part.rename(path)
            except OSError:
                if before is not None:
                    before.rename(path)
                if before is not None or not path.is_dir():
                    raise
                _remove(part)  # somebody else finished the same run first
            else:
                if before is not None:
                    _remove(before)


def _set_aside(folder: Path) -> Path:
    """Give a folder that is to be replaced a name that `clean` leaves alone, should we be killed right after."""
    return folder.rename(folder.with_name(f".{folder.name}.{os.getpid()}.before"))


@contextmanager
def temporary_folder(prefix: str, place: str | None = None) -> Iterator[Path]:
    """Make a folder that is there within the block only, also if Ctrl-C ends the process."""
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    _parts.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _parts.discard(path)


def check_writable(folder: Path) -> None:
    """Raise now what writing into `folder`, there already or not, would raise after the work."""
    there = folder if folder.is_dir() else _nearest(folder.absolute())
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))


def _nearest(folder: Path) -> Path:
    """What is there of a path: itself, or the nearest folder above it."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def clean(folder: Path, name: str | None = None) -> None:
    """Remove what processes of this machine that are no more, because they were killed, left half-written.

    Of one that is called `name`, or of all in a folder.
    """
    for part in folder.glob(f".{escape(name) if name else '*'}.*.part") if folder.is_dir() else ():
        match = _PART.fullmatch(part.name)
        if match and match["host"] == _HOST and not _lives(int(match["process"])):
            _remove(part)


def abandon() -> None:
    """Remove what is half-written in any thread; for a process that ends right after."""
    _commit.acquire(timeout=0.05)  # kept: nobody may finish what is being removed, nor begin anything
    parts: set[Path] = set()
    for attempt in range(20):
        parts.update(_parts.copy())
        for part in parts:
            _remove(part)
        if attempt >= 5 and not any(part.exists() for part in parts):
            break
        time.sleep(0.002)  # a system call of another thread may still be under way
    for folder in sorted(_made.copy(), key=lambda folder: len(folder.parts), reverse=True):
        _remove_if_empty(folder)


@contextmanager
def _unfinished(path: Path, begin: Callable[[Path], None]) -> Iterator[Path]:
    """Begin a hidden sibling in which `path` is made; it and the folders made for it go if the block fails."""
    made: list[Path] = []
    with _commit:
        part = _new_part(path)
        _parts.add(part)  # noted before it exists
    try:
        with _commit:  # a thread that fails meanwhile may not take the new folders away before there is a part
            made += _make_parents(part.parent)
            _made.update(made)
            begin(part)
        yield part
    except BaseException:
        _remove(part)
        with _commit:
            for folder in made:
                _remove_if_empty(folder)
        raise
    finally:
        _parts.discard(part)
        _made.difference_update(made)


def _new_part(path: Path) -> Path:
    """A name that no other thread uses; the last of several that make the same gives its own up."""
    numbers = ("", *(f"{number}." for number in range(len(_parts))))
    names = (path.with_name(f".{path.name}.{number}{_HOST}.{os.getpid()}.part") for number in numbers)
    return next(name for name in names if name not in _parts)


def _make_empty(part: Path) -> None:
    try:
        part.mkdir()
    except FileExistsError:
        _remove(part)  # a killed process had our number
        part.mkdir()


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
        return
    with suppress(OSError):  # another thread may be making or removing it
        part.unlink()


def _make_parents(folder: Path) -> list[Path]:
    if folder.is_dir():
        return []
    if folder.exists():
        raise NotADirectoryError(errno.ENOTDIR, "Not a folder", str(folder))
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


_HOST = re.sub(r"[^\w-]", "-", socket.gethostname())[:64]
_PART = re.compile(r"\..+\.(?P<host>[\w-]*)\.(?P<process>\d+)\.part")
_commit = threading.RLock()
_parts: set[Path] = set()
_made: set[Path] = set()
