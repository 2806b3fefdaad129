"""Drawing primitives: each function draws arrays on axes and records them, so that the data can be exported.

Figure kinds draw data with these functions only. The recorded arrays are the content of `--format csv` and `json`
(`data.py`). The axes may belong to a caller's figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.figures.channels import thin

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike, NDArray


@dataclass
class Series:
    """Arrays of a drawn series."""

    name: str
    """Name in the legend; empty if a panel shows a single series."""
    mark: str
    """Kind of mark: line, band, steps, events, strokes, points, bars, boxes, cells, reference."""
    columns: dict[str, NDArray[Any]]
    """Arrays of equal length. The prefix x or y of a name is the axis: `x`, `y`, `y_low`, `x_end`, …"""
    artists: list[Artist] = field(default_factory=list)


def series_of(axes: Axes) -> list[Series]:
    """Series drawn on axes, in order."""
    found: list[Series] = axes.__dict__.setdefault("_sojourn_series", [])
    return found


def line(axes: Axes, x: ArrayLike, y: ArrayLike, name: str = "", *, half: ArrayLike | None = None, **look: Any) -> None:
    """Draw `y` over `x`; `half` is the half width of the interval around each `y`, drawn as bars."""
    columns = {"x": x, "y": y}
    label: dict[str, Any] = {"label": name} if name else {}
    if half is None:
        _record(axes, name, "line", columns, axes.plot(x, y, **label, **look))
        return
    low, high = np.asarray(y) - np.asarray(half), np.asarray(y) + np.asarray(half)
    drawn = axes.errorbar(x, y, half, **{"capsize": 2.5, **label, **look})
    _record(axes, name, "line", {**columns, "y_low": low, "y_high": high}, list(drawn.get_children()))


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, name: str = "", **look: Any) -> None:
    """Fill the area between `low` and `high` over `x`."""
    label = {"label": name} if name else {}
    drawn = axes.fill_between(x, low, high, **{"linewidth": 0, **label, **look})
    _record(axes, name, "band", {"x": x, "y_low": low, "y_high": high}, [drawn])


def steps(
    axes: Axes, edges: ArrayLike, values: ArrayLike, name: str = "", *, base: ArrayLike | None = 0, **look: Any
) -> None:
    """Draw values that are constant between edges, as an area above `base` with fill=True, else as an outline."""
    edges, values = np.asarray(edges), np.asarray(values)
    label = {"label": name} if name else {}
    drawn = axes.stairs(values, edges, baseline=base, **label, **look)  # type: ignore[arg-type]
    columns: dict[str, ArrayLike] = {"x": edges[:-1], "x_end": edges[1:]}
    if base is None or np.ndim(base) == 0:
        columns["y"] = values
    else:
        columns |= {"y_low": base, "y_high": values}
    _record(axes, name, "steps", columns, [drawn])


def events(axes: Axes, x: ArrayLike, name: str, *, span: tuple[float, float] = (0.0, 1.0), **look: Any) -> None:
    """Draw a vertical line at each `x`, over a part `span` of the height of the axes."""
    drawn = axes.vlines(x, *span, transform=axes.get_xaxis_transform(), **look)
    _record(axes, name, "events", {"x": x}, [drawn])


def strokes(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, name: str = "", **look: Any) -> None:
    """Draw a vertical line at each `x` from `low` to `high`."""
    label = {"label": name} if name else {}
    drawn = axes.vlines(x, low, high, **label, **look)  # type: ignore[arg-type]
    _record(axes, name, "strokes", {"x": x, "y_low": low, "y_high": high}, [drawn])


def spans(axes: Axes, start: ArrayLike, end: ArrayLike, name: str, *, height: float, **look: Any) -> None:
    """Draw a horizontal line from each `start` to its `end`, at `height` as a share of the axes' height."""
    at = [height] * len(np.asarray(start))
    drawn = axes.hlines(at, start, end, transform=axes.get_xaxis_transform(), clip_on=False, **look)
    _record(axes, name, "spans", {"x": start, "x_end": end}, [drawn])


def points(axes: Axes, x: ArrayLike, y: ArrayLike, name: str = "", **look: Any) -> None:
    """Draw points."""
    _record(axes, name, "points", {"x": x, "y": y}, [axes.scatter(x, y, **look)])


def outline(axes: Axes, x: ArrayLike, y: ArrayLike, name: str = "", *, color: ColorType, **look: Any) -> None:
    """Draw a closed curve, faintly filled."""
    filled = axes.fill(x, y, color=color, alpha=0.15, linewidth=0)
    label = {"label": name} if name else {}
    drawn = axes.plot(x, y, color=color, **label, **look)  # type: ignore[arg-type]
    _record(axes, name, "outline", {"x": x, "y": y}, [*filled, *drawn])


def bars(
    axes: Axes, places: Sequence[str], values: ArrayLike, name: str = "", *, base: ArrayLike = 0.0, **look: Any
) -> None:
    """Draw a horizontal bar per place, the first on top, starting at `base`; all bars of an axes share the places."""
    label = {"label": name} if name else {}
    drawn = axes.barh(range(len(places)), values, left=base, **label, **look)  # type: ignore[arg-type]
    axes.set_yticks(range(len(places)), list(places))
    axes.set_ylim(len(places) - 0.4, -0.6)
    base = np.broadcast_to(np.asarray(base), np.shape(values))
    _record(axes, name, "bars", {"place": places, "x": values, "x_base": base}, list(drawn.patches))


def columns(axes: Axes, x: ArrayLike, height: ArrayLike, name: str = "", *, base: ArrayLike = 0.0, **look: Any) -> None:
    """Draw an upright bar at each `x`, starting at `base`."""
    label = {"label": name} if name else {}
    drawn = axes.bar(x, height, bottom=base, **label, **look)  # type: ignore[arg-type]
    low = np.broadcast_to(np.asarray(base, dtype=float), np.shape(height))
    heights = {"y_low": low, "y_high": low + np.asarray(height)}
    _record(axes, name, "bars", {"x": x, **heights}, list(drawn.patches))


QUANTILES = {"whislo": "p10", "q1": "p25", "med": "median", "q3": "p75", "whishi": "p90"}
"""Parts of a box, by matplotlib's names."""


def boxes(
    axes: Axes,
    places: Sequence[str],
    found: Sequence[Mapping[str, float]],
    positions: Sequence[float],
    name: str = "",
    *,
    colors: Sequence[ColorType],
    upright: bool = False,
    widths: float = 0.55,
) -> None:
    """Draw a box per place with whiskers; a box has the keys of `QUANTILES`."""
    from matplotlib.patches import Patch

    axis = "y" if upright else "x"
    table: dict[str, Any] = {"place": list(places)}
    table |= {f"{axis}_{about}": [box[key] for box in found] for key, about in QUANTILES.items()}
    remembered = _record(axes, name, "boxes", table, [])
    for box, position, color in zip(found, positions, colors, strict=True):
        drawn = axes.bxp(
            [{**box, "fliers": []}],
            positions=[position],
            orientation="vertical" if upright else "horizontal",
            widths=widths,
            showfliers=False,
            manage_ticks=False,  # it would append to the ticks of the neighbouring panel
            patch_artist=True,
            boxprops={"facecolor": (color, 0.3), "edgecolor": color},
            medianprops={"color": axes.xaxis.label.get_color(), "linewidth": thin(1.1)},
            whiskerprops={"color": color},
            capprops={"color": color},
        )
        remembered.artists += [artist for artists in drawn.values() for artist in artists]
    if name and remembered.artists:
        next(one for one in remembered.artists if isinstance(one, Patch)).set_label(name)


def cells(
    axes: Axes,
    across: Sequence[float | str],
    up: Sequence[float | str],
    grid: NDArray[np.float64],
    name: str,
    *,
    norm: Normalize,
    cmap: Colormap,
    color: ColorType,
) -> QuadMesh:
    """Draw a coloured cell per value of `grid` (rows: `up`, columns: `across`); `name` is the quantity."""
    edges = [np.arange(count + 1) - 0.5 for count in (len(across), len(up))]
    drawn = axes.pcolormesh(*edges, np.ma.masked_invalid(grid), norm=norm, cmap=cmap, edgecolors=color, linewidth=1.0)
    rows, places = np.indices(grid.shape)
    named = "row" if isinstance(up[0], str) else "y"
    table = {
        "x": np.asarray(across)[places.ravel()],
        named: np.asarray(up)[rows.ravel()],
        "value": grid.ravel(),
    }
    _record(axes, name, "cells", table, [drawn])
    return drawn


def reference(axes: Axes, y: float, name: str, **look: Any) -> None:
    """Draw a dotted line over the whole width at `y`, such as a target."""
    style = {"color": axes.xaxis.label.get_color(), "alpha": 0.6, "linewidth": thin(), "linestyle": (0, (1, 2)), **look}
    _record(axes, name, "reference", {"y": [y]}, [axes.axhline(y, **style)])


def shade(axes: Axes, start: float, end: float, name: str, *, zorder: float, **look: Any) -> None:
    """Shade a range of `x`, with a dashed line at its end; its artists have `name` as their id."""
    area = axes.axvspan(start, end, linewidth=0, gid=name, zorder=zorder, **look)
    edge = axes.axvline(end, color="0.55", linewidth=0.6, linestyle=(0, (4, 3)), zorder=zorder + 0.4, gid=name)
    _record(axes, name, "reference", {"x": [start], "x_end": [end]}, [area, edge])


def _record(axes: Axes, name: str, mark: str, columns: Mapping[str, Any], artists: Sequence[Any]) -> Series:
    arrays = {key: np.asarray(column) for key, column in columns.items()}
    found = Series(name, mark, arrays, list(artists))
    series_of(axes).append(found)
    return found
