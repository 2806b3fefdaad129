"""Stated and unstated parts of the report's set-up, our choices, and alternatives (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "G. Hill, C. Shah: CS244 '15: CoDel – Controlling Delay in Queues. Stanford University, 2015.",
    "K. Nichols, V. Jacobson: Controlling Queue Delay. ACM Queue 10(5), 2012.",
)

METHODS = (
    "Four long downloads and a page of 800 kB every 0.2 s, with CUBIC as in Linux 3.13, share a link whose rate "
    "changes between 100, 10, 1, 50, 1 and 100 Mbit/s every 50 s; the round-trip time is 100 ms. The queue manager is "
    "CoDel [2] or tail drop at 830 packets. The original [1] ran real programs behind an emulated link."
)

SETUP = (
    Setting(
        "tool",
        "mahimahi with real servers and clients",
        "our emulator, or our simulator, which judges none of its claims",
    ),
    Setting("link", "100, 10, 1, 50, 1, 100 Mb/s, 50 s each, as delivery opportunities", "the same, exact to a packet"),
    Setting("reverse path", "12 Mb/s", "tail drop, 1000 packets; it never fills"),
    Setting("round-trip time", "about 100 ms", "50 ms each way"),
    Setting("load", "4 FTP downloads, a page of about 800 kB every 0.2 s", "downloads without end; 800,000 bytes"),
    Setting("TCP", "Ubuntu 14.04", "our model of Linux 3.13 with CUBIC"),
    Setting("tail drop", "830 packets"),
    Setting("CoDel", "the Internet draft of April 2015, target 5 ms, interval 100 ms", "no limit, as in mahimahi"),
    Setting("starts", "", "uniform within the first second"),
)

ASSUMPTIONS = {
    "change": Assumption("link.change", "opportunity", ("fluid", "latch"), "what a step does to a packet", ("paper",)),
    "cc": Assumption("flows.0.cc", "cubic", ("reno",), "the downloads' congestion control", ("paper",)),
    "page": Assumption("flows.1.size", "800 kB", ("750 kB", "850 kB"), "around 800 kB", ("paper",)),
    "trace": Assumption(
        "link.trace",
        "verizon-like.down",
        (),
        "a recorded trace X.down, with X.up for the reverse path",
        ("4g",),
        is_file=True,
    ),
    "way_back": Assumption("reverse.rate", "12 Mbit/s", ("100 Mbit/s",), "rate of the reverse path", ("paper",)),
}
