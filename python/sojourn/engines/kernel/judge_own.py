"""Judge the discipline `sojourn` in the guest: ``python -m sojourn.kernel.judge_own [--version V] [--cells]``.

Pairs: Linux's own discipline and ours of the same name below the same traffic; every row of `packets` must be equal.
Cells: every queue manager below eight loads, in the guest and in the simulator; the mean sojourn times agree if they
are within 5 % or 0.2 ms, or if their 95 % intervals over the seeds overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from sojourn.base.progress import progress
from sojourn.engines.kernel import cache, engine
from sojourn.model.analysis.stats import mean_ci
from sojourn.model.aqms.registry import registry
from sojourn.model.aqms.spelling import FORCED
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

TCP = {"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "spread": "500 ms", "rtt": "40 ms"}
PAIRS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"{name}@linux{ecn}", {"ecn": bool(ecn)}) for name in ("codel", "pie") for ecn in (" ecn", "")),
    *((f"{name}@linux", {"ecn": True}) for name in ("fq_codel", "fq_pie", "sfq", "cake")),
    *((f"{name}@linux", {"ecn": True, "gso": True}) for name in ("codel", "fq_codel", "pie", "cake")),
    *((f"{name}@linux", {"count": 64}) for name in ("codel", "fq_codel", "pie")),
    *((f"{name} min 12500B max 37500B", {"count": 8}) for name in ("red@linux", "ared@linux-5.7")),
    *((name, {}) for name in ("choke@linux", "drophead", "droptail")),
)
"""Discipline, and keys of its flows."""
LOADS: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "4 CUBIC": (10, [{**TCP, "count": 4}]),
    "4 CUBIC, ECN": (10, [{**TCP, "count": 4, "ecn": True}]),
    "8 Reno, 20 ms": (50, [{**TCP, "count": 8, "cc": "reno", "rtt": "20 ms"}]),
    "1 CUBIC, 100 ms": (3, [{**TCP, "rtt": "100 ms"}]),
    "32 CUBIC, 30 ms, ECN": (20, [{**TCP, "count": 32, "ecn": True, "rtt": "30 ms"}]),
    "2 CUBIC, voice": (10, [{**TCP, "count": 2}, {"kind": "voice", "count": 3}]),
    "4 BBR, 60 ms": (25, [{**TCP, "count": 4, "cc": "bbr", "rtt": "60 ms"}]),
    "4 CUBIC, web": (10, [{**TCP, "count": 4}, {**TCP, "kind": "web", "interval": "300 ms", "size": "40 kB"}]),
}
"""Rate in Mbit/s and flows."""
SPELLINGS = {
    "red": "red target 5ms",
    "ared": "ared target 5ms",
    "fq": "fq(codel@act)",
    "tbf": "tbf rate 2.7mbit burst 5kB { codel@act }",
    "prio": "prio { band 1 { pi2 } }",
    "htb": "htb default 10 { class 10 rate 2.7mbit { codel } }",
}
"""Spellings of queue managers that need parameters or others inside."""
LEFT_OUT = ("sch_fq", "netem")
"""Queue managers that the guest refuses, or that delay packets themselves."""
RELATIVE, ABSOLUTE_MS = 0.05, 0.2


@click.command()
@click.option("--version", default=cache.VERSIONS[0], show_default=True, type=click.Choice(cache.VERSIONS))
@click.option("--cells", is_flag=True, help="every queue manager beside the simulator, instead of pairs")
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(min=2), help="of each cell")
def main(version: str, cells: bool, seeds: int) -> None:
    """Print a line per pair, or per cell that is apart, and the count."""
    with progress() as report:
        rows = list(_cells(version, seeds, report) if cells else _pairs(version, report))
    for text, _ in (row for row in rows if not (cells and row[1])):
        click.echo(text)
    click.echo(f"{sum(agrees for _, agrees in rows)} of {len(rows)} agree on Linux {cache.built(version).version}")


def _pairs(version: str, report: Any) -> Iterator[tuple[str, bool]]:
    for number, (aqm, keys) in enumerate(PAIRS):
        report(number / len(PAIRS), number, len(PAIRS))
        if version == "7.3":
            aqm = aqm.replace("cake@linux", "cake@linux-7.3")
        linux, ours = (
            engine.run(_scenario(text, 10, [{**TCP, "count": 4, **keys}], "10 s"), 3, version=version).packets
            for text in (aqm.replace("-7.3", ""), f"{FORCED}{aqm}")
        )
        equal = linux.equals(ours)
        yield f"{aqm}, {keys}: {len(linux)} rows, {'equal' if equal else 'not equal'}", equal


def _cells(version: str, seeds: int, report: Any) -> Iterator[tuple[str, bool]]:
    names = [aqm["name"] for aqm in registry()["aqms"] if aqm["name"] not in LEFT_OUT]
    cells = [(SPELLINGS.get(name, name), load) for name in names for load in LOADS]
    for number, (aqm, load) in enumerate(cells):
        report(number / len(cells), number, len(cells))
        scenario = _scenario(f"{FORCED}{aqm}", *LOADS[load], "6 s")
        here = [_mean_ms(scenario.run(seed)) for seed in range(1, seeds + 1)]
        there = [_mean_ms(engine.run(scenario, seed, version=version)) for seed in range(1, seeds + 1)]
        agrees = _agree(here, there)
        yield f"{aqm}, {load}: {here} ms in the simulator, {there} ms in the guest", agrees


def _scenario(aqm: str, rate: int, flows: list[dict[str, Any]], duration: str) -> Scenario:
    limit = "10240 packets" if "cake" in aqm else "500 packets"
    link = {"rate": f"{rate} Mbit/s", "delay": "1 ms", "account": "ip", "aqm": aqm, "limit": limit}
    document = {"duration": duration, "warmup": "1 s", "link": link, "flows": flows, "probes": {"packets": True}}
    return Scenario.build(document)


def _mean_ms(result: Result) -> float:
    return round(float(result.totals["links"]["forward"]["sojourn_ms"]["mean"]), 3)


def _agree(here: list[float], there: list[float]) -> bool:
    (mean, half), (other, other_half) = (mean_ci(values) for values in (here, there))
    apart = abs(mean - other)
    return apart <= max(RELATIVE * mean, ABSOLUTE_MS) or apart <= (half or 0) + (other_half or 0)


if __name__ == "__main__":
    main()
