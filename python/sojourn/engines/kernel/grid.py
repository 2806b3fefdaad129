"""The grid on which the simulator runs beside the real kernel: its points, both engines' numbers, and what agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from sojourn.engines import SIMULATE
from sojourn.engines.validation.engine_pair import Bands, EnginePair, Metrics, means
from sojourn.model.scenarios.scenario import Scenario

AQMS = {
    "droptail": "droptail",
    "codel": "codel@linux",
    "fq_codel": "fq_codel@linux",
    "pie": "pie@linux",
    "ared": "ared@linux-5.7 target 5ms",
}
"""By the name in the table."""
MARKING = ("codel", "fq_codel", "pie", "ared")
RATES, RTTS_MS, FLOWS, CONTROLS = (10, 100, 50), (10, 50, 200), (1, 8, 64), ("reno", "cubic")
"""Rates in the order in which they are run."""
DURATION_S = {10: 60, 50: 30, 100: 30}
"""By rate; a faster link sends as much in less time."""
WARMUP_S = 10
LIMIT = "1000 packets"
BANDS = Bands(delivered=0.03, delay_key="delay", delay=0.15, delay_ms=1.0)
SEEDS_THERE, SEEDS_HERE = 4, 10
"""Of the repetitions of cells that do not agree; a simulation costs a hundredth of a kernel's run."""
KERNEL = "kernel"


class AnyPoint(Protocol):
    """A cell of a grid of this kind."""

    @property
    def aqm(self) -> str:
        """Name of the queue manager in the table."""

    @property
    def control(self) -> str:
        """Congestion control."""

    @property
    def rate(self) -> int:
        """Of the bottleneck, in Mbit/s."""

    @property
    def rtt(self) -> int:
        """Round-trip time without queues, in ms."""

    @property
    def flows(self) -> int:
        """How many."""

    @property
    def ecn(self) -> bool:
        """Whether they have ECN."""

    @property
    def duration_s(self) -> int:
        """How long it runs."""

    def scenario(self) -> Scenario:
        """What both engines run."""


@dataclass(frozen=True)
class Point:
    """A cell of the grid."""

    aqm: str
    control: str
    rate: int
    rtt: int
    flows: int
    ecn: bool = False

    @property
    def duration_s(self) -> int:
        """How long it runs."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """What both engines run."""
        marks = " ecn" if self.ecn else " ecn off" if self.aqm in MARKING else ""
        return Scenario.build(
            {
                "name": "validation",
                "duration": f"{self.duration_s} s",
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

    point: AnyPoint
    there: Metrics
    """The kernel's."""
    here: Metrics

    @property
    def distance(self) -> float:
        """How far apart, in bands: what is delivered within 3 %, and the median delay within 15 % or 1 ms."""
        return BANDS.distance(self.here, self.there)

    @property
    def agrees(self) -> bool:
        """Within both bands."""
        return self.distance <= 1.0


@dataclass(frozen=True)
class Repeated:
    """Means over the seeds that were run of a cell that does not agree."""

    mean: Cell
    seeds_there: int
    seeds_here: int
    spread: Mapping[str, tuple[float, float]]
    """Least and largest of the simulator's runs, by number."""

    @property
    def is_chance(self) -> bool:
        """Whether the means agree."""
        return self.mean.agrees

    @property
    def is_told_apart(self) -> bool:
        """Whether the kernel's mean lies outside of what the simulator's seeds give."""
        return any(not low <= self.mean.there[key] <= high for key, (low, high) in self.spread.items())


def grid() -> list[Point]:
    """Every combination; the usual queue of one flow to many, rate by rate."""
    ecn = {aqm: (False, True) if aqm in MARKING else (False,) for aqm in AQMS}
    axes = product(RATES, RTTS_MS, FLOWS, AQMS, CONTROLS)
    return [Point(aqm, cc, rate, rtt, flows, e) for rate, rtt, flows, aqm, cc in axes for e in ecn[aqm]]


class Grid:
    """Runs on both engines; the kernel's are kept in a folder of results, simulations are made anew each time."""

    def __init__(
        self,
        root: Path | None,
        jobs: int | None = None,
        *,
        only_finished: bool = False,
        progress: Callable[[float, int, int], None] | None = None,
        runner: Any = None,
    ) -> None:
        self.sides = EnginePair(root, jobs, progress=progress, runner=runner)
        self.only_finished = only_finished

    def cells(self, points: Iterable[AnyPoint], seed: int = 1) -> list[Cell]:
        """Cells of the points; without those that the kernel has not run if none is to be run now."""
        wanted = [point for point in points if self._is_wanted(point, seed)]
        there, here = (self._numbers(wanted, seed, engine) for engine in (KERNEL, SIMULATE))
        return [Cell(*row) for row in zip(wanted, there, here, strict=True)]

    def repeated(self, cells: Sequence[Cell]) -> dict[AnyPoint, Repeated]:
        """The cells that do not agree again, with other seeds."""
        return {cell.point: self._repeat(cell.point) for cell in cells if not cell.agrees}

    def _repeat(self, point: AnyPoint) -> Repeated:
        seeds = [seed for seed in range(1, SEEDS_THERE + 1) if self._is_wanted(point, seed)]
        there = [self._numbers([point], seed, KERNEL)[0] for seed in seeds]
        here = [self._numbers([point], seed, SIMULATE)[0] for seed in range(1, SEEDS_HERE + 1)]
        return merged(point, there, here)

    def _is_wanted(self, point: AnyPoint, seed: int) -> bool:
        return not self.only_finished or self.sides.is_finished(point.scenario(), seed, KERNEL)

    def _numbers(self, points: Sequence[AnyPoint], seed: int, engine: str) -> list[dict[str, float]]:
        return self.sides.metrics([point.scenario() for point in points], seed, engine)


def merged(point: AnyPoint, there: Sequence[Metrics], here: Sequence[Metrics]) -> Repeated:
    """Means over the seeds of both sides, and the simulator's spread of what is judged."""
    spread = {key: (min(run[key] for run in here), max(run[key] for run in here)) for key in ("delivered", "delay")}
    return Repeated(Cell(point, means(there), means(here)), len(there), len(here), spread)
