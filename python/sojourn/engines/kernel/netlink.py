"""Netlink attributes of queue disciplines that the host's tc may be too old for.

Attribute numbers are those of `include/uapi/linux/pkt_sched.h`; the syntax and its meaning are iproute2's
(`tc/q_dualpi2.c`, `tc/q_cake.c`). The guest's program sends the message (`guest/tool/qdisc.c`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sojourn.base.errors import InputError


class Option(NamedTuple):
    """A netlink attribute: its number, its length, and the conversion of a word's value."""

    number: int
    bytes: int
    value: Callable[[str], int] | int
    """Converter of the value, or the constant for a keyword without a value."""


class Syntax(NamedTuple):
    """Syntax of a discipline."""

    options: Mapping[str, Option]
    """Words that set one attribute."""
    dependent: tuple[str, ...]
    """Words that set several attributes or depend on each other."""
    derive: Callable[[Mapping[str, str]], Iterator[tuple[Option, int]]]
    """Attributes of the dependent words."""


def job_line(device: str, parent: str, handle: str, line: str) -> str:
    """Line of a job that adds a discipline, given in tc's syntax, to a class of `device` or to its `root`.

    Raises `InputError` for an unknown word.
    """
    kind, *words = line.split()
    options = [f"{option.number}:{option.bytes}:{value}" for option, value in _options(kind, words)]
    return " ".join(["qdisc", device, parent, handle, kind, *options])


def is_set_by_netlink(line: str) -> bool:
    """Whether a discipline, given in tc's syntax, must be set by netlink."""
    return line.split()[0] in KINDS


def _options(kind: str, words: list[str]) -> Iterator[tuple[Option, int]]:
    options, dependent, derive = KINDS[kind]
    rest = iter(words)
    values: dict[str, str] = {}
    for word in rest:
        option = options.get(word)
        if option is not None and isinstance(option.value, int):
            yield option, option.value
            continue
        if option is None and word not in dependent:
            raise InputError(f"{kind}: unknown keyword {word}")
        text = next(rest, None)
        if text is None:
            raise InputError(f"{kind}: {word} needs a value")
        if option is not None and callable(option.value):
            yield option, option.value(text)
        else:
            values[word] = text
    yield from derive(values)


def _count(text: str) -> int:
    return int(text)


def microseconds(text: str) -> int:
    """Time as tc reads it (`get_time`), truncated to microseconds."""
    found = re.fullmatch(r"([\d.]+)(us|ms|s|)", text)
    if found is None:
        raise InputError(f"{text!r} is not a time")
    return int(float(found[1]) * {"us": 1.0, "": 1.0, "ms": 1e3, "s": 1e6}[found[2]])


def _gain(text: str) -> int:
    """Gain in 1/256 per second, in single precision (`parse_alpha_beta`)."""
    return int(np.float32(text) * np.float32(GAIN_UNITS))


def _percent(text: str) -> int:
    return round(float(text.removesuffix("%")))


def _dualpi2_attributes(words: Mapping[str, str]) -> Iterator[tuple[Option, int]]:
    """A step threshold in time or packets, and parameters derived from RTTs (`dualpi2_parse_opt`)."""
    if step := words.get("step_thresh"):
        packets = re.fullmatch(r"(\d+)(p|pkts?|packets?)", step)
        yield (Option(7, 4, 0), int(packets[1])) if packets else (Option(8, 4, 0), microseconds(step))
    longest, typical = (microseconds(words.get(name, "0")) for name in ("max_rtt", "typical_rtt"))
    if not longest and not typical:
        return
    if not typical:
        typical = max(longest // TYPICAL_TO_MAX, 1)
    elif not longest:
        longest = typical * TYPICAL_TO_MAX
    tupdate = max(int(min(float(typical), longest / 3)), 1)
    alpha = tupdate / longest / longest * 1e6 * float(np.float32(0.1))
    beta = float(np.float32(0.3)) / longest * 1e6
    values = {"target": typical, "tupdate": tupdate, "alpha": int(alpha * GAIN_UNITS), "beta": int(beta * GAIN_UNITS)}
    for name, value in values.items():
        yield DUALPI2[name], value


def _cake_attributes(words: Mapping[str, str]) -> Iterator[tuple[Option, int]]:
    """The RTT, and the target, a twentieth of it."""
    if rtt := microseconds(words.get("rtt", "0")):
        yield Option(7, 4, 0), rtt
        yield Option(8, 4, 0), max(rtt // 20, 1)


def _bytes_per_second(text: str) -> int:
    found = re.fullmatch(r"(\d+)bit", text)
    if found is None:
        raise InputError(f"{text!r} is not a rate in bit")
    return int(found[1]) // 8


GAIN_UNITS = 256.0
"""Units of a gain of one per second."""
TYPICAL_TO_MAX = 6
DUALPI2: Mapping[str, Option] = {
    "limit": Option(1, 4, _count),
    "memlimit": Option(2, 4, _count),
    "target": Option(3, 4, microseconds),
    "tupdate": Option(4, 4, microseconds),
    "alpha": Option(5, 4, _gain),
    "beta": Option(6, 4, _gain),
    "min_qlen_step": Option(9, 4, _count),
    "coupling_factor": Option(10, 1, _count),
    "overflow": Option(11, 1, 0),
    "drop_on_overload": Option(11, 1, 1),
    "drop_dequeue": Option(12, 1, 0),
    "drop_enqueue": Option(12, 1, 1),
    "classic_protection": Option(13, 1, _percent),
    "l4s_ect": Option(14, 1, 1),
    "any_ect": Option(14, 1, 3),
    "no_split_gso": Option(15, 1, 0),
    "split_gso": Option(15, 1, 1),
}
CAKE: Mapping[str, Option] = {
    "bandwidth": Option(2, 8, _bytes_per_second),
    "unlimited": Option(2, 8, 0),
    **{
        word: Option(3, 4, mode)
        for mode, word in enumerate(("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"))
    },
    "flowblind": Option(5, 4, 0),
    "memlimit": Option(10, 4, _count),
    "nowash": Option(13, 4, 0),
    "wash": Option(13, 4, 1),
    "egress": Option(15, 4, 0),
    "ingress": Option(15, 4, 1),
}
"""CAKE's words that set one attribute, as far as patterns use them."""
KINDS = {
    "dualpi2": Syntax(DUALPI2, ("step_thresh", "max_rtt", "typical_rtt"), _dualpi2_attributes),
    "cake_mq": Syntax(CAKE, ("rtt",), _cake_attributes),
}
"""Syntax by name of the discipline."""
