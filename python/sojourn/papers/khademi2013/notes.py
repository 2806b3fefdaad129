"""Stated and unstated parts of the paper's set-up, our choices, and alternatives (`--assume`)."""

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

WIRED = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7-8", "fig11", "fig12", "fig13", "fig14", "table5")
WLAN = ("fig9", "fig10")
WITH_PIE = ("fig2", "fig3", "fig4", "fig6", "fig7-8", "fig13", "fig14", "table5")
WITH_ARED = ("fig2", "fig3", "fig4", "fig7-8", "fig13", "fig14", "table5")
SEARCHED = WIRED
"""Figures used by `--search`: those of the WLAN have a set-up of their own."""

METHODS = (
    "TCP flows with the TCP of Linux 3.8 (reno, ABC, SACK) share a 10 Mbit/s Ethernet link for 60 s; the base RTT is "
    "100 ms unless said otherwise. The queue manager is CoDel [2] or FQ-CoDel as in Linux 3.10, PIE [3] as in Cisco's "
    "code of 2013, or Linux's Adaptive RED [4], with a target delay of 5 ms unless said otherwise and a limit of 1000 "
    "packets. Queueing delay is the time from a packet's acceptance into the queue until it leaves for the driver; "
    "goodput is the IP throughput of the bottleneck in intervals of 5 s. "
    "Figures 9 and 10: the queue manager sits in an access point of 802.11g (DCF, Minstrel) with four stations, for "
    "180 s; RTTs are those of single segments, from where a capture sees them leave for the driver to the first "
    "acknowledgment that covers them."
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
    Setting(
        "WLAN",
        "802.11g, AR5001X+ (ath5k), Minstrel, AP and stations close by, free channel",
        "no errors but collisions",
    ),
    Setting("WLAN, driver", "", "a ring of 50 frames, asked for more when fewer than 25 are left, as in ath5k"),
    Setting("WLAN, rates", "", "the eight of 802.11g"),
    Setting("WLAN, ARED", "target from 27 Mb/s", "thresholds of 8,437 and 25,312 bytes"),
    Setting("WLAN, TCP buffers", "large enough for C RTT", "27 Mb/s times 100 ms: windows of at most 225 segments"),
    Setting("WLAN, TCP small queues", "", "at most 57 packets of an upload below TCP, as in Linux 3.8"),
    Setting("WLAN, access point", "hostapd", "its defaults for best effort: AIFS of 3 slots, CWmax 63; short slots"),
    Setting(
        "WLAN, RTT",
        "per packet, by SPP from tcpdump on all interfaces",
        "from the host's queue, where tcpdump sees a segment leave, to the first acknowledgment that covers it",
    ),
    Setting("replications", "10 repetitions", "10 seeds; quantiles are those of single runs, averaged"),
)

ASSUMPTIONS = {
    "delayed_ack": Assumption("flows.0.delayed_ack", True, (False,), "receivers delay acknowledgments", WIRED),
    "sack": Assumption("flows.0.sack", True, (False,), "SACK is stated to be on", WIRED, stated=True),
    "cc": Assumption("flows.0.cc", "reno", ("newreno", "cubic"), "Linux's reno with SACK", WIRED, stated=True),
    "stack": Assumption(
        "flows.0.stack", "linux-3.8", ("linux-2.6.29", "linux-3.13", "linux-6.1"), "Linux 3.8.2", WIRED, stated=True
    ),
    "abc": Assumption("flows.0.abc", 1, (2,), "ABC is stated to be on; segments that an ACK is worth at most", WIRED),
    "accounting": Assumption("link.account", "ip", ("adjusted",), "what the queue counts of a packet", WIRED),
    "below": Assumption(
        "link.below",
        "1514 B",
        ("1 packet", "4 packets", "4 packets bql", "bql", "32 kB"),
        "what waits in the driver below the queue; 1514 B are set, but bound only a driver that has byte queue limits, "
        "and the 8139 has four descriptors",
        WIRED,
    ),
    "tick": Assumption(
        "link.tick",
        None,
        ("1 ms", "4 ms", "10 ms"),
        "the delay node's clock (dummynet's 1/HZ) towards receivers",
        WIRED,
    ),
    "tick_back": Assumption("reverse.tick", None, ("1 ms", "4 ms", "10 ms"), "the same for the acknowledgments", WIRED),
    "gso": Assumption(
        "flows.0.gso", False, (True,), "TSO is stated to be off; whether senders segment in software (GSO)", WIRED
    ),
    "gro": Assumption(
        "link.gro", None, ("250 us", "1 ms"), "how long the router's card collects what GRO joins", WIRED
    ),
    "pie": Assumption(
        "link.aqm",
        "as described",
        ("in ticks",),
        "Cisco's module as it is described, or in its integers and ticks of 64 ns",
        WITH_PIE,
        swaps={"in ticks": {"pie@cisco2013": "pie@cisco2013-ticks"}},
    ),
    "ared_avpkt": Assumption(
        "link.aqm",
        "1000 B",
        ("1500 B",),
        "ARED's avpkt",
        WITH_ARED,
        swaps={"1500 B": {"ared@linux": "ared@linux avpkt 1500B"}},
    ),
    "ared_probability": Assumption(
        "link.aqm",
        "0.02",
        ("0.1",),
        "ARED's first probability: tc's default, or Floyd's",
        WITH_ARED,
        swaps={"0.1": {"ared@linux": "ared@linux probability 0.1"}},
    ),
    "htb": Assumption(
        "link.aqm",
        "none",
        ("10 Mbit/s",),
        "HTB above the queue is stated, not its rate: one that binds, or one that the link's Ethernet undercuts",
        WIRED,
        swaps={"10 Mbit/s": {"*": "htb default 1 { class 1 rate 10Mbit/s overhead 14 { * } }"}},
    ),
    "spread": Assumption("flows.0.spread", "1 s", ("100 ms", "5 s"), "time over which the flows start", WIRED),
    "ring": Assumption(
        "link.below",
        "50 packets wake 24 packets",
        ("5 packets", "50 packets", "200 packets wake 99 packets"),
        "the access point's ring below the queue",
        WLAN,
    ),
    "tsq": Assumption(
        "wlan.tsq", 57, (0,), "packets of an upload below TCP in its station (TCP small queues); 0: any", WLAN
    ),
    "window": Assumption(
        "flows.0.receive_window",
        "325800 B",
        ("651600 B", "1 GB"),
        "largest window of the flows that are measured",
        WLAN,
    ),
    "rates": Assumption("wlan.rates", "ofdm", ("bg",), "whether Minstrel tries the rates of 802.11b as well", WLAN),
    "slot": Assumption("wlan.slot", "short", ("long",), "slots of 9 or of 20 us", WLAN),
    "ap_aifs": Assumption("wlan.ap_aifs", 3, (2,), "slots in the access point's AIFS: hostapd's, or DCF's", WLAN),
    "ap_cwmax": Assumption("wlan.ap_cwmax", 63, (1023,), "the access point's largest window, likewise", WLAN),
    "eifs": Assumption("wlan.eifs", "listeners", ("none",), "who waits for an EIFS after a collision", WLAN),
}
