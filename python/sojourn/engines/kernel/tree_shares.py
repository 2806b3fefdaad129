"""Shares of a link under HTB, PRIO and CAKE, simulated and in the kernel: ``python -m sojourn.kernel.tree_shares``.

Each tree is random: rates, ceilings, priorities, quanta, limits, and the classes' children. Unresponsive datagram flows
overload the link; most send to their class faster than it is served. Both engines run the same scenario, and the share
of each flow group is compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import click

from sojourn.base.units import bits_per_second
from sojourn.engines.kernel.cache import VERSIONS, built
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import cores

DURATION_S, WARMUP_S = 6, 2
BAND = 0.01
"""Maximum difference of a group's shares, as a fraction of the link's rate."""
MIN_BYTES = 90
CODES = ("EF", "CS1", "AF41", "CS6", "0")


@dataclass(frozen=True)
class RandomTree:
    """A random queue manager, the link's limit, and the keys that classify each flow group."""

    aqm: str
    limit: str
    places: list[dict[str, Any]]


@dataclass(frozen=True)
class Tree:
    """A scenario and the shares of its flow groups."""

    number: int
    scenario: Scenario
    simulated: list[float]
    """Share of the link per group in the simulator, by goodput."""
    in_kernel: list[float]

    @property
    def difference(self) -> float:
        """Maximum difference of a group's shares."""
        return max(abs(one - other) for one, other in zip(self.simulated, self.in_kernel, strict=True))


def htb(draw: random.Random, rate: int) -> RandomTree:
    """Two levels: classes whose rates add up to less than the link's, and whose ceilings do not."""
    shaped = round(rate * draw.uniform(0.2, 0.95))
    inner = draw.randint(1, 2)
    parts, places = [], []
    for parent in range(1, inner + 1):
        parts.append(f"class {parent:x} rate {round(shaped / inner * draw.uniform(0.5, 1))}bit ceil {shaped}bit")
    for leaf in range(draw.randint(2, 6)):
        number, parent = 0x10 + leaf, draw.randint(1, inner)
        words = f"rate {round(shaped / 6 * draw.uniform(0.1, 1))}bit"
        words += draw.choice((f" ceil {shaped}bit", f" ceil {round(shaped * draw.uniform(0.3, 1))}bit", ""))
        words += draw.choice(("", f" prio {draw.randrange(3)}"))
        words += draw.choice(("", f" quantum {draw.randint(1514, 60_000)}B"))
        words += draw.choice(("", f" burst {draw.randint(1600, 90_000)}B cburst {draw.randint(1600, 90_000)}B"))
        parts.append(f"class {number:x} parent {parent:x} {words}{_random_child(draw)}")
        places.append({"class": f"1:{number:x}"})
    return RandomTree(f"htb default 10 {{ {'; '.join(parts)} }}", _random_limit(draw), places)


def prio(draw: random.Random, _rate: int) -> RandomTree:
    """Bands by DSCP in strict priority."""
    count = draw.randint(2, 4)
    parts = [f"band {band} match dscp {CODES[band - 1]}{_random_child(draw)}" for band in range(1, count + 1)]
    places = [{"dscp": CODES[band]} for band in range(count)]
    return RandomTree(
        f"prio bands {count} priomap {','.join(['1'] * 16)} {{ {'; '.join(parts)} }}", _random_limit(draw), places
    )


def cake(draw: random.Random, rate: int) -> RandomTree:
    """All tin modes below a shaper."""
    tins = draw.choice(("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"))
    isolation = draw.choice(("flows", "triple-isolate", "dual-srchost", "dual-dsthost", "srchost"))
    words = (
        f"bandwidth {round(rate * draw.uniform(0.2, 0.95))}bit {tins} {isolation} memlimit {draw.randint(60, 900)}kB"
    )
    # CAKE's own limit is in bytes.
    return RandomTree(
        f"cake {words}", "20000 packets", [{"dscp": draw.choice(CODES)} for _ in range(draw.randint(2, 6))]
    )


KINDS: Mapping[str, Callable[[random.Random, int], RandomTree]] = {"htb": htb, "prio": prio, "cake": cake}


def random_scenario(seed: int, number: int) -> Scenario:
    """Tree `number` of a seed, overloaded."""
    draw = random.Random(f"{seed} {number}")
    rate = round(10 ** draw.uniform(6.5, 7.8))
    tree = list(KINDS.values())[number % len(KINDS)](draw, rate)
    flows = []
    for place in tree.places:
        size = draw.randint(MIN_BYTES, 1500)
        # At most as many packets as a guest can send, and in total more than the link carries.
        load = min(rate * draw.uniform(0.2, 1.1), size * 8 * 15_000)
        flows.append({"kind": "cbr", "rate": f"{round(load)} bit/s", "size": f"{size} B", **place})
    return Scenario.build(
        {
            "duration": f"{DURATION_S} s",
            "warmup": f"{WARMUP_S} s",
            "link": {"rate": f"{rate} bit/s", "delay": "1 ms", "aqm": tree.aqm, "limit": tree.limit},
            "flows": flows,
        }
    )


def compare(number: int, scenario: Scenario, engine: str) -> Tree:
    """Run a tree on both engines."""
    rate = bits_per_second(scenario.bottleneck["rate"])
    parts = []
    for name in ("simulate", engine):
        groups = scenario.run(1, engine=name, progress=None).totals["groups"]
        parts.append([group["goodput_bps"] / rate for group in groups])
    return Tree(number, scenario, *parts)


def _random_child(draw: random.Random) -> str:
    target = f"target {draw.randint(2, 20)}ms"
    return draw.choice(
        ("", "", f" {{ codel@linux {target} }}", f" {{ fq_codel@linux limit {draw.randint(10, 900)} {target} }}")
    )


def _random_limit(draw: random.Random) -> str:
    return draw.choice(("1000 packets", f"{draw.randint(5, 300)} packets"))


def _rows(trees: list[Tree]) -> Iterator[str]:
    yield "| tree | queue manager | limit | parts of the link in percent, ours and the kernel's | difference |"
    yield "|---|---|---|---|---|"
    for tree in trees:
        link = tree.scenario.bottleneck
        parts = " : ".join(
            f"{100 * one:.2f} ({100 * other:.2f})" for one, other in zip(tree.simulated, tree.in_kernel, strict=True)
        )
        head = f"| {tree.number} | `{spelled_aqm(link['aqm'])}` | {link['limit']}"
        yield f"{head} | {parts} | {100 * tree.difference:.3f} |"


@click.command()
@click.option("--version", default=VERSIONS[0], type=click.Choice(VERSIONS), help="Kernel version.")
@click.option("--trees", default=40, type=click.IntRange(1), help="Number of trees.")
@click.option("--seed", default=1, help="Seed of the trees.")
def main(version: str, trees: int, seed: int) -> None:
    """Print a line for each tree; the exit code is 1 if a part differs by more than 1 % of the link."""
    kernel = built(version)
    engine = "kernel" if version == VERSIONS[0] else f"kernel-{version}"
    with ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(lambda n: compare(n, random_scenario(seed, n), engine), range(trees)))
    click.echo("\n".join(_rows(found)))
    within = [tree for tree in found if tree.difference <= BAND]
    largest = 100 * max(tree.difference for tree in found)
    click.echo(
        f"{len(within)} of {trees} trees are within {BAND:.0%} of the link beside Linux {kernel.version}; "
        f"the largest difference is {largest:.3f} %"
    )
    raise SystemExit(int(len(within) < trees))


if __name__ == "__main__":
    main()
