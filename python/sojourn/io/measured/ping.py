"""Output of `ping` (iputils with and without -D, BusyBox, BSD, macOS): round-trip times of the replies."""

from __future__ import annotations

import re

from sojourn.base.errors import InputError
from sojourn.io.measured.measurement import Measurement, Series

INTERVAL_S = 1.0
"""Default time between pings."""
SEQUENCES = 1 << 16


def recognises(head: str) -> bool:
    """Whether a text begins as the output of ping."""
    return re.search(r"^PING \S", head, re.MULTILINE) is not None or REPLY.search(head) is not None


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    stamps: list[float | None] = []
    numbers: list[int] = []
    values: list[float] = []
    last = offset = repeated = 0
    for reply in REPLY.finditer(text):
        if "DUP!" in reply[0]:
            repeated += 1
            continue
        number = int(reply["number"])
        # Sequence numbers have 16 bits.
        offset += SEQUENCES if number + SEQUENCES // 2 < last else 0
        last = number
        stamps.append(float(reply["stamp"]) if reply["stamp"] else None)
        numbers.append(number + offset)
        values.append(float(reply["ms"].replace(",", ".")))
    if not values:
        raise InputError("no reply with a time in it; give the whole output of ping")
    notes = [f"{repeated} repeated replies are left out"] if repeated else []
    first = int(numbers[0])
    if all(one is not None for one in stamps):
        known = [one for one in stamps if one is not None]
        # A stamp is that of the reply.
        times = [stamp - value / 1000 for stamp, value in zip(known, values, strict=True)]
        start = min(times)
        times = [time - start for time in times]
    else:
        interval = _interval_s(text)
        if interval is None:
            interval = INTERVAL_S
            notes.append(f"{interval:g} s between pings is assumed; ping -D prints times")
        times, start = [(number - first) * interval for number in numbers], 0.0
    order = sorted(range(len(times)), key=lambda place: times[place])
    sent = max(numbers) - min(numbers) + 1
    if sent > len(set(numbers)):
        notes.append(f"{sent - len(set(numbers))} of {sent} pings have no reply")
    series = Series("Ping (ms) ICMP", "ms", [times[place] for place in order], [values[place] for place in order])
    return Measurement("ping", (series,), max(times), start if start > 0 else 0.0, tuple(notes))


def _interval_s(text: str) -> float | None:
    """Mean time between pings by the summary of iputils; None without one."""
    found = SUMMARY.search(text)
    if found is None or int(found[1]) < 2:
        return None
    return int(found[2]) / 1000 / (int(found[1]) - 1) or None


REPLY = re.compile(
    r"^(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\] )?\d{1,6} bytes from [^\n=]{1,300}?\b(?:icmp_)?seq=(?P<number>\d{1,9})\b"
    r"[^\n]{0,100}?\btime[=<](?P<ms>\d{1,9}(?:[.,]\d{1,6})?) ?ms[^\n]{0,40}",
    re.MULTILINE,
)
SUMMARY = re.compile(r"^(\d{1,9}) packets transmitted,[^\n]{0,200}\btime (\d{1,12})ms", re.MULTILINE)
