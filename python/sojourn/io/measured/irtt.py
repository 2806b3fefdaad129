"""Output of `irtt client -o FILE`, JSON, also compressed: round-trip times, and one-way delays if clocks agree.

Source: irtt (P. Heist; `irtt-client(1)`, JSON format 1). Measurements of Starlink are published in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json
from sojourn.io.measured.measurement import Measurement, Series, listed, member, number, start_of


def recognises(head: str) -> bool:
    """Whether a text begins as the output of irtt."""
    return re.match(r"\s*\{", head) is not None and '"irtt"' in head and '"json_format"' in head


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    document = parse_json(text)
    trips = listed(document, "round_trips", "")
    sent: list[float] = []
    delays: dict[str, tuple[list[float], list[float]]] = {key: ([], []) for key in NAMES}
    lost, start_s, first = 0, 0.0, None
    for at, trip in enumerate(trips):
        place = f"round_trips[{at}]"
        stamps = member(member(member(trip, "timestamps", place), "client", place), "send", place)
        time = number(member(stamps, "monotonic", place), f"{place}.timestamps.client.send.monotonic") / 1e9
        if first is None:
            first = time
            start_s = start_of(stamps.get("wall"), 1e9)
        sent.append(time - first)
        values = trip.get("delay") or {}
        if trip.get("lost") not in (None, False, "false") or not isinstance(values, Mapping):
            lost += 1
            continue
        for key, (times, found) in delays.items():
            if key in values:
                times.append(time - first)
                found.append(number(values[key], f"{place}.delay.{key}") / 1e6)
    if sent != sorted(sent):
        raise InputError("round_trips: not in the order of sending; the log is damaged")
    series = [Series(NAMES[key], "ms", times, found) for key, (times, found) in delays.items() if times]
    clocks = [one for one in series[1:] if min(one.values) < 0]
    notes = [f"{lost} of {len(trips)} packets were lost"] if lost else []
    notes += [f"{one.name}: negative, because the clocks differ; left out" for one in clocks]
    kept = tuple(one for one in series if one not in clocks)
    return Measurement("irtt", kept, max(sent, default=0.0), start_s, tuple(notes))


NAMES = {"rtt": "Ping (ms) irtt", "receive": "One-way download (ms)", "send": "One-way upload (ms)"}
"""Series by the name of a delay; the first one needs no clocks that agree."""
