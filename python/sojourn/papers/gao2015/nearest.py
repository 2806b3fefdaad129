"""For each claim that fails: the nearest result, and the missing information; shown by report and page."""

from __future__ import annotations

NEAREST = {
    "S1-F13-loss": (
        "0.2 ± 0.7 % of the bytes for 2.6; 1.8 ± 1.7 with the listing as printed, 2.6 ± 2.6 with flows that start "
        "within 1 s. Open: when their flows start"
    ),
    "S1-WEB": (
        "true of three in ten seeds. Open: their runs without web traffic at this round-trip time, which they did "
        "not publish"
    ),
}
