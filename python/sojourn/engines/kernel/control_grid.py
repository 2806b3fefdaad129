"""Grids of congestion controls: all of Linux 6.1, over tail drop with one bandwidth-delay product and over AQMs.

The second grid is a hold-out: it has other rates and another RTT, and was not used while the first was made to agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from sojourn.engines.kernel.grid import AnyPoint
from sojourn.model.scenarios.scenario import Scenario

CONTROLS = ("bbr", "dctcp", "vegas", "westwood", "highspeed", "scalable", "htcp", "illinois", "bic", "yeah")
AQMS = {"droptail": "droptail", "codel": "codel@linux", "fq_codel": "fq_codel@linux"}
"""By name in the table."""
RATES, RTTS_MS, FLOWS = (10, 50), (20, 100), (1, 2, 8)
OTHER_CONTROLS, OTHER_RATES, OTHER_RTT_MS = (*CONTROLS, "reno", "cubic"), (25, 200), 60
DURATION_S = {10: 30, 25: 20, 50: 20, 200: 15}
"""By rate."""
WARMUP_S = 5
PACKET_BYTES = 1500
MARKED = ("dctcp",)
"""Controls that run with ECN over marking queues."""


@dataclass(frozen=True)
class Point:
    """A cell of the grid."""

    control: str
    aqm: str
    rate: int
    rtt: int
    flows: int

    @property
    def ecn(self) -> bool:
        """Whether flows use ECN and the queue marks."""
        return self.control in MARKED

    @property
    def duration_s(self) -> int:
        """Duration of the run."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """Scenario for both engines."""
        marks = "" if self.aqm == "droptail" else " ecn" if self.ecn else " ecn off"
        product_packets = round(self.rate * self.rtt * 1000 / 8 / PACKET_BYTES)
        flow = {"kind": "tcp", "cc": self.control, "stack": "linux-6.1", "count": self.flows, "spread": "1 s"}
        link = {"rate": f"{self.rate} Mbit/s", "overhead": "38 B", "delay": f"{self.rtt * 500} us"}
        limit = product_packets if self.aqm == "droptail" else 1000
        return Scenario.build(
            {
                "name": "controls",
                "duration": f"{self.duration_s} s",
                "warmup": f"{WARMUP_S} s",
                "link": {**link, "aqm": AQMS[self.aqm] + marks, "limit": f"{limit} packets"},
                "flows": [{**flow, "access_rate": "1 Gbit/s", "ecn": self.ecn}],
            }
        )


def grid() -> list[AnyPoint]:
    """All combinations, slowest links first, with the controls of a cell together."""
    axes = product(RATES, RTTS_MS, FLOWS, AQMS, CONTROLS)
    return [Point(control, aqm, rate, rtt, flows) for rate, rtt, flows, aqm, control in axes]


def other_grid() -> list[AnyPoint]:
    """All combinations of the hold-out, which also has Reno and CUBIC."""
    axes = product(OTHER_RATES, FLOWS, AQMS, OTHER_CONTROLS)
    return [Point(control, aqm, rate, OTHER_RTT_MS, flows) for rate, flows, aqm, control in axes]
