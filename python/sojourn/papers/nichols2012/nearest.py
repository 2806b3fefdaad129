"""For each claim that fails: the nearest result, and the missing information; shown by report and page."""

from __future__ import annotations

NEAREST = {
    "S5-DELAY": (
        "CoDel 10, 13, 23 ms, RED 31 to 34; similar (11, 10, 10) if RED takes packets to have 500 bytes. Open: "
        "RED's parameters"
    ),
    "S5-JAIN": (
        "RED's is higher by up to 0.010 with 4 and 16 FTPs, CoDel's with 64 at 10 and 45 Mbit/s. Open: rates and "
        "loads of the comparison"
    ),
}
