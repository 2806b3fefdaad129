"""A line of `netem` in our spelling: tc's words, which our own parser reads, with the labels that tc shows."""

from __future__ import annotations

import re
from collections.abc import Callable

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.lines import Qdisc, Read

# Labels that `tc qdisc show` prints before values that the commands have without them.
SHOWN = ("p", "r", "1-h", "1-k", "p13", "p31", "p32", "p23", "p14")
LABELS = {"packetoverhead": "packet_overhead", "cellsize": "cell_size", "celloverhead": "cell_overhead"}
TIMES = {"delay": 2, "latency": 2, "slot": 2}
"""Words behind which so many times may stand."""
PLAIN = ("loss", "drop", "random", "state", "gemodel", "duplicate", "corrupt", "reorder", "gap", "ecn")
"""Words whose values are read as they stand, with `packets` and `bytes` of a slot."""
MOST_OF_A_SLOT = ("packets", "bytes")


def words_of(qdisc: Qdisc, words: list[str], found: Read) -> list[str]:
    """Spell the words as our parser takes them; what is not understood is noted.

    tc does not show the distribution of the jitter, which is then taken to be even.
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
            out += ["rate", _one(qdisc, left.pop(0), values.rate)]
        elif word in LABELS and left:
            out += [LABELS[word], left.pop(0)]
        elif word == "distribution" and left:
            out += [word, left.pop(0)]
        elif word == "seed" and left:
            found.note(qdisc.line, f"netem: seed {left.pop(0)}: random numbers are those of the run's seed")
        elif word in PLAIN or word in MOST_OF_A_SLOT or (values.is_value(word) and out):
            out.append(word)
        else:
            said = [word]
            while left and values.is_value(left[0]):
                said.append(left.pop(0))
            found.note(qdisc.line, f"netem: {' '.join(said)}")
    return out


def _times(qdisc: Qdisc, left: list[str], most: int) -> list[str]:
    """The times at the front; behind `distribution NAME`, as a slot has it, too."""
    times = [left.pop(0), left.pop(0)] if left[:1] == ["distribution"] and left[1:] else []
    for _ in range(most):
        if left and re.match(r"[0-9]", left[0]) and not left[0].endswith("%"):
            times.append(_time(qdisc, left.pop(0)))
    return times


def _time(qdisc: Qdisc, text: str) -> str:
    """A time as netem reads it: without a unit in nanoseconds (`get_time64`)."""
    nanoseconds = re.fullmatch(r"([0-9]+)(ns|nsec|nsecs)?", text)
    return f"{nanoseconds[1]}ns" if nanoseconds else _one(qdisc, text, values.time)


def _one(qdisc: Qdisc, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text).replace(" ", "")
    except InputError as error:
        raise InputError(f"line {qdisc.line}: netem: {error}") from None
