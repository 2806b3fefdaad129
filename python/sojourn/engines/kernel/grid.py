"""Grid of scenarios on which the simulator is compared with the real kernel: points, metrics, agreement."""

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
"""Queue managers by name in the table."""
MARKING = ("codel", "fq_codel", "pie", "ared")
RATES, RTTS_MS, FLOWS, CONTROLS = (10, 100, 50), (10, 50, 200), (1, 8, 64), ("reno", "cubic")
"""Axes of the grid; rates in the order of the runs."""
DURATION_S = {10: 60, 50: 30, 100: 30}
"""Duration by rate; a faster link needs less time for as many packets."""
WARMUP_S = 10
LIMIT = "1000 packets"
BANDS = Bands(delivered=0.03, delay_key="delay", delay=0.15, delay_ms=1.0)
SEEDS_THERE, SEEDS_HERE = 4, 10
"""Seeds for cells that do not agree; a simulation costs a hundredth of a kernel run."""
KERNEL = "kernel"


class AnyPoint(Protocol):
    """Interface of a grid's points."""

    @property
    def aqm(self) -> str:
        """Name of the queue manager in the table."""

    @property
    def control(self) -> str:
        """Congestion control."""

    @property
    def rate(self) -> int:
        """Bottleneck rate in Mbit/s."""

    @property
    def rtt(self) -> int:
        """Base RTT in ms."""

    @property
    def flows(self) -> int:
        """Number of flows."""

    @property
    def ecn(self) -> bool:
        """Whether the flows use ECN."""

    @property
    def duration_s(self) -> int:
        """Duration of a run."""

    def scenario(self) -> Scenario:
        """Scenario of both engines."""


@dataclass(frozen=True)
class Point:
    """Parameters of a cell of the grid."""

    aqm: str
    control: str
    rate: int
    rtt: int
    flows: int
    ecn: bool = False

    @property
    def duration_s(self) -> int:
        """Duration of a run."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """Scenario of both engines."""
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
    """Metrics of a point on both engines."""

    point: AnyPoint
    there: Metrics
    """Metrics of the kernel's run."""
    here: Metrics

    @property
    def distance(self) -> float:
        """Distance in bands: 3 % of the delivered payload, and 15 % or 1 ms of the median delay."""
        return BANDS.distance(self.here, self.there)

    @property
    def agrees(self) -> bool:
        """Whether the metrics are within both bands."""
        return self.distance <= 1.0


@dataclass(frozen=True)
class RepeatedCell:
    """Means over several seeds of a cell that does not agree with one."""

    mean: Cell
    seeds_there: int
    seeds_here: int
    spread: Mapping[str, tuple[float, float]]
    """Minimum and maximum of the simulator's runs, by metric."""

    @property
    def is_chance(self) -> bool:
        """Whether the means agree."""
        return self.mean.agrees

    @property
    def is_outside_spread(self) -> bool:
        """Whether the kernel's mean lies outside of the range of the simulator's seeds."""
        return any(not low <= self.mean.there[key] <= high for key, (low, high) in self.spread.items())


def grid() -> list[Point]:
    """All combinations, rate by rate."""
    ecn = {aqm: (False, True) if aqm in MARKING else (False,) for aqm in AQMS}
    axes = product(RATES, RTTS_MS, FLOWS, AQMS, CONTROLS)
    return [Point(aqm, cc, rate, rtt, flows, e) for rate, rtt, flows, aqm, cc in axes for e in ecn[aqm]]


class Grid:
    """Runs on both engines; the kernel's results are stored in a folder, simulations are repeated each time."""

    def __init__(
        self,
        root: Path | None,
        jobs: int | None = None,
        *,
        only_finished: bool = False,
        progress: Callable[[float, int, int], None] | None = None,
        runner: Any = None,
    ) -> None:
        self.pair = EnginePair(root, jobs, progress=progress, runner=runner)
        self.only_finished = only_finished

    def cells(self, points: Iterable[AnyPoint], seed: int = 1) -> list[Cell]:
        """Cells of the points; with `only_finished`, only those whose kernel runs are stored."""
        selected = [point for point in points if self._is_selected(point, seed)]
        there, here = (self._metrics(selected, seed, engine) for engine in (KERNEL, SIMULATE))
        return [Cell(*row) for row in zip(selected, there, here, strict=True)]

    def repeated(self, cells: Sequence[Cell]) -> dict[AnyPoint, RepeatedCell]:
        """Repeat the cells that do not agree with further seeds."""
        return {cell.point: self._repeat(cell.point) for cell in cells if not cell.agrees}

    def _repeat(self, point: AnyPoint) -> RepeatedCell:
        seeds = [seed for seed in range(1, SEEDS_THERE + 1) if self._is_selected(point, seed)]
        there = [self._metrics([point], seed, KERNEL)[0] for seed in seeds]
        here = [self._metrics([point], seed, SIMULATE)[0] for seed in range(1, SEEDS_HERE + 1)]
        return merge(point, there, here)

    def _is_selected(self, point: AnyPoint, seed: int) -> bool:
        return not self.only_finished or self.pair.is_finished(point.scenario(), seed, KERNEL)

    def _metrics(self, points: Sequence[AnyPoint], seed: int, engine: str) -> list[dict[str, float]]:
        return self.pair.metrics([point.scenario() for point in points], seed, engine)


def merge(point: AnyPoint, there: Sequence[Metrics], here: Sequence[Metrics]) -> RepeatedCell:
    """Means over the seeds of both engines, and the range of the simulator's seeds."""
    spread = {key: (min(run[key] for run in here), max(run[key] for run in here)) for key in ("delivered", "delay")}
    return RepeatedCell(Cell(point, means(there), means(here)), len(there), len(here), spread)
