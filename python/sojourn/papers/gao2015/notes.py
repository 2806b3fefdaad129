"""Stated and unstated parts of the paper's set-up, our choices, and alternatives (`--assume`)."""

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
    Setting(
        "topology",
        "a dumbbell with one congested link",
        "delays of the authors' script; where traffic goes both ways all of it is on the bottleneck, so that packets "
        "of one queue, or their acknowledgments, are at the other one as much later as there",
    ),
    Setting("round-trip times", "10 to 500 ms", "equal for all flows; with web or reverse traffic 120 ms"),
    Setting("access links", "", "ten times as fast as the bottleneck"),
    Setting("TCP", "NewReno", "packets of 1500 bytes, initial window 4, no SACK, an acknowledgment per packet"),
    Setting("window", "", "16 bandwidth-delay products at 100 ms, as in the script"),
    Setting("rates, flows", "1 to 100 Mb/s, 1 to 64 FTPs, up to 80 web connections per second"),
    Setting("CoDel", "the listing of figure 1 without its added lines", "their module, May 2012; limit 1000 packets"),
    Setting("Hard Limit CoDel", "max_delay 50 ms", "their module: a loop before the first look, no limit in packets"),
    Setting("FIFO", "50 ms long", "what the link sends in 50 ms"),
    Setting("starts", "", "at 0, as in the script"),
    Setting("mean delay", "", "of one sample a second, each the wait of the packet that was sent last"),
    Setting("duration", "", "100 s, nothing left out; 300 s where the rate changes"),
    Setting("replications", "one run per scheme", "one, which nothing varies; ten seeds with web traffic"),
)

ASSUMPTIONS = {
    "initial_window": Assumption("flows.0.initial_window", 4, (2, 10), "segments; 4 is the script's"),
    "sack": Assumption("flows.0.sack", False, (True,), "NewReno is stated, SACK is not"),
    "codel": Assumption(
        "link.aqm, reverse.aqm",
        "their module",
        ("as printed",),
        "what CoDel is: their ns-2 module, or the listing of figure 1, of which Hard Limit CoDel then is as printed",
        swaps={"as printed": {"codel@ns2-patch": "codel@acm2012", "codel@hardlimit-ns2": "codel@hardlimit"}},
    ),
    "starts": Assumption("flows.0.spread", "0 s", ("1 s", "10 s"), "time over which the flows start"),
    "left_out": Assumption("warmup", "0 s", ("10 s",), "what the statistics leave out at the start"),
}
