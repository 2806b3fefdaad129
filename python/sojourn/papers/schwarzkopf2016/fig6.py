"""Figure 6: queueing delays and losses in windows of a second after 5 s, 50 s and 500 s.

A drop phase of CoDel or CoDel-ACT is a series of drops without a packet in between that waited less than the target.
Numbers "at 50 s" are from the phases between 45 and 55 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.figures.canvas import new_figure, style
from sojourn.figures.window import draw_window
from sojourn.model.analysis.packets import between, packets
from sojourn.papers.judge import Measurements, Verdict, relations_by_claim
from sojourn.papers.schwarzkopf2016.analysis import (
    AQMS,
    LOADS,
    TARGET_MS,
    cells_of,
    column,
    drop_phases,
    first_runs,
    runs,
    state,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

TITLE = "Figure 6: delays and losses of consecutive packets"
STUDY = "fig6.toml"

INTERVAL_MS = 100.0
CLUSTER_S = 0.02
"""Drops of PIE within two round-trip times of each other form one phase."""


def measure(result: StudyResult) -> Measurements:
    """Phases, gaps between drops and packets without delay of every run."""
    cells = cells_of(
        [{"aqm": aqm, "flows": flows, "seed": seed, **_row(aqm, flows, one)} for aqm, flows, seed, one in runs(result)]
    )

    def of(aqm: str, flows: int, name: str) -> list[float]:
        chosen = cells.filter((pl.col("aqm") == aqm) & (pl.col("flows") == flows)).sort("seed")
        return [float(value) for value in chosen[name]]

    loads = LOADS[1:]
    seeds = range(len(of("CoDel", 1, "gap_ms")))
    samples = {f"S0-F6-CoDel-{flows}-gap": of("CoDel", flows, "law_ms") for flows in loads}
    samples |= {f"S0-F6-ACT-{flows}-gap": of("CoDel-ACT", flows, "law_ms") for flows in loads}
    samples |= {f"S0-F6-ACT-{flows}-nodrop": of("CoDel-ACT", flows, "shortest_rest_ms") for flows in loads}
    samples |= {
        "S0-F6-1flow-gap": [p / c for p, c in zip(of("PIE", 1, "gap_ms"), of("CoDel", 1, "gap_ms"), strict=True)],
        "S0-F6-drain": [float(np.mean([of("CoDel", flows, "phase_ms")[i] for flows in loads])) for i in seeds],
        "S0-F6-nodrop": [min(of("CoDel", flows, "shortest_rest_ms")[i] for flows in loads) for i in seeds],
        "S0-F6-pkt": of("CoDel", 16, "packet_ms"),
    }
    return Measurements(samples, cells, ("aqm", "flows"), RELATIONS)


def _row(aqm: str, flows: int, one: Result) -> dict[str, Any]:
    trace = packets(one)
    at_50 = between(trace, 45, 55)
    times = at_50.filter("dropped")["time_s"].to_numpy()
    gaps = np.diff(times)
    phases = drop_phases(at_50) if aqm != "PIE" else _clusters(times)
    starts, ends = phases["start_s"].to_numpy(), phases["end_s"].to_numpy()
    rests = 1e3 * (starts[1:] - ends[:-1])
    sent = at_50.filter(~pl.col("dropped"))
    row = {
        "gap_ms": 1e3 * gaps.mean(),
        "longest_gap": gaps.max() / gaps.mean(),
        "twice_at_once": float((gaps == 0).mean()),
        "drops_per_phase": phases["drops"].to_numpy().max(),
        "phase_ms": 1e3 * (ends - starts).mean(),
        "rest_ms": rests.mean() if len(rests) else None,
        "shortest_rest_ms": rests.min() if len(rests) else None,
        "law_ms": INTERVAL_MS / np.sqrt(_mean_count(one)) if aqm != "PIE" else None,
        "zero": (sent["sojourn_ms"].to_numpy() == 0).mean(),
        # Back-to-back packets depart one transmission time apart.
        "packet_ms": 1e3 * np.median(np.diff(sent["time_s"].to_numpy())),
    }
    if aqm == "CoDel" and flows == 16:
        row |= _over_time(trace)
    return row


def _over_time(trace: pl.DataFrame) -> dict[str, Any]:
    """CoDel with 16 flows: differences after 5, 50 and 500 s."""
    found: dict[str, Any] = {}
    for name, start, end in (("5", 4, 7), ("50", 45, 55), ("500", 495, 501)):
        window = between(trace, start, end)
        phases = drop_phases(window)
        sent = window.filter(~pl.col("dropped"))
        times, delays = sent["time_s"].to_numpy(), sent["sojourn_ms"].to_numpy()
        ends = np.searchsorted(times, phases["end_s"].to_numpy())
        after = [delays[i : i + 25] for i in ends if i + 25 < len(delays)]
        found[f"phase_{name}_ms"] = 1e3 * (phases["end_s"].to_numpy() - phases["start_s"].to_numpy()).mean()
        found[f"zero_{name}"] = float((delays == 0).mean())
        found[f"end_{name}_ms"] = float(np.mean([part[0] for part in after]))
        # Rise, fall, rise: the first rise comes before the minimum delay.
        found[f"rebound_{name}"] = float(np.mean([part[: part.argmin() + 1].max() > part[0] + 0.5 for part in after]))
    return found


def _mean_count(one: Result) -> float:
    """Mean of CoDel's count around 50 s."""
    return float(state(one).filter(pl.col("time_s").is_between(45, 55))["count"].to_numpy().mean())


def _clusters(times: np.ndarray[Any, Any]) -> pl.DataFrame:
    ends = np.flatnonzero(np.diff(times) > CLUSTER_S)
    first, last = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(times) - 1]])
    return pl.DataFrame({"start_s": times[first], "end_s": times[last], "drops": last - first + 1})


def S0_F6_1flow(cells: pl.DataFrame) -> bool:
    """1 flow: every drop phase drops one packet, for all three AQMs."""
    return all(column(cells, aqm, "drops_per_phase", (1,)) == [1] for aqm in AQMS.values())


def S0_F6_1flow_eq(cells: pl.DataFrame) -> bool:
    """1 flow: the time between losses of CoDel and of CoDel-ACT are equal within 2 %."""
    codel, act = (column(cells, aqm, "gap_ms", (1,))[0] for aqm in ("CoDel", "CoDel-ACT"))
    return abs(act / codel - 1) <= 0.02


def S0_F6_burst(cells: pl.DataFrame) -> bool:
    """CoDel at 50 s: two packets are dropped at one dequeue sometimes with 64 flows, never with 4."""
    few, many = column(cells, "CoDel", "twice_at_once", (4, 64))
    return many > 0 and few == 0


def S0_F6_nodrop_load(cells: pl.DataFrame) -> bool:
    """CoDel and CoDel-ACT: the mean time without drops shortens with the number of flows."""
    rows = [column(cells, aqm, "rest_ms", LOADS[1:]) for aqm in ("CoDel", "CoDel-ACT")]
    return all(more > less for row in rows for more, less in pairwise(row))


def S0_F6_zero(cells: pl.DataFrame) -> bool:
    """CoDel at 50 s: no packet without delay with 1 flow, some with 4 and 16, almost none with 64."""
    one, four, sixteen, many = column(cells, "CoDel", "zero")
    return one == 0 and four > 0.01 and sixteen > 0.01 and many < 0.001


def S0_F6_5s(cells: pl.DataFrame) -> bool:
    """CoDel, 16 flows: around 5 s drop phases are longer than at 50 s, and no packet is without delay."""
    [early], [late] = (column(cells, "CoDel", f"phase_{at}_ms", (16,)) for at in (5, 50))
    return early > late and column(cells, "CoDel", "zero_5", (16,)) == [0]


def S0_F6_500s(cells: pl.DataFrame) -> bool:
    """CoDel, 16 flows: at 500 s phases end at a larger delay than at 50 s, and packets without delay are rarer.

    After more than half of the phases the delay rises before it falls.
    """
    at = {name: column(cells, "CoDel", name, (16,))[0] for name in ("end_50_ms", "end_500_ms", "zero_50", "zero_500")}
    rebound = column(cells, "CoDel", "rebound_500", (16,))[0]
    return at["end_500_ms"] > at["end_50_ms"] and at["zero_500"] < at["zero_50"] and rebound > 0.5


def S0_F6_PIE(cells: pl.DataFrame) -> bool:
    """PIE drops single packets continuously: no gap is longer than ten mean ones, with 16 and 64 flows."""
    single = column(cells, "PIE", "twice_at_once", (16, 64))
    return all(gap <= 10 for gap in column(cells, "PIE", "longest_gap", (16, 64))) and max(single) < 0.01


RELATIONS = relations_by_claim(
    [S0_F6_1flow, S0_F6_1flow_eq, S0_F6_burst, S0_F6_nodrop_load, S0_F6_zero, S0_F6_5s, S0_F6_500s, S0_F6_PIE]
)


def draw(result: StudyResult, _: Sequence[Verdict]) -> Figure:
    """Draw a row per load: CoDel after 5 s, all three after 50 s; CoDel after 500 s if the run is long enough."""
    shown = first_runs(result)
    columns = [("CoDel", 5), ("CoDel", 50), ("CoDel-ACT", 50), ("PIE", 50), ("CoDel", 500)]
    with style():
        figure = new_figure(13.0, 7.6)
        panels = figure.subplots(len(LOADS), len(columns), sharey="row", squeeze=False)
        for row, flows in zip(panels, LOADS, strict=True):
            for axes, (aqm, start) in zip(row, columns, strict=True):
                window = between(packets(shown[aqm, flows]), start, start + 1)
                if window.is_empty():
                    axes.set_axis_off()
                    continue
                draw_window(window, start, start + 1, axes, target_ms=TARGET_MS)
                axes.set_title(f"{aqm}, {flows} flow{'s' if flows > 1 else ''}", loc="left", fontweight="bold")
            row[0].set_ylim(bottom=0)
            row[0].set_ylabel("delay [ms]")
        for axes in panels[-1]:
            axes.set_xlabel("time [s]")
        return figure
