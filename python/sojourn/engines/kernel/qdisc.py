"""Translation of queue managers to tc."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.base.units import initial_value, limit_text
from sojourn.engines.kernel.own_qdisc import is_forced, own_line
from sojourn.engines.kernel.parents import Parent, is_parent, parent
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.values import bits, limit_of, nanoseconds, non_profile_parameters, octets, signed_octets
from sojourn.model.aqms.spelling import FORCED, KERNEL_FILE, spelled_aqm

Word = Callable[[str, str, Any], str]
"""Formatter of a parameter for tc, given place, tc's name and the scenario's value."""


@dataclass(frozen=True)
class Discipline:
    """A queue discipline of the kernel."""

    tc: str
    """Name in tc."""
    profiles: tuple[str, ...]
    """Profiles that equal the kernel's implementation."""
    words: Mapping[str, Word]
    """Parameters that tc accepts."""
    limit: str = "packets"
    """Unit of its limit: `packets`, `either` (pfifo or bfifo), `inside` (a child FIFO's), `nothing` (never reached)."""
    drops_early: bool = False
    """Whether it drops arrivals before the queue is full."""
    names: Mapping[str, str] | None = None
    """tc's names of parameters if they differ from ours."""


@dataclass(frozen=True)
class Queue:
    """A link's queue in tc's syntax."""

    line: str
    """Discipline and parameters after `handle 10:`."""
    inner: str = ""
    """Child discipline at `parent 10:1`; none if empty."""
    limit: str = "unlimited"
    """Limit of the whole backlog, in a scenario's syntax."""
    drops_early: bool = False
    parent: Parent | None = None
    """Translation of a classful discipline."""


def queue(place: str, link: Mapping[str, Any]) -> Queue:
    """Translate a link's queue manager and limit; `place` is the link's path in the scenario."""
    table = link["aqm"]
    name, where = table["name"], f"{place}.aqm"
    if is_parent(table):
        return _parent(place, link)
    if name.startswith(KERNEL_FILE):
        return _of_file(place, link)
    if is_forced(table) or name not in DISCIPLINES or table["profile"] not in DISCIPLINES[name].profiles:
        return _own(place, link)
    kind = DISCIPLINES[name]
    _refuse_parameters(where, name, table, kind)
    if table.get("bandwidth") == "0 bit/s" and name != "cake":  # the link's rate; tc's default is 10 Mbit/s
        table = {**table, "bandwidth": initial_value(link["rate"])}
    words = [kind.words[key](f"{where}.{key}", _tc_name(kind, key), table[key]) for key in kind.words]
    if name in ("red", "ared"):
        words += _red(where, table, link)
    if isinstance(link["limit"], list) or "+" in link["limit"]:
        refuse(f"{place}.limit", "accepts only one limit", "keep one of them")
    return _limited(place, kind, " ".join(word for word in words if word), link["limit"], table, link)


def _of_file(place: str, link: Mapping[str, Any]) -> Queue:
    """Translate the discipline of a file that is compiled into the kernel, with tc's words of another or none."""
    name, *words = link["aqm"]["name"].removeprefix(KERNEL_FILE).split()
    if not words or words[0] == "options":
        return Queue(" ".join((name, *words)), drops_early=True)
    aqm = {**link["aqm"], "name": like(link["aqm"])}
    if is_parent(aqm) or aqm["name"] not in DISCIPLINES or aqm["profile"] not in DISCIPLINES[aqm["name"]].profiles:
        known = ", ".join(spelled_aqm(f"{name}@{kind.profiles[0]}") for name, kind in DISCIPLINES.items())
        refuse(f"{place}.aqm", f"has no words of tc for {' '.join(words[1:])}", f"name one of {known}, or options")
    translated = queue(place, {**link, "aqm": aqm})
    return replace(translated, line=f"{name} like {translated.line}")


def _own(place: str, link: Mapping[str, Any]) -> Queue:
    """Translate a queue manager to our discipline; one that the kernel lacks may drop early."""
    aqm, limit = link["aqm"], limit_text(link["limit"])
    if isinstance(aqm.get("limit"), int) and re.fullmatch(r"\d+ packets", limit):
        limit = f"{min(int(limit.split()[0]), aqm['limit'])} packets"
    known = DISCIPLINES.get(aqm["name"].removeprefix(FORCED))
    return Queue(own_line(place, link), limit=limit, drops_early=known is None or known.drops_early)


def like(aqm: Mapping[str, Any]) -> str:
    """Name of a queue manager; for one of a kernel's file the name of that whose words it has, or none."""
    name = str(aqm["name"])
    return name.partition(" like ")[2] if name.startswith(KERNEL_FILE) else name


def _parent(place: str, link: Mapping[str, Any]) -> Queue:
    """Translate a classful discipline; the link's limit applies to each class."""
    table = link["aqm"]
    if not table["profile"].startswith("linux"):
        refuse(f"{place}.aqm", f"has no {table['name']}@{table['profile']}", "leave the profile out")
    number, unit = limit_of(place, link["limit"], link)
    translated = parent(place, link, queue)
    return Queue(translated.line, limit=f"{number} {unit}", drops_early=True, parent=translated)


def _limited(place: str, kind: Discipline, words: str, limit: str, table: Mapping[str, Any], link: Any) -> Queue:
    """Add the limit, which some disciplines count in packets and some in bytes."""
    number, unit = limit_of(place, limit, link)
    capacity = f"{number} {unit}"
    if kind.limit == "nothing":
        if unit != "packets" or number < CAKE_LIMIT:
            reason = f"limits {kind.tc} only by its own memlimit in bytes"
            refuse(f"{place}.limit", reason, f'write "{CAKE_LIMIT} packets", which is never reached')
        return Queue(f"{kind.tc} {words}", "", capacity, kind.drops_early)
    if kind.limit == "either":  # pfifo or bfifo is the queue itself
        return Queue(f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {number}", limit=capacity)
    if kind.limit == "inside":
        inner = f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {number}"
        # RED requires a limit for its default child bfifo, which is replaced.
        return Queue(f"{kind.tc} limit 1000000000 {words}", inner, capacity, kind.drops_early)
    if unit != "packets":
        refuse(f"{place}.limit", f"limits {kind.tc} by packets", 'write e.g. "1000 packets"')
    number = min(number, int(table.get("limit", number)))
    return Queue(f"{kind.tc} limit {number} {words}".strip(), "", f"{number} packets", kind.drops_early)


def _refuse_parameters(where: str, name: str, table: Mapping[str, Any], kind: Discipline) -> None:
    """Refuse a parameter that tc lacks, unless it has the profile's value."""
    for key in non_profile_parameters(table):
        if key not in kind.words and key not in _DERIVED:
            refuse(f"{where}.{key}", f"cannot set {key} of {name}", f"leave it out, or write {FORCED}{name}")


def _tc_name(kind: Discipline, key: str) -> str:
    return (kind.names or {}).get(key, key)


def _red(where: str, table: Mapping[str, Any], link: Mapping[str, Any]) -> list[str]:
    """Thresholds of RED; with a target those of Khademi et al. 2013: 0.5 and 1.5 times the target."""
    low, high, avpkt = (octets(f"{where}.{key}", table[key]) for key in ("min", "max", "avpkt"))
    target = nanoseconds(f"{where}.target", table["target"])
    if low and not high:
        high = 3 * low
    elif high and not low:
        low = high // 3
    elif not low:
        rate = bits(f"{where}", initial_value(link["rate"]))
        mtu = octets(f"{where}", link["mtu"]) + signed_octets(f"{where}", link["overhead"])
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
        refuse(place, "works in whole microseconds", 'write e.g. "5 ms"')
    return f"{name} {ns // 1000}us"


def _optional_time(place: str, name: str, value: Any) -> str:
    """A time whose default of an hour means off."""
    return "" if nanoseconds(place, value) >= 3600 * 10**9 else _time(place, name, value)


def _bytes(place: str, name: str, value: Any) -> str:
    """A size; 0 is tc's default, which is ours too."""
    size = octets(place, value)
    return f"{name} {size}" if size else ""


def _count(_place: str, name: str, value: Any) -> str:
    return f"{name} {int(value)}" if int(value) else ""


def _rate(place: str, name: str, value: Any) -> str:
    return f"{name} {bits(place, value)}bit"


def _number(_place: str, name: str, value: Any) -> str:
    return f"{name} {float(value)!r}"


def _quantum(place: str, name: str, value: Any) -> str:
    if octets(place, value) < MIN_QUANTUM:
        refuse(place, f"accepts no quantum below {MIN_QUANTUM} B", f'write "{MIN_QUANTUM} B"')
    return _bytes(place, name, value)


def _sixteenths(place: str, name: str, value: Any) -> str:
    """PIE's gains in sixteenths per second; the kernel replaces a gain of 0 by its default."""
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


def _on_off(_place: str, name: str, value: Any) -> str:
    return name if value else f"no{name}"


def _word(_place: str, _name: str, value: Any) -> str:
    return str(value)


def _one_of(on: str, off: str = "") -> Word:
    """Formatter of a flag with words for on and off."""
    return lambda _place, _name, value: on if value else off


def _shaped(place: str, name: str, value: Any) -> str:
    return _rate(place, name, value) if bits(place, value) else "unlimited"


def _signed(_place: str, name: str, value: Any) -> str:
    """A signed integer; omitted if 0."""
    return f"{name} {int(value)}" if int(value) else ""


def _ack_filter(_place: str, _name: str, value: Any) -> str:
    return {"off": "no-ack-filter", "filter": "ack-filter", "aggressive": "ack-filter-aggressive"}[value]


CAKE_LIMIT = 10_240
"""`sch->limit` in packets, which CAKE only uses, times the maximum packet, to bound its memory."""
MIN_QUANTUM = 256
"""Minimum quantum in bytes of FQ-CoDel, FQ-PIE and SFQ, which raise a smaller one to this."""
_CODEL: dict[str, Word] = {"target": _time, "interval": _time, "ecn": _on_off, "ce_threshold": _optional_time}
_PIE: dict[str, Word] = {
    "target": _time,
    "tupdate": _time,
    "alpha": _sixteenths,
    "beta": _sixteenths,
    "ecn": _on_off,
    "bytemode": _on_off,
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
    "wash": _on_off,
    "ack_filter": _ack_filter,
    "split_gso": _one_of("", "no-split-gso"),
    "memlimit": _bytes,
    "layer": _word,
    "overhead": _signed,
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
"""Disciplines by our name."""
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
"""Parameters that are handled elsewhere or are internal to the kernel."""
