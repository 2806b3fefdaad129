"""N. Khademi, D. Ros, M. Welzl: The new AQM kids on the block: much ado about nothing? (2013).

Unstated, and our choices: base RTTs are halved between the two directions; the flows start uniformly within the first
second; there is no warm-up; targets are 1, 5, 10, 20 and 30 ms. Its goodputs reach 9.73 Mb/s, more payload than 10 Mb/s
Ethernet carries (9.41) and less than it carries of IP (9.75): they are taken as IP throughput. ARED's thresholds are
half and one and a half of the target's bytes, its `burst` is tc's for them (avpkt 1000). PIE marks all packets that it
would have dropped, as section 7 says of all AQMs; Linux's later limit of 10 % is a variant in table 5. Quantiles are
those of single runs, averaged over the runs, and so are the boxes drawn.

Unstated parts of the WLAN are listed in `notes.py`; its RTTs are those of captures, which see a segment when it leaves
its host's queue for the driver. RTTs from TCP on are drawn beside them.
"""

from sojourn.papers.khademi2013.kernel import on_kernel
from sojourn.papers.khademi2013.nearest import NEAREST
from sojourn.papers.khademi2013.notes import ASSUMPTIONS, METHODS, REFERENCES, SEARCHED, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SEARCHED", "SETUP", "TITLE", "on_kernel"]

TITLE = "Khademi, Ros, Welzl: The new AQM kids on the block: much ado about nothing?"

FIGURES = {
    "fig2": "sojourn.papers.khademi2013.fig2",
    "fig3": "sojourn.papers.khademi2013.fig3",
    "fig4": "sojourn.papers.khademi2013.fig4",
    "fig5": "sojourn.papers.khademi2013.fig5",
    "fig6": "sojourn.papers.khademi2013.fig6",
    "fig7-8": "sojourn.papers.khademi2013.fig78",
    "fig9": "sojourn.papers.khademi2013.fig9",
    "fig10": "sojourn.papers.khademi2013.fig10",
    "fig11": "sojourn.papers.khademi2013.fig11",
    "fig12": "sojourn.papers.khademi2013.fig12",
    "fig13": "sojourn.papers.khademi2013.fig13",
    "fig14": "sojourn.papers.khademi2013.fig14",
    "table5": "sojourn.papers.khademi2013.table5",
    "overall": "sojourn.papers.khademi2013.overall",
}
