"""Disciplines of `tc` that hold others: `htb`, `tbf`, `prio`, `netem`, and the queues of a card (`mq`).

`hfsc` and `ets` are in `nearest`, which turns them into what is nearest to them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sojourn.base.errors import InputError
from sojourn.io.tc import netem, values
from sojourn.io.tc.disciplines import Spelled, spell, without_table
from sojourn.io.tc.lines import Class, Device, Qdisc, Read
from sojourn.io.tc.nearest import NEAREST
from sojourn.model.aqms.registry import parsed


@dataclass(frozen=True)
class Tree:
    """What a device does to what it sends."""

    spelled: Spelled
    bounds: tuple[int, ...] = ()
    """Rates to which it shapes, in bit/s; empty where it does not."""
    classes: tuple[str, ...] = ()
    """Leaves of HTB, as `1:11`, in their order."""
    default: str = ""
    """The one of what nothing classifies; empty where that is not shaped."""


def tree(device: Device, found: Read, wanted: str | None = None) -> Tree:
    """Translate the discipline of what a device sends; `wanted` names a class, where a card has several trees."""
    root = device.root
    if root is None:
        raise InputError(f"{device.name}: no root discipline is said; give what tc qdisc show prints")
    return _tree(device, root, found, wanted)


def _tree(device: Device, qdisc: Qdisc, found: Read, wanted: str | None) -> Tree:
    with found.inside(qdisc):
        return _tree_of(device, qdisc, found, wanted)


def _tree_of(device: Device, qdisc: Qdisc, found: Read, wanted: str | None) -> Tree:
    if qdisc.kind in ("mq", "mqprio"):
        return _tree(device, _of_card(device, qdisc, found, wanted), found, wanted)
    if qdisc.kind in NEAREST:
        device, qdisc = NEAREST[qdisc.kind](device, qdisc, found)
    if qdisc.kind == "htb":
        return _htb(device, qdisc, found)
    if qdisc.kind == "tbf":
        return Tree(_tbf(device, qdisc, found), _bounds(qdisc, "rate"))
    if qdisc.kind == "netem":
        return Tree(_netem(device, qdisc, found), _bounds(qdisc, "rate"))
    if qdisc.kind == "prio":
        return Tree(_prio(device, qdisc, found))
    return Tree(spell(qdisc, found), _bounds(qdisc, "bandwidth"))


def _of_card(device: Device, card: Qdisc, found: Read, wanted: str | None) -> Qdisc:
    """One of the queues of a card: that of the class, else the first one, since they are alike in the usual case."""
    major = card.handle
    queues = [
        one for one in device.qdiscs.values() if one.parent.startswith(":") or (major and one.parent.startswith(major))
    ]
    if not queues:
        raise InputError(f"line {card.line}: {card.kind} without its queues; give all that tc qdisc show prints")
    chosen = queues[0]
    if wanted:
        handle = f"{wanted.partition(':')[0]}:"
        chosen = next((one for one in queues if one.handle.lower() == handle.lower()), chosen)
    if len(queues) > 1:
        named = f" {chosen.handle}" if chosen.handle else ""
        found.note(card.line, f"{card.kind}: {len(queues)} queues of the card are taken for one, {chosen.kind}{named}")
    return chosen


def _tbf(device: Device, qdisc: Qdisc, found: Read) -> Spelled:
    words, framing = without_table(qdisc)
    out = ["tbf"]
    for word, value in _pairs(qdisc, words, found):
        if word not in TBF:
            found.note(qdisc.line, f"tbf: {word} {value}")
        else:
            name, read = TBF[word]
            out.append(f"{name} {read(value).replace(' ', '')}")
    child = _child(device, qdisc, 1, found)
    if child:
        # The limit of tbf itself has no effect then, in Linux neither.
        out = [word for word in out if not word.startswith(("limit ", "latency "))]
        out.append(f"{{ {child.text} }}")
    text = str(parsed(" ".join(out))["text"])
    return Spelled(text, child.limits if child else ("1000 packets",), framing)


def _netem(device: Device, qdisc: Qdisc, found: Read) -> Spelled:
    words, framing = without_table(qdisc)
    out = ["netem", *netem.words_of(qdisc, words, found)]
    child = _child(device, qdisc, 1, found)
    if child:
        out.append(f"{{ {child.text} }}")
    try:
        spelled = parsed(" ".join(out))
    except InputError as error:
        raise InputError(f"line {qdisc.line}: netem: {error}") from None
    limit = next((f"{text} packets" for word, text in pairwise(out) if word == "limit"), "1000 packets")
    return Spelled(str(spelled["text"]), child.limits if child else (limit,), framing)


def _prio(device: Device, qdisc: Qdisc, found: Read) -> Spelled:
    words, framing = without_table(qdisc)
    out, bands = ["prio"], 3
    limits: list[Limit] = []
    if "bands" in words:
        bands = int(words[words.index("bands") + 1])
        out.append(f"bands {bands}")
    rest = device.rest.removeprefix(qdisc.handle)
    if device.rest.startswith(qdisc.handle) and rest.isalnum():
        out.append(f"priomap {','.join([str(int(rest, 16) - 1)] * 16)}")
    elif "priomap" in words:
        at = words.index("priomap") + 1
        out.append(f"priomap {','.join(words[at : at + 16])}")
    if qdisc.handle:
        out.append(f"handle {qdisc.handle.rstrip(':')}")
    parts = []
    for number in range(1, bands + 1):
        child = _child(device, qdisc, number, found)
        match = "".join(f" match dscp {code}" for code in _codes(device, f"{qdisc.handle}{number:x}"))
        inside = f" {{ {child.text} }}" if child else ""
        limits.append(_limit(device, qdisc, number, child))
        if match or inside:
            parts.append(f"band {number}{match}{inside}")
    if parts:
        out.append(f"{{ {'; '.join(parts)} }}")
    return Spelled(str(parsed(" ".join(out))["text"]), _of_each(limits, found), framing)


def _htb(device: Device, qdisc: Qdisc, found: Read) -> Tree:
    words, framing = without_table(qdisc)
    head, default = _htb_words(qdisc, words, found)
    classes = [one for one in device.classes.values() if one.number.startswith(qdisc.handle)]
    inner = {one.parent for one in classes}
    leaves = [one.number for one in classes if one.number not in inner]
    if not leaves:
        raise InputError(f"line {qdisc.line}: htb without classes; add what tc class show dev {device.name} prints")
    chosen = device.rest if device.rest in leaves else f"{qdisc.handle}{default}"
    if chosen in leaves:
        head.append(f"default {chosen.removeprefix(qdisc.handle)}")
    elif default.strip("0"):
        found.note(qdisc.line, f"htb: default {default} is no leaf; what nothing classifies goes without a shaper")
    parts, limits = [], []
    for one in classes:
        parent = "" if one.parent in ("root", qdisc.handle) else f"parent {one.parent} "
        text = f"class {one.number} {parent}{_class(one, found)}"
        if one.number in leaves:
            number = int(one.number.rpartition(":")[2], 16)
            child = _child(device, qdisc, number, found)
            text += "".join(f" match dscp {code}" for code in _codes(device, one.number))
            text += f" {{ {child.text} }}" if child else ""
            limits.append(_limit(device, qdisc, number, child))
        parts.append(text)
    try:
        text = str(parsed(f"{' '.join(head)} {{ {'; '.join(parts)} }}")["text"])
    except InputError as error:
        raise InputError(f"line {qdisc.line}: htb: {error}") from None
    bounds = tuple(bound for one in classes for bound in (*_bounds(one, "ceil"), *_bounds(one, "rate")))
    return Tree(
        Spelled(text, _of_each(limits, found), framing), bounds, tuple(leaves), chosen if chosen in leaves else ""
    )


def _htb_words(qdisc: Qdisc, words: Sequence[str], found: Read) -> tuple[list[str], str]:
    """Our words of the discipline itself, and the minor number of its default class."""
    head, default = [f"htb handle {qdisc.handle.rstrip(':') or '1'}"], ""
    for word, value in _pairs(qdisc, words, found):
        if word == "default":
            default = value.removeprefix("0x").rpartition(":")[2]
        elif word in ("r2q", "direct_qlen"):
            head.append(f"{word} {value}")
        elif word not in ("direct_packets_stat", "ver"):
            found.note(qdisc.line, f"htb: {word} {value}")
    return head, default


def _class(one: Class, found: Read) -> str:
    out = []
    left = list(one.words)
    while left:
        word = left.pop(0)
        value = left.pop(0) if left else ""
        if word in CLASS:
            out.append(f"{word} {CLASS[word](value).replace(' ', '')}")
        elif word not in ("mtu", "level"):
            found.note(one.line, f"class {one.number}: {word} {value}")
    return " ".join(out)


def _bounds(of: Qdisc | Class, word: str) -> tuple[int, ...]:
    """The rate behind a word, in bit/s, if it is there and bounds anything."""
    if word not in of.words[:-1]:
        return ()
    text = of.words[of.words.index(word) + 1]
    return () if text == "unlimited" else (int(values.rate(text).split()[0]),)


def _child(device: Device, qdisc: Qdisc, number: int, found: Read) -> Spelled | None:
    """What a class holds; a discipline that holds others in turn is written in braces, too."""
    place = f"{qdisc.handle}{number:x}".lower()
    child = device.below.get(place) if qdisc.handle else None
    if child is None:
        return None
    return _tree(device, child, found, None).spelled


@dataclass(frozen=True)
class Limit:
    """How much a class may hold, and whether that is the host's to say here."""

    line: int
    kind: str
    text: str
    by_host: bool


def _limit(device: Device, qdisc: Qdisc, number: int, child: Spelled | None) -> Limit:
    """The limit of a class; of a class without a discipline that of the device's queue."""
    place = f"{qdisc.handle}{number:x}"
    if child is None:
        one = device.classes.get(place)
        return Limit(one.line if one else qdisc.line, f"class {place}", DEVICE, by_host=True)
    held = device.below[place.lower()]
    return Limit(held.line, held.kind, " and ".join(child.limits) or DEVICE, child.limited_by_host)


def _codes(device: Device, place: str) -> Iterator[str]:
    yield from map(str, device.codes.get(place, ()))


def _pairs(qdisc: Qdisc, words: Sequence[str], found: Read) -> Iterator[tuple[str, str]]:
    left = list(words)
    while left:
        word = left.pop(0)
        if left:
            yield word, left.pop(0)
        else:
            found.note(qdisc.line, f"{qdisc.kind}: {word}")


def _of_each(limits: Sequence[Limit], found: Read) -> tuple[str, ...]:
    """The largest limit in packets: here each class has that of the link. Classes that had another one are noted."""
    packets = [int(one.text.split()[0]) for one in limits if one.text.endswith("packets")]
    chosen = f"{max(packets, default=1000)} packets"
    for one in limits:
        if one.by_host and one.text != chosen:
            found.note(one.line, f"{one.kind}: its limit of {one.text}; here each class has that of the link, {chosen}")
    return (chosen,)


def _overhead(text: str) -> str:
    return text.removesuffix("b")


DEVICE = "1000 packets"
"""Of a device's queue, `txqueuelen`."""
TBF: dict[str, tuple[str, Callable[[str], str]]] = {
    "rate": ("rate", values.rate),
    "burst": ("burst", values.size),
    "buffer": ("burst", values.size),
    "maxburst": ("burst", values.size),
    "limit": ("limit", values.size),
    "latency": ("latency", values.time),
    "lat": ("latency", values.time),
    "peakrate": ("peakrate", values.rate),
    "mtu": ("mtu", values.size),
    "minburst": ("mtu", values.size),
    "overhead": ("overhead", _overhead),
    "mpu": ("mpu", _overhead),
    "linklayer": ("linklayer", str),
}
"""tc's words of tbf: ours, and how they are read."""
CLASS: dict[str, Callable[[str], str]] = {
    "rate": values.rate,
    "ceil": values.rate,
    "burst": values.size,
    "cburst": values.size,
    "quantum": values.size,
    "prio": values.count,
    "overhead": _overhead,
    "mpu": _overhead,
    "linklayer": str,
}
"""tc's words of a class of htb."""
