"""The grids of congestion controls: each that Linux 6.1 has, over tail drop of one bandwidth-delay product and AQMs.

The second one has other rates and another RTT: nothing was looked at there while the first was made to agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from sojourn.engines.kernel.grid import AnyPoint
from sojourn.model.scenarios.scenario import Scenario

CONTROLS = ("bbr", "dctcp", "vegas", "westwood", "highspeed", "scalable", "htcp", "illinois", "bic", "yeah")
AQMS = {"droptail": "droptail", "codel": "codel@linux", "fq_codel": "fq_codel@linux"}
"""By the name in the table."""
RATES, RTTS_MS, FLOWS = (10, 50), (20, 100), (1, 2, 8)
OTHER_CONTROLS, OTHER_RATES, OTHER_RTT_MS = (*CONTROLS, "reno", "cubic"), (25, 200), 60
DURATION_S = {10: 30, 25: 20, 50: 20, 200: 15}
"""By rate; a faster link sends as much in less time."""
WARMUP_S = 5
PACKET_BYTES = 1500
MARKED = ("dctcp",)
"""Controls that have ECN, and queues that mark."""


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
        """Whether the flows have ECN, and the queue marks."""
        return self.control in MARKED

    @property
    def duration_s(self) -> int:
        """How long it runs."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """What both engines run."""
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
    """Every combination, the slowest links first; all controls of a cell together."""
    axes = product(RATES, RTTS_MS, FLOWS, AQMS, CONTROLS)
    return [Point(control, aqm, rate, rtt, flows) for rate, rtt, flows, aqm, control in axes]


def other_grid() -> list[AnyPoint]:
    """The same at other rates and another RTT, and with Reno and CUBIC."""
    axes = product(OTHER_RATES, FLOWS, AQMS, OTHER_CONTROLS)
    return [Point(control, aqm, rate, OTHER_RTT_MS, flows) for rate, flows, aqm, control in axes]
