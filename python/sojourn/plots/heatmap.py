"""A metric over two swept parameters as numbers in coloured cells, one panel per queue manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.colors import LogNorm, Normalize

from sojourn.plots.canvas import LINEAR_RATIO
from sojourn.swept import choose, means, metric_of, rest_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from sojourn.result import Result


def draw(
    results: Sequence[Result],
    labels: Sequence[str],
    figure: Figure,
    x: str | None = None,
    y: str | None = None,
    metric: str = "sojourn_mean_ms",
) -> None:
    """Fill `figure` with a panel per queue manager and other difference; a cell is the mean over seeds.

    Panels are named by what runs differ in beside the two parameters, not by `labels`.
    """
    across, up = choose(results, [x, y])
    shown = metric_of(results, metric)
    names = rest_labels(results, [across, up])
    table = means(results, {"label": names, "x": across.shown, "y": up.shown}, [metric])
    panels_of = table["label"].unique(maintain_order=True).to_list()
    xs, ys = (table[key].unique().sort().to_list() for key in ("x", "y"))
    grids = [cells(table.filter(pl.col("label") == name), xs, ys, metric) * shown.scale for name in panels_of]
    norm = common_norm(grids)
    columns = min(len(panels_of), 3 if len(panels_of) != 4 else 2)
    rows = -(-len(panels_of) // columns)
    width, height = 0.55 * len(xs) + 0.5, 0.36 * len(ys) + 0.5
    figure.set_size_inches(max(4.0, columns * max(width, 1.8) + 1.6), max(2.4, rows * height + 0.7))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel().tolist()
    for name, grid, axes in zip(panels_of, grids, panels, strict=False):
        image = draw_cells(grid, xs, ys, norm, axes, digits=digits_of(grids))
        axes.set_title(name, loc="left", fontweight="bold", pad=3)
    for axes in panels[len(panels_of) :]:
        axes.set_axis_off()
    figure.supxlabel(across.label, fontsize=9)
    figure.supylabel(up.label, fontsize=9)
    figure.colorbar(image, ax=panels, label=shown.axis_label, format="%g")


def cells(table: pl.DataFrame, xs: Sequence[float], ys: Sequence[float], column: str) -> NDArray[np.float64]:
    """Values of a column by `y` (rows) and `x`; NaN where there is none."""
    grid = np.full((len(ys), len(xs)), np.nan)
    for row in table.iter_rows(named=True):
        if row[column] is not None:
            grid[ys.index(row["y"]), xs.index(row["x"])] = row[column]
    return grid


def common_norm(grids: Sequence[NDArray[np.float64]]) -> Normalize:
    """Scale of the colours of all panels: logarithmic if the largest value is many times the least."""
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids])
    if not len(values):
        return Normalize(0, 1)
    low, high = float(values.min()), float(values.max())
    logarithmic = low > 0 and high / low > LINEAR_RATIO
    return LogNorm(low, high) if logarithmic else Normalize(low, high)


def digits_of(grids: Sequence[NDArray[np.float64]]) -> int:
    """Significant digits of the cells: three, four where values differ in the third only."""
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids])
    close = len(values) > 0 and values.min() > 0 and values.max() / values.min() < 1.1
    return 4 if close else 3


def draw_cells(
    grid: NDArray[np.float64],
    xs: Sequence[float],
    ys: Sequence[float],
    norm: Normalize,
    axes: Axes,
    *,
    digits: int = 3,
) -> AxesImage:
    """Draw a cell per value, which stands in it; cells without one stay empty."""
    # cividis: perceptually uniform, and the same to the colour-blind; its luminance rises, so it reads in grey print.
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap=mpl.colormaps["cividis"], norm=norm)
    for (row, column), value in np.ndenumerate(grid):
        if not np.isfinite(value):
            axes.text(column, row, "–", ha="center", va="center", color="0.5")
            continue
        dark = float(norm(value)) < 0.55
        text = f"{value:#.{digits}g}".rstrip(".") if value < 10**digits else f"{value:.0f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set_xticks(range(len(xs)), [f"{value:g}" for value in xs])
    axes.set_yticks(range(len(ys)), [f"{value:g}" for value in ys])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    return image
