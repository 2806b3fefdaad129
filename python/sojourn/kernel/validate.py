"""The simulator beside the real kernel over a grid, run now: ``python -m sojourn.kernel.validate -o FILE``.

Both engines run the same scenario files; the stack is `linux-6.1`. `sojourn.validation` does the same with recorded
runs of an earlier build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click

from sojourn.engines import SIMULATE
from sojourn.kernel.cache import built
from sojourn.runner import Run, Runner
from sojourn.scenario import Scenario
from sojourn.validation import unwrapped

AQMS = {
    "droptail": "droptail",
    "codel": "codel@linux",
    "fq_codel": "fq_codel@linux",
    "pie": "pie@linux",
    "ared": "ared@linux-5.7 target 5ms",
}
"""By the name in the table."""
RATES, RTTS_MS, FLOWS, CONTROLS = (10, 50, 100), (10, 50, 200), (1, 8, 64), ("reno", "cubic")
USUAL = {"rate": 10, "rtt": 50, "flows": 8}
MARKING = ("codel", "fq_codel", "pie", "ared")
DURATION_S, WARMUP_S = 60, 10
LIMIT = "1000 packets"
GOODPUT_BAND, DELAY_BAND, DELAY_BAND_MS = 0.03, 0.15, 1.0


@dataclass(frozen=True)
class Point:
    """A cell of the grid."""

    aqm: str
    control: str
    rate: int
    rtt: int
    flows: int
    ecn: bool = False

    def scenario(self) -> Scenario:
        """What both engines run."""
        marks = " ecn" if self.ecn else " ecn off" if self.aqm in MARKING else ""
        return Scenario.build(
            {
                "name": "validation",
                "duration": f"{DURATION_S} s",
                "warmup": f"{WARMUP_S} s",
                "link": {
                    "rate": f"{self.rate} Mbit/s",
                    "overhead": "38 B",
                    "delay": f"{self.rtt * 500} us",
                    "aqm": AQMS[self.aqm] + marks,
                    "limit": LIMIT,
                },
                "flows": [
                    {
                        "kind": "tcp",
                        "cc": self.control,
                        "stack": "linux-6.1",
                        "count": self.flows,
                        "spread": "1 s",
                        "access_rate": "1 Gbit/s",
                        "ecn": self.ecn,
                    }
                ],
            }
        )


@dataclass(frozen=True)
class Cell:
    """What both engines make of a point."""

    point: Point
    there: dict[str, float]
    """The kernel's: goodput in Mbit/s, p50 and p95 of the delay in ms, drop and mark rate in percent, Jain's index."""
    here: dict[str, float]

    @property
    def agrees(self) -> bool:
        """Goodput within 3 %, and the median delay within 15 % or 1 ms."""
        apart = abs(self.here["delay"] - self.there["delay"])
        goodput = abs(self.here["goodput"] / self.there["goodput"] - 1)
        return goodput <= GOODPUT_BAND and apart <= max(DELAY_BAND * self.there["delay"], DELAY_BAND_MS)


def grid() -> Iterator[Point]:
    """Every RTT and number of flows at 10 Mbit/s; higher rates and marking at the usual RTT and load."""
    for aqm, control in product(AQMS, CONTROLS):
        for rtt, flows in product(RTTS_MS, FLOWS):
            yield Point(aqm, control, USUAL["rate"], rtt, flows)
        for rate in RATES[1:]:
            yield Point(aqm, control, rate, USUAL["rtt"], USUAL["flows"])
        if aqm in MARKING:
            yield Point(aqm, control, USUAL["rate"], USUAL["rtt"], USUAL["flows"], ecn=True)


def validate(
    points: Sequence[Point],
    root: Path | None,
    *,
    seed: int = 1,
    jobs: int | None = None,
    progress: Callable[[float, int, int], None] | None = None,
) -> list[Cell]:
    """Run the points on both engines; finished runs in `root` are not run again."""
    runner = Runner(root, jobs, progress=progress)
    scenarios = [point.scenario() for point in points]
    there = runner([Run(scenario, seed, "kernel") for scenario in scenarios])
    here = runner([Run(scenario, seed, SIMULATE) for scenario in scenarios])
    pairs = zip(points, there, here, strict=True)
    return [Cell(point, _numbers(one.totals), _numbers(other.totals)) for point, one, other in pairs]


def report(cells: Sequence[Cell], kernel: str) -> str:
    """Return the page."""
    agreeing = sum(cell.agrees for cell in cells)
    head = unwrapped(HEAD).format(kernel=kernel, agreeing=agreeing, cells=len(cells), share=100 * agreeing / len(cells))
    lines = [head, "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for cell in cells:
        point, there, here = cell.point, cell.there, cell.here
        row = [point.aqm, "yes" if point.ecn else "", point.control, point.rate, point.rtt, point.flows]
        for key, digits in SHOWN.items():
            row += [f"{there[key]:.{digits}f}", f"{here[key]:.{digits}f}"]
        lines.append("| " + " | ".join(str(text) for text in [*row, "" if cell.agrees else "outside"]) + " |")
    worst = sorted((cell for cell in cells if not cell.agrees), key=_distance, reverse=True)[:MOST_SHOWN]
    named = [f"- {_name(cell)}" for cell in worst]
    return "\n".join([*lines, "", "## The cells that differ most", "", *named, "", unwrapped(TAIL)])


def _numbers(totals: dict[str, Any]) -> dict[str, float]:
    link = totals["links"]["forward"]
    return {
        "goodput": totals["goodput_bps"] / 1e6,
        "delay": link["sojourn_ms"]["p50"] or 0.0,
        "tail": link["sojourn_ms"]["p95"] or 0.0,
        "drops": 100 * link["drop_rate"],
        "marks": 100 * link["mark_rate"],
        "jain": totals["jain"],
    }


def _distance(cell: Cell) -> float:
    """How far outside, in bands."""
    there, here = cell.there, cell.here
    band = max(DELAY_BAND * there["delay"], DELAY_BAND_MS)
    return max(abs(here["goodput"] / there["goodput"] - 1) / GOODPUT_BAND, abs(here["delay"] - there["delay"]) / band)


def _name(cell: Cell) -> str:
    point, there, here = cell.point, cell.there, cell.here
    return (
        f"{point.aqm}{' with ECN' if point.ecn else ''}, {point.control}, {point.rate} Mbit/s, {point.rtt} ms, "
        f"{point.flows} flows: goodput {there['goodput']:.2f} there and {here['goodput']:.2f} here, median delay "
        f"{there['delay']:.2f} and {here['delay']:.2f} ms ({_distance(cell):.1f} bands)"
    )


MOST_SHOWN = 8
SHOWN = {"goodput": 2, "delay": 2, "tail": 2, "drops": 2, "marks": 2, "jain": 3}
COLUMNS = (
    *("queue", "ECN", "cc", "rate, Mbit/s", "RTT, ms", "flows"),
    *("goodput there", "here", "p50 there", "here", "p95 there", "here"),
    *("drops there, %", "here", "marks there, %", "here", "Jain there", "here", ""),
)
HEAD = """# The simulator beside the real kernel, run now

The same scenarios on the simulator ("here", stack `linux-6.1`) and on the real kernel ("there", {kernel}), one seed,
60 s of which 10 s are warm-up. Goodput in Mbit/s, delay in the queue in ms. `python -m sojourn.kernel.validate` makes
this page; [validation.md](validation.md) does it with recorded runs, and says what the mechanisms contribute.

A cell agrees if the goodput is within 3 % and the median delay within 15 % or 1 ms.

**{agreeing} of {cells} cells agree ({share:.0f} %).**
"""
TAIL = """A single run of either engine may differ from another seed by more than the bands where few flows meet: which
packet is dropped decides the following seconds. PIE and RED draw other numbers here than there.
"""


@click.command()
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), help="write the page there; default: print it")
@click.option("--results", type=click.Path(path_type=Path), help="folder of results, to go on where it stopped")
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
def main(out: Path | None, results: Path | None, jobs: int | None) -> None:
    """Run the grid on both engines and compare."""
    from sojourn.cli.progress import progress

    kernel = built()
    with progress() as report_progress:
        cells = validate(list(grid()), results, jobs=jobs, progress=report_progress)
    text = report(cells, f"Linux {kernel.version}, build {kernel.digest}")
    if out is None:
        click.echo(text)
    else:
        out.write_text(text, encoding="utf-8")
    click.echo(f"{sum(cell.agrees for cell in cells)} of {len(cells)} cells agree")


if __name__ == "__main__":
    main()
