"""Queue disciplines that hold others, in tc's words: `tbf`, `prio` and `htb` with what is in their braces.

What holds others is the class of a root that is never passed by, as any other queue, but with the handle that the
scenario gives it. A class that a flow group names is found by a filter for its addresses: Linux forgets the priority of
a packet that it forwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.values import bits, nanoseconds, octets

Make = Callable[[str, Mapping[str, Any]], Any]
"""Translates a link without a parent: its place and its keys."""
NAMED, FILTERED, ELSE = 1, 2, 3
"""Which filters are asked first: those for classes that senders name, those of the classes, those for all the rest."""
FIRST_CHILD = 0xE000
"""Handles of what is in the classes, from here on."""
USUAL_DEPTH = 1600
"""Depth of a bucket without a word, in bytes: tc's `mtu` of classes of htb."""
_RATE = re.compile(r"([\d.]+)((?:k|M|G)?bit/s)")


@dataclass(frozen=True)
class Part:
    """A class or a band: its words, and the text in its braces."""

    kind: str
    """`class` or `band`."""
    number: int
    values: Mapping[str, str]
    codes: Sequence[int]
    """Code points of its filters."""
    child: str


@dataclass(frozen=True)
class Parent:
    """A discipline that holds others, in tc's words."""

    line: str
    handle: str
    """As `1:`."""
    parts: Sequence[Part] = ()
    more: Sequence[str] = ()
    """Lines of tc behind that of the discipline, with `{dev}` for the device."""
    bands: Mapping[int, int] = field(default_factory=dict)
    """Of `prio`: the class of each priority."""

    def filters(self, class_id: str, addresses: Sequence[str]) -> Iterator[str]:
        """Filters for the packets of hosts that name a class, or the priority of `0:6`."""
        major, minor = (int(part or "0", 16) for part in class_id.split(":"))
        own = f"{major:x}:" == self.handle
        place = NAMED
        if self.bands:
            named = minor if own else self.bands.get(minor, 1) if major == 0 else 0
            if named not in self.bands.values() and not 1 <= named <= len(self.parts):
                named = self.bands[0]
            place = NAMED if own else ELSE
        elif own and (minor == 0 or minor in {part.number for part in self.parts}):
            named = minor
        else:
            return
        for address in addresses:
            yield _filter(self.handle, place, f"ip src {address}/32", named)


def holds(aqm: Mapping[str, Any]) -> bool:
    """Whether a queue manager is one that holds others."""
    return aqm["name"].split("{")[0].strip() in MAKERS


def parent(place: str, link: Mapping[str, Any], make: Make) -> Parent:
    """Translate a link's parent; `make` translates what it holds."""
    aqm = link["aqm"]
    name, brace, inside = aqm["name"].partition("{")
    parts = [_part(text) for text in _texts(inside.rpartition("}")[0])] if brace and name.strip() != "tbf" else []
    if name.strip() == "tbf":
        parts = [Part("tbf", 1, {}, (), inside.rpartition("}")[0].strip())]
    made = MAKERS[name.strip()](place, link, parts, make)
    if int(made.handle.rstrip(":"), 16) >= FIRST_CHILD:
        refuse(f"{place}.aqm.handle", f"has handles of its own from {FIRST_CHILD:x}: on", "take a smaller one")
    return made


def _tbf(place: str, link: Mapping[str, Any], parts: Sequence[Part], make: Make) -> Parent:
    aqm = link["aqm"]
    rate = bits(f"{place}.aqm.rate", aqm["rate"])
    if not rate:
        refuse(f"{place}.aqm", "has no tbf that does not shape", "write tbf rate 10mbit burst 5kB limit 50kB")
    limit, latency = octets(place, aqm["limit"]), nanoseconds(place, aqm["latency"])
    child = parts[0].child
    words = [f"rate {rate}bit", f"burst {octets(place, aqm['burst'])}"]
    if latency and not limit:
        words.append(f"latency {latency / 1000:g}us")
    else:
        # With braces it has no effect, but tc wants one.
        words.append(f"limit {limit or octets(place, aqm['burst'])}")
        if not limit and not child:
            refuse(f"{place}.aqm", "has no tbf without a limit", "add limit 50kB")
    if peak := bits(place, aqm["peakrate"]):
        words.append(f"peakrate {peak}bit mtu {octets(place, aqm['mtu'])}")
    words += _framing(aqm)
    children = _Children(place, link, "10:", make)
    more = children.held(1, child) if child else []
    return Parent(f"tbf {' '.join(words)}", children.handle, more=more)


def _prio(place: str, link: Mapping[str, Any], parts: Sequence[Part], make: Make) -> Parent:
    aqm = link["aqm"]
    priomap = [int(band) for band in aqm["priomap"].split(",")]
    handle, count = f"{aqm['handle']}:", int(aqm["bands"])
    by_number = {part.number: part for part in parts}
    bands = [by_number.get(number, Part("band", number, {}, (), "")) for number in range(1, count + 1)]
    more: list[str] = []
    children = _Children(place, link, handle, make)
    for band in bands:
        more += [*children.held(band.number, band.child), *_by_code(handle, band)]
    line = f"prio bands {count} priomap {' '.join(map(str, priomap))}"
    return Parent(line, handle, bands, more, {number: band + 1 for number, band in enumerate(priomap)})


def _htb(place: str, link: Mapping[str, Any], parts: Sequence[Part], make: Make) -> Parent:
    aqm = link["aqm"]
    handle = f"{aqm['handle']}:"
    inner = {int(part.values["parent"], 16) for part in parts if "parent" in part.values}
    more: list[str] = []
    children = _Children(place, link, handle, make)
    for part in _parents_first(parts):
        above = part.values.get("parent", "")
        words = " ".join(_of_class(f"{place}.aqm", part))
        more.append(f"class add dev {{dev}} parent {handle}{above} classid {handle}{part.number:x} htb {words}")
        if part.number not in inner:
            more += [*children.held(part.number, part.child), *_by_code(handle, part)]
    leaves = [part for part in parts if part.number not in inner]
    line = f"htb default {int(aqm['default'], 16):x} r2q {aqm['r2q']} direct_qlen {aqm['direct_qlen']}"
    return Parent(line, handle, leaves, more)


def _parents_first(parts: Sequence[Part]) -> Iterator[Part]:
    """Classes behind those that they are in, else in the order in which they stand."""
    known = {0}
    left = list(parts)
    while left:
        ready = next(part for part in left if int(part.values.get("parent", "0"), 16) in known)
        known.add(ready.number)
        left.remove(ready)
        yield ready


def _of_class(place: str, part: Part) -> Iterator[str]:
    """A class of htb. Its depths are always given: tc adds to its own what the rate carries in a tick of the guest."""
    values = part.values
    rate = _bits(place, values["rate"])
    yield f"rate {rate}bit ceil {_bits(place, values.get('ceil', values['rate']))}bit"
    for word in ("burst", "cburst"):
        yield f"{word} {octets(place, values[word]) if word in values else USUAL_DEPTH}"
    for word in ("prio", "overhead", "mpu", "linklayer"):
        if word in values:
            yield f"{word} {values[word]}"
    if "quantum" in values:
        yield f"quantum {octets(place, values['quantum'])}"


def _framing(aqm: Mapping[str, Any]) -> Iterator[str]:
    for word in ("overhead", "mpu"):
        if aqm[word]:
            yield f"{word} {aqm[word]}"
    if aqm["linklayer"] != "ethernet":
        yield f"linklayer {aqm['linklayer']}"


@dataclass
class _Children:
    """What the classes of a parent hold."""

    place: str
    link: Mapping[str, Any]
    handle: str
    """The parent's."""
    make: Make
    count: int = 0

    def held(self, number: int, text: str) -> list[str]:
        """What a class holds; without braces a queue with the limit of the link, as here, not of the device."""
        where = f"{self.place}.aqm"
        if "{" in text:
            refuse(where, "has no parent inside of another one", "leave one of them out")
        parsed = json.loads(_core.parse_aqm(text or "droptail"))
        aqm = {"name": parsed["name"], "profile": parsed["profile"], **parsed["parameters"]}
        made = self.make(self.place, {**self.link, "aqm": aqm})
        if made.inner:
            refuse(where, f"has no {parsed['name']} in a class", "choose codel, fq_codel, pie, cake or droptail")
        own = f"{FIRST_CHILD + self.count:x}:"
        self.count += 1
        return [f"qdisc add dev {{dev}} parent {self.handle}{number:x} handle {own} {made.line}"]


def _by_code(handle: str, part: Part) -> list[str]:
    return [_filter(handle, FILTERED, f"ip dsfield {code << 2:#x} 0xfc", part.number) for code in part.codes]


def _filter(handle: str, place: int, match: str, minor: int) -> str:
    start = f"filter add dev {{dev}} parent {handle} protocol ip prio {place}"
    return f"{start} u32 match {match} flowid {handle}{minor:x}"


def _bits(place: str, text: str) -> int:
    """A rate as it stands in braces, without a space."""
    found = _RATE.fullmatch(text)
    return bits(place, f"{found[1]} {found[2]}" if found else text)


def _texts(inside: str) -> Iterator[str]:
    """What semicolons part, but for those in inner braces."""
    depth, text = 0, ""
    for sign in f"{inside};":
        depth += (sign == "{") - (sign == "}")
        if sign == ";" and not depth:
            if text.strip():
                yield text.strip()
            text = ""
        else:
            text += sign


def _part(text: str) -> Part:
    own, _, inside = text.partition("{")
    kind, number, *words = own.split()
    values: dict[str, str] = {}
    codes: list[int] = []
    rest = iter(words)
    for word in rest:
        value = next(rest)
        if word == "match":
            code = next(rest)
            if value != "dscp":
                refuse(f"match {value} {code}", "sorts by code points and by classes only", "write match dscp EF")
            codes.append(_core.dscp(code))
        else:
            values[word] = value
    base = 16 if kind == "class" else 10
    return Part(kind, int(number.rpartition(":")[2], base), values, codes, inside.rpartition("}")[0].strip())


MAKERS = {"tbf": _tbf, "prio": _prio, "htb": _htb}
"""By name."""
