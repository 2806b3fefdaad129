"""Tables of a result that are in memory, in the form of those that are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl


def in_memory(frames: Mapping[str, pl.DataFrame]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables that are there."""
    return {name: partial(pl.DataFrame.clone, frame) for name, frame in frames.items()}


def of_columns(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables that are columns until they are first asked for: frames of all of them take as long as a short run."""
    return {name: _Later(columns) for name, columns in tables.items()}


class _Later:
    """A frame in the making: a frame copies its columns, so that these are kept no longer than it is missing."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns: Mapping[str, Any] | None = columns
        self._frame = pl.DataFrame()

    def __call__(self) -> pl.DataFrame:
        columns = self._columns
        if columns is not None:  # else the frame is there, also where another thread makes it now
            self._frame = pl.DataFrame(columns)
            self._columns = None
        return self._frame.clone()
