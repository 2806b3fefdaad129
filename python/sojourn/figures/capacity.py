"""Capacity of a link over time: known from the scenario, or measured if the rate is drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.late import pl
from sojourn.base.units import bits_per_second, rates, schedule, seconds
from sojourn.figures import marks, scales
from sojourn.figures.channels import faint, muted
from sojourn.io.traces.delivery import load_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sojourn.model.results.result import Result

Steps = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
"""Mbit/s of each step, and the steps' edges in s."""


def rate_varies(link: Mapping[str, Any]) -> bool:
    """Whether a link follows a trace or a schedule."""
    return "trace" in link or "@" in link.get("rate", "")


def capacity(link: Mapping[str, Any], duration_s: float, axes: Axes, step_s: float = 0.5) -> None:
    """Draw the capacity in Mbit/s; a trace is averaged per half second, and repeats after its end."""
    known = known_capacity(link, duration_s, step_s)
    if known:
        draw_capacity(known, axes)
    scales.title(axes, "capacity of the link", color=muted())
    axes.set_ylabel("rate [Mbit/s]")


def draw_capacity(steps: Steps, axes: Axes, **look: Any) -> None:
    """Draw the capacity as a grey area."""
    mbps, edges = steps
    marks.steps(axes, edges, mbps, "capacity", fill=True, color=faint(), linewidth=0, **look)


def known_capacity(link: Mapping[str, Any], duration_s: float, step_s: float) -> Steps | None:
    """Capacity by the scenario: per step for a trace, the mean for a token bucket or a Poisson link.

    None for a link with a random rate.
    """
    if "trace" in link:
        lap = load_trace(link["trace"]) / 1000
        laps = 1 if link.get("once") else int(np.ceil(duration_s / lap[-1]))
        times = (np.arange(laps)[:, None] * lap[-1] + lap).ravel()
        counts, edges = np.histogram(times, bins=step_edges(duration_s, step_s))
        return counts * 8 * float(link["mtu"].split()[0]) / np.diff(edges) / 1e6, edges
    if "@" in link.get("rate", ""):
        begins = [seconds(time) for _, time in schedule(link["rate"])]
        return np.array(rates(link["rate"])) / 1e6, np.array([*begins, max(duration_s, begins[-1])])
    for key in ("rate", "bucket", "poisson"):
        if key in link:
            return np.array([bits_per_second(link[key]) / 1e6]), np.array([0.0, duration_s])
    return None


def measured_capacity(result: Result) -> Steps | None:
    """Capacity from the probe `utilisation`: bytes sent divided by the utilisation; zero if nothing was sent.

    None without the probe.
    """
    if "utilisation" not in result.table_names:
        return None
    table = result.utilisation.filter(pl.col("link") == result.link)
    edges = np.array([0.0, *table["time_s"]])
    share = pl.col("utilisation")
    possible = table.select(pl.when(share > 0).then(8e-6 * pl.col("bytes") / share).otherwise(0.0)).to_series()
    return possible.to_numpy() / np.diff(edges), edges


def step_edges(duration_s: float, step_s: float) -> NDArray[np.float64]:
    """Edges of steps of `step_s` from zero; the last step may be shorter and ends with the run."""
    inner = np.arange(0, duration_s - 1e-6 * step_s, step_s)
    return np.append(inner, duration_s)
