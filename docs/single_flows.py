"""Run each congestion control alone in the simulator and on the real kernel and write `data/single-flows.csv`.

`python docs/single_flows.py` takes some minutes and needs a kernel (`sojourn kernel build`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

import sojourn as sj

FILE = Path(__file__).with_name("data") / "single-flows.csv"
COLUMNS = ("control", "rtt_ms", "mean_window_there", "mean_window_here", "apart_percent")
COUNTS = ("reductions_there", "reductions_here")
CONTROLS = [
    *("reno", "cubic", "bbr", "dctcp", "vegas", "westwood"),
    *("highspeed", "scalable", "htcp", "illinois", "bic", "yeah"),
]
RTTS_MS = (20, 100)
ENGINES = ("kernel", "simulate")
MIN_FALL = 0.1
"""Minimum fall of the window since it last rose that counts as a reduction."""


def windows(cc: str, rtt_ms: int, engine: str) -> list[float]:
    """Return the window of a flow in segments, millisecond by millisecond for 20 s."""
    product = round(10 * rtt_ms * 1000 / 8 / 1500)
    link = {"rate": "10 Mbit/s", "overhead": "38 B", "delay": f"{rtt_ms * 500} us"}
    scenario = sj.Scenario.build(
        {
            "duration": "20 s",
            "link": {**link, "aqm": "droptail", "limit": f"{product} packets"},
            "flows": [{"kind": "tcp", "cc": cc, "access_rate": "1 Gbit/s", "ecn": cc == "dctcp"}],
            "probes": {"flows": "1 ms"},
        }
    )
    flows = scenario.run(1, engine=engine).flows
    return [float(cwnd) for cwnd in flows.sort("time_s")["cwnd"]]


def reductions(windows: Iterable[float]) -> int:
    """Return how many times a window fell by a tenth or more before it rose again."""
    count, peak, floor, falls = 0, 0.0, 0.0, False
    for cwnd in windows:
        peak = max(peak, cwnd)
        if falls and cwnd > floor:
            falls, peak = False, cwnd
        elif falls:
            floor = cwnd
        elif cwnd <= (1 - MIN_FALL) * peak:
            count, falls, floor = count + 1, True, cwnd
    return count


def row(cc: str, rtt_ms: int) -> tuple[str, ...]:
    """Return a row of the table."""
    there, here = (windows(cc, rtt_ms, engine) for engine in ENGINES)
    means = [sum(side) / len(side) for side in (there, here)]
    counts = [str(reductions(side)) for side in (there, here)]
    apart = 100 * (means[1] / means[0] - 1)
    return (cc, str(rtt_ms), *(f"{mean:.2f}" for mean in means), f"{apart:+.2f}", *counts)


def main() -> None:
    """Renew the file."""
    rows = [row(cc, rtt_ms) for cc in CONTROLS for rtt_ms in RTTS_MS]
    schema = dict.fromkeys((*COLUMNS, *COUNTS), pl.String)
    pl.DataFrame(rows, schema=schema, orient="row").write_csv(FILE)


if __name__ == "__main__":
    main()
