"""Tables of a result as arrays by column: figures and tables of the command line need no frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sojourn.base.late import np
from sojourn.model.results.words import FIRST_DROP

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sojourn.base.frames import Columns
    from sojourn.model.results.result import Result


def of_frame(frame: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Columns of a frame; those with nulls are arrays of objects."""
    return {
        column.name: np.array(column.to_list(), dtype=object) if column.null_count() else column.to_numpy()
        for column in frame.iter_columns()
    }


def rows_where(table: Columns, **equal: int) -> list[dict[str, Any]]:
    """Rows with these values of integer columns, without the columns; NaN is None."""
    chosen = np.logical_and.reduce([table[name] == value for name, value in equal.items()])
    columns = {name: _without_nan(column[chosen]) for name, column in table.items() if name not in equal}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _without_nan(column: NDArray[Any]) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]


def sojourn_histogram(result: Result, link: str) -> dict[str, NDArray[Any]]:
    """Histogram of the sojourn times of a link in ms: `lower_ms`, `upper_ms` and `count`."""
    bins = result.bin_columns
    own = bins["link"] == result.link_names.index(link)
    lower, upper = (bins[f"{end}_ns"][own] / 1e6 for end in ("lower", "upper"))
    return {"lower_ms": lower, "upper_ms": upper, "count": bins["count"][own]}


def packets_of_link(result: Result) -> dict[str, NDArray[Any]]:
    """Packets of the result's link by departure or drop: `time_s`, `sojourn_ms`, and whether each is `dropped`."""
    packets = result.columns("packets")
    own = packets["link"] == result.link_number(result.link)
    time_s, sojourn_ms = packets["time_ns"][own] / 1e9, packets["sojourn_ns"][own].astype(np.float64) / 1e6
    return {"time_s": time_s, "sojourn_ms": sojourn_ms, "dropped": packets["fate"][own] >= FIRST_DROP}
