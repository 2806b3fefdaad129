"""Conversion of `tc`'s numbers (iproute2, `lib/utils.c` and `tc/tc_util.c`) to a scenario's.

tc's units differ from ours: `5kb` is 5120 B, `10mbps` is 80 Mbit/s, and a time without a unit is in microseconds.
"""

from __future__ import annotations

import re
from fractions import Fraction

from sojourn.base.errors import InputError


def size(text: str) -> str:
    """Size in bytes of `1600b`, `32Mb`, `10kbit` or `0x5dc`, with k for 1024. A cell size after a slash is ignored."""
    if re.fullmatch("0x[0-9a-fA-F]{1,16}", text):
        return f"{count(text)} B"
    number, unit = _split(text.partition("/")[0], "size", SIZES, "1514b")
    return f"{int(number * SIZES[unit])} B"


def rate(text: str) -> str:
    """Rate of `10Mbit`, `1.5mbps` or `1Gibit`; `bps` is bytes per second; without a unit bits per second."""
    number, unit = _split(text, "rate", RATES, "10mbit")
    bits = int(number * RATES[unit])
    if bits > MAX_RATE:
        raise InputError(f'"{text}" is above 10 Tbit/s; write e.g. 10mbit')
    return f"{bits} bit/s"


def time(text: str) -> str:
    """Time of `5ms`, `20us` or `1s`; without a unit in microseconds."""
    number, unit = _split(text, "time", TIMES, "5ms")
    return f"{int(number * TIMES[unit])} ns"


def count(text: str) -> str:
    """Integer, optionally with `p` for packets or `pps`; hexadecimal after `0x`, octal after `0`."""
    found = re.fullmatch(r"(0x[0-9a-fA-F]+|0[0-7]+|0|[1-9][0-9]*)(?:p|pps)?", text)
    if not found:
        raise InputError(f'"{text}" is not a whole number; tc writes e.g. 1024 or 10240p')
    return str(int(found[1], 8 if re.match("0[0-7]", found[1]) else 0))


def packets(text: str) -> str:
    """Packets of `1024`, of output's `1024p`, or with a unit of a size, such as `2k` for 2048 (`get_size`)."""
    return count(text) if re.search("[0-9]p?$", text) else size(text).split()[0]


def signed(text: str) -> str:
    """Integer, possibly negative."""
    return f"-{count(text[1:])}" if text.startswith("-") else count(text)


def number(text: str) -> str:
    """Decimal number; an integer may be hexadecimal after `0x`."""
    if re.fullmatch("0x[0-9a-fA-F]+", text):
        return count(text)
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", text):
        raise InputError(f'"{text}" is not a number')
    return text


def class_id(text: str) -> str:
    """Class id in the form of tc's output, such as `1:1f`: hexadecimal with or without `0x` (`get_tc_classid`).

    A handle, such as `0x1:`, is a class id without a minor number. Any other text is returned as it is.
    """
    found = re.fullmatch(r"(?:0x)?([0-9a-f]{0,8})(?:(:)(?:0x)?([0-9a-f]{0,4}))?", text.lower())
    if not found or not (found[1] or found[3]):
        return text
    number = int(found[1] or "0", 16)
    major, minor = (number, int(found[3] or "0", 16)) if found[2] else (number >> 16, number & 0xFFFF)
    return f"{major:x}:{minor:x}" if major and minor else f"{major:x}:" if major else f":{minor:x}"


def handle(text: str) -> str:
    """Handle in the form of tc's output, such as `1f:`; the colon may be missing (`get_qdisc_handle`)."""
    return class_id(text if ":" in text else f"{text}:")


def is_value(text: str) -> bool:
    """Whether a word looks like a number, i.e. the value of the previous word."""
    return bool(re.match(r"[-+]?[0-9.]", text))


def _split(text: str, what: str, units: dict[str, Fraction], example: str) -> tuple[Fraction, str]:
    # C's `strtod` reads `.5`, `5.` and `1e6`.
    found = re.fullmatch(r"((?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?)([A-Za-z]*)", text)
    if not found or found[2].lower() not in units:
        raise InputError(f'"{text}" is not a {what} of tc, which writes e.g. {example}')
    return Fraction(found[1]), found[2].lower()


def _rates() -> dict[str, Fraction]:
    found = {"": Fraction(1)}
    for power, letter in enumerate(("", "k", "m", "g", "t")):
        found |= {f"{letter}bit": Fraction(1000**power), f"{letter}bps": Fraction(8 * 1000**power)}
        found |= {f"{letter}ibit": Fraction(1024**power), f"{letter}ibps": Fraction(8 * 1024**power)} if letter else {}
    return found


def _sizes() -> dict[str, Fraction]:
    found = {"": Fraction(1), "b": Fraction(1)}
    for power, letter in enumerate("kmg", start=1):
        found |= {letter: Fraction(1024**power), f"{letter}b": Fraction(1024**power)}
        found[f"{letter}bit"] = Fraction(1024**power, 8)
    return found


RATES = _rates()
"""Units of rates in bit/s."""
MAX_RATE = 10**13
"""Maximum rate of a link in bit/s."""
SIZES = _sizes()
"""Units of sizes in bytes."""
TIMES = {
    **dict.fromkeys(("s", "sec", "secs"), Fraction(10**9)),
    **dict.fromkeys(("ms", "msec", "msecs"), Fraction(10**6)),
    **dict.fromkeys(("", "us", "usec", "usecs"), Fraction(10**3)),
    **dict.fromkeys(("ns", "nsec", "nsecs"), Fraction(1)),
}
"""Units of times in ns."""
