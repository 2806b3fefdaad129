"""The simulator against runs of the real Linux kernel: ``python -m sojourn.validation FOLDER -o docs/validation.md``.

FOLDER holds `reference.csv`: real Linux 6.1 TCP over real queue disciplines, one row per run. Each row is simulated in
the same set-up, with the same start times of the flows. The set-up, as the reference's notes describe it:

- The bottleneck adds 24 bytes of framing to each Ethernet packet of 14 + IP bytes. The simulator has one `overhead`, 38
  bytes, so its queues account 24 bytes more than the kernel's: RED's thresholds are scaled by 1538/1514.
- Sources sit on links of 1 Gbit/s, the round-trip time lies behind the bottleneck.
- Flow `i` starts at the i-th number that Python's generator, seeded with the row's seed, gives in a second.
- tc's ``red … adaptative`` does not adapt there (`ared@linux-5.7`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import polars as pl

from sojourn.base.files import write_file
from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import Run, run_all

STACK = "linux-6.1"
KEY = ["aqm", "cc", "ecn", "rate_mbps", "base_rtt_ms", "flows"]
ETHERNET, FRAMING = 14, 24
"""Bytes per packet that the kernel's queues count, and that only the wire does."""
SCALE = (1500 + ETHERNET + FRAMING) / (1500 + ETHERNET)

DELIVERED_BAND = 0.03
DELAY_BAND, DELAY_BAND_MS = 0.15, 1.0
FAR, FAR_MS = 0.4, 2.0
SHARE = 0.8
"""What agreement means: payload and median delay within their bands in this share of the cells, and none far off."""


@dataclass(frozen=True)
class Cell:
    """One cell: the kernel's runs and the simulator's."""

    key: tuple[Any, ...]
    delivered: float
    """Mean payload that the kernel delivered in order, in Mbit/s."""
    delay: float
    """Mean of the kernel's median queueing delays in ms."""
    spread: float
    """Largest less smallest of the kernel's median delays in ms."""
    delivered_here: float
    delay_here: float

    @property
    def delivered_error(self) -> float:
        """What is delivered here over what is there, less one."""
        return self.delivered_here / self.delivered - 1

    @property
    def delay_error(self) -> float:
        """Median delay here less there, in ms."""
        return self.delay_here - self.delay

    @property
    def agrees(self) -> bool:
        """Within both bands."""
        band = max(DELAY_BAND * self.delay, DELAY_BAND_MS, self.spread)
        return abs(self.delivered_error) <= DELIVERED_BAND and abs(self.delay_error) <= band

    @property
    def is_far(self) -> bool:
        """Off by more than any cell may be; one within what the kernel's own seeds differ by is not."""
        is_far = abs(self.delivered_error) > FAR or abs(self.delay_error) > max(FAR * self.delay, FAR_MS)
        return is_far and not self.agrees


def scenario(row: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario that repeats a row of the reference."""
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
    """Return the queue manager and the limit that a row's tc line stands for."""
    words = row["qdisc"].split()
    values = dict(pairwise(words))
    marks = " ecn" if ecn else " ecn off"
    limit = f"{values['limit']} packets"
    match row["aqm"]:
        case "pfifo":
            return "droptail", limit
        case "pie":
            # tc's alpha and beta count sixteenths: 2 and 20 are the profile's.
            return f"pie@linux target {values['target']} tupdate {values['tupdate']}{marks}", limit
        case "codel" | "fq_codel" as name:
            return f"{name}@linux target {values['target']} interval {values['interval']}{marks}", limit
        case "ared":
            low, high = (f"{round(int(values[name]) * SCALE)}B" for name in ("min", "max"))
            red = f"ared@linux-5.7 min {low} max {high} avpkt {values['avpkt']}B burst {values['burst']}"
            return f"{red} bandwidth {values['bandwidth']}{marks}", f"{round(int(values['limit']) * SCALE)} B"
    raise click.ClickException(f"reference.csv: queue manager {row['aqm']!r} is not known here")


def validate(folder: Path, controls: Iterable[str], jobs: int | None = None) -> list[Cell]:
    """Simulate every row of the reference whose congestion control is among `controls`."""
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


def report(cells: list[Cell]) -> str:
    """Return the page."""
    agreeing, far = sum(cell.agrees for cell in cells), sum(cell.is_far for cell in cells)
    lines = [
        unwrapped(HEAD).format(agreeing=agreeing, cells=len(cells), share=100 * agreeing / max(len(cells), 1), far=far),
        "| queue | ECN | cc | rate, Mbit/s | RTT, ms | flows | delivered there | here | | delay there | here | | |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        aqm, cc, ecn, rate, rtt, flows = cell.key
        verdict = "" if cell.agrees else "far" if cell.is_far else "outside"
        lines.append(
            f"| {aqm} | {'yes' if ecn else ''} | {cc} | {rate} | {rtt} | {flows} "
            f"| {cell.delivered:.3f} | {cell.delivered_here:.3f} | {100 * cell.delivered_error:+.1f} % "
            f"| {cell.delay:.2f} | {cell.delay_here:.2f} | {cell.delay_error:+.2f} | {verdict} |"
        )
    return "\n".join([*lines, ""]) + unwrapped(TAIL)


def unwrapped(text: str) -> str:
    """Return the text with each paragraph and each item of a list on one line."""
    return re.sub(r"(?<=\S)\n *(?![\n#|]|- )(?=\S)", " ", text)


HEAD = """# The simulator against the Linux kernel

The stack `linux-6.1` beside real runs of Linux 6.1 in simulated time: the same bottleneck, queue discipline,
round-trip time, number of flows and start times; 60 s, of which 10 s are warm-up. "Delivered" is payload in order
in Mbit/s, as the receiving programs of the kernel's runs counted it; delay is the median time in the queue in ms; both
are means over the reference's seeds. `python -m sojourn.validation`
makes this page; the module says how the set-up is translated.

A cell agrees if what is delivered is within 3 % and the median delay within the largest of 15 %, 1 ms and the
difference between the kernel's own two seeds. Wanted: at least 80 % of the cells, and none of the others off by more
than 40 % (or 2 ms).

**{agreeing} of {cells} cells agree ({share:.0f} %); {far} are far off.**
"""

TAIL = """
## What the set-up and the differences are

- The bottleneck adds 24 bytes of framing to each Ethernet packet; sources sit on links of 1 Gbit/s, the
  round-trip time lies behind the bottleneck, and flows start when they do there.
- [Decisions](decisions/tcp.md#settled-against-linux-61) say what each mechanism contributes. RACK, bursts and the
  receiver's answer to them weigh most; with the recovery of kernels before RACK three quarters of the Reno cells agree.
- Start times count: FQ-CoDel with four Reno flows at 100 ms gives 7.9 to 8.4 Mbit/s with other ones; the
  kernel's two seeds gave 7.92 and 8.57.
- Most of the cells marked above are FQ-CoDel with several flows. In these recorded runs a packet carried the hash of
  its sender's socket, which changes at each time-out, so flows changed their queues; real links carry none, and runs
  made now ([validation-kernel.md](validation-kernel.md)) hash the headers.
- PIE and RED draw other random numbers than the kernel, so single runs cannot agree packet for packet.
"""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), help="write the page there; default: print it")
@click.option(
    "--cc", "controls", multiple=True, default=("reno", "cubic"), show_default=True, help="congestion control"
)
@click.option("--jobs", type=int, help="simulations at a time; default: all cores")
def main(folder: Path, out: Path | None, controls: tuple[str, ...], jobs: int | None) -> None:
    """Compare the simulator with runs of the real Linux kernel in FOLDER/reference.csv."""
    if not (folder / "reference.csv").is_file():
        raise click.ClickException(f"{folder}: has no reference.csv; name the folder of the kernel's runs")
    cells = validate(folder, controls, jobs)
    text = report(cells)
    if out is None:
        click.echo(text)
    else:
        write_file(out, lambda file: file.write(text.encode()))
    agreeing = sum(cell.agrees for cell in cells)
    click.echo(f"{agreeing} of {len(cells)} cells agree, {sum(cell.is_far for cell in cells)} are far off")
    if agreeing < SHARE * len(cells) or any(cell.is_far for cell in cells):
        raise SystemExit(1)


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
