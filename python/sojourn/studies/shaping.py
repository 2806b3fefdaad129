"""Shaped rate of a queue discipline in tc's spelling, and another discipline at the same rate."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf

from sojourn.base.errors import InputError
from sojourn.base.units import bits_per_second
from sojourn.model.aqms.registry import parsed
from sojourn.model.aqms.spelling import split_outside


@dataclass(frozen=True)
class Shaping:
    """Shaping by a discipline and those inside it."""

    rate_bps: float
    """Maximum total rate of the flows; infinite if some pass unshaped."""
    has_shaper: bool
    """Whether any part of it shapes."""


@dataclass(frozen=True)
class KeptRate:
    """A discipline that keeps the shaped rate of the one that it replaces."""

    text: str
    link: Mapping[str, str]
    """Keys of the link that take over the old shaper's sizes of packets on the line."""


def shaping(spelled: str, classes: Collection[str]) -> Shaping:
    """Shaping by a spelled discipline; `classes` are those that flows name, "" for flows that name none."""
    heads = re.split(r"[{};]", spelled)
    has_shaper = any(_own_rate(head) is not None or _word(head, "ceil", "rate", of="class") for head in heads)
    return Shaping(_rate_bps(spelled, classes), has_shaper)


def at_shaped_rate(spelled: str, new: str, mtu_bytes: int, classes: Collection[str]) -> KeptRate:
    """Make `new` keep the shaped rate of `spelled`, unless `new` has a rate of its own.

    CAKE shapes by itself. Other disciplines replace the leaves of the old shaper, or get a token bucket filter around
    them if the old shaper was CAKE. Raises `InputError` if the rate cannot be kept.
    """
    rate_bps = _rate_bps(spelled, classes)
    if rate_bps == inf:
        raise InputError("its shaper is within one of its bands or classes; write the new queue manager in full")
    if shaping(str(parsed(new)["text"]), classes).has_shaper or _is_unlimited(new):
        return KeptRate(new, {})
    if _name(spelled) == "netem" and _own_rate(spelled) is not None:
        raise InputError("netem itself has the rate, and no queue manager can replace its queue")
    if SHAPERS.get(_name(new)) == "bandwidth":
        name, *words = new.split()
        return KeptRate(" ".join([name, f"bandwidth {_bits(rate_bps)}", *words, *_framing_words(spelled, new)]), {})
    if SHAPERS.get(_name(spelled)) == "bandwidth":
        # A millisecond at the rate, as in sqm-scripts; at least two packets, because TBF drops those above its burst.
        burst = max(int(rate_bps / 8000), 2 * mtu_bytes)
        return KeptRate(f"tbf rate {_bits(rate_bps)} burst {burst}B {{ {new} }}", _framing_keys(spelled))
    return KeptRate(_with_leaves(spelled, new), {})


def _rate_bps(spelled: str, classes: Collection[str]) -> float:
    head, parts = _braces(spelled)
    if _name(head) == "htb":
        return _htb_rate_bps(head, parts, classes)
    own = _own_rate(head)
    inside = _rate_bps(parts[0], classes) if parts and _name(head) in SHAPERS else inf
    return min(inf if own is None else own, inside)


def _htb_rate_bps(head: str, parts: list[str], classes: Collection[str]) -> float:
    """Sum of the ceilings of the classes that flows reach, each at most its parent's."""
    heads = {_word(part, "class"): part for part in parts}
    parents = {number: _word(part.partition("{")[0], "parent") for number, part in heads.items()}
    named = {name.rpartition(":")[2].lstrip("0") for name in classes}
    reached = {number for number in heads if number in named}
    if named - reached:  # by filters, or by default
        default = _word(head, "default").lstrip("0")
        if not default:
            return inf
        reached |= {default, *(number for number, part in heads.items() if " match " in part.partition("{")[0])}

    def total(parent: str) -> float:
        return sum(of(number) for number, above in parents.items() if above == parent)

    def of(number: str) -> float:
        own, inner = _braces(heads[number])
        ceil = _bps(_word(own, "ceil", "rate"))
        if number in parents.values():
            return min(ceil, total(number))
        return min(ceil, _rate_bps(inner[0], classes) if inner else inf) if number in reached else 0.0

    return total("")


def _with_leaves(spelled: str, new: str) -> str:
    """A classful shaper with other disciplines in its leaves."""
    head, parts = _braces(spelled)
    if _name(head) == "htb":
        inner = {_word(part.partition("{")[0], "parent") for part in parts}
        made = [part if _word(part, "class") in inner else _with_leaf(part, new) for part in parts]
        return f"{head} {{ {'; '.join(made)} }}"
    # As in Linux, TBF's own limit has no effect with a discipline inside.
    return _with_leaf(" ".join([re.sub(r" (limit|latency) \S+", "", head), *(f"{{ {part} }}" for part in parts)]), new)


def _with_leaf(part: str, new: str) -> str:
    head, inside = _braces(part)
    is_classful = bool(inside) and _name(inside[0]) in ("htb", "tbf", "police", "netem")
    return f"{head} {{ {_with_leaves(inside[0], new) if is_classful else new} }}"


def _braces(spelled: str) -> tuple[str, list[str]]:
    """Words before the braces, and the parts within them, which semicolons separate."""
    head, brace, rest = spelled.partition("{")
    return head.strip(), split_outside(rest.rstrip().removesuffix("}"), ";") if brace else []


def _name(spelled: str) -> str:
    return re.split(r"[\s@({]", spelled.strip(), maxsplit=1)[0]


def _own_rate(head: str) -> float | None:
    """Rate in bit/s of a discipline's own shaper; None if it does not shape."""
    key = SHAPERS.get(_name(head))
    text = _word(head.partition("{")[0], key) if key else ""
    return _bps(text) if text and not re.fullmatch(UNLIMITED, text) else None


def _is_unlimited(new: str) -> bool:
    """Whether a discipline says itself that it does not shape."""
    key = SHAPERS.get(_name(new))
    return key is not None and ("unlimited" in new.split() or bool(_word(new, key)))


def _word(text: str, *keys: str, of: str = "") -> str:
    """Value of the first of the keywords in a text that begins with `of`; empty if it has none of them."""
    words = text.split()
    if of and words[:1] != [of]:
        return ""
    return next((words[words.index(key) + 1] for key in keys if key in words[:-1]), "")


def _bps(rate: str) -> float:
    """Bit/s of a rate as spelled, `30Mbit/s`."""
    return bits_per_second(re.sub(r"(?<=[0-9])(?=[a-zA-Z])", " ", rate))


def _bits(rate_bps: float) -> str:
    return f"{rate_bps:.0f}bit/s"


def _framing_words(spelled: str, new: str) -> list[str]:
    """CAKE's words for the sizes of packets on the line, unless `new` has its own."""
    if SHAPERS.get(_name(spelled)) != "bandwidth":
        return []
    params = parsed(new)["parameters"]
    if params["layer"] != "noatm" or params["overhead"] or params["mpu"]:
        return []
    layer = _word(spelled, "layer")
    words = [f"{key} {text}" for key in ("overhead", "mpu") if (text := _word(spelled, key)) not in ("", "0")]
    return [*([layer] if layer in ("atm", "ptm") else []), *words]


def _framing_keys(spelled: str) -> dict[str, str]:
    """Keys of a link for the sizes that CAKE computes."""
    sizes = {key: f"{text} B" for key in ("overhead", "mpu") if (text := _word(spelled, key)) not in ("", "0")}
    layer = _word(spelled, "layer")
    return {**({"framing": layer} if layer in ("atm", "ptm") else {}), **sizes}


SHAPERS = {"cake": "bandwidth", "cake_mq": "bandwidth", "tbf": "rate", "police": "rate", "netem": "rate"}
"""Parameter with the shaped rate, by name of the discipline; htb has rates in its classes."""
UNLIMITED = r"unlimited|0(\.0+)?([kMG]?bit(/s)?)?"
