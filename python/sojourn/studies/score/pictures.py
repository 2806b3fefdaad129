"""Figures of a scorecard: goodput against delay under the three loads, and delay over time for changing conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from sojourn.figures.api import draw
from sojourn.figures.canvas import Sheet, style
from sojourn.figures.channels import Channels
from sojourn.figures.scales import Span, sojourn_axis, title
from sojourn.figures.timeseries import draw_series
from sojourn.model.analysis.labels import Name
from sojourn.studies.score.matrix import matrix
from sojourn.studies.score.phases import delays
from sojourn.studies.score.runs import RowResult, by_aqm, with_values

LOADS = ("load-mild", "load-medium", "load-heavy")


def pictures(done: Sequence[RowResult], names: Mapping[str, str]) -> dict[str, Figure]:
    """Figures of the completed rows, by name; the ellipses need several seeds."""
    found = {one.plan.row_id: _timeline(one, names) for one in done if one.plan.row.timeline and one.results}
    for one in done:
        if one.plan.row.large and one.results:
            found |= {
                f"{one.plan.row_id}, {names[aqm]}": matrix(runs, names[aqm]) for aqm, runs in with_values(one).items()
            }
    loads = [one for one in done if one.plan.row_id in LOADS and one.results and len(one.seeds) > 1]
    return {"plane": _plane(loads, names), **found} if loads else found


def _plane(loads: Sequence[RowResult], names: Mapping[str, str]) -> Figure:
    """Goodput against delay: an ellipse over the seeds per queue manager, a panel per load."""
    results, labels = [], []
    for one in loads:
        load = one.plan.row.title if len(loads) > 1 else ""
        for aqm, of_aqm in by_aqm(one).items():
            results += of_aqm
            labels += [Name(names[aqm], load)] * len(of_aqm)
    return draw("ellipse", results, labels, options={"over": "seeds"})[0].figure


def _timeline(one: RowResult, names: Mapping[str, str]) -> Figure:
    """Delay over time in the run of the first seed, a panel per queue manager."""
    shown = {Name(names[aqm]): delays(of_aqm[0]) for aqm, of_aqm in by_aqm(one).items()}
    with style():
        sheet = Sheet()
        panels = sheet.panels(len(shown), height=1.2)[:, 0].tolist()
        channels = Channels(shown)
        for (name, table), axes in zip(shown.items(), panels, strict=True):
            draw_series(table, "delay_ms", axes, color=channels.color(name))
            title(axes, str(name), color=channels.color(name))
            axes.set_ylabel("sojourn [ms]")
        spans = [Span(*(table["delay_ms"].quantile(q) or 0.0 for q in (0.02, 0.5, 1.0))) for table in shown.values()]
        for axes in panels:
            sojourn_axis(axes, spans, which="y")
        panels[-1].set_xlabel("time [s]")
        panels[-1].set_xlim(0, max(of_aqm[0].duration_s for of_aqm in by_aqm(one).values()))
        sheet.note("line: median, band: lowest to highest of the samples, every 20 ms")
        sheet.finish()
    return sheet.figure
