"""Atomic writes: a file or folder appears complete or not at all, also after an error or Ctrl-C."""

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
    """Let `write` fill a file that replaces `path` atomically.

    The bytes are made in memory first, so that a full disk is our `OSError` and not an error of the writing library.
    """
    buffer = BytesIO()
    write(buffer)
    return _write_buffer(Path(path), buffer)


def write_if_changed(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Like `write_file`, but leave a file with equal contents untouched: it may be on a read-only file system."""
    buffer = BytesIO()
    write(buffer)
    if path.is_file() and path.read_bytes() == buffer.getbuffer():
        return path
    return _write_buffer(path, buffer)


def write_unpublished(path: Path, contents: bytes) -> None:
    """Write a file into an unpublished folder, in the block of `new_folder`."""
    try:
        path.write_bytes(contents)
    except OSError as error:
        error.filename = str(path)  # ENOSPC comes without a file name
        raise


def _write_buffer(path: Path, buffer: BytesIO) -> Path:
    try:
        _write(path.resolve(), buffer)
    except OSError as error:
        error.filename = str(path)  # as the user wrote it; ENOSPC comes without one
        raise
    return path


def _write(target: Path, buffer: BytesIO) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        target.write_bytes(buffer.getbuffer())
        return
    unpublished = not {part.absolute() for part in _parts.copy()}.isdisjoint(target.parents)
    if not unpublished:
        remove_stale(target.parent, target.name)
    with _unfinished(target, Path.touch) as part:
        with part.open("wb") as file:
            file.write(buffer.getbuffer())
            if not unpublished:  # some file systems report ENOSPC only at fsync
                file.flush()
                os.fsync(file.fileno())
        with _commit:
            part.replace(target)


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary sibling of `path` that is renamed to `path` at the end of the block, or removed if it raises.

    If `path` exists already, it stays and the new folder is removed, unless `replace` is set.
    """
    with _unfinished(path, _make_empty_folder) as part:
        yield part
        with _commit:
            before = _move_aside(path) if replace and path.is_dir() else None
            try:
                part.rename(path)
            except OSError:
                if before is not None:
                    before.rename(path)
                if before is not None or not path.is_dir():
                    raise
                _remove(part)  # another process finished the same run first
            else:
                if before is not None:
                    _remove(before)


def _move_aside(folder: Path) -> Path:
    """Rename a folder that is to be replaced to a name that `remove_stale` leaves alone, in case we are killed next."""
    return folder.rename(folder.with_name(f".{folder.name}.{os.getpid()}.before"))


@contextmanager
def temporary_folder(prefix: str, place: str | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end of the block, also if Ctrl-C ends the process."""
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    _parts.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _parts.discard(path)


def check_writable(folder: Path) -> None:
    """Raise `PermissionError` if `folder`, which may not exist yet, cannot be written to; call it before the work."""
    existing = folder if folder.is_dir() else _nearest(folder.absolute())
    if existing.is_dir() and not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))


def _nearest(folder: Path) -> Path:
    """Nearest existing ancestor, the path itself included."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def remove_stale(folder: Path, name: str | None = None) -> None:
    """Remove partial files of killed processes of this host from `folder`: those of file `name`, or all."""
    for part in folder.glob(f".{escape(name) if name else '*'}.*.part") if folder.is_dir() else ():
        match = _PART.fullmatch(part.name)
        if match and match["host"] == _HOST and not _is_alive(int(match["process"])):
            _remove(part)


def remove_unfinished() -> None:
    """Remove the partial files of all threads; only for a process that exits right after."""
    _commit.acquire(timeout=0.05)  # never released: no thread may commit or begin a part from here on
    parts: set[Path] = set()
    for attempt in range(20):
        parts.update(_parts.copy())
        for part in parts:
            _remove(part)
        if attempt >= 5 and not any(part.exists() for part in parts):
            break
        time.sleep(0.002)  # another thread may still be in a system call
    for folder in sorted(_made.copy(), key=lambda folder: len(folder.parts), reverse=True):
        _remove_if_empty(folder)


@contextmanager
def _unfinished(path: Path, begin: Callable[[Path], None]) -> Iterator[Path]:
    """Begin a hidden sibling of `path`; it and the parent folders made for it are removed if the block raises."""
    made: list[Path] = []
    with _commit:
        part = _new_part(path)
        _parts.add(part)  # before it exists, so that Ctrl-C cannot leave it behind
    try:
        with _commit:  # a thread that fails meanwhile must not remove the new folders before they hold a part
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
    """Name that no other thread uses. If several threads make the same folder, the last one discards its part."""
    numbers = ("", *(f"{number}." for number in range(len(_parts))))
    names = (path.with_name(f".{path.name}.{number}{_HOST}.{os.getpid()}.part") for number in numbers)
    return next(name for name in names if name not in _parts)


def _make_empty_folder(part: Path) -> None:
    try:
        part.mkdir()
    except FileExistsError:
        _remove(part)  # left by a killed process with our PID
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


def _is_alive(process: int) -> bool:
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
