"""Compressed input files, of which no more comes out than is asked for: a small file may hold any number of zeros."""

from __future__ import annotations

import bz2
import zlib
from pathlib import Path
from typing import Protocol

from sojourn.base.errors import InputError

MOST_BYTES = 1 << 27
"""Of a file, decompressed. An hour of a test of Flent with fifty flows, or of packets of a kernel, takes less."""


class _Stream(Protocol):
    """What undoes one stream of a file."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """Bytes of the file behind the stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """At most so many bytes of what follows."""
        ...


def unpacked(path: Path, data: bytes, most: int = MOST_BYTES) -> bytes:
    """Contents of a file, compressed by gzip or bzip2 (its first bytes say so) or plain; at most so many bytes."""
    parts: list[bytes] = []
    left, size = data, 0
    while (stream := _stream(left)) is not None:
        try:
            part = stream.decompress(left, most - size + 1)
        except (zlib.error, OSError) as error:
            raise InputError(f"{path}: damaged ({error}); fetch it again") from None
        parts.append(part)
        size += len(part)
        if size > most:
            raise _too_much(path, most)
        if not stream.eof:
            raise InputError(f"{path}: the file is cut off; fetch it again")
        left = stream.unused_data
    if parts:
        return b"".join(parts)
    if len(data) > most:
        raise _too_much(path, most)
    return data


def _stream(data: bytes) -> _Stream | None:
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(wbits=31)
    if data[:3] == b"BZh":
        return bz2.BZ2Decompressor()
    return None


def _too_much(path: Path, most: int) -> InputError:
    return InputError(f"{path}: more than {most >> 20} MB of data; cut it")
