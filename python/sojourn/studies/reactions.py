"""Reactions of a congestion control on a path with a bandwidth-delay product of tail drop.

One flow at 20 Mbit/s with a round trip of 40 ms; the queue holds one bandwidth-delay product, 67 packets. The numbers
are reported, not judged: RFC 9743 asks for them, and answers differ by design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

RATE, RTT_S, AT_S, DURATION_S = 20e6, 0.04, 10.0, 20.0
BLACKOUT_S = 2.0
SEED = 1


@dataclass(frozen=True)
class Reaction:
    """A disturbance, and the number that describes the reaction."""

    name: str
    meaning: str
    unit: str
    sets: dict[str, Any]
    measure: Callable[[Result], float]
    ecn: bool = False


def react(control: object) -> dict[str, float]:
    """Measure every reaction of a congestion control, given as in scenarios; by the names in `REACTIONS`."""
    scenarios = [_scenario(control, reaction) for reaction in REACTIONS]
    results = {scenario: scenario.run(SEED) for scenario in dict.fromkeys(scenarios)}
    return {
        reaction.name: reaction.measure(results[scenario])
        for reaction, scenario in zip(REACTIONS, scenarios, strict=True)
    }


def spelled_reaction(reaction: Reaction, value: float) -> str:
    """Number of a reaction as text, without its unit."""
    return "never" if value == float("inf") else f"{value:.{1 if reaction.unit == 's' else 0}f}"


def _scenario(control: object, reaction: Reaction) -> Scenario:
    document = {
        "duration": f"{DURATION_S} s",
        "warmup": "3 s",
        "link": {"rate": "20 Mbit/s", "aqm": "droptail", "limit": "67 packets", **reaction.sets.get("link", {})},
        "flows": [{"kind": "tcp", "cc": control, "rtt": f"{1e3 * RTT_S:g} ms", "ecn": reaction.ecn}],
        "probes": {"flows": f"{1e3 * RTT_S:g} ms"},
    }
    if changes := reaction.sets.get("changes"):
        document["changes"] = changes
    return Scenario.build(document)


def _samples(result: Result, start_s: float, end_s: float) -> pl.DataFrame:
    seconds = pl.col("time_ns") / 1e9
    return result.table("flows").filter((seconds > start_s) & (seconds <= end_s))


def _mean(result: Result, column: str, start_s: float, end_s: float) -> float:
    return float(_samples(result, start_s, end_s)[column].mean())  # type: ignore[arg-type]


def _window_kept(result: Result) -> float:
    """Mean window 10 to 20 round trips after the change, relative to the five seconds before it, in per cent."""
    after = _mean(result, "cwnd", AT_S + 10 * RTT_S, AT_S + 20 * RTT_S)
    return 100 * after / _mean(result, "cwnd", AT_S - 5, AT_S)


def _time_to_recover(result: Result) -> float:
    """Time from the end of the blackout until half the link's rate is reached, in seconds; infinite if never."""
    end_s = AT_S + BLACKOUT_S
    after = _samples(result, end_s, DURATION_S).filter(pl.col("delivered_bps") >= RATE / 2)
    return float("inf") if after.is_empty() else float(after["time_ns"][0]) / 1e9 - end_s


def _blackout_window(result: Result) -> float:
    """Mean window in the second half of the blackout, in segments."""
    return _mean(result, "cwnd", AT_S + BLACKOUT_S / 2, AT_S + BLACKOUT_S)


def _final_window(result: Result) -> float:
    """Mean window in the last quarter of the run, in segments."""
    return _mean(result, "cwnd", 0.75 * DURATION_S, DURATION_S)


def _share(result: Result) -> float:
    """Goodput relative to the rate of the link, in per cent."""
    return 100 * float(result.totals["goodput_bps"]) / RATE


_BLACKOUT = [
    {"at": f"{AT_S} s", "link": {"loss": "100%"}},
    {"at": f"{AT_S + BLACKOUT_S} s", "link": {"loss": "0%"}},
]

REACTIONS = (
    Reaction(
        "halved rate",
        "window 10 to 20 round trips after the rate has halved, of that before",
        "%",
        {"changes": [{"at": f"{AT_S} s", "link": {"rate": "10 Mbit/s"}}]},
        _window_kept,
    ),
    Reaction(
        "blackout", "window in the second second of a blackout", "segments", {"changes": _BLACKOUT}, _blackout_window
    ),
    Reaction("recovery", "time from its end to half the rate", "s", {"changes": _BLACKOUT}, _time_to_recover),
    Reaction(
        "all marked",
        "window while every packet is marked",
        "segments",
        # From the first data on, and with a long queue: SYN and retransmissions, which are not ECN-capable, would be
        # dropped.
        {
            "link": {"limit": "10000 packets"},
            "changes": [{"at": "30 ms", "link": {"aqm": "netem loss 100% ecn"}}],
        },
        _final_window,
        ecn=True,
    ),
    Reaction("1 % loss", "goodput of the link's rate", "%", {"link": {"loss": "1%"}}, _share),
)
