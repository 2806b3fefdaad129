"""Stated and unstated parts of the paper's set-up, our choices, and alternatives (`--assume`)."""

from __future__ import annotations

from sojourn.papers.setup import Assumption, Setting

REFERENCES = (
    "F. Schwarzkopf, S. Veith, M. Menth: Performance Analysis of CoDel and PIE for Saturated TCP Sources. "
    "28th International Teletraffic Congress (ITC 28), Würzburg, 2016.",
    "K. Nichols et al.: Controlled Delay Active Queue Management. draft-ietf-aqm-codel-00, 2014.",
    "R. Pan et al.: PIE: A Lightweight Control Scheme To Address the Bufferbloat Problem. draft-ietf-aqm-pie-00, 2014.",
)

METHODS = (
    "N saturated TCP NewReno flows with the TCP of Linux 2.6.29 share a link of 10 Mbit/s with a buffer of 250 kB; "
    "the base RTT is 10 ms, or 100 ms where said. The queue manager is CoDel [2], CoDel-ACT [1] or PIE [3] with the "
    "parameters of the original study. Queueing delay is the time from a packet's acceptance into the queue until its "
    "transmission starts; only transmitted packets count."
)

SETUP = (
    Setting(
        "simulator",
        "INET 2.4.0 on OMNeT++ 4.4.1 with the Linux 2.6.29 stack (Network Simulation Cradle)",
        "our simulator with its model of that stack",
    ),
    Setting(
        "topology",
        "clients at 1 Gbit/s and 0.1 ms one way, a router, 10 Mbit/s and 5 ms one way to the server",
        "data from the clients to the server; each client has an access link of its own",
    ),
    Setting("reverse path", "", "10 Mbit/s, tail drop at 250 kB, as on the forward path"),
    Setting("base RTT", "about 10 ms; 100 ms in a variant", "for 100 ms the bottleneck's one-way delay is 49.9 ms"),
    Setting(
        "framing",
        "a packet takes 1.2056 ms at 10 Mbit/s",
        "1,507 bytes on the wire: 1,500 of IP and 7 of framing; segments of 1,448 bytes",
    ),
    Setting("buffer", "250 KB, twice the bandwidth-delay product at 100 ms", "250,000 bytes on the wire, tail drop"),
    Setting(
        "flows", "1, 4, 16, 64 saturated TCP NewReno flows, started within the first second", "started uniformly in it"
    ),
    Setting("TCP options", "", "SACK, FACK, timestamps, delayed acknowledgments, initial window of 3 segments"),
    Setting("CoDel, CoDel-ACT", "target 5 ms, interval 100 ms", "the listing of draft-ietf-aqm-codel-00"),
    Setting(
        "PIE",
        "qdelay_ref 16 ms, t_update 16 ms; accu_prob starts again at each drop, p stays within 0 and 1",
        "draft-ietf-aqm-pie-00: alpha 0.125, beta 1.25; once switched on it stays on",
    ),
    Setting("ECN", "", "off"),
    Setting("data used", "only after 10 s", "figures over time show the first seconds too"),
    Setting(
        "run length",
        "100 s in figure 4; not stated for Table I, figures 2 and 3",
        "100 s; CoDel's numbers depend on it, because its count grows without bound",
    ),
    Setting(
        "replications",
        "20 runs in figure 3; single runs in figures 1, 4 and 6",
        "20 seeds, 10 for figures 4 to 6; what a single run shows is seed 1",
    ),
    Setting("values swept", "", "10 thresholds of 1 to 30 ms, 8 intervals of 12.5 to 200 ms, t_update of 2 to 150 ms"),
)

SEARCHED = ("timescales",)
"""Figures used by `--search`: most of the failing claims are about them."""
WITHOUT_STATED_LENGTH = ("fig2", "table1", "fig3", "timescales")

ASSUMPTIONS = {
    "delayed_ack": Assumption("flows.0.delayed_ack", True, (False,), "receivers delay acknowledgments"),
    "sack": Assumption("flows.0.sack", True, (False,), "SACK and FACK are on, as in a stock Linux 2.6.29"),
    "initial_window": Assumption("flows.0.initial_window", 3, (2, 10), "segments; 3 is that of the stack"),
    "cc": Assumption("flows.0.cc", "newreno", ("reno", "cubic"), "NewReno is stated; CUBIC was run too", stated=True),
    "run_length": Assumption(
        "duration",
        "100 s",
        ("50 s", "200 s", "500 s"),
        "where neither text nor axis gives one",
        WITHOUT_STATED_LENGTH,
    ),
    "buffer": Assumption("link.limit", "250 kB", ("250 KiB",), "whether a KB is 1,000 or 1,024 bytes"),
    "accounting": Assumption("link.account", "adjusted", ("ip",), "whether the queue counts the framing"),
    "pie_growth": Assumption(
        "link.aqm",
        "at most 0.02",
        ("any",),
        "what p grows by in an update where it is 0.1 or more",
        swaps={"any": {"pie@draft00": "pie@draft00 cap 1"}},
    ),
    "pie_damping": Assumption(
        "link.aqm",
        "seven levels",
        ("three levels",),
        "by how much small values of p move less: as RFC 8033 has it, or as the publication of 2013",
        swaps={"three levels": {"pie@draft00": "pie@draft00 scaling three-levels"}},
    ),
    "way_back": Assumption("reverse.rate", "10 Mbit/s", ("1 Gbit/s",), "rate of the link that acknowledgments take"),
}
