"""Goodput against delay: a 1-sigma ellipse per name, the delay axis reversed, so that better is up and right.

The ellipse is the contour at one standard deviation of the maximum-likelihood Gaussian, as in K. Winstein and H.
Balakrishnan, "TCP ex Machina" (2013). Each point is a flow or a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from sojourn.base.errors import InputError, unknown
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels, facets
from sojourn.figures.scales import LINEAR_RATIO, LOWEST_MS
from sojourn.model.analysis.labels import Name, all_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet, over: str | None = None) -> None:
    """Fill `sheet` with a mean, its ellipse and its points per name; many names are split into a panel for each load.

    `over` selects the points: "seeds" for runs, "flows" for the forward flows of all runs, with each flow's own
    packets. Default: seeds, or flows if no name has two runs.
    """
    if over not in (None, *POINTS):
        raise unknown("--over: kind of point", str(over), list(POINTS))
    runs = all_of_each(results, names)
    over = over or ("seeds" if max(map(len, runs.values())) > 1 else "flows")
    points = {name: np.concatenate([POINTS[over](one) for one in own]) for name, own in runs.items()}
    for name, own in points.items():
        if not len(own):
            reason = "no packet was sent" if over == "seeds" else "no forward flow sent a packet"
            raise InputError(f"{name}: {reason} after the warm-up; give a longer duration")
    groups = facets(points)
    single = len(groups) == 1
    panels = sheet.tiles(len(groups), width=6.5 if single else 7.0, height=4.0 if single else 2.1, min_width=1.9)
    channels = Channels(called for group in groups.values() for called in group.values())
    for axes, (load, group) in zip(panels, groups.items(), strict=True):
        draw_ellipses({called: points[name] for name, called in group.items()}, axes, channels)
        if load:
            scales.title(axes, load)
    fit_axes(list(points.values()), panels)
    for axes in sheet.bottom:
        axes.set_xlabel("mean sojourn time [ms], reversed")
    for axes in sheet.left:
        axes.set_ylabel("goodput [Mbit/s]" if over == "seeds" else "goodput of a flow [Mbit/s]")
    sheet.legend(channels.legend())
    subject = "run" if over == "seeds" else "flow"
    sheet.note(f"point: a {subject}, +: their mean, ellipse: one standard deviation; better is up and right")


def points_of_run(result: Result) -> NDArray[np.float64]:
    """Mean sojourn time in ms and goodput in Mbit/s of a run; no row if no packet was sent."""
    row = result.summary.row(0, named=True)
    delay, goodput = row["sojourn_mean_ms"], row["goodput_bps"]
    return np.array([] if None in (delay, goodput) else [[delay, goodput / 1e6]]).reshape(-1, 2)


def points_of_flows(result: Result) -> NDArray[np.float64]:
    """Mean sojourn time in ms of its packets, and goodput in Mbit/s, of every forward flow that sent packets."""
    if not result.totals["flows"]:
        raise InputError(
            f"{result.folder or result}: no flow lasts for the whole run; draw a point per run (--over seeds)"
        )
    counted = (pl.col("link") == result.link) & ~dropped()
    after = pl.col("time_s") >= result.warmup_s
    delays = result.packets.filter(counted & after).group_by("flow").agg(pl.col("sojourn_ms").mean())
    flows = result.flow_totals.filter(pl.col("direction") == "forward")
    flows = flows.select(pl.col("id").cast(pl.UInt32).alias("flow"), pl.col("goodput_bps") / 1e6)
    return delays.join(flows, on="flow").sort("flow").select("sojourn_ms", "goodput_bps").to_numpy()


def draw_ellipses(points: dict[Name, NDArray[np.float64]], axes: Axes, channels: Channels) -> None:
    """Draw points (delay, goodput), their mean and ellipse, per name."""
    size = mpl.rcParams["lines.markersize"]
    for name, own in points.items():
        look = channels.line(name)
        around = ellipse(own)
        around[:, 0] = np.maximum(around[:, 0], 0.0)
        marks.points(
            axes, own[:, 0], own[:, 1], str(name), s=(0.8 * size) ** 2, color=look["color"], alpha=0.6, linewidth=0
        )
        marks.outline(axes, around[:, 0], around[:, 1], str(name), color=look["color"], linestyle=look["linestyle"])
        marks.line(axes, *own.mean(axis=0)[:, None], marker="+", markersize=1.8 * size, color=look["color"])


def fit_axes(points: Sequence[NDArray[np.float64]], panels: Sequence[Axes]) -> None:
    """Scale the delay axes alike: reversed, and logarithmic if the means are far apart."""
    delays = np.concatenate([own[:, 0] for own in points])
    centres = [max(LOWEST_MS, own[:, 0].mean()) for own in points]
    logarithmic = max(centres) / min(centres) > LINEAR_RATIO
    for axes in panels:
        axes.margins(0.08)
    for axes in panels:
        if logarithmic:
            scales.log_axis(axes, "x")
        axes.autoscale_view()
    low, high = panels[0].get_xlim()
    if not logarithmic:
        low = max(0.0, min(low, float(delays.min())))
    bottom, top = panels[0].get_ylim()
    for axes in panels:
        axes.set_xlim(high, max(low, LOWEST_MS) if logarithmic else low)
        axes.set_ylim(max(0.0, bottom), top)


def ellipse(points: NDArray[np.float64], steps: int = 120) -> NDArray[np.float64]:
    """Contour at one standard deviation of the maximum-likelihood Gaussian of `points`.

    For two points it is the line between them, for one the point.
    """
    covariance = np.cov(points.T, ddof=0) if len(points) > 1 else np.zeros((2, 2))
    variances, directions = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, steps)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = directions * np.sqrt(np.maximum(variances, 0))
    outline: NDArray[np.float64] = points.mean(axis=0) + (root @ circle).T
    return outline


POINTS = {"seeds": points_of_run, "flows": points_of_flows}
"""Functions that compute the points of a run, by the option `over`."""
