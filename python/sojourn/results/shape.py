"""What a summary in a manifest has to look like for those who read it: which keys there are, and what is a number."""

from __future__ import annotations

from typing import Any

LARGEST = 2.0**63
"""Above every count and every number of ns or bytes in a summary."""


def misfit(summary: Any, parameters: Any) -> str | None:
    """Place of the first value that is not what it has to be, e.g. `summary.jain`; None if all are.

    `parameters` are those of the queue managers in Python, which stand beside the summary.
    """
    return _misfit("summary", summary, _SUMMARY) or _misfit("parameters", parameters, _PARAMETERS)


def _misfit(place: str, value: Any, wanted: Any) -> str | None:
    if isinstance(wanted, dict):
        return _in_table(place, value, wanted)
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return place
        found = (_misfit(f"{place}[{i}]", one, wanted[0]) for i, one in enumerate(value))
        return next(filter(None, found), None)
    return None if wanted(value) else place


def _in_table(place: str, value: Any, wanted: dict[str, Any]) -> str | None:
    """`wanted` names every key that is needed; one that ends in ? may be missing, and * is any other."""
    if not isinstance(value, dict):
        return place
    needed = {key.rstrip("?"): kind for key, kind in wanted.items() if key != "*"}
    for key in needed.keys() - value.keys():
        if f"{key}?" not in wanted:
            return f"{place}.{key}"
    for key, one in value.items():
        kind = needed.get(key, wanted.get("*"))
        if kind is not None and (found := _misfit(f"{place}.{key}", one, kind)) is not None:
            return found
    return None


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST  # false for NaN


def _text_or_nothing(value: Any) -> bool:
    return value is None or _text(value)


def _scalar(value: Any) -> bool:
    return isinstance(value, str | bool) or _number(value)


def _number_or_nothing(value: Any) -> bool:
    return value is None or _number(value)


_NAMES = ("mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max")
_TIMES = dict.fromkeys(_NAMES, _number_or_nothing)
_COUNTS = ("packets", "bytes", "arrived", "dropped", "lost", "marked")
_SHARES = ("utilisation", "drop_rate", "mark_rate", "mean_backlog_packets")
_LINK = dict.fromkeys((*_COUNTS, *_SHARES), _number) | {"dropped_by": {"*": _number}, "sojourn_ms": _TIMES}
_LINKS = {"forward": _LINK, "reverse": _LINK}
_TRAFFIC = {"kind": _text, "direction": _text, "goodput_bps": _number, "*": _number_or_nothing}
_FRAMES = ("airtime", "frames", "given_up", "attempts", "collisions", "errors")
_RATE = {"mbit_per_s": _number, "attempts": _number, "mcs?": _number}
_SENT = {**dict.fromkeys(("aggregates", "frames", "failed"), _number), "reorder_ms": _TIMES}
_NODE = {
    **dict.fromkeys(_FRAMES, _number),
    "rates": [_RATE],
    "ring_ms": _TIMES,
    "mac_ms": _TIMES,
    "aggregation?": _SENT,
}
_WLAN = {
    **dict.fromkeys(("accesses", "collisions", "beacons", "busy"), _number),
    "access_point": _NODE,
    "stations": [{**_NODE, "airtime_down": _number}],
    "rtts": [{"sent_ms": _TIMES, "tapped_ms": _TIMES}],
}
_NUMBERS = {"*": _number_or_nothing}
_RPM = {"class": _text_or_nothing, "confidence": _text, "*": _number_or_nothing}
_MEDIA = {"queueing_ms": _TIMES, "frame_ms": _TIMES, "*": _number_or_nothing}
_CLIENTS = {"video?": _NUMBERS, "capture?": _NUMBERS, "rpm?": _RPM, "media?": _MEDIA}
_PARAMETERS = {"*": {"*": _scalar}}
_SUMMARY = {
    **dict.fromkeys(("duration_s", "warmup_s", "events"), _number),
    "goodput_bps": _number_or_nothing,  # what the programs in a shell made of it only they know
    "jain": _number_or_nothing,
    "fingerprint": _text,
    "links": _LINKS,
    "hops": [{"name": _text, **_LINKS, "wlan?": _WLAN}],
    "wlan?": _WLAN,
    "groups": [{**_TRAFFIC, "completion_ms": _TIMES, **_CLIENTS}],
    "flows": [{**_TRAFFIC, "id": _number}],
    "emulation?": {"faults": [_text]},
}
