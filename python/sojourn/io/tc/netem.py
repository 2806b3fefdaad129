"""Translation of `netem`: our parser accepts tc's words, but not the labels in tc's output."""

from __future__ import annotations

import re
from collections.abc import Callable

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.records import Qdisc, TcConfig

# Labels that `tc qdisc show` prints before values that the commands have without them.
SHOWN = ("p", "r", "1-h", "1-k", "p13", "p31", "p32", "p23", "p14")
LABELS = {"packetoverhead": "packet_overhead", "cellsize": "cell_size", "celloverhead": "cell_overhead"}
TIMES = {"delay": 2, "latency": 2, "slot": 2}
"""Words with times, and their maximum number."""
PLAIN = ("loss", "drop", "random", "state", "gemodel", "duplicate", "corrupt", "reorder", "gap", "ecn")
"""Words that are passed on with their values."""
SLOT_WORDS = ("packets", "bytes")


def translate_words(qdisc: Qdisc, words: list[str], config: TcConfig) -> list[str]:
    """Translate the words for our parser; unsupported words are noted.

    tc's output lacks the distribution of the jitter, so it is assumed to be uniform.
    """
    out: list[str] = []
    left = [word for word in words if word not in SHOWN]
    while left:
        word = left.pop(0)
        if word == "limit" and left:
            out += ["limit", values.count(left.pop(0))]
        elif word in TIMES:
            out += [word, *_times(qdisc, left, TIMES[word])]
        elif word == "rate" and left:
            out += ["rate", _convert(qdisc, left.pop(0), values.rate)]
        elif word in LABELS and left:
            out += [LABELS[word], left.pop(0)]
        elif word == "distribution" and left:
            out += [word, left.pop(0)]
        elif word == "seed" and left:
            config.note(qdisc.line, f"netem: seed {left.pop(0)}: random numbers follow from the run's seed")
        elif word in PLAIN or word in SLOT_WORDS or (values.is_value(word) and out):
            out.append(word)
        else:
            unsupported = [word]
            while left and values.is_value(left[0]):
                unsupported.append(left.pop(0))
            config.note(qdisc.line, f"netem: {' '.join(unsupported)}")
    return out


def _times(qdisc: Qdisc, left: list[str], max_count: int) -> list[str]:
    """Take the leading times, for a slot also after `distribution NAME`."""
    times = [left.pop(0), left.pop(0)] if left[:1] == ["distribution"] and left[1:] else []
    for _ in range(max_count):
        if left and re.match(r"[0-9]", left[0]) and not left[0].endswith("%"):
            times.append(_time(qdisc, left.pop(0)))
    return times


def _time(qdisc: Qdisc, text: str) -> str:
    """Convert a time of netem, in nanoseconds if it has no unit (`get_time64`)."""
    nanoseconds = re.fullmatch(r"([0-9]+)(ns|nsec|nsecs)?", text)
    return f"{nanoseconds[1]}ns" if nanoseconds else _convert(qdisc, text, values.time)


def _convert(qdisc: Qdisc, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text).replace(" ", "")
    except InputError as error:
        raise InputError(f"line {qdisc.line}: netem: {error}") from None
