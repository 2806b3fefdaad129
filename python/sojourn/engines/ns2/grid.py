"""Grid of scenarios on which the simulator is compared with ns-2: points, metrics of both, agreement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sojourn.engines import SIMULATE
from sojourn.engines.validation.engine_pair import Bands, EnginePair, Metrics, means, standard_error
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
"""By name in the table: queue manager, limit, and engine (ns-2's own queue or the plugin's)."""
TCPS = {"reno": ("reno", False), "newreno": ("newreno", False), "sack": ("reno", True)}
"""Congestion control and `sack`, by name in the table."""
RATES, RTTS_MS, FLOWS = (1, 4, 10, 25), (20, 100, 500), (1, 4, 16, 64)
DURATION_S = {20: 40, 100: 40, 500: 70}
"""Duration by round-trip time in ms."""
WARMUP_S, SEEDS = 10, (1, 2, 3)
BANDS = Bands(delivered=0.02, delay_key="mean", delay=0.1, delay_ms=0.5)


@dataclass(frozen=True)
class Point:
    """Parameters of a cell of the grid."""

    aqm: str
    tcp: str
    rate: int
    rtt: int
    flows: int

    @property
    def engine(self) -> str:
        """Engine that is compared with the simulator."""
        return AQMS[self.aqm][2]

    @property
    def duration_s(self) -> int:
        """Duration of a run."""
        return DURATION_S[self.rtt]

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.aqm}, {self.tcp}, {self.rate} Mbit/s, {self.rtt} ms, {self.flows}"

    def scenario(self, **more: Any) -> Scenario:
        """Scenario of both engines: a tenth of the RTT on the access links, four tenths on the bottleneck, each way."""
        aqm, limit, _ = AQMS[self.aqm]
        control, sack = TCPS[self.tcp]
        link = {"rate": f"{self.rate} Mbit/s", "delay": f"{self.rtt * 400} us"}
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
            "link": link | {"aqm": aqm, "limit": limit},
            "reverse": link,
            "flows": [flow],
        }
        return Scenario.build(document | more)


@dataclass(frozen=True)
class Cell:
    """Metrics of a point on both engines, one per seed."""

    point: Point
    there: Sequence[Metrics]
    """Metrics of ns-2's runs."""
    here: Sequence[Metrics]

    @property
    def distance(self) -> float:
        """Distance of the means, in bands."""
        return BANDS.distance(means(self.here), means(self.there))

    @property
    def agrees(self) -> bool:
        """Whether the means are within both bands."""
        return self.distance <= 1.0

    @property
    def error(self) -> float:
        """Maximum standard error of ns-2's and the simulator's means, in bands."""
        there = means(self.there)
        errors = []
        for side in (self.there, self.here):
            errors.append(standard_error(side, "delivered") / (BANDS.delivered * there["delivered"]))
            errors.append(standard_error(side, "mean") / BANDS.delay_band(there))
        return max(errors)

    @property
    def counts(self) -> bool:
        """Whether the standard errors are within the bands, so that the cell is counted."""
        return self.error <= 1.0


def grid() -> list[Point]:
    """All combinations for ns-2's own queues; CoDel's variants cycle through the three TCPs."""
    points = []
    for number, (rate, rtt, flows) in enumerate(product(RATES, RTTS_MS, FLOWS)):
        for place, aqm in enumerate(AQMS):
            all_tcps = AQMS[aqm][2] == NS2
            tcps = list(TCPS) if all_tcps else [list(TCPS)[(number + number // len(FLOWS) + place) % len(TCPS)]]
            points += [Point(aqm, tcp, rate, rtt, flows) for tcp in tcps]
    return points


def cells(points: Iterable[Point], pair: EnginePair, *, only_finished: bool = False) -> list[Cell]:
    """Run the points on both engines; with `only_finished`, only those whose ns-2 runs are stored."""
    selected = [point for point in points if not only_finished or _is_finished(point, pair)]
    there: dict[Point, list[Metrics]] = {point: [] for point in selected}
    here: dict[Point, list[Metrics]] = {point: [] for point in selected}
    for seed in SEEDS:
        for engine in (NS2, PLUGIN):
            of_engine = [point for point in selected if point.engine == engine]
            metrics = pair.metrics([p.scenario() for p in of_engine], seed, engine)
            for point, found in zip(of_engine, metrics, strict=True):
                there[point].append(found)
        for point, found in zip(selected, pair.metrics([p.scenario() for p in selected], seed, SIMULATE), strict=True):
            here[point].append(found)
    return [Cell(point, there[point], here[point]) for point in selected]


def _is_finished(point: Point, pair: EnginePair) -> bool:
    return all(pair.is_finished(point.scenario(), seed, point.engine) for seed in SEEDS)
