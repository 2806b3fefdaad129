"""Figures of Flent's data files: pings and goodput by direction; a kind is an entry of `DRAWERS`."""

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
from sojourn.figures.api import Plot, filled
from sojourn.figures.box import BESIDE_IN, QUANTILES, Box, draw_boxes, rate_box
from sojourn.figures.channels import Channels, thin
from sojourn.figures.distribution import draw_distribution, format_ccdf_axes, format_cdf_axes, span_of
from sojourn.figures.scales import Span, sojourn_axis
from sojourn.figures.timeseries import draw_series
from sojourn.io.flent.call import DELAY
from sojourn.io.flent.export import export
from sojourn.io.flent.files import Array, FlentData, is_computed, is_statistic
from sojourn.io.flent.tests import DIRECTIONS
from sojourn.model.analysis.labels import Name, names_of

if TYPE_CHECKING:
    from sojourn.figures.canvas import Sheet
    from sojourn.figures.look import Look
    from sojourn.model.results.result import Result

MAX_SERIES = 8
"""Maximum number of series that are shown separately."""
MAX_NAME = 60
"""Maximum characters of a name beside or above a panel."""
MAX_NAME_BESIDE = 20
"""Maximum characters of names if panels of boxes are side by side."""


def draw(
    kind: str,
    files: Mapping[Path, FlentData],
    results: Sequence[Result],
    arguments: Mapping[str, Any],
    look: Look | None = None,
) -> tuple[Plot, list[str]]:
    """Draw data files and results as a figure kind; returns the figure and the notes that are not in it."""
    if kind not in DRAWERS:
        known = ", ".join(DRAWERS)
        raise InputError(f"{next(iter(files))}: {kind} cannot be drawn from measurements; expected one of {known}")
    if arguments:
        raise InputError(f"{next(iter(files))}: measurements have their own steps and length; leave the options out")
    from_results = of_results(results, names_of(results))
    tests = [*of_files(files, {str(one.name) for one in from_results}), *from_results]

    def fill(sheet: Sheet) -> None:
        DRAWERS[kind](tests, sheet)

    return filled(fill, look=look)


@dataclass(frozen=True)
class TestData:
    """Data of a test prepared for figures."""

    name: Name
    data: FlentData

    @cached_property
    def pings(self) -> dict[str, pl.DataFrame]:
        """RTTs by series, as `time_s` and `ms`; for a test without pings a call's one-way delay."""
        names = [name for name in self.data.results if name.startswith(PING) and not name.endswith(" avg")]
        names = names or [name for name in (DELAY,) if name in self.data.results]
        tests = {name.removeprefix(PING): _table(*self.data.samples(name)) for name in names}
        return {name: table for name, table in tests.items() if table.height}

    @property
    def pings_under_load(self) -> dict[str, pl.DataFrame]:
        """`pings` during the test's traffic; raises `InputError` if there are none."""
        begin, end = self.data.traffic_s
        inside = pl.col("time_s").is_between(begin, end)
        tests = {name: table.filter(inside) for name, table in self.pings.items()}
        if not any(table.height for table in tests.values()):
            raise InputError(f"{self.name}: no pings in it; draw rates, or measure with a test that has them")
        return {name: table for name, table in tests.items() if table.height}

    @property
    def delay(self) -> str:
        """Axis label of `pings`."""
        return "one-way delay [ms]" if list(self.pings) == [DELAY] else "ping [ms]"

    @cached_property
    def flows(self) -> dict[str, tuple[Array, Array]]:
        """Times in s and goodput in Mbit/s of each flow, per step."""
        names = [
            name
            for name in self.data.results
            if name.split(" ")[0] in FLOWS
            and not (is_computed(name) or is_statistic(name))
            and self.data.unit(name) == "Mbit/s"
        ]
        return {name: self.data.steps(name) for name in names}

    @property
    def limits(self) -> dict[str, tuple[Array, Array]]:
        """Times in s and rates in Mbit/s of shapers."""
        return {name: self.data.steps(name) for name in self.data.results if name.startswith("Shaper ")}

    def rate(self, direction: str) -> tuple[Array, Array] | None:
        """Times in s and goodput in Mbit/s of all flows of a direction; None if there are none."""
        flows = [self.data.results[name] for name in self.flows if f" {direction}" in name]
        if not flows:
            return None
        rows = np.array([[np.nan if value is None else value for value in series] for series in flows])
        has_value = np.isfinite(rows).any(axis=0)
        return np.array(self.data.x_values)[has_value], np.nansum(rows[:, has_value], axis=0)

    @property
    def duration_s(self) -> float:
        """Time of the last step."""
        return max(self.data.x_values)


def of_files(files: Mapping[Path, FlentData], used_names: Collection[str] = ()) -> list[TestData]:
    """Data of files, named by the words of their titles that not all share, if unique, otherwise by file name."""
    data = list(files.values())
    words = [str(one.metadata.get("TITLE") or "").split() for one in data]
    shared = set.intersection(*map(set, words)) if len(words) > 1 else set()
    titles = [" ".join(word for word in title if word not in shared) for title in words]
    counts = Counter([*titles, *used_names])
    names = [title if title and counts[title] == 1 else path.name for title, path in zip(titles, files, strict=True)]
    return [TestData(Name(_shortened(name)), one) for name, one in zip(names, data, strict=True)]


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def of_results(results: Sequence[Result], names: Sequence[Name]) -> list[TestData]:
    """Convert results to tests, with the first seed of each name."""
    tests: dict[Name, TestData] = {}
    for result, name in zip(results, names, strict=True):
        if name not in tests:
            tests[name] = TestData(name, export(result))
    return list(tests.values())


def _table(times: Array, values: Array) -> pl.DataFrame:
    return pl.DataFrame({"time_s": times, "ms": values}).sort("time_s")


def _over_time(tests: Sequence[TestData], sheet: Sheet) -> None:
    """Pings over time, a panel per file."""
    panels = sheet.panels(len(tests), height=2.4 if len(tests) == 1 else 1.6)[:, 0]
    names = list(dict.fromkeys(series for one in tests for series in _shown_pings(one, sheet)))
    channels = Channels(Name(name) for name in names)
    spans = []
    for one, axes in zip(tests, panels, strict=True):
        for name, table in _shown_pings(one, sheet).items():
            draw_series(table, "ms", axes, name=name, linewidth=thin(0.8), **channels.line(Name(name)))
            spans.append(_span(table))
        axes.set_ylabel(one.delay)
        axes.set_xlim(0, max(other.duration_s for other in tests))
        scales.title(axes, str(one.name))
    for axes in panels:
        sojourn_axis(axes, spans, which="y")
    panels[-1].set_xlabel("time [s]")
    sheet.legend(channels.legend())


def _shown_pings(one: TestData, sheet: Sheet) -> dict[str, pl.DataFrame]:
    """Pings of a file that are shown separately."""
    if not one.pings:
        raise InputError(f"{one.name}: no pings in it; draw rates, or measure with a test that has them")
    if len(one.pings) > MAX_SERIES:
        sheet.note(f"{one.name}: the first {MAX_SERIES} of {len(one.pings)} pings")
    return dict(list(one.pings.items())[:MAX_SERIES])


def _span(table: pl.DataFrame) -> Span:
    low, median, high = (float(table["ms"].quantile(q) or 0.0) for q in (0.02, 0.5, 1.0))
    return Span(low, median, high)


def _pings_by_name(tests: Sequence[TestData]) -> dict[Name, pl.DataFrame]:
    """Pings during the traffic: per file if there are several, otherwise per series."""
    if len(tests) > 1:
        return {one.name: pl.concat(one.pings_under_load.values()) for one in tests}
    return {Name(name): table for name, table in tests[0].pings_under_load.items()}


def _distribution(tests: Sequence[TestData], sheet: Sheet, *, tail: bool) -> None:
    """Distribution of pings, a curve per file, or per series of a single file."""
    tables = _pings_by_name(tests)
    channels = Channels(tables)
    [axes] = sheet.tiles(1, height=3.5)
    value = pl.col("ms")
    histograms = {
        name: table.group_by(lower_ms=value, upper_ms=value).agg(count=pl.len()).sort("lower_ms")
        for name, table in tables.items()
    }
    draw_distribution(histograms, axes, channels, tail=tail)
    sojourn_axis(axes, [span_of(histogram, tail=tail) for histogram in histograms.values()])
    axes.set_xlabel(tests[0].delay)
    if tail:
        format_ccdf_axes([axes], max(table.height for table in tables.values()), sheet, "share of longer ones")
    else:
        format_cdf_axes([axes], sheet, "share of pings")
    sheet.note("while the test's traffic was running")
    sheet.legend(channels.legend())


def _box(tests: Sequence[TestData], sheet: Sheet) -> None:
    """Boxes of pings, per file or per series of a single file, and of the goodput of each direction."""
    delays = {name: _quantiles(table["ms"]) for name, table in _pings_by_name(tests).items()}
    rates: dict[str, dict[Name, Box]] = {}
    for direction in DIRECTIONS:
        series = {one.name: rate for one in tests if (rate := one.rate(direction)) is not None}
        if series:
            windows = {one.name: one.data.traffic_s for one in tests}
            inside = {name: values[_within(times, windows[name])] for name, (times, values) in series.items()}
            rates[direction] = {name: rate_box(pl.Series(values)) for name, values in inside.items() if len(values)}
    beside = sheet.width(8.0) >= BESIDE_IN and max(len(str(name)) for name in delays) <= MAX_NAME_BESIDE
    columns = 1 + len(rates) if beside else 1
    rows = (1 + len(rates)) // columns
    lines = max(len(delays), *(len(boxes) for boxes in rates.values()), 1)
    panels = sheet.panels(
        rows, columns, width=8.0, height=0.5 + 0.3 * lines, text=True, sharex=False, sharey=False
    ).ravel()
    draw_boxes(delays, panels[0])
    sojourn_axis(panels[0], [Span(box["whislo"], box["med"], box["whishi"]) for box in delays.values()], widen=1.2)
    panels[0].set_xlabel(tests[0].delay)
    for (direction, boxes), axes in zip(rates.items(), panels[1:], strict=True):
        draw_boxes(boxes, axes)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{direction} per step [Mbit/s]")
        if len(tests) == 1 or (columns > 1 and list(boxes) == list(delays)):
            axes.set_yticklabels([])  # one box, or named on the left
    sheet.note("box: quartiles, whiskers: 10 and 90 %, while the test's traffic was running")


def _within(times: Array, window: tuple[float, float]) -> Any:
    return (times >= window[0]) & (times <= window[1])


def _quantiles(values: pl.Series) -> Box:
    return {name: float(values.quantile(q, "linear") or 0.0) for name, q in QUANTILES.items()}


def _rates(tests: Sequence[TestData], sheet: Sheet) -> None:
    """Goodput of each flow over time, a panel per file."""
    panels = sheet.panels(len(tests), height=2.4 if len(tests) == 1 else 1.6)[:, 0]
    flows = {one.name: dict(list(one.flows.items())[: 2 * MAX_SERIES]) for one in tests}
    drawn = {one.name: flows[one.name] | one.limits for one in tests}
    channels = Channels(Name(name.split(" ", 1)[1]) for series in drawn.values() for name in series)
    for one, axes in zip(tests, panels, strict=True):
        if not one.flows:
            raise InputError(f"{one.name}: no flows in it; draw timeseries of its pings")
        if len(flows[one.name]) < len(one.flows):
            sheet.note(f"{one.name}: the first {len(flows[one.name])} of {len(one.flows)} flows")
        for name, (times, values) in drawn[one.name].items():
            short = Name(name.split(" ", 1)[1])
            marks.line(axes, times, values, str(short), **{**channels.line(short), "linewidth": thin(0.8)})
        axes.set_xlim(0, max(other.duration_s for other in tests))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("rate [Mbit/s]" if one.limits else "goodput [Mbit/s]")
        scales.title(axes, str(one.name))
    panels[-1].set_xlabel("time [s]")
    sheet.legend(channels.legend())


def draw_totals(tests: Sequence[TestData], sheet: Sheet) -> None:
    """Goodput of each direction and pings over time, a curve per file, as Flent's plot of that name."""
    directions = [direction for direction in DIRECTIONS if any(one.rate(direction) is not None for one in tests)]
    has_pings = any(one.pings for one in tests)
    if not directions and not has_pings:
        raise InputError(f"{tests[0].name}: neither flows nor pings in it; its series are of other kinds")
    panels = sheet.panels(len(directions) + has_pings, height=1.5, sharey=False)[:, 0]
    channels = Channels(one.name for one in tests)
    for direction, axes in zip(directions, panels, strict=False):
        for one in tests:
            rate = one.rate(direction)
            if rate is not None:
                marks.line(axes, *rate, str(one.name), **{**channels.line(one.name), "linewidth": thin(0.8)})
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"{direction}\n[Mbit/s]")
    if has_pings:
        means = {one.name: _mean_ping(one) for one in tests if one.pings}
        for name, table in means.items():
            marks.line(
                panels[-1], table["time_s"], table["ms"], str(name), **{**channels.line(name), "linewidth": thin(0.8)}
            )
        sojourn_axis(panels[-1], [_span(table) for table in means.values()], which="y")
        panels[-1].set_ylabel(tests[0].delay.replace(" [", "\n["))
        if any(len(one.pings) > 1 for one in tests):
            sheet.note("ping: mean of all series, by step")
    panels[-1].set_xlabel("time [s]")
    panels[-1].set_xlim(0, max(one.duration_s for one in tests))
    sheet.legend(channels.legend())


def _mean_ping(one: TestData) -> pl.DataFrame:
    """Mean of all series of pings per step, or the samples of a single series."""
    if len(one.pings) == 1:
        return next(iter(one.pings.values()))
    step = float(np.median(np.diff(one.data.x_values))) if len(one.data.x_values) > 1 else 1.0
    step = max(step, 1e-3)
    place = (pl.col("time_s") / step).floor()
    means = pl.concat(one.pings.values()).group_by(place.alias("step")).agg(pl.col("ms").mean())
    return means.sort("step").select(time_s=(pl.col("step") + 0.5) * step, ms="ms")


PING = "Ping (ms) "
FLOWS = ("TCP", "UDP", "Interface")
"""First words of the series with rates; those of an interface are of all its flows."""
Drawer = Callable[[Sequence[TestData], "Sheet"], None]
DRAWERS: dict[str, Drawer] = {
    "timeseries": _over_time,
    "cdf": partial(_distribution, tail=False),
    "ccdf": partial(_distribution, tail=True),
    "box": _box,
    "rates": _rates,
    "totals": draw_totals,
}
"""Figure kinds of Flent's data files."""
