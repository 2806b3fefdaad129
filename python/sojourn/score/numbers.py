"""Numbers that rows read of a run: how they are called and shown, and by which bands they are graded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sojourn.analysis.metrics import Metric
from sojourn.base.units import seconds
from sojourn.results.result import Result
from sojourn.score.versions import parsed


@dataclass(frozen=True)
class Number:
    """A number of a run, and over the points of a row."""

    metric: Metric
    """What it is called, its unit, and how it is shown; `column` is its name."""
    of: Callable[[Result], float | None]
    band: str = ""
    """Name in `grades.BANDS`; empty if it is not graded."""
    meaning: str = ""

    @property
    def name(self) -> str:
        """By which rows name it."""
        return self.metric.column


def of_summary(column: str, result: Result) -> float | None:
    """A column of the summary."""
    found: float | None = result.summary[column][0]
    return found


def of_group(group: int, key: str, result: Result) -> float | None:
    """A number of a flow group; `completion_ms.mean` is one in a table."""
    found: Any = result.totals["groups"][group]
    for step in key.split("."):
        found = found[step]
    return None if found is None else float(found)


def share(group: int, result: Result) -> float | None:
    """Share of a flow group in the goodput of all."""
    rates = [float(one["goodput_bps"]) for one in result.totals["groups"]]
    return rates[group] / sum(rates) if sum(rates) else None


def rtt_error(result: Result) -> float | None:
    """How far the goodputs of two senders are from what their round-trip times make them.

    Of a single queue goodputs are to be as the inverse of the base round-trip times, of queues by flow equal; the error
    is the factor between, at least 1.
    """
    first, second = (float(one["goodput_bps"]) for one in result.totals["groups"][:2])
    if not first or not second:
        return None
    near, far = (base_rtt_s(result, group) for group in (0, 1))
    wanted = 1.0 if by_flow(result) else near / far
    error = second / first / wanted
    return max(error, 1 / error)


def base_rtt_s(result: Result, group: int) -> float:
    """Round-trip time of a flow group without queues, in seconds."""
    document = result.scenario.document
    links = seconds(document["link"]["delay"]) + seconds(document["reverse"]["delay"])
    return links + 2 * seconds(document["flows"][group]["access_delay"])


def by_flow(result: Result) -> bool:
    """Whether the queue manager of a run queues flows apart."""
    return bool(parsed(result.scenario.aqm)["algorithm"]["by_flow"])


def _metric(name: str, label: str, unit: str = "", scale: float = 1.0, digits: int = 2) -> Metric:
    return Metric(name, label, unit, scale, digits)


_ALL = (
    Number(
        _metric("delay_p99", "delay, p99", "ms", digits=1),
        partial(of_summary, "sojourn_p99_ms"),
        "delay",
        "99th percentile of the sojourn time of all packets sent",
    ),
    Number(
        _metric("delay_mean", "delay, mean", "ms"),
        partial(of_summary, "sojourn_mean_ms"),
        meaning="mean sojourn time of all packets sent",
    ),
    Number(
        _metric("utilisation", "utilisation", "%", 100, 1),
        partial(of_summary, "utilisation"),
        "utilisation",
        "share of the link's capacity that is used",
    ),
    Number(_metric("drop_rate", "drops", "%", 100, 2), partial(of_summary, "drop_rate"), meaning="drops over arrivals"),
    Number(_metric("mark_rate", "marks", "%", 100, 2), partial(of_summary, "mark_rate"), meaning="marks over arrivals"),
    Number(
        _metric("rtt_error", "RTT error", "×"),
        rtt_error,
        "rtt",
        "ratio of the goodputs against the inverse ratio of the round-trip times (1 where flows are queued apart)",
    ),
    *(
        Number(
            _metric(f"share_{group}", f"share of group {group}", "%", 100, 1),
            partial(share, group),
            meaning=f"goodput of flow group {group} over that of all (groups count from 0)",
        )
        for group in range(3)
    ),
    *(
        Number(
            _metric(f"fct_{group}", f"completion, group {group}", "ms", digits=0),
            partial(of_group, group, "completion_ms.mean"),
            meaning=f"mean time of the transfers of flow group {group}, connection set-up included",
        )
        for group in range(6)
    ),
)
NUMBERS: Mapping[str, Number] = {one.name: one for one in _ALL}


def mean(values: Sequence[float]) -> float:
    """Mean over the points of a row."""
    return sum(values) / len(values)
