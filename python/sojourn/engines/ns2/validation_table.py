"""Table of the comparison of the simulator with ns-2, a row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sojourn.engines.ns2.divergence import END, FATE, ORDER, TICKS, TIME, Divergence
from sojourn.engines.ns2.grid import SEEDS, Cell, Point
from sojourn.engines.validation.engine_pair import means, standard_error

COLUMNS = {
    "delivered": "delivered_mbps",
    "mean": "delay_mean_ms",
    "delay": "delay_p50_ms",
    "tail": "delay_p95_ms",
    "drops": "drops_percent",
    "jain": "jain",
}
AGREES, APART, NOT_COUNTED = VERDICTS = ("agrees", "apart", "not counted")
"""A cell is not counted if the standard error of a mean is larger than its band."""
CAUSES = {
    FATE: "the queue decides differently on the same packet",
    TICKS: "a time-out fires some ticks of 10 ms earlier or later, by the clock of ns-2's agent (`boot_time_`)",
    TIME: "the packet arrives at another time; unexplained",
    ORDER: "a packet of another flow is next; unexplained",
    END: "one run sends nothing more",
}
"""By kind of the first divergence."""
DRAWN = "RED draws from another generator, so the same packet is dropped on one side only"


def table(cells: Sequence[Cell], divergences: Mapping[Point, Divergence | None]) -> pl.DataFrame:
    """Make a row per cell; `divergences` has the first differing packet of the first seed for cells that are apart."""
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
        verdict = NOT_COUNTED if not cell.counts else AGREES if cell.agrees else APART
        row |= {"bands": cell.distance, "error_bands": cell.error, "agrees": cell.agrees, "verdict": verdict}
        rows.append(row | _divergence_columns(cell, divergences.get(point) if verdict == APART else None, verdict))
    return pl.DataFrame(rows, infer_schema_length=None)


def _divergence_columns(cell: Cell, found: Divergence | None, verdict: str) -> dict[str, object]:
    """Columns of the first packet that differs: `+` for sent or `d` for dropped, with its arrival time in s."""
    if found is None:
        remark = f"seed {SEEDS[0]} does not diverge" if verdict == APART else None
        return {"equal_packets": None, "packet_there": None, "packet_here": None, "remark": remark}
    remark = DRAWN if found.kind == FATE and cell.point.aqm == "red" else CAUSES[found.kind]
    return {"equal_packets": found.before, "packet_there": found.there, "packet_here": found.here, "remark": remark}
