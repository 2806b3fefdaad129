"""A queue manager's scorecard: tests after RFC 7928 and of adversarial traffic, as rows with fixed grades.

A row is a study file in `scenarios/score` and a line in `ROWS`; a few rows need no run and have no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.base.errors import unknown
from sojourn.model.scenarios.examples import shipped


@dataclass(frozen=True)
class Row:
    """A test: its study, and the numbers computed from its runs."""

    section: str
    """Section of RFC 7928; for tests beyond the RFC, a word for `--only`."""
    title: str
    numbers: tuple[str, ...] = ()
    """Names in `numbers.NUMBERS`; the first one is the row's main number."""
    versions: str = "plain"
    """Name in `versions.VERSIONS`: the variants that are run for a queue manager."""
    beside_plain: bool = False
    """Whether differences refer to the unmodified queue manager instead of the baseline."""
    must: tuple[str, ...] = ()
    """Numbers whose grade must not be F."""
    scaled: tuple[str, ...] = ()
    """Paths of rates that scale with the link's rate."""
    counted: bool = False
    """Whether flow counts scale with the link's size in packets (RFC 7928, 8.2)."""
    alone: int | None = None
    """Flow group whose transfers are also timed on an otherwise empty link."""
    timeline: bool = False
    """Whether the page shows the delay over time."""
    at_points: tuple[str, ...] = ()
    """Numbers reported at each of its points; default: the row's main number."""
    large: bool = False
    """Whether it has so many runs that it is only run on request, with one seed unless more are requested. Its points
    have their own links, the same for every profile.
    """
    fixed: bool = False
    """Whether link, buffer, length and times are fixed: neither a profile nor `--quick` changes them."""
    facts: bool = False
    """Whether its numbers are properties of the queue manager and need no run."""


_STEADY = ("delay_p99", "utilisation", "delay_mean", "drop_rate")
_CHANGING = (*_STEADY, "peak", "settle")
_MUST = ("utilisation",)
_MIX = ("mos", "page_ratio", "delay_p99", "delay_mean", "drop_rate")
_MARKED = (*_STEADY, "mark_rate")
_BACK = ("back_p99", "back_drops")
_SECOND = ("second_p99", "share_0")
_ELASTIC = ("elasticity_delay", "elasticity_use")
_FLOOD = (*_STEADY, "share_0")
_QOO = ("qoo_web", "qoo_video_call", "qoo_gaming")
_BURST = ("page_ratio", "delay_p99", "delay_mean", "drop_rate", "jitter_1", "loss_1", "loss_burst_1")
_VIDEO = (*_BURST, "video_rate_2", "stalled_2")
_VIDEO_RATES = ("flows.1.rate", "flows.2.ladder")
_LOAD = (*_STEADY, "synchronisation")
_MEDIA = ("media_late", "media_rate", "media_delay", "delay_mean", "drop_rate")

MATRICES = "fairness"
ROWS = {
    "friendly": Row("5.1.1", "one TCP sender", _STEADY),
    "friendly-iw": Row("5.1.2", "a TCP sender and short transfers, IW 3 and 10", (*_STEADY, "fct_1", "fct_2")),
    "aggressive": Row("5.2", "one CUBIC sender", _STEADY),
    "flood": Row("5.3", "UDP at 1.2 of the capacity", (*_STEADY, "loss_burst_0"), must=_MUST, scaled=("flows.0.rate",)),
    "udp-mix": Row("5.3", "UDP at 0.6 of the capacity and TCP", (*_STEADY, "share_1"), scaled=("flows.0.rate",)),
    "lbe": Row("5.4", "LEDBAT beside TCP", (*_STEADY, "share_1")),
    "rtt": Row("6.2", "two senders, RTT 100 ms and 5 to 500 ms", ("rtt_error", *_STEADY)),
    "burst-I": Row("7.2", "pages of 50 objects and datagrams", _BURST, alone=0, scaled=("flows.1.rate",)),
    "burst-II": Row("7.2", "pages, datagrams, a transfer", _BURST, alone=0, scaled=("flows.1.rate",)),
    "burst-III": Row(
        "7.2",
        "video, pages, datagrams",
        _VIDEO,
        alone=0,
        scaled=_VIDEO_RATES,
    ),
    "burst-IV": Row(
        "7.2",
        "video, pages, datagrams, a transfer",
        _VIDEO,
        alone=0,
        scaled=_VIDEO_RATES,
    ),
    "load-mild": Row("8.2.2", "mild congestion", _LOAD, must=_MUST, counted=True),
    "load-medium": Row("8.2.3", "medium congestion", _LOAD, must=_MUST, counted=True),
    "load-heavy": Row("8.2.4", "heavy congestion", _LOAD, must=_MUST, counted=True),
    "load-steps": Row("8.2.5", "mild, medium and heavy congestion in turn", _CHANGING, counted=True, timeline=True),
    "rate-slow": Row("8.2.6", "a rate that falls to a tenth every 40 s", (*_CHANGING, "rise"), timeline=True),
    "rate-fast": Row("8.2.6", "a rate that falls to a tenth every 200 ms", _STEADY),
    "params": Row("8.3", "medium congestion, parameters halved and doubled", _ELASTIC, versions="halves", counted=True),
    "mix-I": Row("9.1", "a call and pages", _MIX, alone=1),
    "mix-II": Row("9.1", "a call, pages, a transfer", (*_MIX, "utilisation"), alone=1),
    "mix-III": Row("9.1", "a call, pages, five transfers", (*_MIX, "utilisation"), alone=1),
    "mix-IV": Row(
        "9.1", "a call, pages, five transfers, UDP", (*_MIX, "utilisation"), alone=1, scaled=("flows.3.rate",)
    ),
    "mix-V": Row(
        "9.1",
        "a call, pages, five transfers, UDP, video",
        (*_MIX, "utilisation", "video_rate_4", "stalled_4"),
        alone=1,
        scaled=("flows.3.rate", "flows.4.ladder"),
    ),
    "bidir": Row("9.2", "mild congestion both ways", (*_STEADY, *_BACK), counted=True),
    "bidir-asym": Row("9.2", "congestion both ways, a tenth of the rate back", (*_STEADY, *_BACK), counted=True),
    "tandem": Row("10", "two bottlenecks with the same queue manager", (*_STEADY, *_SECOND)),
    "tandem-tail": Row("10", "a second bottleneck with tail drop", (*_STEADY, *_SECOND)),
    "pktsize": Row(
        "4.4",
        "datagrams of 300 B and of 1500 B",
        (*_STEADY, "loss_0", "loss_1"),
        scaled=("flows.0.rate", "flows.1.rate"),
    ),
    "ecn": Row("4.5", "medium congestion with ECN", _MARKED, versions="marking", beside_plain=True, counted=True),
    "ecn-flood": Row(
        "4.5",
        "ECN-capable UDP at 1.2 of the capacity",
        (*_MARKED, "limit_share"),
        versions="marking",
        beside_plain=True,
        scaled=("flows.0.rate",),
    ),
    "sched": Row(
        "4.6", "medium congestion, queues by flow", _STEADY, versions="queued", beside_plain=True, counted=True
    ),
    "sched-udp": Row(
        "4.6",
        "UDP beside TCP, queues by flow",
        (*_STEADY, "share_1"),
        versions="queued",
        beside_plain=True,
        scaled=("flows.0.rate",),
    ),
    "cost": Row("11", "state and instructions", ("state_bytes", "instructions"), facts=True),
    "knobs": Row("12", "number of parameters", ("parameters",), facts=True),
    "rpm": Row(
        "responsiveness",
        "the client of draft-ietf-ippm-responsiveness",
        ("rpm", "rpm_in_network", "delay_p99", "delay_mean"),
    ),
    "qoo": Row("responsiveness", "applications beside a download, base RTT 40 ms", (*_QOO, *_STEADY)),
    "flood-tcp": Row("adversarial", "TCP under a flood of twice the capacity", _FLOOD, scaled=("flows.1.rate",)),
    "tunnel": Row("adversarial", "TCP senders hidden in a tunnel beside others", (*_STEADY, "share_0")),
    "ect1-tcp": Row(
        "adversarial",
        "TCP marked ECT(1) that does not scale beside others",
        (*_MARKED, "share_0"),
        versions="marking-or-plain",
    ),
    "bleached": Row(
        "adversarial",
        "marks that are cleared on the way to four of eight senders",
        (*_MARKED, "share_0"),
        versions="marking-or-plain",
    ),
    "ect1-cheat": Row(
        "adversarial",
        "UDP marked ECT(1) that does not scale beside TCP",
        (*_MARKED, "share_0"),
        versions="marking-or-plain",
        scaled=("flows.1.rate",),
    ),
    "acks-thinned": Row("adversarial", "thinned acknowledgments", _STEADY, counted=True),
    "media-steps": Row("rmcat", "one call over a capacity that changes (RFC 8867, 5.1)", _MEDIA, fixed=True),
    "media-steps-two": Row("rmcat", "two calls over a capacity that changes (5.2)", _MEDIA, fixed=True),
    "media-reports": Row("rmcat", "a call each way, reports behind media (5.3)", _MEDIA, fixed=True),
    "media-three": Row("rmcat", "three calls, one after the other (5.4)", (*_MEDIA, "jain"), fixed=True),
    "media-rtt": Row("rmcat", "five calls with different round-trip times (5.5)", (*_MEDIA, "jain"), fixed=True),
    "media-long": Row("rmcat", "a call beside a long transfer (5.6)", _MEDIA, fixed=True),
    "media-short": Row("rmcat", "two calls beside short transfers (5.7)", (*_MEDIA, "fct_1"), fixed=True),
    "media-pause": Row("rmcat", "three calls, one of which pauses (5.8)", _MEDIA, fixed=True),
    MATRICES: Row(
        "matrices",
        "two senders of any controls and round-trip times at three rates",
        ("jain", "delay_mean", "drop_rate"),
        at_points=("ratio", "jain", "delay_mean"),
        large=True,
    ),
}

QUICK_SEEDS = 3
QUICK_SHARE = 3
"""Divisor that `--quick` applies to the time and to long lists of values."""


@contextmanager
def studies() -> Iterator[Path]:
    """Folder of the study files."""
    with shipped() as folder:
        yield folder / "score"


def chosen(only: str | None, *, matrices: bool = False) -> list[str]:
    """Ids of the rows that `--only` names: ids, sections and their prefixes ("8" is all of section 8).

    Without it all rows except the large ones; with `matrices` also the two-flow fairness matrices. Raises `InputError`
    for a word that matches none.
    """
    found = {MATRICES} if matrices else set()
    if only is None:
        return [name for name, one in ROWS.items() if not one.large or name in found]
    for word in filter(None, (part.strip() for part in only.split(","))):
        named = {
            name for name, one in ROWS.items() if word in (name, one.section) or one.section.startswith(f"{word}.")
        }
        if not named:
            raise unknown("--only: row or section", word, [*ROWS, *(one.section for one in ROWS.values())])
        found |= named
    return [name for name in ROWS if name in found]
