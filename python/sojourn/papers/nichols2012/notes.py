"""Set-up stated by the script and by accounts of the study, our choices, and alternatives (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10(5), 2012.",
    "G. Hill, C. Shah: CS244 '15: CoDel – Controlling Delay in Queues. Stanford University, 2015.",
)

METHODS = (
    "Four FTPs with CUBIC, alone, with web traffic (PackMime, 5 connections per second) and with four CBRs as well, "
    "cross a dumbbell with a round-trip time of about 100 ms and a buffer of one bandwidth-delay product, as in the "
    "script that [1] published. The queue manager is CoDel as printed in [1], or ns-2's RED with automatic thresholds. "
    "What [1] found is taken from [2]."
)

SETUP = (
    Setting("simulator", "ns-2", "our simulator with its model of ns-2's TCP"),
    Setting("topology", "a dumbbell: 20 ms, 10 ms, 20 ms", "the client of the k-th FTP is 2k ms further away"),
    Setting("access links", "ten times as fast as the bottleneck"),
    Setting("rates", "", "3, 10, 45 and 100 Mbit/s"),
    Setting("buffer", "one bandwidth-delay product at 100 ms", "in both directions, with the same queue manager"),
    Setting("FTP", "TCP/Linux with CUBIC, initial window 4, an acknowledgment per packet, no end", "4; 4, 16 and 64"),
    Setting("web", "PackMime, HTTP/1.1", "5 connections per second, as in the run with changing rates"),
    Setting("CBR", "64 kbit/s in packets of 100 bytes", "4"),
    Setting("CoDel", "target 5 ms, interval 100 ms", "the listing of 2012"),
    Setting("RED", "", "ns-2's, thresholds and weight automatic, mean packet size 1500 bytes"),
    Setting("duration", "300 s", "the first 20 s left out"),
    Setting("starts", "at once", "uniform within the first second; else every seed gives the same run"),
    Setting("figures", "not at hand", "relations only"),
)

ASSUMPTIONS = {
    "sack": Assumption("flows.0.sack", True, (False,), "TCP/Linux has SACK"),
    "cc": Assumption("flows.0.cc", "cubic", ("newreno",), "congestion control of the FTPs"),
    "buffer": Assumption("link.limit", "100 ms", ("1000 packets",), "the script has a bandwidth-delay product"),
    "run_length": Assumption("duration", "300 s", ("100 s",), "length of the runs"),
}
