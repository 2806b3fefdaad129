"""Output of `iperf3 -J` and `--json-stream`: goodput of each stream and interval, and the RTT of a TCP sender.

Source: iperf3 (`iperf_api.c`, `JSON_write`). The machine that measured is at the home: data that it received is a
download.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json
from sojourn.io.measured.measurement import Measurement, Series, listed, member, number, start_of


def recognises(head: str) -> bool:
    """Whether a text begins as the output of iperf3."""
    if re.match(r'\s*\{\s*"event"\s*:\s*"start"', head):
        return True
    return re.match(r'\s*\{\s*"start"\s*:', head) is not None and re.search(OWN, head) is not None


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    start, intervals, error = _stream(text) if re.match(r'\s*\{\s*"event"', text) else _document(text)
    if not intervals and error:
        raise InputError(f"iperf3 failed: {error[:100]}; repeat the test")
    settings = start.get("test_start")
    protocol = str(settings.get("protocol", "TCP")) if isinstance(settings, Mapping) else "TCP"
    rates: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    rtts: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    end = 0.0
    for at, interval in enumerate(intervals):
        for index, stream in enumerate(listed(interval, "streams", f"intervals[{at}]")):
            place = f"intervals[{at}].streams[{index}]"
            if not isinstance(stream, Mapping):
                raise InputError(f"{place}: not a stream; the log is damaged")
            if stream.get("omitted") is True:
                continue
            begin, finish = (number(member(stream, key, place), f"{place}.{key}") for key in ("start", "end"))
            key = (_direction(stream, settings), index)
            _append(rates, key, begin, number(member(stream, "bits_per_second", place), place) / 1e6)
            if stream.get("rtt") and stream.get("sender") is not False:
                _append(rtts, key, begin, number(stream["rtt"], f"{place}.rtt") / 1000)
            end = max(end, finish)
    named = list(_named(rates, protocol, "Mbit/s", ""))
    named += _named(rtts, protocol, "ms", "::tcp_rtt")
    notes = (f"iperf3 ended with an error: {error[:100]}",) if error else ()
    stamp = start.get("timestamp")
    start_s = start_of(stamp.get("timesecs")) if isinstance(stamp, Mapping) else 0.0
    return Measurement("iperf3", tuple(named), end, start_s, notes)


def _document(text: str) -> tuple[Mapping[str, Any], list[Any], str]:
    document = parse_json(text)
    start = member(document, "start", "the file")
    if not isinstance(start, Mapping):
        raise InputError("start: not an object; the log is damaged")
    return start, listed(document, "intervals", ""), str(document.get("error") or "")


def _stream(text: str) -> tuple[Mapping[str, Any], list[Any], str]:
    """Events of `--json-stream`, an object per line."""
    start: Mapping[str, Any] = {}
    intervals, error = [], ""
    for at, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            event = parse_json(line)
        except json.JSONDecodeError:
            raise InputError(f"line {at}: not JSON; give the whole output of iperf3 --json-stream") from None
        kind, data = member(event, "event", f"line {at}"), event.get("data")
        if kind == "start" and isinstance(data, Mapping):
            start = data
        elif kind == "interval":
            intervals.append(data)
        elif kind == "error":
            error = str(data)
    return start, intervals, error


def _direction(stream: Mapping[str, Any], settings: object) -> str:
    """Direction of a stream; before iperf3 3.7 that of the test."""
    if isinstance(sender := stream.get("sender"), bool):
        return "upload" if sender else "download"
    return "download" if isinstance(settings, Mapping) and settings.get("reverse") else "upload"


def _append(
    found: dict[tuple[str, int], tuple[list[float], list[float]]], key: tuple[str, int], time: float, value: float
) -> None:
    times, values = found.setdefault(key, ([], []))
    if times and time < times[-1]:
        raise InputError(f"the interval at {time:g} s follows one at {times[-1]:g} s; the log is damaged")
    times.append(time)
    values.append(value)


def _named(
    found: Mapping[tuple[str, int], tuple[list[float], list[float]]], protocol: str, unit: str, end: str
) -> Iterator[Series]:
    """Series by direction; a number tells several streams apart."""
    for direction in ("download", "upload"):
        streams = [series for (way, _), series in sorted(found.items()) if way == direction]
        for count, (times, values) in enumerate(streams, 1):
            number_ = f"::{count}" if len(streams) > 1 else ""
            yield Series(f"{protocol} {direction}{number_}{end}", unit, times, values, is_stepwise=True)


OWN = r'"(?:connecting_to|connected|test_start|accepted_connection)"|iperf 3'
