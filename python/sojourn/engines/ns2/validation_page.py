"""The page and the table of the simulator beside ns-2; no ns-2 is needed to write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sojourn.engines.ns2.grid import AQMS, DURATION_S, NS2, SEEDS, TCPS, WARMUP_S, Cell, Point
from sojourn.engines.ns2.parting import END, FATE, ORDER, TICKS, TIME, Parting
from sojourn.engines.validation.recorded import unwrapped
from sojourn.engines.validation.sides import means, standard_error

SHOWN = {"delivered": 3, "mean": 2, "drops": 2}
"""Numbers of a cell and their digits in the page."""
COLUMNS = {
    "delivered": "delivered_mbps",
    "mean": "delay_mean_ms",
    "delay": "delay_p50_ms",
    "tail": "delay_p95_ms",
    "drops": "drops_percent",
    "jain": "jain",
}


def page(cells: Sequence[Cell], partings: Mapping[Point, Parting | None], complete: str | None) -> str:
    """Return the page; `partings` has where the runs of the first seed part, of the cells outside."""
    counted = [cell for cell in cells if cell.counts]
    agreeing = sum(cell.agrees for cell in counted)
    durations = ", ".join(f"{seconds} s at {rtt} ms" for rtt, seconds in sorted(DURATION_S.items()))
    head = unwrapped(HEAD).format(
        seeds=len(SEEDS),
        durations=durations,
        warmup=WARMUP_S,
        agreeing=agreeing,
        counted=len(counted),
        cells=len(cells),
        share=100 * agreeing / max(len(counted), 1),
        unsure=len(cells) - len(counted),
        unsure_agreeing=sum(cell.agrees for cell in cells if not cell.counts),
        complete=f"The complete table is [{complete}]({complete})." if complete else "",
    )
    outside = sorted((cell for cell in counted if not cell.agrees), key=lambda cell: -cell.distance)
    unsure = sorted((cell for cell in cells if not cell.counts), key=lambda cell: -cell.distance)
    parts = [head, *_summary(cells), "", "## The cells that do not agree", "", unwrapped(OUTSIDE)]
    parts += [*_marked(outside), "", *_explained(outside, partings)]
    parts += ["", "## The cells whose seeds differ by more than the bands", "", unwrapped(UNSURE), *_marked(unsure)]
    return "\n".join([*parts, ""]) + unwrapped(TAIL)


def table(cells: Sequence[Cell]) -> pl.DataFrame:
    """Every cell, one row each."""
    rows = []
    for cell in cells:
        point, there, here = cell.point, means(cell.there), means(cell.here)
        row: dict[str, object] = {
            "aqm": point.aqm,
            "engine": point.engine,
            "tcp": point.tcp,
            "rate_mbps": point.rate,
            "rtt_ms": point.rtt,
            "flows": point.flows,
            "duration_s": point.duration_s,
        }
        for key, name in COLUMNS.items():
            row |= {f"{name}_there": there[key], f"{name}_here": here[key]}
        for key in ("delivered", "mean"):
            for side, runs in (("there", cell.there), ("here", cell.here)):
                row[f"{COLUMNS[key]}_error_{side}"] = standard_error(runs, key)
        rows.append(row | {"bands": cell.distance, "error_bands": cell.error, "agrees": cell.agrees})
    return pl.DataFrame(rows)


def _summary(cells: Sequence[Cell]) -> list[str]:
    """Queue by TCP: cells, those that count, those of them that agree."""
    lines = [
        "| queue | in ns-2 | TCP | cells | counted | agree | share | worst, bands | worst cell |",
        "|" + "---|" * 9,
    ]
    for aqm in AQMS:
        of_queue = [cell for cell in cells if cell.point.aqm == aqm]
        for tcp in ("", *TCPS):
            mine = [cell for cell in of_queue if tcp in ("", cell.point.tcp)]
            counted = [cell for cell in mine if cell.counts]
            if not counted:
                continue
            worst = max(counted, key=lambda cell: cell.distance)
            agreeing = sum(cell.agrees for cell in counted)
            there = "its own" if AQMS[aqm][2] == NS2 else "ours"
            lines.append(
                f"| {aqm} | {there} | {tcp or 'all'} | {len(mine)} | {len(counted)} | {agreeing} "
                f"| {100 * agreeing / len(counted):.0f} % | {worst.distance:.1f} | {worst.point.name} |"
            )
    return lines


def _marked(cells: Sequence[Cell]) -> list[str]:
    head = ["queue", "TCP", "rate", "RTT", "flows", "bands", "error"]
    for name in ("delivered", "mean delay", "drops, %"):
        head += [f"{name} there", "here"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for cell in cells:
        point, there, here = cell.point, means(cell.there), means(cell.here)
        row: list[object] = [point.aqm, point.tcp, point.rate, point.rtt, point.flows]
        row += [f"{cell.distance:.1f}", f"{cell.error:.1f}"]
        for key, digits in SHOWN.items():
            row += [f"{there[key]:.{digits}f}", f"{here[key]:.{digits}f}"]
        lines.append("| " + " | ".join(str(text) for text in row) + " |")
    return lines


def _explained(outside: Sequence[Cell], partings: Mapping[Point, Parting | None]) -> list[str]:
    """A line for each cell: the first event of the first seed in which they part, and what makes it differ."""
    lines = []
    for cell in outside:
        found = partings.get(cell.point)
        if found is None:
            lines.append(f"- {cell.point.name}: seed {SEEDS[0]} does not part.")
            continue
        drawn = found.how == FATE and cell.point.aqm == "red"
        lines.append(
            f"- {cell.point.name}: seed {SEEDS[0]} parts after {found.before} packets, `{found.there}` there and "
            f"`{found.here}` here: {DRAWN if drawn else CAUSES[found.how]}."
        )
    return lines


CAUSES = {
    FATE: "the queue judges the same packet otherwise",
    TICKS: "a time-out comes some ticks of 10 ms sooner or later, by the clock of ns-2's agent (`boot_time_`)",
    TIME: "the packet comes at another time; why is not known",
    ORDER: "a packet of another flow is next; why is not known",
    END: "one run sends nothing more",
}
"""By how two packets differ."""
DRAWN = "RED's generator is another one, so that the same packet is dropped on one side only"
HEAD = """# The simulator beside ns-2

The same scenarios on the simulator ("here", stack `ns2`) and on ns-2.35 ("there"), with the same {seeds} seeds each:
flows that start within the first second and send for ever, {durations}, of which {warmup} s are left out. Payload
delivered in order in Mbit/s, mean delay in the queue in ms. `python -m sojourn.ns2.validate` makes this page;
[ns2.md](ns2.md) says how a scenario is translated. Tail drop and RED are ns-2's own queues; CoDel's variants are ours
inside ns-2, which has none, and are checked there line by line against another CoDel. So for these TCP alone is
compared.

A cell agrees if the means over the seeds differ by at most 2 % in what is delivered, and by at most 10 % or 0.5 ms in
the delay; "bands" says how far apart it is in these units, "error" the largest standard error of a mean in them. A cell
whose standard errors are larger than the bands is not counted. {complete}

**{agreeing} of {counted} counted cells agree ({share:.0f} %).** Of {unsure} that are not counted {unsure_agreeing}
agree as well; there are {cells}.
"""
OUTSIDE = """Each with the first packet at the bottleneck in which the runs part, because it comes from another flow, or
more than a millisecond apart, or is dropped on one side only: `+` for one that is sent, `d` for one that is dropped,
and when it arrived.
"""
UNSURE = """Three seeds do not tell these cells exactly enough: single flows, and few flows over long paths, whose runs
hang on one or two losses.
"""
TAIL = """
## What is known of the differences

- Single senders that get the acknowledgments of ns-2's agents at the same times send the same packets at the same
  microseconds: Reno, NewReno and `TCP/Sack1` under heavy loss ([decisions/tcp.md](decisions/tcp.md)).
- Packets that arrive and depart at one instant do so in the order of ns-2's scheduler
  ([decisions/tcp.md](decisions/tcp.md#one-instant-under-the-stack-ns2)). With departures first, delays under CoDel and
  RED were 10 to 20 % too long where the way to the queue takes longer than a transmission there.
- The clocks of ns-2's agents stand at random when they begin (`boot_time_`), so that a time-out may come a tick of
  10 ms earlier or later than here. RED draws from another generator. After that two runs go different ways.
"""
