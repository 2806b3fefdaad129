"""Tables of a result in memory, in the form of lazily read tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl


def in_memory(frames: Mapping[str, pl.DataFrame]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables of frames that exist already."""
    return {name: partial(pl.DataFrame.clone, frame) for name, frame in frames.items()}


def of_columns(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables that stay raw columns until first use: building all frames takes as long as a short run."""
    return {name: _LazyTable(columns) for name, columns in tables.items()}


class _LazyTable:
    """A frame built on first use; a frame copies its columns, which are released then."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns: Mapping[str, Any] | None = columns
        self._frame = pl.DataFrame()

    def __call__(self) -> pl.DataFrame:
        columns = self._columns
        if columns is not None:  # otherwise the frame exists; another thread may be building it now
            self._frame = pl.DataFrame(columns)
            self._columns = None
        return self._frame.clone()
