"""F. Gao, H. Qian, X. Yang: Hard Limit CoDel, an extension of the CoDel algorithm (2015).

What the paper leaves unsaid, and what we take. Its parameters are those of codel.tcl, the script of CoDel's ns-2 model,
so the rest is taken from there: delays in the ratio 20 : 10 : 20, access links ten times as fast as the bottleneck,
the client of the k-th FTP further away by a fiftieth of the round-trip time times k, packets of 1500 B, an initial
window of 4 segments, an acknowledgment per packet, the same queue in both directions, 300 s. Two things are ours. The
flows start uniformly within the first second, since otherwise every seed would give the same run; and the window has no
bound, where the script's is 16 bandwidth-delay products at 100 ms: docs/reproduction.md tells what that changes.

CoDel is that of ACM Queue 2012, because the listing of the paper's figure 1 without its added lines is. The FIFO queue
holds what the link sends in 50 ms. Delay is the sojourn time of the packets sent on the forward link, and throughput
what this link sends. The first 10 s are left out, except where the paper is about the maximum or about change.
"""

from sojourn.papers.gao2015.notes import ASSUMPTIONS, METHODS, REFERENCES, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "REFERENCES", "SETUP", "TITLE"]

TITLE = "Gao, Qian, Yang: Hard Limit CoDel"

FIGURES = {
    "fig3": "sojourn.papers.gao2015.fig3",
    "fig4-7": "sojourn.papers.gao2015.fig4_7",
    "fig8-11": "sojourn.papers.gao2015.fig8_11",
    "rtt": "sojourn.papers.gao2015.rtt",
    "reverse": "sojourn.papers.gao2015.reverse",
    "web": "sojourn.papers.gao2015.web",
    "fig12": "sojourn.papers.gao2015.fig12",
    "fig13": "sojourn.papers.gao2015.fig13",
}
