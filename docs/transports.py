"""Writes the tables of transports.md: runs the studies that the page names and measures what it says.

`python docs/transports.py` takes a few minutes. What stands around the tables is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

import sojourn as sj
from sojourn.base.markdown import replace_part, table
from sojourn.model.analysis.stats import mean_ci

PAGE = Path(__file__).with_name("transports.md")
SCENARIOS = PAGE.parents[1] / "scenarios"
SEEDS = 10
DUALPI2 = "dualpi2@linux"
PUBLISHED = {"10 ms": "34 : 13", "20 ms": "32 : 15", "80 ms": "30 : 17.5"}
"""Mbit/s of an older Prague and CUBIC over DualPI2, measured in 2020."""

Rows = list[tuple[str, ...]]


def runs(name: str, sets: dict[str, object], seeds: int = SEEDS) -> list[sj.Result]:
    """Return the results of a scenario for so many seeds."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    # Here the keys of the sweep are set one by one.
    scenario = sj.Scenario.parse(text.partition("\n[sweep]")[0], sets)
    return [scenario.run(seed) for seed in range(1, seeds + 1)]


def cell(values: Iterable[float], digits: int = 1) -> str:
    """Return mean and half width of the 95 % interval."""
    mean, half = mean_ci(list(values))
    return f"{mean:.{digits}f} ± {half or 0.0:.{digits}f}"


def goodputs(results: Sequence[sj.Result], group: int) -> list[float]:
    """Return what a group gets in Mbit/s, per run."""
    return [float(result.groups["goodput_bps"][group]) / 1e6 for result in results]


def pair(results: Sequence[sj.Result]) -> tuple[str, str, str]:
    """Return what both groups get, and the ratio."""
    first, second = goodputs(results, 0), goodputs(results, 1)
    ratios = [one / other for one, other in zip(first, second, strict=True)]
    return cell(first), cell(second), cell(ratios, 2)


def prague() -> Rows:
    """Prague beside CUBIC."""
    rows: Rows = []
    for aqm in (DUALPI2, "codel ecn"):
        for rtt, published in PUBLISHED.items():
            sets = {"link.aqm": aqm, "flows.0.rtt": rtt, "flows.1.rtt": rtt}
            rows.append((f"`{aqm}`", rtt, *pair(runs("prague", sets)), published if aqm == DUALPI2 else "20–60 : 1"))
    return rows


def prague_rtts() -> Rows:
    """Two flows of Prague with RTTs of 5 and 25 ms."""
    sets = [(cc, {"flows.0.cc": cc, "flows.1.cc": cc}) for cc in ("prague", "prague@0.6", "cubic")]
    return [(f"`{cc}`", *pair(runs("prague-rtts", keys))) for cc, keys in sets]


def bbr() -> Rows:
    """The times at which BBR has four packets in flight."""
    between, lasts, least, used = [], [], [], []
    for result in runs("bbr", {"flows.0.spread": "1 s"}):
        flow = result.flows.filter(pl.col("time_s") > 5).sort("time_s")
        low = flow.filter(pl.col("in_flight") <= 4)["time_s"].to_list()
        dips: list[list[float]] = []
        for time in low:
            if dips and time - dips[-1][-1] < 0.1:
                dips[-1].append(time)
            else:
                dips.append([time])
        between += [later[0] - dip[0] for dip, later in pairwise(dips)]
        lasts += [(dip[-1] - dip[0]) * 1e3 for dip in dips]
        least.append(float(len(dips)))
        used.append(float(result.links["utilisation"][0]) * 100)
    return [
        ("dips from 5 to 60 s", cell(least), "5 or 6"),
        ("from one to the next, s", cell(between, 2), "10, and what the dip lasts"),
        ("each lasts, ms", cell(lasts, 0), "200 and a round trip"),
        ("utilisation, %", cell(used), "about 98"),
    ]


def ledbat() -> Rows:
    """LEDBAT beside Reno."""
    rows: Rows = []
    queues = {"250 ms of tail drop": ("droptail", "≤ 5 %"), "CoDel": ("codel", "about half")}
    for cc in ("ledbat", "ledbat++"):
        for name, (aqm, expected) in queues.items():
            results = runs("background", {"flows.1.cc": cc, "link.aqm": aqm})
            both = zip(goodputs(results, 0), goodputs(results, 1), strict=True)
            shares = [100 * low / (high + low) for high, low in both]
            rows.append((f"`{cc}`", name, cell(shares), expected if cc == "ledbat" else ""))
    return rows


def quic() -> Rows:
    """QUIC beside TCP."""
    rows: Rows = []
    queues = {
        "CoDel": ("codel", "1000 packets"),
        "FQ-CoDel": ("fq_codel", "1000 packets"),
        "tail drop, 1 BDP": ("droptail", "68 packets"),
        "tail drop, 4 BDP": ("droptail", "270 packets"),
    }
    for cc in ("newreno", "cubic", "bbr"):
        for name, (aqm, limit) in queues.items():
            sets = {"flows.0.cc": cc, "flows.1.cc": cc, "link.aqm": aqm, "link.limit": limit}
            rows.append((f"`{cc}`", name, *pair(runs("quic", sets))))
    return rows


TABLES = {
    "prague": (("queue", "RTT", "Prague, Mbit/s", "CUBIC, Mbit/s", "ratio", "published"), prague),
    "prague-rtts": (("control", "5 ms, Mbit/s", "25 ms, Mbit/s", "ratio"), prague_rtts),
    "bbr": (("measured", "here", "expected"), bbr),
    "ledbat": (("control", "queue", "share, %", "expected"), ledbat),
    "quic": (("control", "queue", "QUIC, Mbit/s", "TCP, Mbit/s", "ratio"), quic),
}


def main() -> None:
    """Renew the tables."""
    for name, (headings, rows) in TABLES.items():
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replace_part(text, "table", name, table(headings, rows())), encoding="utf-8")


if __name__ == "__main__":
    main()
