"""Common analysis of the figures: one row per run with its delays and goodputs, and selections from those rows.

Queueing delay is RTT - base RTT, as in the paper: the sojourn time, the wait in the driver's buffer behind the packet
in transmission, and the packet's own transmission. Goodput is the IP throughput of the bottleneck in steps of 5 s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

AQMS = {
    "codel@linux-3.10": "CoDel",
    "pie@cisco2013": "PIE",
    "ared@linux": "ARED",
    "fq_codel@linux-3.10": "FQ_CoDel",
}
THREE = ("CoDel", "PIE", "ARED")
LIGHT, MODERATE, HEAVY = LOADS = (4, 16, 64)
SENDERS = 4
TARGETS_MS = (1.0, 5.0, 10.0, 20.0, 30.0)
PACKET_MS = 1538 * 8 / 10_000
"""Time that a full-sized packet takes on the medium, with 38 bytes of Ethernet."""
EQUAL = 0.01
"""Goodputs that differ by less are the same ("almost exactly")."""


def cells_of(result: StudyResult, keys: Sequence[str]) -> pl.DataFrame:
    """One row per run: the varied parameters (see `_varied`), delays in ms and goodputs in Mb/s."""
    rows = []
    for (values, one), summary in zip(result.with_values(), result.runs.iter_rows(named=True), strict=True):
        varied = _varied(values)
        rates = {"drop_rate": summary["drop_rate"], "mark_rate": summary["mark_rate"]}
        chosen = {key: varied[key] for key in keys}
        rows.append(chosen | {"seed": one.seed} | _delays(summary) | _goodputs(one) | rates)
    return pl.DataFrame(rows, infer_schema_length=None)


def delay_ms(sojourn_ms: float) -> float:
    """Queueing delay of a full-sized packet, from its sojourn time.

    A packet that had to wait enters the buffer below just when its predecessor's transmission starts, so two packet
    times remain. One that did not wait has at least its own ahead; up to one more is not distinguished.
    """
    return sojourn_ms + 2 * PACKET_MS if sojourn_ms > 0 else PACKET_MS


def means(cells: pl.DataFrame, column: str, by: str, **where: Any) -> list[float]:
    """Means of `column` in the order of `by`, over the rows with the values `where`."""
    return select(cells, **where).group_by(by).agg(pl.col(column).mean()).sort(by)[column].to_list()


def value(cells: pl.DataFrame, column: str, **where: Any) -> float:
    """Mean of `column` over the rows with the values `where`."""
    return float(select(cells, **where)[column].mean())  # type: ignore[arg-type]


def select(cells: pl.DataFrame, **where: Any) -> pl.DataFrame:
    """Rows with these values."""
    return cells.filter(pl.col(name) == wanted for name, wanted in where.items())


def extreme(cells: pl.DataFrame, column: str, by: Sequence[str], *, highest: bool) -> list[float]:
    """Samples of `column` at the lowest or highest mean over the seeds: the paper prints averages of runs."""
    groups = [group[column].to_list() for _, group in cells.group_by(by, maintain_order=True)]
    return sorted(groups, key=lambda samples: sum(samples) / len(samples), reverse=highest)[0]


def reductions(cells: pl.DataFrame, columns: Sequence[str], by: str, base: Any) -> pl.DataFrame:
    """Relative reductions of `columns` against the value `base` of `by`, load by load and seed by seed."""
    keys = [name for name in ("target_ms", "flows", "seed") if name in cells.columns]
    usual = cells.filter(pl.col(by) == base).select(*keys, *columns)
    others = cells.filter(pl.col(by) != base).join(usual, on=keys, suffix="_base")
    return others.select(*keys, by, *((1 - pl.col(name) / pl.col(f"{name}_base")).alias(name) for name in columns))


def _varied(values: dict[str, Any]) -> dict[str, Any]:
    """Name of the AQM, its target, its interval (`interval` or `tupdate`), flags, flows and base RTT."""
    aqm = values["link.aqm"]
    words = aqm.split()
    numbers = {name: round(float(number), 1) for name, number in re.findall(r"(\w+) ([\d.]+)ms", aqm)}
    return {
        "aqm": AQMS[words[0]],
        "target_ms": numbers.get("target"),
        "interval_ms": numbers.get("interval", numbers.get("tupdate")),
        "ecn": "ecn" in words,
        "variant": "CE excluded" if "exclude_ce" in words else "limit of 10 %" if "mark_ecnth 0.1" in aqm else "",
        "flows": int(values["flows.0.count"]),
        "rtt_ms": 2 * float(values.get("link.delay", "50 ms").split()[0]),
    }


def _delays(summary: dict[str, Any]) -> dict[str, float]:
    """`p10` to `p90` and `max` of the queueing delay, and `spread`, the difference of the first and last decile."""
    found = {name: delay_ms(summary[f"sojourn_{name}_ms"]) for name in ("p10", "p25", "p50", "p75", "p90", "max")}
    return found | {"spread": found["p90"] - found["p10"]}


def _goodputs(one: Result) -> dict[str, float]:
    """`total` over the run, and `g10` to `g90`, quantiles of the goodput of every 5 s."""
    steps = one.utilisation.filter(pl.col("link") == "forward")
    before_s = steps["time_s"].shift(1, fill_value=0.0)
    rate = steps["bytes"] * 8 / 1e6 / (steps["time_s"] - before_s)
    quantiles = {f"g{percent}": rate.quantile(percent / 100, "linear") for percent in (10, 25, 50, 75, 90)}
    return {"total": steps["bytes"].sum() * 8 / 1e6 / steps["time_s"].max()} | quantiles  # type: ignore[operator,return-value]
