"""Writes the table of single flows in transports.md: each control alone, in the simulator and on the real kernel.

`python docs/single_flows.py` takes some minutes and needs a kernel (`sojourn kernel build`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import sojourn as sj
from sojourn.base.markdown import replace_part, table

PAGE = Path(__file__).with_name("transports.md")
CONTROLS = [
    *("reno", "cubic", "bbr", "dctcp", "vegas", "westwood"),
    *("highspeed", "scalable", "htcp", "illinois", "bic", "yeah"),
]
RTTS_MS = (20, 100)
ENGINES = ("kernel", "simulate")
LEAST_FALL = 0.1
"""What counts as a reduction: of the window since it last rose."""


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
    """Return how many times a window has fallen by more than a tenth before it rose again."""
    count, peak, floor, falls = 0, 0.0, 0.0, False
    for cwnd in windows:
        peak = max(peak, cwnd)
        if falls and cwnd > floor:
            falls, peak = False, cwnd
        elif falls:
            floor = cwnd
        elif cwnd <= (1 - LEAST_FALL) * peak:
            count, falls, floor = count + 1, True, cwnd
    return count


def row(cc: str, rtt_ms: int) -> tuple[str, ...]:
    """Return a row of the table."""
    there, here = (windows(cc, rtt_ms, engine) for engine in ENGINES)
    means = [sum(side) / len(side) for side in (there, here)]
    counts = [str(reductions(side)) for side in (there, here)]
    apart = 100 * (means[1] / means[0] - 1)
    return (f"`{cc}`", f"{rtt_ms} ms", *(f"{mean:.2f}" for mean in means), f"{apart:+.2f}", *counts)


def main() -> None:
    """Renew the table."""
    headings = ("control", "RTT", "mean window there", "here", "apart, %", "reductions there", "here")
    rows = [row(cc, rtt_ms) for cc in CONTROLS for rtt_ms in RTTS_MS]
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replace_part(text, "table", "single-flows", table(headings, rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
