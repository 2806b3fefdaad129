"""Goodput against delay: a 1-sigma ellipse per label, the delay axis reversed, so that better is up and right.

The ellipse is the contour at one standard deviation of the maximum-likelihood Gaussian, as K. Winstein and
H. Balakrishnan, "TCP ex Machina" (2013), draw it. Each point is a flow or a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.errors import InputError, unknown
from sojourn.labels import all_of_each
from sojourn.packets import dropped
from sojourn.plots.canvas import LINEAR_RATIO, LOWEST_MS, curves, plain_legend
from sojourn.units import seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sojourn.result import Result


def draw(results: Sequence[Result], labels: Sequence[str], figure: Figure, over: str | None = None) -> None:
    """Fill `figure` with a mean, its ellipse and its points per label.

    `over` says what a point is: of "seeds" a run, of "flows" a forward flow of any run, by its own packets. Without
    it seeds, or flows where no label has two runs.
    """
    if over not in (None, *POINTS):
        raise unknown("what the points of an ellipse are", str(over), list(POINTS))
    runs = all_of_each(results, labels)
    over = over or ("seeds" if max(map(len, runs.values())) > 1 else "flows")
    points = {label: np.concatenate([POINTS[over](one) for one in own]) for label, own in runs.items()}
    for label, own in points.items():
        if not len(own):
            whose = "no packet was sent" if over == "seeds" else "no forward flow sent a packet"
            raise InputError(f"{label}: {whose} after the warm-up; give a longer duration")
    axes = figure.subplots()
    figure.set_size_inches(6.5, 4.5)
    draw_ellipses(points, axes)
    subject = "run" if over == "seeds" else "flow"
    axes.set_xlabel("mean sojourn time [ms], reversed")
    axes.set_ylabel("goodput [Mbit/s]" if over == "seeds" else "goodput of a flow [Mbit/s]")
    note = f"point: a {subject}, ellipse: one standard deviation around the mean"
    axes.annotate(note, (1, 0), (-4, 4), "axes fraction", "offset points", ha="right", color="0.35", fontsize=7)
    axes.annotate("better ↗", (1, 1), (-4, -10), "axes fraction", "offset points", ha="right", color="0.35", fontsize=7)
    plain_legend(axes, list(points))


def points_of_run(result: Result) -> NDArray[np.float64]:
    """Mean sojourn time in ms and goodput in Mbit/s of a run; no row where no packet was sent."""
    row = result.summary.row(0, named=True)
    delay = row["sojourn_mean_ms"]
    return np.array([] if delay is None else [[delay, row["goodput_bps"] / 1e6]]).reshape(-1, 2)


def points_of_flows(result: Result) -> NDArray[np.float64]:
    """Mean sojourn time in ms of its packets, and goodput in Mbit/s, of every forward flow that sent any."""
    counted = (pl.col("link") == "forward") & ~dropped()
    after = pl.col("time_s") >= seconds(result.scenario.document["warmup"])
    delays = result.packets.filter(counted & after).group_by("flow").agg(pl.col("sojourn_ms").mean())
    flows = result.flow_totals.filter(pl.col("direction") == "forward")
    flows = flows.select(pl.col("id").cast(pl.UInt32).alias("flow"), pl.col("goodput_bps") / 1e6)
    return delays.join(flows, on="flow").sort("flow").select("sojourn_ms", "goodput_bps").to_numpy()


def draw_ellipses(points: dict[str, NDArray[np.float64]], axes: Axes) -> None:
    """Draw points (delay, goodput), their mean and ellipse, per label; set the axes."""
    delays = np.concatenate([own[:, 0] for own in points.values()])
    centres = [max(LOWEST_MS, own[:, 0].mean()) for own in points.values()]
    logarithmic = max(centres) / min(centres) > LINEAR_RATIO
    for (label, own), curve in zip(points.items(), curves(len(points)), strict=True):
        outline = ellipse(own)
        if logarithmic:
            outline[:, 0] = np.maximum(outline[:, 0], LOWEST_MS)
        axes.scatter(own[:, 0], own[:, 1], s=6, color=curve["color"], alpha=0.5, linewidth=0)
        axes.fill(outline[:, 0], outline[:, 1], color=curve["color"], alpha=0.15, linewidth=0)
        axes.plot(outline[:, 0], outline[:, 1], label=label, **curve)
        axes.plot(*own.mean(axis=0), marker="+", markersize=5, color=curve["color"])
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.margins(0.08)
    axes.autoscale_view()
    if not logarithmic:
        axes.set_xlim(left=max(0.0, min(axes.get_xlim()[0], float(delays.min()))))
    axes.invert_xaxis()
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))


def ellipse(points: NDArray[np.float64], steps: int = 120) -> NDArray[np.float64]:
    """Outline of the contour at one standard deviation of the maximum-likelihood Gaussian of `points`.

    Of two points it is the line between them, of one the point.
    """
    covariance = np.cov(points.T, ddof=0) if len(points) > 1 else np.zeros((2, 2))
    variances, directions = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, steps)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = directions * np.sqrt(np.maximum(variances, 0))
    outline: NDArray[np.float64] = points.mean(axis=0) + (root @ circle).T
    return outline


POINTS = {"seeds": points_of_run, "flows": points_of_flows}
"""How the points of a run are read, by what they are."""
