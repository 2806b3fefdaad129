"""What the paper states and leaves unsaid, what we take, and what else can be assumed (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "F. Gao, H. Qian, X. Yang: Hard Limit CoDel: An Extension of the CoDel Algorithm, 2015.",
    "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10(5), 2012.",
)

METHODS = (
    "TCP NewReno flows as in ns-2 share one bottleneck; its rate, the round-trip time and the number of flows are "
    "varied. The queue manager is CoDel [2], Hard Limit CoDel [1] with a bound of 50 ms, or a FIFO queue of 50 ms. "
    "Delay is the sojourn time of the packets sent on the forward link, throughput what that link sends."
)

SETUP = (
    Setting(
        "simulator", "ns-2 with the CoDel model of Nichols and Jacobson", "our simulator with its model of ns-2's TCP"
    ),
    Setting("topology", "a dumbbell with one congested link", "delays in the ratio 20 : 10 : 20, as in codel.tcl"),
    Setting("round-trip times", "10 to 500 ms", "that of the k-th FTP is 2k % longer, as in codel.tcl"),
    Setting("access links", "", "ten times as fast as the bottleneck, as in codel.tcl"),
    Setting("TCP", "NewReno", "packets of 1500 bytes, initial window 4, no SACK, an acknowledgment per packet"),
    Setting("window", "", "no bound; codel.tcl has 16 bandwidth-delay products at 100 ms"),
    Setting("rates, flows", "1 to 100 Mb/s, 1 to 64 FTPs, up to 80 web connections per second"),
    Setting("CoDel", "the listing of figure 1 without its added lines", "that of ACM Queue 2012; limit 1000 packets"),
    Setting("Hard Limit CoDel", "max_delay 50 ms", "as printed: at most one packet too old is dropped per dequeue"),
    Setting("FIFO", "50 ms long", "what the link sends in 50 ms"),
    Setting("starts", "", "uniform within the first second; one instant would give every seed the same run"),
    Setting("duration", "", "300 s, the first 10 s left out except for maxima and for what changes"),
    Setting("replications", "one run per scheme", "several seeds, each for all schemes"),
)

ASSUMPTIONS = {
    "initial_window": Assumption("flows.0.initial_window", 4, (2, 10), "segments; 4 is codel.tcl's"),
    "sack": Assumption("flows.0.sack", False, (True,), "NewReno is stated, SACK is not"),
    "window": Assumption("flows.0.receive_window", "1 GB", ("20 MB",), "16 bandwidth-delay products at 100 Mbit/s"),
    "starts": Assumption("flows.0.spread", "1 s", ("100 ms", "10 s"), "time over which the flows start"),
}
