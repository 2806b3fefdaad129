"""G. Hill, C. Shah: CoDel – Controlling Delay in Queues (Stanford CS244, 2015).

They ran real programs behind mahimahi's emulated link, so claims about these runs are judged by emulation; the
simulation of the same set-up is drawn and reported beside it. The simulation judges claims that follow from the set-up,
and the background: the report's account of the simulations of Nichols and Jacobson (ACM Queue 2012).

Unstated, and our choices: CoDel's limit (none, as in mahimahi), the reverse queue (tail drop, 1000 packets; it never
fills), the start of the four downloads (uniformly within the first second), their size (infinite), the length of the
run over the trace (300 s). The CoDel of the Internet draft of April 2015 is `codel@draft00` here. Pages pile up while
the link has less than their 32 Mbit/s. The Verizon trace may not be redistributed: `lte.toml` uses a synthetic one.
"""

from sojourn.papers.cs244_2015.notes import ASSUMPTIONS, METHODS, REFERENCES, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SETUP", "TITLE"]

TITLE = "Hill, Shah: CoDel – Controlling Delay in Queues (CS244 2015)"

NEAREST: dict[str, str] = {}

FIGURES = {
    "paper": "sojourn.papers.cs244_2015.steps",
    "4g": "sojourn.papers.cs244_2015.lte",
    "background": "sojourn.papers.cs244_2015.background",
}
