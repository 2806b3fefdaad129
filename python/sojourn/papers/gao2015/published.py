"""The authors' published runs beside ours: throughput, maximum and mean delay of 1,824 runs of their grid, and more.

`published.csv` has a row per run of their ns-2 script: delays in whole milliseconds (the mean is that of one sample a
second), throughput in 1000 bytes a second sent by the link. `published-random.csv` has their 2,880 random points in the
same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.figures import marks
from sojourn.figures.canvas import legend, new_figure, style
from sojourn.figures.channels import curves
from sojourn.papers.gao2015.analysis import CODEL, FIFO, HARD_LIMIT, cells_of
from sojourn.papers.judge import Measurements

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

SCHEMES = {"codel": CODEL, "hlc": HARD_LIMIT, "fifo": FIFO}
KEYS = ("scheme", "rate", "rtt_ms", "flows", "reverse", "web")
VALUES = {"kBps": "throughput_kBps", "max_ms": "max_ms", "mean_ms": "mean_ms"}
"""Columns of the cells, with their names in `published.csv`."""
NEAR_THROUGHPUT = 0.02
NEAR_DELAY = 0.1
WHOLE_MS = 1.0
"""Published delays are truncated to whole milliseconds."""


def published(file: str = "published.csv") -> pl.DataFrame:
    """A row per published run: `KEYS`, `published_kBps`, `published_max_ms`, `published_mean_ms`."""
    text = (files("sojourn.papers.gao2015") / file).read_bytes()
    rows = pl.read_csv(text).with_columns(scheme=pl.col("aqm").replace_strict(SCHEMES))
    names = {"rate_mbps": "rate", "ftps": "flows", "reverse_ftps": "reverse", "web_per_s": "web"}
    values = {name: f"published_{column}" for column, name in VALUES.items()}
    return rows.drop("aqm").rename(names | values)


def join_published(
    result: StudyResult, more: Callable[[dict[str, Any]], dict[str, Any]], file: str = "published.csv"
) -> Measurements:
    """Our runs joined with the published ones; `more` computes the keys that the study's rows lack.

    If it also returns `apart_ms`, a run with a non-zero value is not a row of its own: all runs of a row give the range
    of its throughput, `least_kBps` to `most_kBps`.
    """
    cells = cells_of(result, more)
    bits = pl.col("utilisation") * pl.col("rate") * 1e6
    cells = cells.with_columns(kBps=bits / 8 / 1000)
    throughput = pl.col("kBps")
    cells = cells.with_columns(least_kBps=throughput.min().over(KEYS), most_kBps=throughput.max().over(KEYS))
    if "apart_ms" in cells.columns:
        cells = cells.filter(pl.col("apart_ms") == 0).drop("apart_ms")
    cells = cells.join(published(file), on=KEYS, how="left", validate="m:1")  # with several seeds, one row per seed
    return Measurements({}, cells, KEYS, {})


def near(cells: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Shares of the runs that are near the published ones, by scheme and rate by default, and of all.

    Throughput within 2 %; within 2 % of its range over the row's runs; the maximum delay within 10 % or the truncated
    millisecond; `error` is the median of the throughput's relative error.
    """
    by = by or ("scheme", "rate")
    error = (pl.col("kBps") / pl.col("published_kBps") - 1).abs()
    published_rate = pl.col("published_kBps")
    beyond = (
        pl.max_horizontal(pl.col("least_kBps") - published_rate, published_rate - pl.col("most_kBps")) / published_rate
    )
    apart = (pl.col("max_ms") - pl.col("published_max_ms")).abs()
    columns = [
        pl.len().alias("runs"),
        (error <= NEAR_THROUGHPUT).mean().alias("throughput"),
        (beyond <= NEAR_THROUGHPUT).mean().alias("in_range"),
        error.median().alias("error"),
        ((apart <= NEAR_DELAY * pl.col("published_max_ms")) | (apart <= WHOLE_MS)).mean().alias("max_delay"),
    ]
    each = cells.group_by(by).agg(columns).sort(by)
    every = cells.select(pl.lit("all").alias(by[0]), *(pl.lit(None, pl.Int64).alias(name) for name in by[1:]), *columns)
    return pl.concat([each, every], how="vertical_relaxed")


def shares_of(measured: Measurements, *by: str) -> pl.DataFrame:
    """The shares as a table for printing."""
    names = {
        "rate": "Mbit/s",
        "rtt_ms": "RTT in ms",
        "throughput": f"throughput within {NEAR_THROUGHPUT:.0%}",
        "in_range": f"within {NEAR_THROUGHPUT:.0%} of its range",
        "error": "median error",
        "max_delay": f"largest delay within {NEAR_DELAY:.0%}",
    }
    found = near(measured.cells, *by)
    if measured.cells.filter(pl.col("least_kBps") < pl.col("most_kBps")).is_empty():
        found = found.drop("in_range")  # no row has several runs
    return found.rename(names, strict=False)


def draw(cells: pl.DataFrame) -> Figure:
    """Draw throughput, maximum and mean delay, ours over the published."""
    panels: Mapping[str, tuple[str, str]] = {
        "kBps": ("throughput", "kB/s"),
        "max_ms": ("largest delay", "ms"),
        "mean_ms": ("mean delay", "ms"),
    }
    all_of_them = near(cells).filter(pl.col("scheme") == "all").row(0, named=True)
    share = {
        "kBps": f"{all_of_them['throughput']:.1%} within 2 %",
        "max_ms": f"{all_of_them['max_delay']:.1%} within 10 %",
    }
    with style():
        figure = new_figure(10.0, 3.9)
        for axes, (column, (label, unit)) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            for scheme, curve, marker in zip(SCHEMES.values(), curves(len(SCHEMES)), "os^", strict=True):
                own = cells.filter(pl.col("scheme") == scheme)
                look = {"s": 9, "marker": marker, "color": curve["color"], "alpha": 0.5, "linewidths": 0}
                least = 0.5 if unit == "ms" else 1.0
                x, y = (own[name].clip(least) for name in (f"published_{column}", column))
                marks.points(axes, x, y, scheme, label=scheme, **look)
                if column == "kBps":
                    _ranges(axes, own, scheme, curve["color"])
            _diagonal(axes)
            title = f"{label}: {share[column]}" if column in share else label
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xlabel(f"published [{unit}]")
            axes.set_ylabel(f"ours [{unit}]")
        legend(figure)
        return figure


def _ranges(axes: Axes, cells: pl.DataFrame, scheme: str, color: Any) -> None:
    """Draw a bar if several runs of a row differ by more than the tolerance."""
    spread = cells.filter(pl.col("most_kBps") > (1 + NEAR_THROUGHPUT) * pl.col("least_kBps"))
    if spread.height:
        middle, half = ((spread["most_kBps"] + sign * spread["least_kBps"]) / 2 for sign in (1, -1))
        look = {"color": color, "linestyle": "none", "elinewidth": 0.8, "capsize": 0}
        marks.line(
            axes, spread["published_kBps"], middle, f"{scheme}, RTT ± 2 ms", half=half, **{**look, "label": None}
        )


def _diagonal(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = (min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1]))
    marks.line(axes, ends, ends, "equal", color="0.6", linewidth=0.8, zorder=0)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
