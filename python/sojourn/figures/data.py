"""Plotted data of a figure: everything that `marks` drew, as a table or a document, with the names of the axes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.late import pl
from sojourn.figures.marks import Series, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plotted_axes(figure: Figure) -> list[Axes]:
    """The panels of a figure: axes with plotted data."""
    return [axes for axes in figure.axes if series_of(axes)]


def table(panels: list[Axes]) -> pl.DataFrame:
    """One row per point: `panel` (its title), `series`, `mark`, and the values named by their axis and unit.

    Each quantity has its own column, so panels with different axes have different columns.
    """
    frames = []
    for axes in panels:
        for one in series_of(axes):
            about = {"panel": _title(axes), "series": one.name, "mark": one.mark}
            frames.append(pl.DataFrame(dict(named_columns(axes, one))).select(*_words(about), pl.all()))
    return pl.concat(frames, how="diagonal_relaxed")


def document(panels: list[Axes]) -> dict[str, Any]:
    """The data by panel, with the labels of the axes; NaN and infinities are null."""
    return {
        "panels": [
            {
                "title": _title(axes),
                "x": _label(axes, "x"),
                "y": _label(axes, "y"),
                "series": [
                    {"name": one.name, "mark": one.mark, **{key: _plain(column) for key, column in one.columns.items()}}
                    for one in series_of(axes)
                ],
            }
            for axes in panels
        ]
    }


def as_csv(panels: list[Axes]) -> bytes:
    """The table as CSV."""
    return table(panels).write_csv().encode()


def as_json(panels: list[Axes]) -> bytes:
    """The document as JSON."""
    return (json.dumps(document(panels), ensure_ascii=False, allow_nan=False) + "\n").encode()


def named_columns(axes: Axes, series: Series) -> Iterator[tuple[str, pl.Series]]:
    """Columns of a series, named by their axis: `y_low` of "sojourn [ms]" is `sojourn_ms_low`."""
    for key, column in series.columns.items():
        axis, _, rest = key.partition("_")
        name = key
        if axis in ("x", "y"):
            name = "_".join(filter(None, (column_of(_label(axes, axis)) or axis, rest)))
        elif key == "value":
            name = column_of(series.name)
        yield name, pl.Series(column)


def column_of(label: str) -> str:
    """Name of a column: "sojourn time [ms]" is `sojourn_time_ms`. Text after the unit is ignored."""
    match = re.match(r"([^\[]*)\[([^\]]*)\]", label, re.DOTALL)
    quantity, unit = match.groups() if match else (label, "")
    return "_".join(filter(None, (_slug(quantity).lower(), _UNITS.get(unit, _slug(unit)))))


_UNITS = {"%": "percent", "bit/s": "bps", "kbit/s": "kbps", "Mbit/s": "mbps", "Gbit/s": "gbps"}


def _slug(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text.split("   ")[0].replace("_\n", "_")).strip("_")


def _label(axes: Axes, axis: str) -> str:
    """Label of an axis, or of the panel with which it is shared."""
    get = f"get_{axis}label"
    grouper = axes.get_shared_x_axes() if axis == "x" else axes.get_shared_y_axes()
    for one in (axes, *grouper.get_siblings(axes)):
        if text := str(getattr(one, get)()):
            return text
    return ""


def _title(axes: Axes) -> str:
    return axes.get_title(loc="left").strip()


def _words(about: dict[str, str]) -> list[pl.Expr]:
    return [pl.lit(value).alias(key) for key, value in about.items()]


def _plain(column: np.ndarray[Any, Any]) -> list[Any]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [float(value) if np.isfinite(value) else None for value in column]
