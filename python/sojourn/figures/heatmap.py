"""A metric over two swept keys, numbers or words, as numbers in coloured cells, one panel per queue manager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.colors import LogNorm, Normalize
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FuncFormatter

from sojourn.figures import marks, scales
from sojourn.figures.channels import muted
from sojourn.figures.scales import MIN_SPREAD, plain
from sojourn.model.analysis.labels import Name
from sojourn.model.analysis.swept import Parameter, choose, means, metric_of, rest_names
from sojourn.model.analysis.warmup import mark_unsettled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from numpy.typing import NDArray

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(
    results: Sequence[Result],
    names: Sequence[Name],
    sheet: Sheet,
    x: str | None = None,
    y: str | None = None,
    metric: str = "sojourn_mean_ms",
) -> None:
    """Fill `sheet` with a panel per queue manager and other difference; a cell is the mean over seeds.

    Panels are named after the differences between runs beside the two parameters, not by `names`. If at most one
    parameter varies, there is one panel with a row per queue manager.
    """
    across, up = choose(results, [x, y], words=True)
    shown = metric_of(results, metric)
    rest = [str(name) for name in mark_unsettled(rest_names(results, [across, up]), results)]
    table = means(results, {"label": rest, "x": across.shown, "y": up.shown}, [metric])
    table = table.with_columns(pl.col(metric) * shown.scale)
    xs = table["x"].unique().sort().to_list()
    if y is None and not up.varies:
        found = {"": cells(table, xs, rows := list(dict.fromkeys(rest)), "label", metric)}
        ys: Sequence[str | float] = rows
        y_label = ""
        sheet.note(only(across))
    else:
        places, y_label = table["y"].unique().sort().to_list(), up.label
        panels_of = table["label"].unique(maintain_order=True).to_list()
        found = {name: cells(table.filter(pl.col("label") == name), xs, places, "y", metric) for name in panels_of}
        ys = [up.named(value) for value in places]
    xs = [across.named(value) for value in xs]
    norm = common_norm(list(found.values()), shown.whole)
    height = 0.34 + (0.28 if len(found) > 1 or y_label else 0.2) * max(len(ys), 2)
    height = max(height, 1.3) if len(found) == 1 else height  # the label of the colour bar is beside it
    panels = sheet.tiles(
        len(found), width=_width(len(found), len(xs)), height=height, min_width=0.55 * len(xs) + 0.2, text=True
    )
    look = CellLook(norm, round_to_digits(digits_of(list(found.values()))), lambda value: float(norm(value)) < 0.55)
    for (name, grid), axes in zip(found.items(), panels, strict=True):
        image = draw_cells(grid, xs, ys, axes, shown.axis_label, look)
        if name:
            scales.title(axes, name)
    for axes in sheet.bottom:
        axes.set_xlabel(across.label)
    for axes in sheet.left:
        axes.set_ylabel(y_label)
    bar = sheet.figure.colorbar(image, ax=panels, label=shown.axis_label)
    if isinstance(norm, LogNorm):
        bar.formatter = FuncFormatter(lambda value, _: plain(value))
    bar.ax.minorticks_off()
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # otherwise vector formats show lines between the colours


def only(varied: Parameter) -> str:
    """Note for a figure over two parameters if at most one of them varies."""
    if varied.varies:
        return f"only one number varies: {varied.path}"
    return "no number varies; sweep one, such as link.rate"


def _width(panels: int, columns: int) -> float:
    """Width in inches of panels side by side, at most a page."""
    return min(7.0, max(4.0, 1.6 + panels * max(0.55 * columns + 0.3, 1.8)))


def cells(
    table: pl.DataFrame, xs: Sequence[float], ys: Sequence[str | float], rows: str, column: str
) -> NDArray[np.float64]:
    """Values of a column by `rows` and `x` (columns); NaN for missing ones."""
    grid = np.full((len(ys), len(xs)), np.nan)
    for row in table.iter_rows(named=True):
        if row[column] is not None:
            grid[ys.index(row[rows]), xs.index(row["x"])] = row[column]
    return grid


def common_norm(grids: Sequence[NDArray[np.float64]], whole: float | None = None) -> Normalize:
    """Common colour scale of all panels: logarithmic if the maximum is many times the minimum.

    Nearly equal values have one colour. Shares of a `whole` span at least a tenth of it.
    """
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids])
    if not len(values):
        return Normalize(0, 1)
    low, high = float(values.min()), float(values.max())
    if scales.spans_decades(low, high, whole):
        return LogNorm(low, high)
    alike = low >= 0 and high - low <= MIN_SPREAD * high
    if alike:
        return Normalize(0.0, high or 1.0)
    return Normalize(low, high) if whole is None else Normalize(*scales.share_span(low, high, whole))


def digits_of(grids: Sequence[NDArray[np.float64]]) -> int:
    """Significant digits of the cells: three, or four if values differ in the third digit only."""
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids])
    close = len(values) > 0 and values.min() > 0 and values.max() / values.min() < 1.1
    return 4 if close else 3


def round_to_digits(digits: int) -> Callable[[float], str]:
    """Formatter for cells: values with `digits` significant digits."""
    return lambda value: f"{value:#.{digits}g}".rstrip(".") if value < 10**digits else f"{value:.0f}"


@dataclass(frozen=True)
class CellLook:
    """Appearance of cells."""

    norm: Normalize
    text: Callable[[float], str]
    """Text in the cell of a value."""
    is_dark: Callable[[float], bool]
    """Whether the cell of a value is dark enough for white text."""
    # cividis: perceptually uniform, and the same to the colour-blind; its luminance rises, so it reads in grey print.
    colors: str = "cividis"
    """Name of a colour map."""
    size: float = 1.0
    """Size of the text relative to the axes' labels."""


def draw_cells(
    grid: NDArray[np.float64],
    xs: Sequence[float | str],
    ys: Sequence[float | str],
    axes: Axes,
    about: str,
    look: CellLook,
) -> QuadMesh:
    """Draw a cell per value with the value in it; cells without a value stay empty."""
    ground = mpl.rcParams["axes.facecolor"]
    drawn = marks.cells(axes, xs, ys, grid, about, norm=look.norm, cmap=mpl.colormaps[look.colors], color=ground)
    size = look.size * FontProperties(size=mpl.rcParams["xtick.labelsize"]).get_size_in_points()
    for (row, column), value in np.ndenumerate(grid):
        if not np.isfinite(value):
            axes.text(column, row, "–", ha="center", va="center", color=muted(), fontsize=size)
            continue
        color = "white" if look.is_dark(float(value)) else "black"
        axes.text(column, row, look.text(float(value)), ha="center", va="center", fontsize=size, color=color)
    axes.set_xticks(range(len(xs)), [value if isinstance(value, str) else plain(value) for value in xs])
    axes.set_yticks(range(len(ys)), [value if isinstance(value, str) else plain(value) for value in ys])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    if isinstance(ys[0], str):
        axes.set_ylim(len(ys) - 0.5, -0.5)  # names are read from the top; panels in a row share the axis
    return drawn
