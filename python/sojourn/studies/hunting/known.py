"""Benchmark of hunting known faults: `python -m sojourn.studies.hunting.known SPACE -o DIR`, minutes of CPU time.

Each fault has one condition in a user's terms and is hunted with several seeds, by the search and at random. Neither
the space nor the search is tuned for them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.base.progress import steps
from sojourn.studies.hunting.hunt import hunt
from sojourn.studies.hunting.search import Search
from sojourn.studies.hunting.space import Space, words_of
from sojourn.studies.hunting.trials import Trials
from sojourn.studies.runs.runner import Runner
from sojourn.studies.sentences import parse

KNOWN: Mapping[str, tuple[tuple[str, ...], str]] = {
    "CoDel: delay of many flows on a slow link": (
        ("codel",),
        "p50(sojourn) > 20 * target and goodput(flows.0) > 0.8 * goodput",
    ),
    "PIE: peak when the rate falls": (
        ("pie@linux",),
        "peak(sojourn) > 60 * target and p50(sojourn) < 2 * target and goodput(flows.0) > 0.8 * goodput",
    ),
    "ARED: collapse at a target of one packet": (
        ("ared target 1ms", "droptail"),
        "utilisation(A) < 0.7 * utilisation(B)",
    ),
    "FQ-CoDel: flows that share a queue by their hash": (
        ("fq_codel", "fq_codel flows 65536"),
        "min(goodput, A, flows.0) < 0.6 * min(goodput, B, flows.0)",
    ),
    "tail drop: lock-out": (("droptail",), "jain(flows.0) < 0.5"),
}
"""Queue managers and condition of each fault."""


@click.command()
@click.argument("space", type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--evaluations", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), required=True)
def main(space: Path, seeds: int, evaluations: int, out: Path) -> None:
    """Hunt each known fault with seeds 1 to N, and print a table in Markdown."""
    rows = []
    total, done = len(KNOWN) * seeds, 0
    with steps() as tell:
        for name, (aqms, where) in KNOWN.items():
            place = Space.load(space, aqms, {})
            meant = parse(where, "--where", words_of(place))
            searched, at_random, seconds, found = [], [], [], 0
            for seed in range(1, seeds + 1):
                tell(done / total, name)
                began = _cpu_s()
                search = Search(Trials(place, meant, Runner(out, progress=False)), seed, evaluations)
                hunted = hunt(search, meant, shrink=300)
                seconds.append(_cpu_s() - began)
                found += bool(hunted and hunted.proof.is_proof)
                searched.append(str(hunted.found.evaluations if hunted else f"> {evaluations}"))
                blind = Search(Trials(place, meant, Runner(out, progress=False)), seed, evaluations, local=False)
                by_chance = blind.run()
                at_random.append(str(by_chance.evaluations if by_chance else f"> {evaluations}"))
                done += 1
            rows.append([name, f"`{where}`", f"{found} of {seeds}", ", ".join(searched), ", ".join(at_random)])
            rows[-1].append(f"{max(seconds):.0f}")
    head = ["fault", "sentence", "found and proven", "evaluations", "evaluations at random", "most CPU time [s]"]
    for row in (head, ["---"] * len(head), *rows):
        click.echo(f"| {' | '.join(row)} |")


def _cpu_s() -> float:
    """CPU time of this process and of its reaped children, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
