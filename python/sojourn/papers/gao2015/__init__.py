"""F. Gao, H. Qian, X. Yang: Hard Limit CoDel, an extension of the CoDel algorithm (2015).

The set-up is that of the authors' ns-2 script and module, published together with every run; the paper itself leaves
most of it unstated, and its listing of CoDel is not the one that they ran. All FTPs start at 0 with equal round-trip
times; packets have 1500 B, the initial window is 4 segments, the window 16 bandwidth-delay products at 100 ms; every
segment is acknowledged; both directions have the same queue; a run lasts 100 s without warm-up. CoDel is the first
module for ns-2 (May 2012); Hard Limit CoDel adds a loop before its first check, and has no limit in packets. The FIFO
queue holds what the link sends in 50 ms. Delay is the sojourn time of the packets sent on the forward link, its mean
that of one sample a second, and throughput the rate of this link.

With FTPs only nothing varies with the seed: a cell is one run. `grid`, `traffic` and `random` compare the published
runs one by one.
"""

from sojourn.papers.gao2015.nearest import NEAREST
from sojourn.papers.gao2015.notes import ASSUMPTIONS, METHODS, REFERENCES, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SETUP", "TITLE"]

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
    "grid": "sojourn.papers.gao2015.grid",
    "traffic": "sojourn.papers.gao2015.traffic",
    "random": "sojourn.papers.gao2015.random_points",
}
