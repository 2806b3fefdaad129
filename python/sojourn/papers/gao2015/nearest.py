"""Of each claim that fails: what came nearest, and what would have to be known. The report and the page tell it."""

from __future__ import annotations

NEAREST = {
    "S1-WEB": (
        "true of three in ten seeds. Open: their runs without web traffic at this round-trip time, which they did "
        "not publish"
    ),
}
