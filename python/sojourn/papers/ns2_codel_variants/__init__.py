"""CoDel, sfqCoDel and CoDel-DT against DropTail in ns-2: the tcpeval mix over bandwidths and numbers of FTPs.

The paper describes its figures in words and prints no table. Its numbers are the defaults of the TCP evaluation tool
for ns-2, so its "RTT" of 32 ms is the one-way delay of the bottleneck, and the base RTT is 80 ms. Unstated, and our
choices: access links of twice the bottleneck's rate and a buffer of 8 times the bandwidth-delay product (of packets of
1000 B, at least two per FTP), as in the tool; the same queue in both directions; five web connections per second; a
window of 20 packets (ns-2's default); 100 s with a warm-up of 20 s; CoDel as in ns-2.36, and CoDel-DT with a target of
5 ms (the published class subtracts 6 ms). Everything is about the forward link.
"""

from sojourn.papers.ns2_codel_variants.notes import ASSUMPTIONS, METHODS, REFERENCES, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SETUP", "TITLE"]

TITLE = "CoDel, sfqCoDel and CoDel-DT against DropTail in ns-2"

NEAREST: dict[str, str] = {}

FIGURES = {
    "fig2": "sojourn.papers.ns2_codel_variants.fig2",
    "fig3": "sojourn.papers.ns2_codel_variants.fig3",
    "fig4": "sojourn.papers.ns2_codel_variants.fig4",
    "fig5": "sojourn.papers.ns2_codel_variants.fig5",
    "fig6": "sojourn.papers.ns2_codel_variants.fig6",
    "fig7": "sojourn.papers.ns2_codel_variants.fig7",
    "conclusion": "sojourn.papers.ns2_codel_variants.conclusion",
}
