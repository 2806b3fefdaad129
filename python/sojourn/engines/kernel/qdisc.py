"""Queue disciplines in tc's words: the same names and parameters, where the kernel has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.base.units import initial_value
from sojourn.engines.kernel.parents import MAKERS as PARENTS
from sojourn.engines.kernel.parents import Parent, holds, parent
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.values import bits, limit_of, nanoseconds, non_profile_parameters, octets

Word = Callable[[str, str, Any], str]
"""Writes a parameter as tc's words: place, tc's name, value of the scenario."""


@dataclass(frozen=True)
class Discipline:
    """A queue discipline of the kernel."""

    tc: str
    """Its name in tc."""
    profiles: tuple[str, ...]
    """Profiles that mean the kernel's; other variants are not in there."""
    words: Mapping[str, Word]
    """Parameters that tc takes."""
    limit: str = "packets"
    """What its own limit counts: packets, bytes, either by a queue inside, or nothing, where it is never reached."""
    drops_early: bool = False
    """Whether it drops arrivals before its queue is full."""
    names: Mapping[str, str] | None = None
    """Names of parameters in tc where they differ."""


@dataclass(frozen=True)
class Queue:
    """A link's queue in tc's words."""

    line: str
    """What follows `handle 10:`."""
    inner: str = ""
    """Discipline inside it, at `parent 10:1`; none if empty."""
    limit: str = "unlimited"
    """Limit of all waiting packets, as scenarios write it."""
    drops_early: bool = False
    parent: Parent | None = None
    """What it holds, if it holds others."""


def queue(place: str, link: Mapping[str, Any]) -> Queue:
    """Translate a link's queue manager and limit; `place` is the link's in the scenario."""
    table = link["aqm"]
    name, where = table["name"], f"{place}.aqm"
    if holds(table):
        return _parent(place, link)
    if name not in DISCIPLINES:
        refuse(where, f"has no {name}", f"choose one of {', '.join([*DISCIPLINES, *PARENTS])}")
    kind = DISCIPLINES[name]
    if table["profile"] not in kind.profiles:
        best = next((p for p in kind.profiles if p.startswith("linux")), None)
        refuse(where, f"has no {name}@{table['profile']}", f"choose {f'{name}@{best}' if best else name}")
    _refuse_others(where, name, table, kind)
    if table.get("bandwidth") == "0 bit/s" and name != "cake":  # the link's; tc would take 10 Mbit/s
        table = {**table, "bandwidth": initial_value(link["rate"])}
    words = [kind.words[key](f"{where}.{key}", _tc_name(kind, key), table[key]) for key in kind.words]
    if name in ("red", "ared"):
        words += _red(where, table, link)
    if isinstance(link["limit"], list) or "+" in link["limit"]:
        refuse(f"{place}.limit", "takes one limit", "leave one of them")
    return _limited(place, kind, " ".join(word for word in words if word), link["limit"], table, link)


def _parent(place: str, link: Mapping[str, Any]) -> Queue:
    """What holds others; the limit of the link holds in each class."""
    table = link["aqm"]
    if not table["profile"].startswith("linux"):
        refuse(f"{place}.aqm", f"has no {table['name']}@{table['profile']}", "leave the profile out")
    number, unit = limit_of(place, link["limit"], link)
    made = parent(place, link, queue)
    return Queue(made.line, limit=f"{number} {unit}", drops_early=True, parent=made)


def _limited(place: str, kind: Discipline, words: str, limit: str, table: Mapping[str, Any], link: Any) -> Queue:
    """Add the limit, which some disciplines count in packets only and some in bytes."""
    number, unit = limit_of(place, limit, link)
    told = f"{number} {unit}"
    if kind.limit == "nothing":
        if unit != "packets" or number < CAKE_LIMIT:
            said = f"has no limit of {kind.tc} but its own in bytes, memlimit"
            refuse(f"{place}.limit", said, f'write "{CAKE_LIMIT} packets", which is never reached')
        return Queue(f"{kind.tc} {words}", "", told, kind.drops_early)
    if kind.limit == "either":  # pfifo or bfifo is the queue itself
        return Queue(f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {number}", limit=told)
    if kind.limit == "inside":
        inner = f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {number}"
        # RED demands a limit of its own and gives it to a queue inside, which is replaced.
        return Queue(f"{kind.tc} limit 1000000000 {words}", inner, told, kind.drops_early)
    if unit != "packets":
        refuse(f"{place}.limit", f"limits {kind.tc} by packets", 'write e.g. "1000 packets"')
    number = min(number, int(table.get("limit", number)))
    return Queue(f"{kind.tc} limit {number} {words}".strip(), "", f"{number} packets", kind.drops_early)


def _refuse_others(where: str, name: str, table: Mapping[str, Any], kind: Discipline) -> None:
    """A parameter that tc lacks has to have the value that the name stands for."""
    for key in non_profile_parameters(table):
        if key not in kind.words and key not in _DERIVED:
            refuse(f"{where}.{key}", f"cannot set {key} of {name}", "leave it out")


def _tc_name(kind: Discipline, key: str) -> str:
    return (kind.names or {}).get(key, key)


def _red(where: str, table: Mapping[str, Any], link: Mapping[str, Any]) -> list[str]:
    """Thresholds of RED, those of Khademi et al. 2013 where a target is given: half and one and a half of it."""
    low, high, avpkt = (octets(f"{where}.{key}", table[key]) for key in ("min", "max", "avpkt"))
    target = nanoseconds(f"{where}.target", table["target"])
    if low and not high:
        high = 3 * low
    elif high and not low:
        low = high // 3
    elif not low:
        rate = bits(f"{where}", initial_value(link["rate"]))
        mtu = octets(f"{where}", link["mtu"]) + octets(f"{where}", link["overhead"])
        if not target:
            refuse(f"{where}.min", "needs the thresholds of RED", "write e.g. min 12500B max 37500B, or target 5ms")
        span = rate * target // 8_000_000_000
        low, high = max(span // 2, mtu), max(3 * span // 2, 2 * mtu)
    burst = int(table["burst"])
    if not burst:
        size, packets = 2 * low + high, 3 * avpkt
        burst = -(-size // packets) if target else size // packets
    return [f"min {low}", f"max {high}", f"burst {burst}"]


def _time(place: str, name: str, value: Any) -> str:
    ns = nanoseconds(place, value)
    if ns % 1000:
        refuse(place, "counts whole microseconds", 'write e.g. "5 ms"')
    return f"{name} {ns // 1000}us"


def _optional_time(place: str, name: str, value: Any) -> str:
    """A time that is switched off by its default of an hour."""
    return "" if nanoseconds(place, value) >= 3600 * 10**9 else _time(place, name, value)


def _bytes(place: str, name: str, value: Any) -> str:
    """A size; without one tc has rules of its own, which are ours too."""
    size = octets(place, value)
    return f"{name} {size}" if size else ""


def _count(_place: str, name: str, value: Any) -> str:
    return f"{name} {int(value)}" if int(value) else ""


def _rate(place: str, name: str, value: Any) -> str:
    return f"{name} {bits(place, value)}bit"


def _number(_place: str, name: str, value: Any) -> str:
    return f"{name} {float(value)!r}"


def _quantum(place: str, name: str, value: Any) -> str:
    if octets(place, value) < LEAST_QUANTUM:
        refuse(place, f"takes no quantum below {LEAST_QUANTUM} B", f'write "{LEAST_QUANTUM} B"')
    return _bytes(place, name, value)


def _sixteenths(place: str, name: str, value: Any) -> str:
    """PIE's gains, which tc counts in sixteenths per second; a gain of 0 is the kernel's default."""
    number = float(value) * 16
    if number != int(number) or not 1 <= number <= 32:
        refuse(place, "counts the gains of PIE in sixteenths, from 1/16 to 2", "write e.g. 0.125")
    return f"{name} {int(number)}"


def _thousandths(place: str, name: str, value: Any) -> str:
    percent = float(value) * 100
    if percent != round(percent):
        refuse(place, "counts this in percent", "write e.g. 0.1")
    return f"{name} {round(percent)}"


def _flag(_place: str, name: str, value: Any) -> str:
    return name if value else ""


def _either(_place: str, name: str, value: Any) -> str:
    return name if value else f"no{name}"


def _word(_place: str, _name: str, value: Any) -> str:
    return str(value)


def _one_of(chosen: str, other: str = "") -> Word:
    """Words for on and off."""
    return lambda _place, _name, value: chosen if value else other


def _shaped(place: str, name: str, value: Any) -> str:
    return _rate(place, name, value) if bits(place, value) else "unlimited"


def _whole(_place: str, name: str, value: Any) -> str:
    """A whole number, of either sign; without one nothing is added to a packet."""
    return f"{name} {int(value)}" if int(value) else ""


def _ack_filter(_place: str, _name: str, value: Any) -> str:
    return {"off": "no-ack-filter", "filter": "ack-filter", "aggressive": "ack-filter-aggressive"}[value]


CAKE_LIMIT = 10_240
"""In packets: `sch->limit`, which CAKE only multiplies with the largest packet to bound its memory."""
LEAST_QUANTUM = 256
"""In bytes: FQ-CoDel, FQ-PIE and SFQ take a smaller one for this."""
_CODEL: dict[str, Word] = {"target": _time, "interval": _time, "ecn": _either, "ce_threshold": _optional_time}
_PIE: dict[str, Word] = {
    "target": _time,
    "tupdate": _time,
    "alpha": _sixteenths,
    "beta": _sixteenths,
    "ecn": _either,
    "bytemode": _either,
    "dq_rate_estimator": _flag,
}
_RED: dict[str, Word] = {
    "avpkt": _bytes,
    "bandwidth": _rate,
    "probability": _number,
    "ecn": _flag,
    "harddrop": _flag,
    "nodrop": _flag,
}
_SFQ: dict[str, Word] = {"depth": _count, "quantum": _quantum, "flows": _count, "headdrop": _flag, "divisor": _count}
_CAKE: dict[str, Word] = {
    "bandwidth": _shaped,
    "autorate_ingress": _one_of("autorate-ingress"),
    "tins": _word,
    "isolation": _word,
    "rtt": _time,
    "ingress": _one_of("ingress", "egress"),
    "wash": _either,
    "ack_filter": _ack_filter,
    "split_gso": _one_of("", "no-split-gso"),
    "memlimit": _bytes,
    "layer": _word,
    "overhead": _whole,
    "mpu": _count,
}
DISCIPLINES = {
    "droptail": Discipline("pfifo", ("plain",), {}, "either"),
    "drophead": Discipline("pfifo_head_drop", ("plain",), {}),
    "codel": Discipline("codel", ("rfc8289", "linux"), _CODEL),
    "fq_codel": Discipline(
        "fq_codel",
        ("rfc8290", "linux"),
        {"flows": _count, "quantum": _quantum, "memory_limit": _bytes, "drop_batch": _count, **_CODEL},
    ),
    "pie": Discipline("pie", ("rfc8033", "linux"), _PIE, drops_early=True),
    "fq_pie": Discipline(
        "fq_pie",
        ("linux",),
        {"flows": _count, "quantum": _quantum, "mark_ecnth": _thousandths, **_PIE},
        drops_early=True,
        names={"mark_ecnth": "ecn_prob"},
    ),
    "red": Discipline("red", ("linux",), _RED, "inside", drops_early=True),
    "ared": Discipline(
        "red",
        ("linux", "linux-5.7"),
        {**_RED, "adaptive": lambda _place, _name, _value: "adaptative"},
        "inside",
        drops_early=True,
    ),
    "choke": Discipline(
        "choke",
        ("linux",),
        {
            "min": _count,
            "max": _count,
            "avpkt": _bytes,
            "burst": _count,
            "bandwidth": _rate,
            "probability": _number,
            "ecn": _flag,
        },
        drops_early=True,
    ),
    "sfq": Discipline("sfq", ("linux",), _SFQ),
    "sfq_red": Discipline(
        "sfq",
        ("linux",),
        {
            **_SFQ,
            "redflowlimit": _bytes,
            "min": _bytes,
            "max": _bytes,
            "avpkt": _bytes,
            "burst": _count,
            "probability": _number,
            "ecn": _flag,
            "harddrop": _flag,
        },
        drops_early=True,
    ),
    "cake": Discipline("cake", ("linux", "linux-6.1"), _CAKE, "nothing"),
}
"""By our name. What tc's `sfq` calls a flow limit and its hash is ours too."""
_DERIVED = {
    "min",
    "max",
    "burst",
    "target",
    "limit",
    "created",
    "jiffy",
    "hash",
    "memory_limit",
    "adaptive",
}
"""Parameters that are looked at elsewhere, or that are the kernel's own business."""
