"""Of each claim that fails: what came nearest, and what would have to be known. The report and the page tell it."""

from __future__ import annotations

NEAREST = {
    "S2-F2-b": "true but at 10 Mbit/s (90.4 %, CoDel 95.0, DropTail 100). Open: the tool's version and windows",
    "S2-F3-b": (
        "true of CoDel and CoDel-DT but CoDel at 1 Mbit/s (31 of 80 packets), of sfqCoDel from 5 Mbit/s on. Open: "
        "how much of the mix does not react"
    ),
    "S2-F4": (
        "within 5 % at 1 and 2 Mbit/s; at 5 DropTail loses 0.6 %, the others 6 to 8. Open: the buffer, or the windows"
    ),
    "S2-F5-a": (
        "true from 20 FTPs on; with 7 and 10 CoDel-DT has 85 and 87 %, the others 91 to 95. Open: CoDel-DT's code"
    ),
    "S2-F5-b": (
        "with few FTPs only (3: 78.6 %, the others 88 to 90). Open: nothing known of the tool lowers DropTail with many"
    ),
    "S2-F6": (
        "CoDel 19 to 41 packets from 5 to 100 FTPs; a single window of 20 leaves one waiting in any queue. Open: "
        "the windows"
    ),
    "S2-F7": (
        "true of the CoDel family; of DropTail too with unlimited windows, which refute S2-F2-a. Open: the windows"
    ),
    "S2-C": "best or tied in 82 % by utilisation, 45 % by queue, 39 % by drop rate. Open: the tool's mix",
}
