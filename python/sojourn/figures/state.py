"""State variables of the queue managers over time, one panel per variable, drops as thin vertical lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.base.errors import InputError, unknown
from sojourn.base.units import seconds
from sojourn.figures import marks, scales
from sojourn.figures.channels import Channels
from sojourn.figures.scales import plain
from sojourn.figures.timeseries import DROP_STRIP, draw_drops, draw_series, note_bands
from sojourn.figures.warmup import shade_warmups
from sojourn.figures.window import target_of
from sojourn.model.analysis.labels import Name, first_of_each
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet
    from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Axis:
    """Axis of a variable: label with the unit, factor to that unit, drawn as steps or as a line."""

    label: str
    factor: float = 1.0
    steps: bool = False
    until: bool = False
    """Whether it is an instant, shown as the remaining time."""


def draw(results: Sequence[Result], names: Sequence[Name], sheet: Sheet, variables: Sequence[str] = ()) -> None:
    """Fill `sheet` with one panel per variable and in each a curve per name, for its first seed.

    Default `variables`: the most informative ones of each queue manager; stateless ones, such as tail drop, are
    omitted.
    """
    firsts = first_of_each(results, names)
    tables = {name: forward_state(result) for name, result in firsts.items()}
    tables = {name: table for name, table in tables.items() if table.width > 1}
    shown = {name: firsts[name] for name in tables}
    if not shown:
        all_names = " and ".join(map(str, firsts))
        raise InputError(f"{all_names}: no state variable; give a result of e.g. codel")
    chosen = list(
        dict.fromkeys(variables or [one for name in shown for one in default_variables(shown[name], tables[name])])
    )
    _check(chosen, list(tables.values()))
    panels = sheet.panels(len(chosen), height=1.4, sharey=False)[:, 0].tolist()
    channels = Channels(tables)
    for variable, axes in zip(chosen, panels, strict=True):
        draw_variable(tables, variable, axis_of(variable, list(shown.values())), axes, channels)
        if variable == "qdelay":
            _draw_targets(list(shown.values()), axes, sheet)
    if len(shown) == 1:
        _draw_drops(next(iter(shown.values())), panels, str(next(iter(shown))))
    else:
        sheet.legend(channels.legend())
    duration = max(seconds(result.scenario.document["duration"]) for result in shown.values())
    panels[-1].set_xlabel("time [s]")
    for axes in panels:
        axes.set_xlim(0, duration)
    sheet.figure.align_ylabels(panels)
    shade_warmups(panels, [list(shown.values())] * len(panels), sheet)
    note_bands([table.height for table in tables.values()], max(result.duration_s for result in shown.values()), sheet)


def draw_variable(tables: dict[Name, pl.DataFrame], variable: str, axis: Axis, axes: Axes, channels: Channels) -> None:
    """Draw one variable over time in s, a curve per table that has it; the top is reserved for drops."""
    low, high = 0.0, 0.0
    for name, table in tables.items():
        if variable not in table.columns:
            continue
        value = pl.col(variable)
        if axis.until:
            active = (pl.col("dropping") > 0) if "dropping" in table.columns else (value > 0)
            value = pl.when(active).then(value - pl.col("time_s"))
        drawn = table.select("time_s", value=value.fill_nan(None) * axis.factor)
        look = {**channels.line(name), "drawstyle": "steps-post" if axis.steps else "default"}
        draw_series(drawn, "value", axes, name=str(name), **look)
        least, most = drawn.select(least=pl.col("value").min(), most=pl.col("value").max()).row(0)
        low, high = min(low, least or 0.0), max(high, most or 0.0)
    axes.set_ylim(low, low + ((high - low) or 1.0) / (1 - DROP_STRIP))
    if axis.steps:
        scales.whole_axis(axes)
    axes.set_ylabel(axis.label)


def forward_state(result: Result) -> pl.DataFrame:
    """State of the forward link's queue manager over time, without the variables that only the other link has."""
    table = result.state.filter(pl.col("link") == result.link)
    kept = [name for name in table.columns[2:] if not table[name].is_nan().all()]
    return table.select("time_s", *kept)


def default_variables(result: Result, table: pl.DataFrame) -> list[str]:
    """The most informative variables of a result's queue manager; all if it is not listed."""
    name = re.split(r"[({]", result.setup["aqm"]["name"])[0].strip()
    found = [variable for variable in USUAL.get(name, table.columns[1:]) if variable in table.columns]
    return found or table.columns[1:]


def axis_of(name: str, results: Sequence[Result]) -> Axis:
    """Axis of `name`; an average backlog is in the unit in which the queue managers count."""
    if name != "avg":
        return AXES.get(name, Axis(name))
    in_bytes = {bool(result.setup["aqm"].get("queue_in_bytes")) for result in results}
    if len(in_bytes) > 1:
        raise InputError("avg is in bytes in one result and in packets in another; draw them separately")
    return Axis("avg [kB]", 1e-3) if in_bytes == {True} else Axis("avg [packets]")


def _check(names: Sequence[str], tables: Sequence[pl.DataFrame]) -> None:
    known = list(dict.fromkeys(name for table in tables for name in table.columns[1:]))
    for name in names:
        if name not in known:
            raise unknown("state variable", name, known)


def _draw_targets(results: Sequence[Result], axes: Axes, sheet: Sheet) -> None:
    """Draw the target of the delay, if all have the same."""
    targets = {target_of(result) for result in results}
    if len(targets) == 1 and (height := targets.pop()) is not None:
        marks.reference(axes, height, "target")
        sheet.note(f"dotted: target, {plain(height)} ms")


def _draw_drops(result: Result, panels: Sequence[Axes], name: str) -> None:
    """Draw the drops of a single run in every panel, and name the run in the first one's title."""
    if "packets" in result.table_names:
        packets = result.packets.filter(pl.col("link") == result.link)
        times = packets.filter(dropped())["time_s"]
        for axes in panels:
            draw_drops(times, axes, titled=axes is panels[0])
    scales.title(panels[0], name)


_COUNT: dict[str, Any] = {"steps": True}
AXES = {
    "count": Axis("count", **_COUNT),
    "lastcount": Axis("lastcount", **_COUNT),
    "dropping": Axis("dropping", **_COUNT),
    "drop_next": Axis("time to\ndrop_next [ms]", 1e3, until=True),
    "first_above_time": Axis("time to first_\nabove_time [ms]", 1e3, until=True),
    "p": Axis("p [%]", 100),
    "prob": Axis("prob [%]", 100),
    "max_p": Axis("max_p [%]", 100),
    "accu_prob": Axis("accu_prob"),
    "qdelay": Axis("qdelay [ms]", 1e3),
    "qdelay_old": Axis("qdelay_old [ms]", 1e3),
    "burst_allowance": Axis("burst_\nallowance [ms]", 1e3),
    "avg_dq_rate": Axis("avg_dq_rate\n[Mbit/s]", 8e-6),
    "avg_dq_time": Axis("avg_dq_time [ms]", 1e3),
    "active": Axis("active", **_COUNT),
    "count_bytes": Axis("count_bytes [kB]", 1e-3),
    "new_flows": Axis("new_flows", **_COUNT),
    "old_flows": Axis("old_flows", **_COUNT),
    "new_flow_count": Axis("new_flow_\ncount", **_COUNT),
    "drop_overlimit": Axis("drop_\noverlimit", **_COUNT),
    "matched": Axis("matched", **_COUNT),
    "maxprob": Axis("maxprob [%]", 100),
    "avgprob": Axis("avgprob [%]", 100),
    "maxqlen": Axis("maxqlen", **_COUNT),
    "v_rate": Axis("v_rate [Mbit/s]", 8e-6),
    "v_queue": Axis("v_queue [kB]", 1e-3),
}
"""Axes of the variables; others are shown under their name, unscaled."""

_CODEL = ("count", "drop_next")
_PIE = ("p", "qdelay")
_FLOWS = ("new_flows", "old_flows")
USUAL = {
    "codel": _CODEL,
    "codel_dt": _CODEL,
    "cobalt": ("count", "p_drop"),
    "pie": _PIE,
    "pi2": _PIE,
    "red": ("avg", "prob", "count"),
    "ared": ("avg", "max_p", "prob"),
    "choke": ("avg", "matched"),
    "blue": ("p",),
    "sfb": ("maxprob", "avgprob", "maxqlen"),
    "pi": ("p", "q_old"),
    "rem": ("price", "p"),
    "avq": ("v_rate", "v_queue"),
    "fq_codel": (*_FLOWS, *_CODEL),
    "sfqcodel": (*_FLOWS, *_CODEL),
    "fq_pie": (*_FLOWS, *_PIE),
}
"""Most informative variables, by queue manager."""
