"""G. Hill, C. Shah: CoDel – Controlling Delay in Queues (Stanford CS244, 2015).

They ran real programs behind mahimahi's emulated link. Claims about these runs are for an emulator to judge; the
simulation of the same set-up is drawn and told beside them. It judges what can be computed from the set-up, and the
background: what they report of the simulations of Nichols and Jacobson (ACM Queue 2012).

What is left unsaid, and what we take: CoDel's limit (none, as in mahimahi), the reverse queue (tail drop, 1000
packets; it never fills), the start of the four downloads (uniformly within the first second), their size (they never
end), the length of the run over the trace (300 s). The CoDel of the Internet draft of April 2015 is `codel@draft00`
here. Pages pile up while the link has less than their 32 Mbit/s. The trace of Verizon's network is not ours to ship:
`lte.toml` has a synthetic one.
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
