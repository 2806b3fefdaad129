"""Twenty scenarios, simulated and emulated with real programs: ``python -m sojourn.emulated.compare``.

Queue managers with and without ECN, CAKE, netem, changes during the run, two hops. Compared are the median sojourn time
at the bottleneck and the goodput: medians over the simulated seeds and over the faithful emulated runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

import click

from sojourn.engines.emulated import engine
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

MAX_DIFFERENCE = 0.1
"""Maximum relative difference of the medians."""
SEEDS = 15
"""Simulated runs per case; their medians are compared, because short runs vary."""
LEFT_OUT = "5 s"
BULK = {"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "rtt": "50 ms", "count": 4, "spread": "1 s"}
"""Flows start within a second: with a common start all seeds give one run, synchronised as real programs never are."""
LONE = {**BULK, "count": 1}
REQUESTS = {**LONE, "kind": "request", "request": "64 B", "size": "64 B", "gap": "100 ms"}


class Case(NamedTuple):
    """A scenario: its name, the keys of its link, its flows, its changes, the links after the first."""

    name: str
    link: dict[str, Any]
    flows: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    behind: tuple[dict[str, Any], ...] = ()
    """Links after the first, in series."""

    def scenario(self, length_s: float) -> Scenario:
        """Build the scenario of `length_s` seconds, with the warm-up `LEFT_OUT`."""
        document: dict[str, Any] = {
            "name": self.name,
            "duration": f"{length_s} s",
            "warmup": LEFT_OUT,
            "link": {"rate": "10 Mbit/s", "limit": "1000 packets", **self.link},
            "flows": self.flows,
            "probes": {"packets": True},
        }
        document["reverse"] = {"rate": "100 Mbit/s"}
        if self.changes:
            document["changes"] = self.changes
        if self.behind:
            document["links"] = [{"name": f"hop {n}", **link} for n, link in enumerate(self.behind, 2)]
        return Scenario.build(document)


def _case(name: str, aqm: str, flows: list[dict[str, Any]] | None = None, **link: Any) -> Case:
    return Case(name, {"aqm": aqm, **link}, flows or [BULK], [])


MANAGERS = ("codel", "pie", "ared", "fq_codel", "droptail")
ECN_MANAGERS = ("codel ecn", "pie ecn", "fq_codel ecn")
CASES = [
    *(_case(aqm, aqm, limit="100 packets" if aqm == "droptail" else "1000 packets") for aqm in MANAGERS),
    *(_case(aqm, aqm, [{**BULK, "ecn": True}]) for aqm in ECN_MANAGERS),
    _case("cake bandwidth 9mbit", "cake bandwidth 9mbit"),
    _case("cake, one flow and requests", "cake bandwidth 9mbit besteffort", [LONE, REQUESTS]),
    _case("netem delay", "netem delay 15ms limit 100"),
    _case("netem delay 20ms 4ms normal", "netem delay 20ms 4ms distribution normal limit 100"),
    _case("netem delay and loss", "netem delay 10ms loss 0.5% limit 100"),
    _case("netem rate", "netem rate 6mbit limit 60"),
    _case("codel in netem", "netem delay 10ms { codel }"),
    _case("codel, 2 Mbit/s", "codel", [LONE], rate="2 Mbit/s"),
    _case("fq_codel, 50 Mbit/s", "fq_codel", rate="50 Mbit/s"),
    _case("pie, one flow and requests", "pie", [LONE, REQUESTS]),
    Case(
        "codel, its target and the rate change",
        {"aqm": "codel"},
        [BULK],
        [{"at": "9 s", "link": {"aqm": "codel target 15ms", "rate": "6 Mbit/s"}}],
    ),
    # Two flows leave after the first link, so that both links are bottlenecks.
    Case(
        "two hops, codel and fq_codel",
        {"aqm": "codel"},
        [{**BULK, "count": 2, "route": ["link", "hop 2"]}, {**BULK, "count": 2, "route": ["link"]}],
        [],
        ({"rate": "4 Mbit/s", "aqm": "fq_codel", "reverse": {"rate": "100 Mbit/s"}},),
    ),
]


class Medians(NamedTuple):
    """Median sojourn time at the bottleneck (the sum of the medians if there are several) and goodput."""

    sojourn_ms: float
    goodput_mbps: float


def medians(result: Result) -> Medians:
    """Medians of a result's forward links."""
    forward = [result.totals["links"]["forward"], *(hop["forward"] for hop in result.totals["hops"])]
    return Medians(sum(link["sojourn_ms"]["p50"] for link in forward), result.totals["goodput_bps"] / 1e6)


def median_of_runs(runs: list[Medians]) -> Medians:
    """Median of each field."""
    return Medians(*(median(each) for each in zip(*runs, strict=True)))


def emulated(scenario: Scenario, runs: int) -> tuple[list[Medians], list[str]]:
    """Medians of `runs` faithful runs, out of at most twice as many, and the faults of the others."""
    good: list[Medians] = []
    faults: list[str] = []
    for seed in range(1, 2 * runs + 1):
        result = engine.run(scenario, seed)
        run_faults = result.totals["emulation"]["faults"]
        faults.extend(str(fault) for fault in run_faults[:1])
        if not run_faults:
            good.append(medians(result))
        if len(good) == runs:
            break
    return good, faults


def row(case: Case, runs: int, length_s: float) -> tuple[list[str], bool]:
    """A row of the table, and whether the medians agree or no run was faithful."""
    scenario = case.scenario(length_s)
    here = median_of_runs([medians(scenario.run(seed)) for seed in range(1, SEEDS + 1)])
    good, faults = emulated(scenario, runs)
    cells = [case.name, f"{here.sojourn_ms:.2f}", f"{here.goodput_mbps:.2f}"]
    if not good:
        return [*cells, "none faithful", "", "", f"0 of {len(faults)}"], True
    there = median_of_runs(good)
    apart = abs(there.sojourn_ms / here.sojourn_ms - 1)
    counted = f"{len(good)} of {len(good) + len(faults)}"
    cells += [f"{there.sojourn_ms:.2f}", f"{there.goodput_mbps:.2f}", f"{100 * apart:.1f}", counted]
    return cells, apart <= MAX_DIFFERENCE


def select(only: tuple[str, ...]) -> Iterator[Case]:
    """Cases whose names contain one of these words, or all."""
    return (case for case in CASES if not only or any(word in case.name for word in only))


@click.command()
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Faithful runs of each case.")
@click.option(
    "--length", "length_s", default=20.0, show_default=True, help="Seconds of each run; the first five are excluded."
)
@click.option("--only", multiple=True, help="Only cases with this in their names; repeatable.")
def main(runs: int, length_s: float, only: tuple[str, ...]) -> None:
    """Print the table; fail if a median of faithful runs differs by more than 10 % from the simulated one."""
    load = os.getloadavg()[0]
    click.echo("| case | simulated, ms | Mbit/s | emulated, ms | Mbit/s | apart, % | faithful |")
    click.echo("|---|---|---|---|---|---|---|")
    far = 0
    for case in select(only):
        cells, near = row(case, runs, length_s)
        far += not near
        click.echo("| " + " | ".join(cells) + " |")
        sys.stdout.flush()
    click.echo(f"{far} apart by more than {MAX_DIFFERENCE:.0%}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()
