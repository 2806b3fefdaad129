"""Common analysis of figures 9 and 10: round-trip times of one flow group, and its senders' throughput per 5 s.

A round-trip time is measured from the time when TCP passes a segment down (`r10` to `r90`) until the first
acknowledgment that covers it; `t10` to `t90` start when the segment leaves its host's queue for the driver, where
tcpdump sees it. The two differ for uploads only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sojourn.papers.khademi2013.analysis import AQMS

if TYPE_CHECKING:
    from sojourn.model.results.result import Result
    from sojourn.studies.study import StudyResult

KEYS = ("aqm", "flows")
PERCENTS = (10, 25, 50, 75, 90)


def cells_of(result: StudyResult) -> pl.DataFrame:
    """One row per run: AQM, flows of the first group, quantiles of its round-trip times in ms and goodputs in Mb/s."""
    rows = []
    for values, one in result.with_values():
        aqm, flows = AQMS[values["link.aqm"].split()[0]], int(values["flows.0.count"])
        rows.append({"aqm": aqm, "flows": flows, "seed": one.seed} | _round_trips(one) | _goodputs(one))
    return pl.DataFrame(rows)


def _round_trips(one: Result) -> dict[str, float]:
    found = one.totals["wlan"]["rtts"][0]
    ends = {"r": found["sent_ms"], "t": found["tapped_ms"]}
    return {f"{end}{percent}": times[f"p{percent}"] for end, times in ends.items() for percent in PERCENTS}


def _goodputs(one: Result) -> dict[str, float]:
    """Bytes of IP that the first group's senders transmit: the access point, or all stations together."""
    uploads = one.scenario.document["flows"][0]["direction"] == "reverse"
    chosen = pl.col("link") != "forward" if uploads else pl.col("link") == "forward"
    steps = one.utilisation.filter(chosen).group_by("time_s").agg(pl.col("bytes").sum()).sort("time_s")
    rate = steps["bytes"] * 8 / 1e6 / (steps["time_s"] - steps["time_s"].shift(1, fill_value=0.0))
    return {f"g{percent}": float(rate.quantile(percent / 100, "linear") or 0.0) for percent in PERCENTS}
