"""Measure records of transport stacks behind queues and write the tables of real_stacks.md into `data`.

`python docs/real_stacks.py FOLDER …` reads every `*.json` of the folders: records of `sojourn-net` whose name is
`STACK.QUEUE.LOAD`, from its example `real_stacks` and from tests of other stacks on the worlds that this writes. Then
`python docs/site/parts.py` renews the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.model.analysis.stats import mean_ci

DATA = Path(__file__).with_name("data")
QUEUES = {"droptail": "tail drop, 100 packets", "fq_codel": "FQ-CoDel", "cake": "CAKE", "dualpi2": "DualPI2"}
Record = Mapping[str, Any]


def share(record: Record) -> float:
    """Return the stack's share of the goodput in per cent."""
    goodputs = [float(group["goodput_bps"]) for group in record["summary"]["groups"]]
    return 100 * goodputs[0] / sum(goodputs)


def goodput(record: Record) -> float:
    """Return the stack's goodput in Mbit/s."""
    return float(record["summary"]["groups"][0]["goodput_bps"]) / 1e6


def link(record: Record) -> Mapping[str, Any]:
    """Return the measures of the bottleneck."""
    found: Mapping[str, Any] = record["summary"]["links"]["forward"]
    return found


QUEUE: dict[str, tuple[Callable[[Record], float], int]] = {
    "queue_p50_ms": (lambda record: link(record)["sojourn_ms"]["p50"], 1),
    "queue_p99_ms": (lambda record: link(record)["sojourn_ms"]["p99"], 1),
    "marks_percent": (lambda record: 100 * link(record)["mark_rate"], 2),
    "drops_percent": (lambda record: 100 * link(record)["drop_rate"], 2),
}
MEASURES = {
    "alone": {"goodput_mbps": (goodput, 1)} | QUEUE,
    "beside": {"share_percent": (share, 1)} | QUEUE,
}
"""By load: measures by column, with their digits."""


def rows(records: Iterable[Record], load: str) -> list[dict[str, str]]:
    """Return a row for each stack and queue: means over seeds, with the half width of their 95 % intervals."""
    cells: dict[tuple[str, str], dict[int, Record]] = {}
    for record in records:
        stack, queue, its_load = record["name"].rsplit(".", 2)
        if its_load == load:
            cells.setdefault((stack, queue), {})[record["seed"]] = record
    found = []
    for (stack, queue), runs in sorted(cells.items(), key=lambda cell: (list(QUEUES).index(cell[0][1]), cell[0][0])):
        row = {"queue": QUEUES[queue], "stack": stack, "seeds": str(len(runs))}
        for name, (measure, digits) in MEASURES[load].items():
            mean, half = mean_ci([measure(record) for record in runs.values()])
            row |= {name: f"{mean:.{digits}f}", f"{name}_ci95": f"{half or 0:.{digits}f}"}
        found.append(row)
    return found


def main(folders: list[str]) -> None:
    """Renew the files."""
    paths = [path for folder in folders for path in sorted(Path(folder).glob("*.json"))]
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    if not records:
        raise SystemExit("no records; run the example real_stacks first, and name its folder")
    for load in MEASURES:
        pl.DataFrame(rows(records, load)).write_csv(DATA / f"real-stacks-{load}.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
