"""The page and the table of the simulator beside the kernel; no kernel is needed to write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from sojourn.engines.kernel.grid import CONTROLS, SEEDS_HERE, WARMUP_S, AnyPoint, Cell, Repeated
from sojourn.engines.validation.recorded import unwrapped
from sojourn.engines.validation.sides import Numbers

SHOWN = {"delivered": 2, "delay": 2, "tail": 2, "drops": 2, "marks": 2, "jain": 3}
"""Numbers of a cell and their digits in the page."""


@dataclass(frozen=True)
class Cause:
    """Why runs of a kind differ from seed to seed."""

    applies: Callable[[Cell], bool]
    text: str


CAUSES = (
    Cause(
        lambda cell: cell.point.ecn and cell.point.aqm == "ared" and cell.there["marks"] > MARKS_ALL,
        "RED beyond its upper threshold marks all data and drops every SYN, so only the flows that were first exist, "
        "each with its least window; their number, which Jain's index tells, is that of the packets that wait",
    ),
    Cause(
        lambda cell: cell.point.ecn and cell.point.aqm == "ared" and cell.point.flows > 1,
        "a flow whose SYN is dropped goes on without ECN (RFC 3168 §6.1.1.1), and moves "
        "goodput up and marks down: with 8 flows at 50 ms 7.3, 7.6, 8.1 and 8.5 Mbit/s for one to four of them",
    ),
    Cause(
        lambda cell: cell.point.flows == 1 and cell.point.aqm in ("pie", "ared"),
        "the window of a single flow is reduced a few times in a run, at random instants, which decide the goodput",
    ),
)
MARKS_ALL = 50.0


@dataclass(frozen=True)
class Words:
    """What a page says around its numbers."""

    head: str
    tail: str
    causes: Sequence[Cause] = ()
    """First match wins. Where the means lie apart, such a cause is not enough, and the page says so."""
    apart: Sequence[Cause] = ()
    """Why the means lie apart, where that is known."""


def page(
    points: Sequence[AnyPoint],
    cells: Sequence[Cell],
    kernel: str,
    again: Mapping[AnyPoint, Repeated],
    complete: str | None,
    words: Words | None = None,
) -> str:
    """Return the page; `again` has the cells that do not agree, `complete` is the name of the whole table's file."""
    words = words or Words(HEAD, TAIL, CAUSES)
    agreeing = sum(cell.agrees for cell in cells)
    lasting = sorted({(point.rate, point.duration_s) for point in points})
    durations = ", ".join(f"{seconds} s at {rate} Mbit/s" for rate, seconds in lasting)
    head = unwrapped(words.head).format(
        kernel=kernel,
        durations=durations,
        warmup=WARMUP_S,
        agreeing=agreeing,
        cells=len(cells),
        share=100 * agreeing / max(len(cells), 1),
        missing=_missing(points, cells),
        complete=f"The complete table is [{complete}]({complete})." if complete else "",
    )
    outside = sorted((cell for cell in cells if not cell.agrees), key=lambda cell: -cell.distance)
    verdicts = [_verdict(again[cell.point]) for cell in outside]
    count = {word: verdicts.count(word) for word in (CHANCE, NOT_TOLD, APART)}
    parts = [
        head,
        *_summary(points, cells, again),
        "",
        *_by_control(points, cells),
        "## The cells that do not agree",
        "",
    ]
    parts.append(unwrapped(AGAIN).format(seeds=SEEDS_HERE, outside=len(outside), **count))
    parts += [*_marked(outside), "", *_explained(outside, again, words), "", unwrapped(words.tail)]
    return "\n".join(parts)


def table(cells: Sequence[Cell]) -> pl.DataFrame:
    """Every cell, one row each."""
    rows = []
    for cell in cells:
        point = cell.point
        row: dict[str, object] = {
            "aqm": point.aqm,
            "ecn": point.ecn,
            "cc": point.control,
            "rate_mbps": point.rate,
            "rtt_ms": point.rtt,
            "flows": point.flows,
            "duration_s": point.duration_s,
        }
        for key, name in COLUMNS.items():
            row |= {f"{name}_there": cell.there[key], f"{name}_here": cell.here[key]}
        rows.append(row | {"bands": cell.distance, "agrees": cell.agrees})
    return pl.DataFrame(rows)


def _missing(points: Sequence[AnyPoint], cells: Sequence[Cell]) -> str:
    run = {cell.point for cell in cells}
    missing = [point for point in points if point not in run]
    if not missing:
        return ""
    by_rate = [f"{sum(p.rate == rate for p in missing)} at {rate} Mbit/s" for rate in sorted({p.rate for p in missing})]
    return f" {len(missing)} cells of the grid have not been run: {', '.join(by_rate)} (see the summary)."


def _summary(points: Sequence[AnyPoint], cells: Sequence[Cell], again: Mapping[AnyPoint, Repeated]) -> list[str]:
    """Queue and ECN by rate: cells that agree of those that were run, those that differ beyond chance, the worst."""
    lines = [
        "| queue | ECN | rate, Mbit/s | cells | run | agree | beyond chance | worst, bands | worst cell |",
        "|" + "---|" * 9,
    ]
    for aqm in dict.fromkeys(point.aqm for point in points):
        for ecn in (False, True):
            for rate in sorted({point.rate for point in points}):
                kind = (aqm, ecn, rate)
                wanted = [point for point in points if (point.aqm, point.ecn, point.rate) == kind]
                mine = [cell for cell in cells if (cell.point.aqm, cell.point.ecn, cell.point.rate) == kind]
                if not wanted:
                    continue
                worst = max(mine, key=lambda cell: cell.distance, default=None)
                told = f"{worst.distance:.1f} | {_short(worst.point)}" if worst else "|"
                beyond = sum(cell.point in again and _verdict(again[cell.point]) == APART for cell in mine)
                agreeing = sum(cell.agrees for cell in mine)
                first = f"| {aqm} | {'yes' if ecn else ''} | {rate} | {len(wanted)} | {len(mine)}"
                lines.append(f"{first} | {agreeing} | {beyond} | {told} |")
    return lines


def _by_control(points: Sequence[AnyPoint], cells: Sequence[Cell]) -> list[str]:
    """Cells by congestion control, where a grid is about these: there are more than Reno and CUBIC."""
    controls = dict.fromkeys(point.control for point in points)
    if len(controls) <= len(CONTROLS):
        return []
    lines = ["| control | cells | run | agree | worst, bands |", "|" + "---|" * 5]
    for control in controls:
        wanted = sum(point.control == control for point in points)
        mine = [cell for cell in cells if cell.point.control == control]
        worst = f"{max(cell.distance for cell in mine):.1f}" if mine else ""
        lines.append(f"| {control} | {wanted} | {len(mine)} | {sum(cell.agrees for cell in mine)} | {worst} |")
    return [*lines, ""]


def _marked(outside: Sequence[Cell]) -> list[str]:
    head = ["queue", "ECN", "cc", "rate", "RTT", "flows", "bands"]
    for name in ("delivered", "p50", "p95", "drops, %", "marks, %", "Jain"):
        head += [f"{name} there", "here"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for cell in outside:
        point = cell.point
        row: list[object] = [point.aqm, "yes" if point.ecn else "", point.control, point.rate, point.rtt, point.flows]
        row.append(f"{cell.distance:.1f}")
        for key, digits in SHOWN.items():
            row += [f"{cell.there[key]:.{digits}f}", f"{cell.here[key]:.{digits}f}"]
        lines.append("| " + " | ".join(str(text) for text in row) + " |")
    return lines


def _explained(outside: Sequence[Cell], again: Mapping[AnyPoint, Repeated], words: Words) -> list[str]:
    """A line for each cell: its means, and what the other seeds say of the difference."""
    lines = []
    for cell in outside:
        repeated = again[cell.point]
        point, mean = cell.point, repeated.mean
        seeds = f"over {repeated.seeds_there} and {repeated.seeds_here} seeds"
        numbers = f"{_pair(mean.there, mean.here, 'delivered')} Mbit/s, {_pair(mean.there, mean.here, 'delay')} ms"
        cause = next((f": {cause.text}" for cause in words.causes if cause.applies(cell)), "")
        known = next((f": {cause.text}" for cause in words.apart if cause.applies(cell)), ", which is not explained")
        verdict = _verdict(repeated)
        why = {
            CHANCE: f"the means agree{cause}",
            NOT_TOLD: f"within the spread of the simulator's seeds{cause}",
            APART: f"**apart**{known}",
        }[verdict]
        lines.append(
            f"- {point.aqm}{' with ECN' if point.ecn else ''}, {point.control}, {point.rate} Mbit/s, {point.rtt} ms, "
            f"{point.flows} {'flow' if point.flows == 1 else 'flows'}: {numbers} there and here {seeds}; {why}."
        )
    return lines


def _verdict(repeated: Repeated) -> str:
    if repeated.is_chance:
        return CHANCE
    return APART if repeated.is_told_apart else NOT_TOLD


def _short(point: AnyPoint) -> str:
    return f"{point.control}, {point.rtt} ms, {point.flows}"


def _pair(there: Numbers, here: Numbers, key: str) -> str:
    return f"{there[key]:.2f} and {here[key]:.2f}"


CHANCE, NOT_TOLD, APART = "chance", "spread", "apart"
COLUMNS = {
    "delivered": "delivered_mbps",
    "delay": "delay_p50_ms",
    "tail": "delay_p95_ms",
    "drops": "drops_percent",
    "marks": "marks_percent",
    "jain": "jain",
}
HEAD = """# The simulator beside the real kernel, run now

The same scenarios on the simulator ("here", stack `linux-6.1`) and on the real kernel ("there", {kernel}), with the
same seed: {durations}, of which {warmup} s are warm-up. Payload delivered in order in Mbit/s and Jain's index of
it, which is what these runs recorded, delay in the queue in ms (p50, p95).
`python -m sojourn.kernel.validate` makes this page; [validation.md](validation.md) does it with recorded runs, and says
what the mechanisms contribute.

A cell agrees if what is delivered is within 3 % and the median delay within 15 % or 1 ms; "bands" says how far apart
it is in these units. {complete}

**{agreeing} of {cells} cells agree ({share:.0f} %).**{missing}
"""
AGAIN = """Single runs differ by more than the bands where few flows meet or the queue draws at random, so these cells
were simulated with {seeds} seeds, and run by the kernel with up to four. Of {outside} cells {chance} agree in the mean;
of the others {spread} lie within the spread of the simulator's seeds, and {apart} do not. Below the table each one has
its means, and what makes seeds differ where that is known.
"""
SAME_CHANCE = """Queues draw the same random numbers here and there, and hash flows by the same key.
"""
TAIL = f"""{SAME_CHANCE.strip()} What the
simulator's stack does not have: a part of a segment where the receiver's window ends within one.
"""
