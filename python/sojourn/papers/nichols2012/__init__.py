"""K. Nichols, V. Jacobson: Controlling Queue Delay (ACM Queue, 2012), relations only.

Available are accounts of the study by others and the script that its authors published with it, codel.tcl, but not its
numbers. So no value is judged, but the statements on CoDel beside RED: at low rates similar delays, at high rates at
least RED's utilisation, and the fairer shares. That CoDel uses about 0.9 of the link or more is a claim of cs244-2015.

From codel.tcl: delays in the ratio 20 : 10 : 20, the client of the k-th FTP 2k ms further away, access links ten times
as fast as the bottleneck, TCP/Linux with CUBIC, packets of 1500 B, an initial window of 4 segments, an acknowledgment
per packet, a buffer of one bandwidth-delay product, the same queue in both directions, PackMime at 5 connections a
second, CBRs of 64 kbit/s in packets of 100 B, 300 s. Unstated, and our choices: rates of 3, 10, 45 and 100 Mbit/s, 4
FTPs (for the fairness 4, 16 and 64), 4 CBRs, starts spread over a second, a warm-up of 20 s. RED is that of ns-2 with
its automatic thresholds and weight, configured for packets of 1500 B; the script supports CoDel only.
"""

from sojourn.papers.nichols2012.nearest import NEAREST
from sojourn.papers.nichols2012.notes import ASSUMPTIONS, METHODS, REFERENCES, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SETUP", "TITLE"]

TITLE = "Nichols, Jacobson: Controlling Queue Delay"

FIGURES = {
    "bandwidth": "sojourn.papers.nichols2012.bandwidth",
    "fairness": "sojourn.papers.nichols2012.fairness",
}
