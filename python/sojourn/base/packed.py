"""Compressed input files, decompressed up to a limit: a small file may hold any number of zeros."""

from __future__ import annotations

import bz2
import zlib
from pathlib import Path
from typing import Protocol

from sojourn.base.errors import InputError
from sojourn.base.inputs import first_bytes

MAX_BYTES = 1 << 27
"""Maximum decompressed size; an hour of a Flent test with fifty flows, or of a kernel's packets, takes less."""


class _Stream(Protocol):
    """Decompressor of one stream of a file."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """Bytes of the file after the stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Decompress at max_bytes `max_length` bytes."""
        ...


def decompress(path: Path, data: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """Contents of a file that is plain or compressed by gzip or bzip2 (by its magic bytes).

    Raises `InputError` above `max_bytes`.
    """
    parts: list[bytes] = []
    left, size = data, 0
    while (stream := _stream(left)) is not None:
        try:
            part = stream.decompress(left, max_bytes - size + 1)
        except (zlib.error, OSError) as error:
            raise InputError(f"{path}: damaged ({error}); fetch it again") from None
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise _too_much(path, max_bytes)
        if not stream.eof:
            raise InputError(f"{path}: the file is truncated; fetch it again")
        left = stream.unused_data
    if parts:
        return b"".join(parts)
    if len(data) > max_bytes:
        raise _too_much(path, max_bytes)
    return data


def head(path: Path | str, count: int) -> bytes:
    """First bytes of a regular file, decompressed; none if it is something else, damaged, or cannot be read."""
    start = first_bytes(path, count)
    stream = _stream(start)
    try:
        return start if stream is None else stream.decompress(start, count)
    except (zlib.error, OSError):
        return b""


def _stream(data: bytes) -> _Stream | None:
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(wbits=31)
    if data[:3] == b"BZh":
        return bz2.BZ2Decompressor()
    return None


def _too_much(path: Path, max_bytes: int) -> InputError:
    return InputError(f"{path}: more than {max_bytes >> 20} MB of data; shorten it")
