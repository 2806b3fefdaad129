"""Output of `ping` (iputils with and without -D, BusyBox, BSD, macOS, Windows): round-trip times of the replies.

Windows prints a line per ping without a number. Words are matched in all languages that write `time=20 ms` with others.
"""

from __future__ import annotations

import re

from sojourn.base.errors import InputError
from sojourn.io.measured.measurement import Measurement, Series

INTERVAL_S = 1.0
"""Default time between pings."""
SEQUENCES = 1 << 16


def recognises(head: str) -> bool:
    """Whether a text begins as the output of ping."""
    return any(one.search(head) for one in (BEGIN, REPLY, WINDOWS))


def read(text: str) -> Measurement:
    """Read a log; raises `InputError`."""
    if len(BEGIN.findall(text)) > 1:
        raise InputError("several runs of ping in it; give one at a time")
    text = _numbered(text)
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


def _numbered(text: str) -> str:
    """Windows' replies with the numbers of their lines, in the form of the others."""
    first = WINDOWS.search(text)
    if first is None or REPLY.search(text):
        return text
    begin, end = text.rfind("\n\n", 0, first.start()), text.find("\n\n", first.end())
    rest = text[end:] if end >= 0 else ""
    if WINDOWS.search(rest):
        raise InputError("several runs of ping in it; give one at a time")
    pings = text[max(begin, 0) : end if end >= 0 else len(text)].strip("\n").split("\n")
    if pings[0].endswith(":"):
        del pings[0]
    found = [(number, WINDOWS.match(line)) for number, line in enumerate(pings)]
    return "\n".join(f"32 bytes from host: seq={number} time={one['ms']} ms" for number, one in found if one)


def _interval_s(text: str) -> float | None:
    """Mean time between pings by the summary of iputils; None without one."""
    found = SUMMARY.search(text)
    if found is None or int(found[1]) < 2:
        return None
    return int(found[2]) / 1000 / (int(found[1]) - 1) or None


REPLY = re.compile(
    r"^(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\] )?\d{1,6} \w{1,20} [^\n=]{1,300}?\b(?:icmp_)?seq=(?P<number>\d{1,9})\b"
    r"[^\n]{0,100}?\b\w{1,20}[=<](?P<ms>\d{1,9}(?:[.,]\d{1,6})?) ?ms[^\n]{0,40}",
    re.MULTILINE,
)
WINDOWS = re.compile(
    r"^[^\n=<]{5,100}: (?:\w{1,20}=\d{1,5} )?\w{1,20}[=<](?P<ms>\d{1,9}) ?ms\b[^\n]{0,40}",
    re.MULTILINE,
)
"""A reply as Windows prints it."""
BEGIN = re.compile(r"^PING \S", re.MULTILINE)
SUMMARY = re.compile(r"^(\d{1,9}) packets transmitted,[^\n]{0,200}\btime (\d{1,12})ms", re.MULTILINE)
