"""Compare the simulator with recorded runs of Linux: ``python -m sojourn.validation FOLDER -o FILE.csv``.

FOLDER contains `reference.csv`: real Linux 6.1 TCP over real queue disciplines, a row per run. Each row is simulated in
the same set-up, with the same start times of the flows. The set-up, according to the reference's notes:

- The bottleneck adds 24 bytes of framing to each Ethernet packet of 14 + IP bytes. The simulator has one `overhead`, 38
  bytes, so its queues account 24 bytes more than the kernel's: RED's thresholds are scaled by 1538/1514.
- Sources have access links of 1 Gbit/s; the propagation delay is behind the bottleneck.
- Flow `i` starts at the i-th number in [0, 1) s of Python's generator, seeded with the row's seed.
- tc's ``red … adaptative`` does not adapt there (`ared@linux-5.7`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import polars as pl

from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.engines.validation.tables import output_option, write_table
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import Run, run_all

STACK = "linux-6.1"
KEY = ["aqm", "cc", "ecn", "rate_mbps", "base_rtt_ms", "flows"]
ETHERNET, FRAMING = 14, 24
"""Bytes per packet on the wire, in addition to IP: counted by the kernel's queues, and not counted."""
SCALE = (1500 + ETHERNET + FRAMING) / (1500 + ETHERNET)

DELIVERED_BAND = 0.03
DELAY_BAND, DELAY_BAND_MS = 0.15, 1.0
FAR, FAR_MS = 0.4, 2.0
SHARE = 0.8
"""The reference agrees if payload and median delay are within their bands in this share of the cells, and none is far
off."""
AGREES, OUTSIDE, FAR_OFF = "agrees", "outside", "far off"


@dataclass(frozen=True)
class Cell:
    """Results of the kernel and of the simulator in a cell, averaged over seeds."""

    key: tuple[Any, ...]
    delivered: float
    """Goodput of the kernel in Mbit/s."""
    delay: float
    """Median queueing delay of the kernel in ms."""
    spread: float
    """Range of the kernel's median delays over seeds in ms."""
    delivered_here: float
    delay_here: float

    @property
    def delivered_error(self) -> float:
        """Relative error of the simulator's goodput."""
        return self.delivered_here / self.delivered - 1

    @property
    def delay_error(self) -> float:
        """Error of the simulator's median delay in ms."""
        return self.delay_here - self.delay

    @property
    def distance(self) -> float:
        """Distance in bands: goodput within 3 %, median delay within 15 %, 1 ms or the kernel's own spread."""
        band = max(DELAY_BAND * self.delay, DELAY_BAND_MS, self.spread)
        return max(abs(self.delivered_error) / DELIVERED_BAND, abs(self.delay_error) / band)

    @property
    def agrees(self) -> bool:
        """Whether both are within their bands."""
        return self.distance <= 1.0

    @property
    def is_far(self) -> bool:
        """Whether the error exceeds the limit for any cell, and the kernel's own spread."""
        is_far = abs(self.delivered_error) > FAR or abs(self.delay_error) > max(FAR * self.delay, FAR_MS)
        return is_far and not self.agrees


def scenario(row: dict[str, Any]) -> dict[str, Any]:
    """Scenario of a row of the reference."""
    ecn = bool(row["ecn"])
    aqm, limit = discipline(row, ecn)
    draw = random.Random(row["seed"])
    flows = [
        {
            "kind": "tcp",
            "stack": STACK,
            "cc": row["cc"],
            "start": f"{int(draw.random() * 1e9)} ns",
            "access_rate": "1 Gbit/s",
            "ecn": ecn,
        }
        for _ in range(row["flows"])
    ]
    return {
        "duration": f"{row['duration_s']} s",
        "warmup": f"{row['warmup_s']} s",
        "link": {
            "rate": f"{row['rate_mbps']} Mbit/s",
            "delay": f"{row['base_rtt_ms'] * 500} us",
            "overhead": f"{ETHERNET + FRAMING} B",
            "aqm": aqm,
            "limit": limit,
        },
        "flows": flows,
    }


def discipline(row: dict[str, Any], ecn: bool) -> tuple[str, str]:
    """Queue manager and limit of a row's tc command."""
    words = row["qdisc"].split()
    values = dict(pairwise(words))
    marks = " ecn" if ecn else " ecn off"
    limit = f"{values['limit']} packets"
    match row["aqm"]:
        case "pfifo":
            return "droptail", limit
        case "pie":
            # tc's alpha and beta are in sixteenths; 2 and 20 are the profile's values.
            return f"pie@linux target {values['target']} tupdate {values['tupdate']}{marks}", limit
        case "codel" | "fq_codel" as name:
            return f"{name}@linux target {values['target']} interval {values['interval']}{marks}", limit
        case "ared":
            low, high = (f"{round(int(values[name]) * SCALE)}B" for name in ("min", "max"))
            red = f"ared@linux-5.7 min {low} max {high} avpkt {values['avpkt']}B burst {values['burst']}"
            return f"{red} bandwidth {values['bandwidth']}{marks}", f"{round(int(values['limit']) * SCALE)} B"
    raise click.ClickException(f"reference.csv: unknown queue manager {row['aqm']!r}")


def validate(folder: Path, controls: Iterable[str], jobs: int | None = None) -> list[Cell]:
    """Simulate all rows of the reference with one of the congestion controls."""
    rows = pl.read_csv(folder / "reference.csv").filter(pl.col("cc").is_in(list(controls))).sort(*KEY, "seed")
    runs = [Run(Scenario.build(scenario(row)), row["seed"]) for row in rows.iter_rows(named=True)]
    totals = [result.totals for result in run_all(runs, jobs=jobs)]
    here = [(t["delivered_bps"] / 1e6, t["links"]["forward"]["sojourn_ms"]["p50"]) for t in totals]
    frame = rows.with_columns(
        delivered_here=pl.Series([delivered for delivered, _ in here]),
        delay_here=pl.Series([delay for _, delay in here]),
    )
    delay = pl.col("qdelay_p50_ms")
    cells = frame.group_by(*KEY, maintain_order=True).agg(
        pl.col("goodput_mbps").mean(),
        delay.mean().alias("delay"),
        (delay.max() - delay.min()).alias("spread"),
        pl.col("delivered_here").mean(),
        pl.col("delay_here").mean(),
    )
    return [Cell(row[: len(KEY)], *row[len(KEY) :]) for row in cells.iter_rows()]


def table(cells: list[Cell]) -> pl.DataFrame:
    """Make a row per cell."""
    rows = []
    for cell in cells:
        row: dict[str, object] = dict(zip(("aqm", "cc", "ecn", "rate_mbps", "rtt_ms", "flows"), cell.key, strict=True))
        row |= {"ecn": bool(row["ecn"])}
        row |= {"delivered_mbps_there": cell.delivered, "delivered_mbps_here": cell.delivered_here}
        row |= {"delay_p50_ms_there": cell.delay, "delay_p50_ms_here": cell.delay_here, "spread_ms_there": cell.spread}
        row |= {"bands": cell.distance, "verdict": AGREES if cell.agrees else FAR_OFF if cell.is_far else OUTSIDE}
        rows.append(row)
    return pl.DataFrame(rows)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@output_option
@click.option(
    "--cc", "controls", multiple=True, default=("reno", "cubic"), show_default=True, help="congestion control"
)
@click.option("--jobs", type=int, help="simulations at a time; default: all cores")
def main(folder: Path, out: Path | None, controls: tuple[str, ...], jobs: int | None) -> None:
    """Compare the simulator with runs of the real Linux kernel in FOLDER/reference.csv."""
    if not (folder / "reference.csv").is_file():
        raise click.ClickException(f"{folder}: has no reference.csv; give the folder of the kernel's runs")
    cells = validate(folder, controls, jobs)
    if out is not None:
        write_table(out, table(cells))
    agreeing = sum(cell.agrees for cell in cells)
    click.echo(f"{agreeing} of {len(cells)} cells agree, {sum(cell.is_far for cell in cells)} are far off")
    if agreeing < SHARE * len(cells) or any(cell.is_far for cell in cells):
        raise SystemExit(1)


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
