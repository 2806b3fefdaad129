"""Translation of `netem`: our parser accepts tc's words, but not the labels in tc's output (`netem_print_opt`)."""

from __future__ import annotations

import re
from itertools import takewhile

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.options import accepted, refusal_in
from sojourn.io.tc.records import Qdisc, TcConfig

# Labels that `tc qdisc show` prints before values that the commands have without them.
LABELS = ("p", "r", "1-h", "1-k", "p13", "p31", "p32", "p23", "p14")
SIZES = {"packetoverhead": "packet_overhead", "cellsize": "cell_size", "celloverhead": "cell_overhead"}
TIMES = ("delay", "latency", "slot")
"""Words with up to two times."""
LOSSES = ("loss", "drop")
LOSS_MODELS = ("random", "state", "gemodel")
MAX_JITTER = 2**31 - 1
"""Maximum jitter in nanoseconds."""
PERCENTAGES = ("duplicate", "corrupt", "reorder")


def translate_words(qdisc: Qdisc, words: list[str], config: TcConfig) -> list[str]:
    """Translate the words for our parser, an option each; unsupported ones are noted.

    tc's output lacks the distributions of the jitter and of slots, so they are assumed to be uniform.
    """
    left = [word for word in words if not (qdisc.is_shown and word in LABELS)]
    options: list[str] = []
    while left:
        word = left[0]
        try:
            option = _option(qdisc, left, config)
        except InputError as error:
            if not qdisc.is_shown:  # tc refuses such a command
                raise InputError(f"line {qdisc.line}: netem: {error}") from None
            config.note(qdisc.line, f"netem: {word}: {error}")
            continue
        if option:
            options.append(option)
    # tc prints `gap` after `reorder`, and needs no order.
    return accepted(qdisc, options, refusal_in("netem {}"), config) if qdisc.is_shown else options


def _option(qdisc: Qdisc, left: list[str], config: TcConfig) -> str:
    """Take an option with its values; empty if it has no equivalent."""
    word = left.pop(0)
    if word == "limit" and left:
        return f"limit {values.packets(left.pop(0))}"
    if word in TIMES:
        return _times(qdisc, word, left, config)
    if word == "rate" and left:
        return " ".join(["rate", values.rate(left.pop(0)).replace(" ", ""), *_rest(left)])
    if word in SIZES and left:
        return f"{SIZES[word]} {values.signed(left.pop(0))}"
    if word == "distribution" and left:
        return f"{word} {left.pop(0)}"
    if word in LOSSES:
        model = [left.pop(0)] if left and left[0] in LOSS_MODELS else []
        return " ".join([word, *model, *_rest(left), *([left.pop(0)] if left[:1] == ["ecn"] else [])])
    if word == "gap" and left:
        return f"gap {values.count(left.pop(0))}"
    if word in PERCENTAGES:
        return " ".join([word, *_rest(left)])
    if word == "ecn":
        return word
    reason = ": random numbers follow from the run's seed" if word == "seed" else ""
    config.note(qdisc.line, f"netem: {' '.join([word, *_rest(left)])}{reason}")
    return ""


def _rest(left: list[str]) -> list[str]:
    """Take the leading numbers."""
    numbers = list(takewhile(values.is_value, left))
    del left[: len(numbers)]
    return numbers


def _times(qdisc: Qdisc, word: str, left: list[str], config: TcConfig) -> str:
    """Take the times of a delay or of slots, with the percentage or the sizes after them."""
    out = [word]
    if word == "slot" and left[:1] == ["distribution"]:
        del left[0]
        is_named = bool(left) and not values.is_value(left[0])
        out += ["distribution", left.pop(0) if is_named else "uniform"]
        if not is_named:
            config.assume(qdisc.line, "netem: the distribution of slots is uniform; tc does not print it")
    count = len(out)
    while left and len(out) < count + 2 and re.match(r"[0-9]", left[0]) and not left[0].endswith("%"):
        out.append(_time(left.pop(0)))
    if len(out) == count + 2 and (word != "slot" or "distribution" in out):
        out[-1] = _jitter(qdisc, word, out[-1], config)
    if word != "slot":
        if qdisc.is_shown and len(out) == count + 2 and "distribution" not in qdisc.words:
            config.assume(qdisc.line, "netem: the distribution of the jitter is uniform; tc does not print it")
        return " ".join([*out, *_rest(left)])
    while len(left) > 1 and left[0] in ("packets", "bytes"):
        name, size = left.pop(0), left.pop(0)
        out += [name, values.count(size) if name == "packets" else values.size(size).split()[0]]
    return " ".join(out)


def _jitter(qdisc: Qdisc, word: str, time: str, config: TcConfig) -> str:
    """A jitter of at most Linux's maximum (`netem_change`, `get_slot`)."""
    if int(time.removesuffix("ns")) <= MAX_JITTER:
        return time
    config.note(qdisc.line, f"netem: {word}: Linux reduces the jitter of {time} to {MAX_JITTER}ns")
    return f"{MAX_JITTER}ns"


def _time(text: str) -> str:
    """Convert a time of netem, in nanoseconds if it has no unit (`get_time64`)."""
    nanoseconds = re.fullmatch(r"([0-9]+)(ns|nsec|nsecs)?", text)
    return f"{nanoseconds[1]}ns" if nanoseconds else values.time(text).replace(" ", "")
