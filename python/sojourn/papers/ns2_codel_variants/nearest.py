"""Of each claim that fails: what came nearest, and what would have to be known. The report and the page tell it."""

from __future__ import annotations

NEAREST = {
    "S2-F5-a": (
        "within five points from 30 FTPs on; with 7 and 10 CoDel-DT has 83 and 85 %, the others 91 to 95. Open: "
        "CoDel-DT's code"
    ),
    "S2-F5-b": (
        "with up to 3 FTPs only (74 %, the others 87 to 92). Open: nothing known of the tool lowers DropTail with many"
    ),
    "S2-F6": (
        "CoDel 21 to 40 packets from 5 to 100 FTPs, the first sfqCoDel 7 to 126, ours 217; one window of 20 "
        "leaves less than a packet in any queue. Open: the windows"
    ),
    "S2-F7": (
        "true of the CoDel family (3 FTPs: none, 7: 0.6 to 1.8 %); of DropTail too with unlimited windows, which "
        "refute S2-F2-a. Open: the windows"
    ),
    "S2-C": (
        "best or tied in 82 % of the points by utilisation, 42 % by queue, 48 % by drop rate. Open: the tool's mix"
    ),
}
