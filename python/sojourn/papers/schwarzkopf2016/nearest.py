"""For each claim that fails: the nearest result, and the missing information; shown by report and page."""

from __future__ import annotations

NEAREST = {
    "S0-T1-rel3": (
        "true of the means; 100 % of runs without delayed ACKs or SACK, which other claims refute. Open: run "
        "length, and the spread of the printed quantiles"
    ),
    "S0-T1-rel4": (
        "true of the means; holds in all runs that last 50 s, where two of CoDel's values turn loose. Open: the "
        "run length"
    ),
    "S0-T1-rel5": (
        "true of the means; holds with runs of 200 s or with 2 or 10 segments at the start. Open: run length, "
        "initial window"
    ),
    "S0-F1-d": (
        "true of the means (peaks of 63, 73, 134, 195 ms); no assumption changes it. Open: how far apart the "
        "flows start"
    ),
    "S0-F3a-1": (
        "true above 2.5 ms; from 1 to 2.5 ms CoDel-ACT falls from 3.5 to 3.4 ms with 4 flows. Open: the "
        "thresholds of the figure"
    ),
    "S0-F4-ACT-bound": (
        "0.7 % with 16 and 64 flows, 3.4 % with 4; holds without delayed ACKs, which other claims refute. Open: "
        "how the trend was read"
    ),
    "S0-F5-PIE-64": (
        "three quarters of the rate after 1.5 s; no assumption decides it. Open: what the paper calls stationary"
    ),
    "S0-F6-ACT-64-nodrop": (
        "4.1 to 4.6 ms with every assumption; interval over the root of count, rounded up to packets. Open: "
        "whether the value was measured"
    ),
    "S0-F6-zero": (
        "0.1 % of the packets with 16 flows, 6 % with one; mean and 99 % quantile agree. Open: why their single "
        "flow never empties the queue"
    ),
    "S0-F6-5s": "16 flows: no packet without delay in half of the seeds, 0.1 % in the others. As S0-F6-zero",
    "S0-F6-500s": (
        "4.1 ms for 4.3 after a drop phase, packets without delay rarer as published. Open: which phases the text "
        "speaks of"
    ),
    "S0-TS-1": "R² above 0.96 everywhere but CoDel-ACT with 64 flows (0.8997). Open: the intervals of the sweep",
    "S0-TS-4": (
        "15.8 to 16.8 ms and 100 % for every load; 12 options of the profile, one at a time, give 15.2 to 17.5. "
        "Open: which draft's program ran"
    ),
    "S0-TS-8": (
        "true at 100 and 200 ms but for the third digit; our single flow has 98.4 % at 25 ms. Open: the run length"
    ),
    "S0-TS-9": (
        "true up to 150 ms; at 200 ms a single flow has 100.00 %, the others 99.97. Open: the precision of the figure"
    ),
    "S0-TS-12": (
        "17.2 ms at 150 ms with 16 flows without the cap on the growth of p, 15.8 with a single flow and the "
        "damping of 2013. Open: which draft's program ran"
    ),
}
