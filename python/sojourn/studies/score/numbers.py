"""Numbers of the rows: how they are computed, named and shown, and the bands that grade them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller

from sojourn import _core
from sojourn.base.dotted import value_at
from sojourn.model.analysis import media
from sojourn.model.analysis.losses import longest_burst, synchronisation
from sojourn.model.analysis.metrics import Metric
from sojourn.model.analysis.outcome import APPS, outcome
from sojourn.model.results.result import Result
from sojourn.studies.score import phases
from sojourn.studies.score.versions import parsed_aqm


@dataclass(frozen=True)
class Number:
    """A number computed from a run, and averaged over the points of a row."""

    metric: Metric
    """Label, unit and format; `column` is its name."""
    of: Callable[[Result], float | None]
    band: str = ""
    """Name in `grades.BANDS`; empty if it is not graded."""
    meaning: str = ""

    @property
    def name(self) -> str:
        """Name used in rows."""
        return self.metric.column


def of_group(group: int, key: str, result: Result) -> float | None:
    """A number of a flow group; `completion_ms.mean` is a nested key."""
    found = value_at(result.totals["groups"][group], key)
    return None if found is None else float(found)


def share(group: int, result: Result) -> float | None:
    """Share of a flow group in the goodput of all."""
    rates = [float(one["goodput_bps"]) for one in result.totals["groups"]]
    return rates[group] / sum(rates) if sum(rates) else None


def ratio(result: Result) -> float | None:
    """Goodput of the first of two senders over that of the second; None if one gets nothing."""
    first, second = (float(one["goodput_bps"]) for one in result.totals["groups"][:2])
    return first / second if first and second else None


def evenness(result: Result) -> float:
    """Jain's index of the goodputs of all long-lived forward flows, regardless of control and round-trip time."""
    flows = result.flow_totals.filter(direction="forward")
    return _core.jain(flows["goodput_bps"].to_list())


def rtt_error(result: Result) -> float | None:
    """Deviation of the ratio of two senders' goodputs from the one expected from their round-trip times.

    In a single queue goodputs should be inversely proportional to the base round-trip times, in queues by flow equal;
    the error is the factor between both ratios, at least 1.
    """
    first, second = (float(one["goodput_bps"]) for one in result.totals["groups"][:2])
    if not first or not second:
        return None
    near, far = (result.scenario.base_rtt_s(group) for group in (0, 1))
    wanted = 1.0 if by_flow(result) else near / far
    error = second / first / wanted
    return max(error, 1 / error)


def by_flow(result: Result) -> bool:
    """Whether a run's queue manager has a queue per flow."""
    return bool(parsed_aqm(result.scenario.aqm)["algorithm"]["by_flow"])


def of_link(hop: int | None, direction: str, key: str, result: Result) -> float | None:
    """A number of another direction or link; `sojourn_ms.p99` is a nested key."""
    pair = result.totals["links"] if hop is None else result.totals["hops"][hop]
    found = value_at(pair[direction], key)
    return None if found is None else float(found)


def quality(app: str, result: Result) -> float:
    """Quality of Outcome of an application on the path of the first flow group."""
    return outcome(APPS[app], result).score


def limit_share(result: Result) -> float | None:
    """Share of the drops that the full buffer caused, not the queue manager."""
    found = result.summary.row(0, named=True)
    return found["dropped_limit"] / found["dropped"] if found["dropped"] else None


def _doc(function: Callable[..., object]) -> str:
    """First line of a function's docstring, as the meaning of its number."""
    first = (function.__doc__ or "").partition("\n")[0].rstrip(".")
    return f"{first[:1].lower()}{first[1:]}"


def _metric(name: str, label: str, unit: str = "", scale: float = 1.0, digits: int = 2) -> Metric:
    return Metric(name, label, unit, scale, digits)


_ALL = (
    Number(
        _metric("delay_p99", "delay, p99", "ms", digits=1),
        methodcaller("number", "sojourn_p99_ms"),
        "delay",
        "99th percentile of the sojourn time of all packets sent",
    ),
    Number(
        _metric("delay_mean", "delay, mean", "ms"),
        methodcaller("number", "sojourn_mean_ms"),
        meaning="mean sojourn time of all packets sent",
    ),
    Number(
        _metric("utilisation", "utilisation", "%", 100, 1),
        methodcaller("number", "utilisation"),
        "utilisation",
        "share of the link's capacity that is used",
    ),
    Number(
        _metric("drop_rate", "drops", "%", 100, 2), methodcaller("number", "drop_rate"), meaning="drops over arrivals"
    ),
    Number(
        _metric("mark_rate", "marks", "%", 100, 2), methodcaller("number", "mark_rate"), meaning="marks over arrivals"
    ),
    Number(
        _metric("rtt_error", "RTT error", "×"),
        rtt_error,
        "rtt",
        "ratio of the goodputs against the inverse ratio of the round-trip times (1 with a queue per flow)",
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
_OF_CHANGES = (
    Number(_metric("peak", "peak after a change", "ms", digits=1), phases.peak, meaning=_doc(phases.peak)),
    Number(_metric("settle", "time to settle", "s"), phases.settle, meaning=_doc(phases.settle)),
    Number(_metric("rise", "use after a rise", "%", 100, 1), phases.rise, meaning=_doc(phases.rise)),
)
_OF_OTHERS = (
    Number(
        _metric("mos", "call", "MOS"), partial(of_group, 0, "mos"), meaning="mean opinion score of the call (E-model)"
    ),
    Number(
        _metric("page_ratio", "page time", "×"),
        lambda result: None,
        "page",
        "mean time of a page over that on a link without other traffic",
    ),
    Number(
        _metric("back_p99", "reverse delay, p99", "ms", digits=1),
        partial(of_link, None, "reverse", "sojourn_ms.p99"),
        meaning="99th percentile of the sojourn time on the reverse path",
    ),
    Number(
        _metric("back_drops", "reverse drops", "%", 100, 2),
        partial(of_link, None, "reverse", "drop_rate"),
        meaning="drops over arrivals on the reverse path, acknowledgments included",
    ),
    Number(
        _metric("second_p99", "delay at the second, p99", "ms", digits=1),
        partial(of_link, 0, "forward", "sojourn_ms.p99"),
        meaning="99th percentile of the sojourn time at the second bottleneck",
    ),
    Number(
        _metric("limit_share", "drops by the full buffer", "%", 100, 1),
        limit_share,
        meaning=_doc(limit_share),
    ),
    *(
        Number(
            _metric(f"loss_{group}", f"loss, group {group}", "%", 100, 2),
            partial(of_group, group, "loss_rate"),
            meaning=f"datagrams of flow group {group} that are lost",
        )
        for group in range(2)
    ),
    *(
        Number(
            _metric(f"jitter_{group}", f"jitter, group {group}", "ms"),
            partial(of_group, group, "delay_variation_ms"),
            meaning=f"mean difference between the delays of successive datagrams of flow group {group}",
        )
        for group in range(2)
    ),
)
_OF_CALLS = (
    Number(
        _metric("media_late", "late frames", "%", 100, 2),
        media.late_frame_share,
        "frames",
        _doc(media.late_frame_share),
    ),
    Number(
        _metric("media_rate", "share of media", "%", 100, 1), media.by_fair_share, "fair", _doc(media.by_fair_share)
    ),
    Number(
        _metric("media_delay", "delay of media, p95", "ms", digits=1),
        media.worst_queueing_delay,
        "call",
        _doc(media.worst_queueing_delay),
    ),
)
_OF_MEDIA = (
    *(
        Number(
            _metric(f"video_rate_{group}", "video", "Mbit/s", 1e-6),
            partial(of_group, group, "video.rate_bps"),
            meaning=f"mean rate of the video of flow group {group}",
        )
        for group in (2, 4)
    ),
    *(
        Number(
            _metric(f"stalled_{group}", "video stalls", "s"),
            partial(of_group, group, "video.stalled_s"),
            meaning=f"stall time of the video of flow group {group}, without the wait for the first picture",
        )
        for group in (2, 4)
    ),
    *(
        Number(
            _metric(f"qoo_{name.replace('-', '_')}", f"QoO, {name}", digits=0),
            partial(quality, name),
            meaning=f"quality of outcome of {name}, from 0, unusable, to 100 (docs/qoo.md)",
        )
        for name in ("web", "video-call", "gaming")
    ),
    Number(
        _metric("rpm", "responsiveness", "1/min", digits=0),
        partial(of_group, 0, "rpm.rpm"),
        meaning="round trips per minute under load; below 300 poor, below 1000 fair, below 6000 good, else excellent",
    ),
    Number(
        _metric("rpm_in_network", "in the network", "1/min", digits=0),
        partial(of_group, 0, "rpm.rpm_in_network"),
        meaning="the same without the time that responses wait in the sender's socket",
    ),
)
_OF_LOSSES = (
    *(
        Number(
            _metric(f"loss_burst_{group}", f"loss burst, group {group}", "packets", digits=1),
            partial(longest_burst, group=group),
            meaning=f"longest run of successive packets of a flow of group {group} that are all dropped",
        )
        for group in range(2)
    ),
    Number(
        _metric("synchronisation", "loss synchronisation", "%", 100, 1),
        synchronisation,
        meaning="share of the flows that lose within one round-trip time of the first drop of an event of loss",
    ),
)
_OF_TWO = (
    Number(_metric("jain", "Jain index", digits=3), evenness, meaning=_doc(evenness)),
    Number(_metric("ratio", "ratio", "×"), ratio, meaning=_doc(ratio)),
)
_OF_PARAMETERS = (
    Number(
        _metric("elasticity_delay", "elasticity of the delay"),
        methodcaller("number", "sojourn_mean_ms"),
        meaning="largest change of the logarithm of the mean delay per change of a parameter's logarithm",
    ),
    Number(
        _metric("elasticity_use", "elasticity of the use"),
        methodcaller("number", "utilisation"),
        meaning="the same of the utilisation",
    ),
)
_OF_ITSELF = (
    Number(
        _metric("state_bytes", "state", "B", digits=0),
        lambda result: None,
        meaning="bytes of state, per queue, or per flow with a queue per flow",
    ),
    Number(
        _metric("instructions", "instructions", digits=0),
        lambda result: None,
        meaning="instructions of an arrival and its departure under overload, as counted in a release's build "
        "(docs/cost.md); for the registered queue manager",
    ),
    Number(
        _metric("parameters", "parameters", digits=0),
        lambda result: None,
        meaning="parameters that can be set, including those of variants",
    ),
)
NUMBERS: Mapping[str, Number] = {
    one.name: one
    for one in (
        *_ALL,
        *_OF_CHANGES,
        *_OF_OTHERS,
        *_OF_CALLS,
        *_OF_MEDIA,
        *_OF_LOSSES,
        *_OF_TWO,
        *_OF_PARAMETERS,
        *_OF_ITSELF,
    )
}


def mean(values: Sequence[float]) -> float:
    """Mean over the points of a row."""
    return sum(values) / len(values)
