"""Figures of Flent's data files: pings and goodput by direction. A kind is a line of `DRAWERS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.figures import marks, scales
from sojourn.figures.api import Drawn, filled
from sojourn.figures.box import BESIDE_IN, QUANTILES, Box, draw_boxes, rate_box
from sojourn.figures.channels import Channels, thin
from sojourn.figures.distribution import draw_distribution, label_shares, label_tail, span_of
from sojourn.figures.scales import Span, sojourn_axis
from sojourn.figures.timeseries import draw_series
from sojourn.io.flent.call import DELAY
from sojourn.io.flent.export import export
from sojourn.io.flent.files import Array, Flent, load_flent
from sojourn.io.flent.tests import WAYS
from sojourn.model.analysis.labels import Name, names_of

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.figures.look import Look
    from sojourn.model.results.result import Result

MOST = 8
"""Series that are shown one by one."""
LONGEST = 60
"""Characters of a name, which has to fit beside or above a panel."""
BESIDE = 20
"""Characters of the longest name that leaves room for several panels of boxes side by side."""


def draw(
    kind: str,
    files: Sequence[Path],
    results: Sequence[Result],
    arguments: Mapping[str, Any],
    look: Look | None = None,
) -> tuple[Drawn, list[str]]:
    """Draw data files, and results beside them, as a figure kind; give the figure, and the notes that are not in it."""
    if kind not in DRAWERS:
        known = ", ".join(DRAWERS)
        raise InputError(f"{files[0]}: {kind} cannot be drawn of a data file of Flent; there is {known}")
    if arguments:
        raise InputError(f"{files[0]}: a data file of Flent has steps and a length of its own; leave the options out")
    own = of_results(results, names_of(results))
    found = [*of_files(files, {str(one.name) for one in own}), *own]

    def fill(sheet: Sheet) -> None:
        DRAWERS[kind](found, sheet)

    return filled(fill, look=look)


@dataclass(frozen=True)
class Measured:
    """What a test measured, with what figures take from it."""

    name: Name
    data: Flent

    @cached_property
    def pings(self) -> dict[str, pl.DataFrame]:
        """Round-trip times by what they are called, `time_s` and `ms`; of a test without pings a call's delay."""
        names = [name for name in self.data.results if name.startswith(PING) and not name.endswith(" avg")]
        names = names or [name for name in (DELAY,) if name in self.data.results]
        found = {name.removeprefix(PING): _table(*self.data.samples(name)) for name in names}
        return {name: table for name, table in found.items() if table.height}

    @property
    def pinged(self) -> dict[str, pl.DataFrame]:
        """The same while the test's traffic went on."""
        begin, end = self.data.traffic_s
        inside = pl.col("time_s").is_between(begin, end)
        found = {name: table.filter(inside) for name, table in self.pings.items()}
        if not any(table.height for table in found.values()):
            raise InputError(f"{self.name}: no pings in it; draw rates, or measure with a test that has them")
        return {name: table for name, table in found.items() if table.height}

    @property
    def delay(self) -> str:
        """What `pings` are, for an axis."""
        return "one-way delay [ms]" if list(self.pings) == [DELAY] else "ping [ms]"

    @cached_property
    def flows(self) -> dict[str, tuple[Array, Array]]:
        """Times in s and goodput in Mbit/s of every flow, in steps."""
        names = [
            name
            for name in self.data.results
            if name.split(" ")[0] in ("TCP", "UDP") and not name.endswith(COMPUTED) and self.data.unit(name) == "Mbit/s"
        ]
        return {name: self.data.steps(name) for name in names}

    def rate(self, way: str) -> tuple[Array, Array] | None:
        """Times in s and goodput in Mbit/s of all flows of a direction; None where there are none."""
        own = [self.data.results[name] for name in self.flows if f" {way}" in name]
        if not own:
            return None
        rows = np.array([[np.nan if value is None else value for value in series] for series in own])
        there = np.isfinite(rows).any(axis=0)
        return np.array(self.data.x_values)[there], np.nansum(rows[:, there], axis=0)

    @property
    def duration_s(self) -> float:
        """When the last step is."""
        return max(self.data.x_values)


def of_files(paths: Sequence[Path], taken: Collection[str] = ()) -> list[Measured]:
    """Read files. Each is called by what its title has and not all have, if nothing else is; else by its name."""
    data = [load_flent(path) for path in paths]
    words = [str(one.metadata.get("TITLE") or "").split() for one in data]
    shared = set.intersection(*map(set, words)) if len(words) > 1 else set()
    titles = [" ".join(word for word in own if word not in shared) for own in words]
    counts = Counter([*titles, *taken])
    names = [title if title and counts[title] == 1 else path.name for title, path in zip(titles, paths, strict=True)]
    return [Measured(Name(_fitting(name)), one) for name, one in zip(names, data, strict=True)]


def _fitting(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def of_results(results: Sequence[Result], names: Sequence[Name]) -> list[Measured]:
    """Results as the tests that they are; of several seeds the first."""
    found: dict[Name, Measured] = {}
    for result, name in zip(results, names, strict=True):
        if name not in found:
            found[name] = Measured(name, export(result))
    return list(found.values())


def _table(times: Array, values: Array) -> pl.DataFrame:
    return pl.DataFrame({"time_s": times, "ms": values}).sort("time_s")


def _over_time(found: Sequence[Measured], sheet: Sheet) -> None:
    """Every ping over time, a panel for each file."""
    panels = sheet.panels(len(found), height=2.4 if len(found) == 1 else 1.6)[:, 0]
    names = list(dict.fromkeys(series for one in found for series in _shown(one, sheet)))
    channels = Channels(Name(name) for name in names)
    spans = []
    for one, axes in zip(found, panels, strict=True):
        for name, table in _shown(one, sheet).items():
            draw_series(table, "ms", axes, name=name, linewidth=thin(0.8), **channels.line(Name(name)))
            spans.append(_span(table))
        axes.set_ylabel(one.delay)
        axes.set_xlim(0, max(other.duration_s for other in found))
        scales.title(axes, str(one.name))
    for axes in panels:
        sojourn_axis(axes, spans, which="y")
    panels[-1].set_xlabel("time [s]")
    sheet.legend(channels.legend())


def _shown(one: Measured, sheet: Sheet) -> dict[str, pl.DataFrame]:
    """The pings of a file that are shown one by one."""
    if not one.pings:
        raise InputError(f"{one.name}: no pings in it; draw rates, or measure with a test that has them")
    if len(one.pings) > MOST:
        sheet.note(f"{one.name}: the first {MOST} of {len(one.pings)} pings")
    return dict(list(one.pings.items())[:MOST])


def _span(table: pl.DataFrame) -> Span:
    low, median, high = (float(table["ms"].quantile(q) or 0.0) for q in (0.02, 0.5, 1.0))
    return Span(low, median, high)


def _named(found: Sequence[Measured]) -> dict[Name, pl.DataFrame]:
    """Pings while the traffic went on: of several files all pings of each, of one file each of its series."""
    if len(found) > 1:
        return {one.name: pl.concat(one.pinged.values()) for one in found}
    return {Name(name): table for name, table in found[0].pinged.items()}


def _distribution(found: Sequence[Measured], sheet: Sheet, *, tail: bool) -> None:
    """Distribution of pings, a curve for each file; of one file a curve for each series."""
    tables = _named(found)
    channels = Channels(tables)
    [axes] = sheet.tiles(1, height=3.5)
    value = pl.col("ms")
    histograms = {
        name: table.group_by(lower_ms=value, upper_ms=value).agg(count=pl.len()).sort("lower_ms")
        for name, table in tables.items()
    }
    draw_distribution(histograms, axes, channels, tail=tail)
    sojourn_axis(axes, [span_of(histogram, tail=tail) for histogram in histograms.values()])
    axes.set_xlabel(found[0].delay)
    if tail:
        label_tail([axes], max(table.height for table in tables.values()), sheet, "share of longer ones")
    else:
        label_shares([axes], sheet, "share of pings")
    sheet.note("while the test's traffic went on")
    sheet.legend(channels.legend())


def _box(found: Sequence[Measured], sheet: Sheet) -> None:
    """Boxes of pings, and of the goodput of each direction, per file; of one file the pings of each series."""
    delays = {name: _quantiles(table["ms"]) for name, table in _named(found).items()}
    rates: dict[str, dict[Name, Box]] = {}
    for way in WAYS:
        own = {one.name: rate for one in found if (rate := one.rate(way)) is not None}
        if own:
            windows = {one.name: one.data.traffic_s for one in found}
            inside = {name: values[_within(times, windows[name])] for name, (times, values) in own.items()}
            rates[way] = {name: rate_box(pl.Series(values)) for name, values in inside.items() if len(values)}
    beside = sheet.width(8.0) >= BESIDE_IN and max(len(str(name)) for name in delays) <= BESIDE
    columns = 1 + len(rates) if beside else 1
    rows = (1 + len(rates)) // columns
    lines = max(len(delays), *(len(boxes) for boxes in rates.values()), 1)
    panels = sheet.panels(
        rows, columns, width=8.0, height=0.5 + 0.3 * lines, text=True, sharex=False, sharey=False
    ).ravel()
    draw_boxes(delays, panels[0])
    sojourn_axis(panels[0], [Span(box["whislo"], box["med"], box["whishi"]) for box in delays.values()], widen=1.2)
    panels[0].set_xlabel(found[0].delay)
    for (way, boxes), axes in zip(rates.items(), panels[1:], strict=True):
        draw_boxes(boxes, axes)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{way} per step [Mbit/s]")
        if len(found) == 1 or (columns > 1 and list(boxes) == list(delays)):
            axes.set_yticklabels([])  # one box, or named on the left
    sheet.note("box: quartiles, whiskers: 10 and 90 %, while the test's traffic went on")


def _within(times: Array, window: tuple[float, float]) -> Any:
    return (times >= window[0]) & (times <= window[1])


def _quantiles(values: pl.Series) -> Box:
    return {name: float(values.quantile(q, "linear") or 0.0) for name, q in QUANTILES.items()}


def _rates(found: Sequence[Measured], sheet: Sheet) -> None:
    """Goodput of every flow over time, a panel for each file."""
    panels = sheet.panels(len(found), height=2.4 if len(found) == 1 else 1.6)[:, 0]
    flows = {one.name: dict(list(one.flows.items())[: 2 * MOST]) for one in found}
    channels = Channels(Name(name.split(" ", 1)[1]) for own in flows.values() for name in own)
    for one, axes in zip(found, panels, strict=True):
        if not one.flows:
            raise InputError(f"{one.name}: no flows in it; draw timeseries of its pings")
        if len(flows[one.name]) < len(one.flows):
            sheet.note(f"{one.name}: the first {len(flows[one.name])} of {len(one.flows)} flows")
        for name, (times, values) in flows[one.name].items():
            short = Name(name.split(" ", 1)[1])
            marks.line(axes, times, values, str(short), **{**channels.line(short), "linewidth": thin(0.8)})
        axes.set_xlim(0, max(other.duration_s for other in found))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("goodput [Mbit/s]")
        scales.title(axes, str(one.name))
    panels[-1].set_xlabel("time [s]")
    sheet.legend(channels.legend())


def draw_totals(found: Sequence[Measured], sheet: Sheet) -> None:
    """Goodput of each direction and pings over time, a curve for each file, as Flent's plot of that name."""
    ways = [way for way in WAYS if any(one.rate(way) is not None for one in found)]
    has_pings = any(one.pings for one in found)
    if not ways and not has_pings:
        raise InputError(f"{found[0].name}: neither flows nor pings in it; its series are of other things")
    panels = sheet.panels(len(ways) + has_pings, height=1.5, sharey=False)[:, 0]
    channels = Channels(one.name for one in found)
    for way, axes in zip(ways, panels, strict=False):
        for one in found:
            rate = one.rate(way)
            if rate is not None:
                marks.line(axes, *rate, str(one.name), **{**channels.line(one.name), "linewidth": thin(0.8)})
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"{way}\n[Mbit/s]")
    if has_pings:
        means = {one.name: _mean_ping(one) for one in found if one.pings}
        for name, table in means.items():
            marks.line(
                panels[-1], table["time_s"], table["ms"], str(name), **{**channels.line(name), "linewidth": thin(0.8)}
            )
        sojourn_axis(panels[-1], [_span(table) for table in means.values()], which="y")
        panels[-1].set_ylabel(found[0].delay.replace(" [", "\n["))
        if any(len(one.pings) > 1 for one in found):
            sheet.note("ping: mean of all series, by step")
    panels[-1].set_xlabel("time [s]")
    panels[-1].set_xlim(0, max(one.duration_s for one in found))
    sheet.legend(channels.legend())


def _mean_ping(one: Measured) -> pl.DataFrame:
    """Mean of all pings of a step; of one series its samples."""
    if len(one.pings) == 1:
        return next(iter(one.pings.values()))
    step = float(np.median(np.diff(one.data.x_values))) if len(one.data.x_values) > 1 else 1.0
    step = max(step, 1e-3)
    place = (pl.col("time_s") / step).floor()
    means = pl.concat(one.pings.values()).group_by(place.alias("step")).agg(pl.col("ms").mean())
    return means.sort("step").select(time_s=(pl.col("step") + 0.5) * step, ms="ms")


PING = "Ping (ms) "
COMPUTED = (" avg", " sum", " fairness", " totals")
"""Endings of the names of series that Flent computes."""
Drawer = Callable[[Sequence[Measured], "Sheet"], None]
DRAWERS: dict[str, Drawer] = {
    "timeseries": _over_time,
    "cdf": partial(_distribution, tail=False),
    "ccdf": partial(_distribution, tail=True),
    "box": _box,
    "rates": _rates,
    "totals": draw_totals,
}
"""Kinds of figures that data files of Flent have."""
