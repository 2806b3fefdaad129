"""Stated and unstated parts of the paper's set-up, our choices, and alternatives (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "Performance evaluation of CoDel, sfqCoDel and CoDel-DT in ns-2 (the third document of this collection).",
    "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10(5), 2012.",
    "G. Wang, Y. Xia, D. Harrison: An NS2 TCP Evaluation Tool. draft-irtf-tmrg-ns2-tcp-tool-00, 2007.",
)

METHODS = (
    "The mix of the TCP evaluation tool for ns-2 [3], FTP, web, voice and streaming in both directions, crosses a "
    "dumbbell with a base round-trip time of 80 ms and a buffer of eight bandwidth-delay products. The queue manager "
    "is tail drop, CoDel [2], sfqCoDel or CoDel-DT. Utilisation, mean queue length and drop rate are of the forward "
    "link after the first 20 s."
)

SETUP = (
    Setting("simulator", "ns-2", "our simulator with its model of ns-2's TCP"),
    Setting("bottleneck", "10 Mb/s, 32 ms", "32 ms is one way: 0.4 of the tool's round-trip time of 80 ms"),
    Setting("access links", "20 Mb/s, 4 ms", "twice the bottleneck's rate, as in the tool"),
    Setting("buffer", "8 bandwidth-delay products", "800 packets of 1000 bytes at 10 Mbit/s; at least two per FTP"),
    Setting("queues", "", "the same in both directions"),
    Setting(
        "TCP",
        "Reno",
        "ns-2's defaults, which the tool leaves: packets of 1000 + 40 bytes, windows of 20",
    ),
    Setting(
        "traffic",
        "5 FTPs and 5 streams each way, 5 voice flows, 5 HTTP flows",
        "5 web connections per second; responses in reverse",
    ),
    Setting("AQM", "target 5 ms, interval 100 ms", "CoDel as in ns-2.36; CoDel-DT with a target of 5 ms"),
    Setting("duration", "", "100 s, the first 20 s left out"),
    Setting("figures", "described in words", "no number is printed; relations only"),
)

ASSUMPTIONS = {
    "window": Assumption("flows.0.receive_window", "20 kB", ("1 GB",), "20 packets is ns-2's default window"),
    "sack": Assumption("flows.0.sack", False, (True,), "Reno is stated"),
    "web": Assumption("flows.2.connections_per_second", 5, (15,), "15 is the tool's default"),
    "run_length": Assumption("duration", "100 s", ("300 s",), "length of the runs"),
}
