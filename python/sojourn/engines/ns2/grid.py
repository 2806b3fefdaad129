"""The grid on which the simulator runs beside ns-2: its points, both sides' numbers, and what agrees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sojourn.engines import SIMULATE
from sojourn.engines.validation.sides import Bands, Numbers, Sides, means, standard_error
from sojourn.model.scenarios.scenario import Scenario

NS2, PLUGIN = "ns2", "ns2-plugin"
AQMS = {
    "droptail": ("droptail", "50 packets", NS2),
    "red": ("red", "100 kB", NS2),
    "codel ns2-patch": ("codel@ns2-patch", "1000 packets", PLUGIN),
    "codel ns2-2012": ("codel@ns2-2012", "1000 packets", PLUGIN),
    "codel acm2012": ("codel@acm2012", "1000 packets", PLUGIN),
    "codel rfc8289": ("codel@rfc8289", "1000 packets", PLUGIN),
}
"""By the name in the table: queue manager, limit, and which of ns-2's queues: its own, or ours in it."""
TCPS = {"reno": ("reno", False), "newreno": ("newreno", False), "sack": ("reno", True)}
"""Congestion control and SACK."""
RATES, RTTS_MS, FLOWS = (1, 4, 10, 25), (20, 100, 500), (1, 4, 16, 64)
DURATION_S = {20: 40, 100: 40, 500: 70}
"""By round-trip time."""
WARMUP_S, SEEDS = 10, (1, 2, 3)
BANDS = Bands(delivered=0.02, delay_key="mean", delay=0.1, delay_ms=0.5)


@dataclass(frozen=True)
class Point:
    """A cell of the grid."""

    aqm: str
    tcp: str
    rate: int
    rtt: int
    flows: int

    @property
    def engine(self) -> str:
        """What runs it beside the simulator."""
        return AQMS[self.aqm][2]

    @property
    def duration_s(self) -> int:
        """How long it runs."""
        return DURATION_S[self.rtt]

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.aqm}, {self.tcp}, {self.rate} Mbit/s, {self.rtt} ms, {self.flows}"

    def scenario(self, **more: Any) -> Scenario:
        """What both run: a tenth of the round-trip time on each access link, four tenths on the bottleneck."""
        aqm, limit, _ = AQMS[self.aqm]
        control, sack = TCPS[self.tcp]
        way = {"rate": f"{self.rate} Mbit/s", "delay": f"{self.rtt * 400} us"}
        flow = {
            "kind": "tcp",
            "stack": "ns2",
            "cc": control,
            "sack": sack,
            "mss": "1460 B",
            "initial_window": 4,
            "receive_window": "146 MB",
            "count": self.flows,
            "spread": "1 s",
            "access_rate": f"{10 * self.rate} Mbit/s",
            "rtt": f"{self.rtt} ms",
        }
        document = {
            "name": f"ns-2: {self.name}",
            "duration": f"{self.duration_s} s",
            "warmup": f"{WARMUP_S} s",
            "link": way | {"aqm": aqm, "limit": limit},
            "reverse": way,
            "flows": [flow],
        }
        return Scenario.build(document | more)


@dataclass(frozen=True)
class Cell:
    """Runs of a point on both sides, one for each seed."""

    point: Point
    there: Sequence[Numbers]
    """ns-2's."""
    here: Sequence[Numbers]

    @property
    def distance(self) -> float:
        """How far the means are apart, in bands."""
        return BANDS.distance(means(self.here), means(self.there))

    @property
    def agrees(self) -> bool:
        """Within both bands."""
        return self.distance <= 1.0

    @property
    def error(self) -> float:
        """The largest standard error of ns-2's and the simulator's means, in bands."""
        there = means(self.there)
        of_each = []
        for side in (self.there, self.here):
            of_each.append(standard_error(side, "delivered") / (BANDS.delivered * there["delivered"]))
            of_each.append(standard_error(side, "mean") / BANDS.delay_band(there))
        return max(of_each)

    @property
    def counts(self) -> bool:
        """Whether seeds of one side tell it more exactly than the bands ask for."""
        return self.error <= 1.0


def grid() -> list[Point]:
    """Every combination of ns-2's own queues; of CoDel's variants each takes the three TCPs in turn."""
    points = []
    for number, (rate, rtt, flows) in enumerate(product(RATES, RTTS_MS, FLOWS)):
        for place, aqm in enumerate(AQMS):
            every = AQMS[aqm][2] == NS2
            tcps = list(TCPS) if every else [list(TCPS)[(number + number // len(FLOWS) + place) % len(TCPS)]]
            points += [Point(aqm, tcp, rate, rtt, flows) for tcp in tcps]
    return points


def cells(points: Iterable[Point], sides: Sides, *, only_finished: bool = False) -> list[Cell]:
    """Run the points on both sides; without those that ns-2 has not run if none is to be run now."""
    wanted = [point for point in points if not only_finished or _is_finished(point, sides)]
    there: dict[Point, list[Numbers]] = {point: [] for point in wanted}
    here: dict[Point, list[Numbers]] = {point: [] for point in wanted}
    for seed in SEEDS:
        for engine in (NS2, PLUGIN):
            mine = [point for point in wanted if point.engine == engine]
            for point, found in zip(mine, sides.numbers([p.scenario() for p in mine], seed, engine), strict=True):
                there[point].append(found)
        for point, found in zip(wanted, sides.numbers([p.scenario() for p in wanted], seed, SIMULATE), strict=True):
            here[point].append(found)
    return [Cell(point, there[point], here[point]) for point in wanted]


def _is_finished(point: Point, sides: Sides) -> bool:
    return all(sides.is_finished(point.scenario(), seed, point.engine) for seed in SEEDS)
