"""Grid of super-packets: senders with GSO, receivers with GRO, and AQMs.

Hosts have no access links, so a sender's burst reaches the queue as one super-packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from sojourn.engines.kernel.grid import WARMUP_S, AnyPoint
from sojourn.engines.kernel.validation_table import Cause, Causes
from sojourn.model.scenarios.scenario import Scenario

AQMS = {
    "codel": "codel@linux",
    "fq_codel": "fq_codel@linux",
    "pie": "pie@linux",
    "cake": "cake flows",
    "cake no-split-gso": "cake flows no-split-gso",
}
"""By name in the table; CAKE isolates flows, as FQ-CoDel does."""
RATES, RTTS_MS, FLOWS = (10, 100, 1000), (20, 100), (1, 4, 16)
DURATION_S = {10: 60, 100: 30, 1000: 15}
"""By rate."""
LIMIT = "10240 packets"
"""Linux's default of `fq_codel`, and CAKE's minimum."""
POLL = "50 us"
"""Delay from a packet's arrival to the receiver's poll."""


@dataclass(frozen=True)
class Point:
    """A cell of the grid."""

    aqm: str
    rate: int
    rtt: int
    flows: int
    control: str = "cubic"
    ecn: bool = False

    @property
    def duration_s(self) -> int:
        """Duration of the run."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """Scenario for both engines."""
        flow = {"kind": "tcp", "cc": self.control, "stack": "linux-6.1", "count": self.flows, "spread": "1 s"}
        link = {"rate": f"{self.rate} Mbit/s", "overhead": "38 B", "account": "ip", "limit": LIMIT}
        return Scenario.build(
            {
                "name": "super-packets",
                "duration": f"{self.duration_s} s",
                "warmup": f"{WARMUP_S} s",
                "link": {**link, "delay": f"{self.rtt * 500} us", "aqm": AQMS[self.aqm]},
                "flows": [{**flow, "gso": True, "gro": POLL}],
            }
        )


def grid() -> list[AnyPoint]:
    """All combinations, slowest links first."""
    return [Point(aqm, rate, rtt, flows) for rate, rtt, flows, aqm in product(RATES, RTTS_MS, FLOWS, AQMS)]


MIN_BURST_MS: dict[int, float] = {rate: 2 * 1538 * 8 / 1000 / rate for rate in RATES}
"""Transmission time of a super-packet of two segments, the minimum burst, by rate."""
FEW = 4
SHALLOW = Cause(
    lambda cell: cell.point.flows == 1 and cell.there["delay"] < MIN_BURST_MS[cell.point.rate],
    "the queue of a single flow is empty half of the time, so its median is zero or the transmission time of a packet, "
    "and one drop more or less moves it by more than a band",
)
DRAWN = Cause(
    lambda cell: cell.point.aqm == "pie" and cell.point.flows <= FEW,
    "windows are reduced a few times per run, at times that PIE draws at random",
)
CAUSES = Causes(seeds=(SHALLOW, DRAWN))
