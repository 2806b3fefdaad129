"""Schema of a manifest: its keys, and the types of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.base import shapes
from sojourn.base.shapes import is_count, is_number, is_number_or_null, is_scalar, is_text, is_text_or_null


def find_mismatch(manifest: Mapping[str, Any]) -> str | None:
    """Path of the first value that violates the schema, e.g. `summary.jain`; None if all conform."""
    found = (shapes.find_mismatch(key, manifest[key], shape) for key, shape in _PARTS.items() if key in manifest)
    return next(filter(None, found), None)


def _is_duration(value: Any) -> bool:
    """Whether the value is a number of seconds above 0."""
    return is_number(value) and value > 0


def _is_without_null(value: Any) -> bool:
    """Whether a scenario's value contains no null: TOML has none."""
    if isinstance(value, dict | list):
        return all(map(_is_without_null, value.values() if isinstance(value, dict) else value))
    return value is not None


def _is_aqm(value: Any) -> bool:
    """Whether the value is a queue manager: its text, or its parameters with its name."""
    return is_text(value) or (isinstance(value, dict) and is_text(value.get("name")) and _is_without_null(value))


_NAMES = ("mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max")
_TIMES = dict.fromkeys(_NAMES, is_number_or_null)
_COUNTS = ("packets", "bytes", "arrived", "dropped", "lost", "marked")
_SHARES = ("utilisation", "drop_rate", "mark_rate", "mean_backlog_packets")
_QUEUE = {"name": is_text, "*": is_number, "sojourn_ms": _TIMES}
_LINK = {
    **dict.fromkeys((*_COUNTS, *_SHARES), is_number),
    "dropped_by": {"*": is_number},
    "sojourn_ms": _TIMES,
    "queues?": [_QUEUE],
}
_LINKS = {"forward": _LINK, "reverse": _LINK}
_TRAFFIC = {"kind": is_text, "direction": is_text, "goodput_bps": is_number, "*": is_number_or_null}
_FRAMES = ("airtime", "frames", "given_up", "attempts", "collisions", "errors")
_RATE = {"mbit_per_s": is_number, "attempts": is_number, "mcs?": is_number}
_SENT = {**dict.fromkeys(("aggregates", "frames", "failed"), is_number), "reorder_ms": _TIMES}
_NODE = {
    **dict.fromkeys(_FRAMES, is_number),
    "rates": [_RATE],
    "ring_ms": _TIMES,
    "mac_ms": _TIMES,
    "aggregation?": _SENT,
}
_WLAN = {
    **dict.fromkeys(("accesses", "collisions", "beacons", "busy"), is_number),
    "access_point": _NODE,
    "stations": [{**_NODE, "airtime_down": is_number}],
    "rtts": [{"sent_ms": _TIMES, "tapped_ms": _TIMES}],
}
_NUMBERS = {"*": is_number_or_null}
_RPM = {"class": is_text_or_null, "confidence": is_text, "*": is_number_or_null}
_MEDIA = {"queueing_ms": _TIMES, "frame_ms": _TIMES, "*": is_number_or_null}
_CLIENTS = {"video?": _NUMBERS, "capture?": _NUMBERS, "rpm?": _RPM, "media?": _MEDIA}
_SUMMARY = {
    "duration_s": _is_duration,
    **dict.fromkeys(("warmup_s", "events"), is_number),
    # Null for a shell, whose programs alone know these.
    **dict.fromkeys(("goodput_bps", "delivered_bps", "jain"), is_number_or_null),
    "fingerprint": is_text,
    "links": _LINKS,
    "hops": [{"name": is_text, **_LINKS, "wlan?": _WLAN}],
    "wlan?": _WLAN,
    "groups": [{**_TRAFFIC, "completion_ms": _TIMES, **_CLIENTS}],
    "flows": [{**_TRAFFIC, "id": is_number, "group?": is_count}],
    "emulation?": {"faults": [is_text]},
}
_SETUP = {"aqm": _is_aqm, "*": _is_without_null}
_SCENARIO = {
    "link?": _SETUP,
    "reverse?": _SETUP,
    "links?": [{"name?": is_text, "*": _is_without_null}],
    "flows": [{"kind": is_text, "count": is_count, "*": _is_without_null}],
    "*": _is_without_null,
}
_PARTS = {
    "scenario": _SCENARIO,
    "summary": _SUMMARY,
    "parameters": {"*": {"*": is_scalar}},  # of the queue managers in Python
    "tables": {"*": {"rows": is_count, "bytes": is_count, "sha256": is_text}},
}
