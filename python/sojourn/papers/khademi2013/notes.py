"""What the paper states and leaves unsaid, what we take, and what else can be assumed (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "N. Khademi, D. Ros, M. Welzl: The New AQM Kids on the Block: Much Ado About Nothing? "
    "University of Oslo, Department of Informatics, research report 434, 2013.",
    "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10(5), 2012.",
    "R. Pan et al.: PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem. IEEE HPSR, 2013.",
    "S. Floyd, R. Gummadi, S. Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue "
    "Management. ICSI, 2001.",
)

METHODS = (
    "TCP flows with the TCP of Linux 3.8 (reno, ABC, SACK) share a 10 Mbit/s Ethernet link for 60 s; the base RTT is "
    "100 ms unless said otherwise. The queue manager is CoDel [2] or FQ-CoDel as in Linux 3.10, PIE [3] as in Cisco's "
    "code of 2013, or Linux's Adaptive RED [4], with a target delay of 5 ms unless said otherwise and a limit of 1000 "
    "packets. Queueing delay is the time from a packet's acceptance into the queue until it leaves for the driver; "
    "goodput is the IP throughput of the bottleneck in intervals of 5 s."
)

SETUP = (
    Setting("testbed", "Linux 3.8.2 hosts, a router with Linux 3.10.4, a dummynet router", "our simulator"),
    Setting("topology", "4 senders, the AQM router, 10 Mb/s Ethernet, dummynet, 4 receivers", "100 Mbit/s per sender"),
    Setting("base RTT", "100 ms; 5, 100 and 500 ms in figures 7 and 8", "half in each direction"),
    Setting("framing", "Ethernet", "38 bytes per packet on the wire; the queue counts bytes of IP"),
    Setting("below the queue", "HTB", "one packet in the driver, as byte queue limits leave it"),
    Setting("TCP", "reno, SACK, D-SACK, ABC, TSO off, large buffers", "our model of Linux 3.8, without window limits"),
    Setting("traffic", "iperf for 60 s, 300 s where the RTT is 500 ms", "starts uniform within the first second"),
    Setting("loads", "4, 16 and 64 flows; 32 as well in table 5"),
    Setting("targets", "1 to 30 ms, by default 5 ms", "1, 5, 10, 20 and 30 ms"),
    Setting("CoDel, FQ-CoDel", "Linux 3.10.4, interval 100 ms", "1024 flows, quantum 1514 bytes"),
    Setting("PIE", "Cisco's Linux code of 2013, t_update 30 ms", "it marks whatever it would have dropped"),
    Setting(
        "ARED",
        "Linux's, thresholds of 0.5 and 1.5 of the target queue; 1 and 2 MTU for 1 ms",
        "avpkt 1000, burst by tc's rule",
    ),
    Setting(
        "goodput", "at the bottleneck, per 5 s", "bytes of IP: the printed 9.73 Mb/s exceed what payload can reach"
    ),
    Setting("queueing delay", "per-packet RTT less the base RTT", "sojourn time in the bottleneck's queue"),
    Setting("replications", "10 repetitions", "10 seeds; quantiles are those of single runs, averaged"),
)

ASSUMPTIONS = {
    "delayed_ack": Assumption("flows.0.delayed_ack", True, (False,), "receivers delay acknowledgments"),
    "sack": Assumption("flows.0.sack", True, (False,), "SACK is stated to be on"),
    "cc": Assumption("flows.0.cc", "reno", ("newreno", "cubic"), "Linux's reno with SACK"),
    "stack": Assumption("flows.0.stack", "linux-3.8", ("linux-2.6.29", "linux-3.13", "linux-6.1"), "Linux 3.8.2"),
    "accounting": Assumption("link.account", "ip", ("adjusted",), "what the queue counts of a packet"),
    "below": Assumption("link.below", "1514 B", ("1 packet", "32 kB"), "what waits in the driver below the queue"),
    "spread": Assumption("flows.0.spread", "1 s", ("100 ms", "5 s"), "time over which the flows start"),
}
