"""Run the studies of transports.md, measure them and write their tables into `data`.

`python docs/transports.py` takes a few minutes. Then `python docs/site/parts.py` renews the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

import sojourn as sj
from sojourn.model.analysis.stats import mean_ci

DATA = Path(__file__).with_name("data")
SCENARIOS = DATA.parents[1] / "scenarios"
SEEDS = 10
DUALPI2 = "dualpi2@linux"
PUBLISHED = {10: "34 : 13", 20: "32 : 15", 80: "30 : 17.5"}
"""Mbit/s of an older Prague and CUBIC over DualPI2, measured in 2020."""

Rows = list[tuple[str | None, ...]]


def runs(name: str, sets: dict[str, object], seeds: int = SEEDS) -> list[sj.Result]:
    """Return the results of a scenario, one per seed."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    # Here the keys of the sweep are set one by one.
    scenario = sj.Scenario.parse(text.partition("\n[sweep]")[0], sets)
    return [scenario.run(seed) for seed in range(1, seeds + 1)]


def cells(values: Iterable[float], digits: int = 1) -> tuple[str, str]:
    """Return mean and half width of its 95 % interval."""
    mean, half = mean_ci(list(values))
    return f"{mean:.{digits}f}", f"{half or 0.0:.{digits}f}"


def goodputs(results: Sequence[sj.Result], group: int) -> list[float]:
    """Return the goodput of a group in Mbit/s, per run."""
    return [float(result.groups["goodput_bps"][group]) / 1e6 for result in results]


def pair(results: Sequence[sj.Result]) -> tuple[str, ...]:
    """Return the goodputs of both groups and their ratio."""
    first, second = goodputs(results, 0), goodputs(results, 1)
    ratios = [one / other for one, other in zip(first, second, strict=True)]
    return *cells(first), *cells(second), *cells(ratios, 2)


def prague() -> Rows:
    """Prague beside CUBIC."""
    rows: Rows = []
    for aqm in (DUALPI2, "codel ecn"):
        for rtt, published in PUBLISHED.items():
            sets = {"link.aqm": aqm, "flows.0.rtt": f"{rtt} ms", "flows.1.rtt": f"{rtt} ms"}
            expected = published if aqm == DUALPI2 else "20–60 : 1"
            rows.append((aqm, str(rtt), *pair(runs("prague", sets)), expected))
    return rows


def prague_rtts() -> Rows:
    """Two flows of Prague with RTTs of 5 and 25 ms."""
    sets = [(cc, {"flows.0.cc": cc, "flows.1.cc": cc}) for cc in ("prague", "prague@0.6", "cubic")]
    return [(cc, *pair(runs("prague-rtts", keys))) for cc, keys in sets]


def bbr() -> Rows:
    """The periods in which BBR has four packets in flight."""
    between, lasts, counts, used = [], [], [], []
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
        counts.append(float(len(dips)))
        used.append(float(result.links["utilisation"][0]) * 100)
    return [
        ("dips from 5 to 60 s", *cells(counts), "5 or 6"),
        ("time between dips, s", *cells(between, 2), "10 and the length of the dip"),
        ("length of a dip, ms", *cells(lasts, 0), "200 and a round trip"),
        ("utilisation, %", *cells(used), "about 98"),
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
            rows.append((cc, name, *cells(shares), expected if cc == "ledbat" else None))
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
            rows.append((cc, name, *pair(runs("quic", sets))))
    return rows


TABLES = {
    "prague": (("queue", "rtt_ms", "prague_mbps", "cubic_mbps", "ratio", "published"), prague),
    "prague-rtts": (("control", "rtt_5_mbps", "rtt_25_mbps", "ratio"), prague_rtts),
    "bbr-min-rtt": (("measure", "value", "expected"), bbr),
    "ledbat": (("control", "queue", "share_percent", "expected"), ledbat),
    "quic": (("control", "queue", "quic_mbps", "tcp_mbps", "ratio"), quic),
}
"""By file: the columns and the rows. Those of `MEANS` are followed by the half width of their 95 % intervals."""
MEANS = ("ratio", "value")


def columns(names: Iterable[str]) -> list[str]:
    """Return the columns of a file."""
    found: list[str] = []
    for name in names:
        found += [name, f"{name}_ci95"] if name in MEANS or name.endswith(("_mbps", "_percent")) else [name]
    return found


def main() -> None:
    """Renew the files."""
    for name, (names, rows) in TABLES.items():
        schema = dict.fromkeys(columns(names), pl.String)
        pl.DataFrame(rows(), schema=schema, orient="row").write_csv(DATA / f"{name}.csv")


if __name__ == "__main__":
    main()
