"""Shares of hosts under CAKE, simulated and on other engines: ``python -m sojourn.kernel.host_shares``.

Each mix is random: two to four machines at home and one or two servers, with transfers, pages, calls and streams in
both directions, under each of CAKE's isolations in turn. Both engines run the same scenario with the same seeds, and
the share of each group in its direction of the link is compared, on average over the seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

import click

from sojourn.base.units import bits_per_second
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import cores

ISOLATIONS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
DURATION_S, WARMUP_S = 24, 6
BANDS = {"kernel": 0.02, "emulate": 0.05}
"""Maximum difference of a group's shares by engine, as a fraction of the link's rate."""
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Mix:
    """A scenario and the shares of its groups."""

    number: int
    isolation: str
    scenario: Scenario
    simulated: list[float]
    """Share of the link in its direction per group, by goodput."""
    other: list[float]
    faults: int
    """Number of unfaithful runs, which are left out."""

    @property
    def difference(self) -> float:
        """Maximum difference of a group's shares."""
        return max(abs(one - other) for one, other in zip(self.simulated, self.other, strict=True))


def random_mix(seed: int, number: int, *, only_tcp: bool = False) -> Scenario:
    """Mix `number` of a seed; `only_tcp` leaves out streams and calls, which the emulator lacks."""
    draw = random.Random(f"{seed} {number}")
    rate = round(10 ** draw.uniform(6.8, 7.6))
    machines = [f"machine {n}" for n in range(draw.randint(2, 4))]
    servers = [f"server {n}" for n in range(draw.randint(1, 2))]
    kinds = [_bulk, _bulk, _pages] if only_tcp else [_bulk, _bulk, _bulk, _pages, _stream, _call]
    # One machine has many flows and another a single one in the same direction, so that isolations differ.
    flows = [_bulk(draw, rate) | {"count": draw.randint(4, 9), "host": machines[0]}]
    flows += [_bulk(draw, rate) | {"count": 1, "host": machines[1]}]
    flows += [draw.choice(kinds)(draw, rate) | _place(draw, machines) for _ in range(draw.randint(1, 4))]
    if only_tcp:
        flows = [flow | {"direction": "forward"} if flow["kind"] == "web" else flow for flow in flows]
    link = {
        "rate": f"{rate} bit/s",
        "delay": f"{draw.randint(4, 25)} ms",
        "aqm": f"cake besteffort {ISOLATIONS[number % len(ISOLATIONS)]}",
        "limit": "10240 packets",
    }
    flows = [flow if "peer_host" in flow else flow | {"peer_host": draw.choice(servers)} for flow in flows]
    document = {"duration": f"{DURATION_S} s", "warmup": f"{WARMUP_S} s", "link": link, "reverse": link, "flows": flows}
    return Scenario.build(document)


def _place(draw: random.Random, machines: Sequence[str]) -> dict[str, Any]:
    """A machine at home, or two unnamed ones; and a direction."""
    place: dict[str, Any] = draw.choice(
        [{"host": draw.choice(machines)}, {"host": draw.choice(machines)}, {"hosts": 2}]
    )
    return place | draw.choice([{}, {}, {"direction": "reverse"}])


def _bulk(draw: random.Random, _rate: int) -> dict[str, Any]:
    return {"kind": "tcp", "cc": draw.choice(("cubic", "reno")), "count": draw.randint(1, 4), "spread": "1 s"}


def _pages(draw: random.Random, _rate: int) -> dict[str, Any]:
    return {"kind": "web", "size": f"{draw.randint(20, 200)} kB", "interval": "1 s", "count": draw.randint(1, 3)}


def _stream(draw: random.Random, rate: int) -> dict[str, Any]:
    return {
        "kind": "cbr",
        "rate": f"{round(rate * draw.uniform(0.05, 0.5))} bit/s",
        "size": f"{draw.randint(300, 1400)} B",
    }


def _call(draw: random.Random, _rate: int) -> dict[str, Any]:
    return {"kind": "voice", "count": draw.randint(1, 3)}


def compare(seed: int, number: int, engine: str) -> Mix:
    """Run a mix on both engines with all seeds."""
    scenario = random_mix(seed, number, only_tcp=engine == "emulate")
    here, _ = _shares(scenario, "simulate")
    there, faults = _shares(scenario, engine)
    return Mix(number, ISOLATIONS[number % len(ISOLATIONS)], scenario, here, there, faults)


def _shares(scenario: Scenario, engine: str) -> tuple[list[float], int]:
    """Mean share of each group over the faithful runs, and the number of others."""
    rate = bits_per_second(scenario.bottleneck["rate"])
    runs = [scenario.run(seed, engine=engine, progress=None).totals for seed in SEEDS]
    good = [totals for totals in runs if not totals.get("emulation", {}).get("faults")] or runs
    shares = [[group["goodput_bps"] / rate for group in totals["groups"]] for totals in good]
    means = [sum(of_group) / len(of_group) for of_group in zip(*shares, strict=True)]
    return means, len(runs) - len(good)


def _rows(mixes: Sequence[Mix]) -> Iterator[str]:
    yield "| mix | isolation | groups: flows, machine, direction | shares in percent, ours and the other's | apart |"
    yield "|---|---|---|---|---|"
    for mix in mixes:
        groups = ", ".join(map(_group, mix.scenario.document["flows"]))
        shares = " : ".join(
            f"{100 * one:.1f} ({100 * other:.1f})" for one, other in zip(mix.simulated, mix.other, strict=True)
        )
        row = f"| {mix.number} | `{mix.isolation}` | {groups} | {shares} | {100 * mix.difference:.2f}"
        yield f"{row}{f', {mix.faults} runs not faithful' if mix.faults else ''} |"


def _group(flow: dict[str, Any]) -> str:
    control = f" {flow['cc']}" if "cc" in flow and flow["kind"] == "tcp" else ""
    machine = flow.get("host", "machine").removeprefix("machine ") or "?"
    where = "two others" if "hosts" in flow else machine
    return f"{flow['count']} {flow['kind']}{control} {'up' if flow['direction'] == 'reverse' else 'down'} of {where}"


@click.command()
@click.option("--engine", default="kernel", help="kernel, kernel-6.12, kernel-7.3 or emulate.")
@click.option("--mixes", default=24, type=click.IntRange(1), help="Number of mixes.")
@click.option("--seed", default=1, help="Seed of the mixes.")
def main(engine: str, mixes: int, seed: int) -> None:
    """Print a line for each mix; the exit code is 1 if a share differs by more than 2 % of the link (emulated: 5 %)."""
    band = BANDS[engine.split("-")[0]]
    with ThreadPoolExecutor(1 if engine == "emulate" else cores()) as pool:
        found = list(pool.map(lambda n: compare(seed, n, engine), range(mixes)))
    click.echo("\n".join(_rows(found)))
    within = [mix for mix in found if mix.difference <= band]
    shares = list(chain.from_iterable(zip(mix.simulated, mix.other, strict=True) for mix in found))
    near = sum(abs(one - other) <= band for one, other in shares)
    largest = 100 * max(mix.difference for mix in found)
    click.echo(
        f"{len(within)} of {mixes} mixes and {near} of {len(shares)} shares are within {band:.0%} of the link; "
        f"the largest difference is {largest:.2f} %"
    )
    raise SystemExit(int(len(within) < mixes))


if __name__ == "__main__":
    main()
