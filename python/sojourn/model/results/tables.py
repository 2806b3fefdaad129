"""Tables of a result in memory, in the form of lazily read tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sojourn.base.late import pl


def in_memory(frames: Mapping[str, pl.DataFrame]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables of frames that exist already."""
    return {name: partial(_clone, frame) for name, frame in frames.items()}


def _clone(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.clone()


def of_columns(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Callable[[], pl.DataFrame]]:
    """Tables that stay raw columns until first use: building all frames takes as long as a short run."""
    return {name: LazyTable(columns) for name, columns in tables.items()}


class LazyTable:
    """A frame built on first use; a frame copies its columns, which are released then."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns: Mapping[str, Any] | None = columns
        """The columns; None once there is a frame of them."""
        self._frame: pl.DataFrame | None = None

    def __call__(self) -> pl.DataFrame:
        """Return the frame."""
        columns = self.columns
        if columns is not None:  # otherwise the frame exists; another thread may be building it now
            self._frame = pl.DataFrame(columns)
            self.columns = None
        assert self._frame is not None
        return self._frame.clone()
