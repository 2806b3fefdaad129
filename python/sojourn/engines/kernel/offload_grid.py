"""The grid of super-packets: senders with segmentation offload, receivers with receive offload, queues that judge both.

Hosts have no access links, so that what a sender may send at once comes to the queue in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from sojourn.engines.kernel.grid import WARMUP_S, AnyPoint
from sojourn.engines.kernel.validation_page import SAME_CHANCE, Cause, Words
from sojourn.model.scenarios.scenario import Scenario

AQMS = {
    "codel": "codel@linux",
    "fq_codel": "fq_codel@linux",
    "pie": "pie@linux",
    "cake": "cake flows",
    "cake no-split-gso": "cake flows no-split-gso",
}
"""By the name in the table. CAKE isolates flows, because hosts differ: those of a group share theirs in the simulator,
while each has its own on the kernel."""
RATES, RTTS_MS, FLOWS = (10, 100, 1000), (20, 100), (1, 4, 16)
DURATION_S = {10: 60, 100: 30, 1000: 15}
"""By rate; a faster link sends as much in less time."""
LIMIT = "10240 packets"
"""Linux's own of `fq_codel`, and the least that CAKE knows."""
POLL = "50 us"
"""How long a receiver's card waits."""


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
        """How long it runs."""
        return DURATION_S[self.rate]

    def scenario(self) -> Scenario:
        """What both engines run."""
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
    """Every combination, the slowest links first."""
    return [Point(aqm, rate, rtt, flows) for rate, rtt, flows, aqm in product(RATES, RTTS_MS, FLOWS, AQMS)]


LEAST_MS: dict[int, float] = {rate: 2 * 1538 * 8 / 1000 / rate for rate in RATES}
"""How long a super-packet of two segments, the least of a burst, is sent; by rate."""
FEW = 4
SHALLOW = Cause(
    lambda cell: cell.point.flows == 1 and cell.there["delay"] < LEAST_MS[cell.point.rate],
    "the queue of a single flow is empty for half of the time, so that its median is a packet's transmission or none, "
    "and moves by more than a band with a drop more or less",
)
DRAWN = Cause(
    lambda cell: cell.point.aqm == "pie" and cell.point.flows <= FEW,
    "the windows are reduced a few times in a run, at instants that PIE draws",
)
WORDS = Words(
    causes=(SHALLOW, DRAWN),
    head="""# Super-packets: the simulator beside the real kernel

Senders with segmentation offload (`gso`) and receivers whose cards join segments (`gro`), the same scenarios on the
simulator ("here", stack `linux-6.1`) and on the real kernel ("there", {kernel}), with the same seed: {durations}, of
which {warmup} s are warm-up. `python -m sojourn.kernel.validate --grid super-packets` makes this page;
[kernel.md](kernel.md) says what the keys are on the kernel. Payload delivered in order in Mbit/s and Jain's index of
it, delay in the queue in ms (p50, p95), drops in percent of the super-packets, or of the segments where CAKE splits.

A cell agrees if what is delivered is within 3 % and the median delay within 15 % or 1 ms; "bands" says how far apart
it is in these units. {complete}

**{agreeing} of {cells} cells agree ({share:.0f} %).**{missing}
""",
    tail=SAME_CHANCE,
)
