"""Translation of classful queue disciplines to tc: `tbf`, `prio` and `htb` with the children in their braces.

A parent is the class of a `prio` root, as any other queue, but with the scenario's handle. A filter by address selects
the class that a flow group sets, because Linux clears the skb priority of forwarded packets.
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
from sojourn.model.aqms.spelling import split_outside

TranslateQueue = Callable[[str, Mapping[str, Any]], Any]
"""Translator of a link's queue without a parent, given place and keys."""
PREFER_BY_CLASS, PREFER_BY_DSCP, PREFER_DEFAULT = 1, 2, 3
"""Preference of tc filters: for classes set by flow groups, by DSCP, and for the default."""
FIRST_CHILD = 0xE000
"""First handle of the classes' children."""
DEFAULT_BURST = 1600
"""Default bucket depth in bytes: tc's default `mtu` of htb classes."""
_RATE = re.compile(r"([\d.]+)((?:k|M|G)?bit/s)")


@dataclass(frozen=True)
class ClassSpec:
    """A class or band: its parameters and the text in its braces."""

    kind: str
    """`class` or `band`."""
    number: int
    values: Mapping[str, str]
    codes: Sequence[int]
    """DSCPs of its filters."""
    child: str


@dataclass(frozen=True)
class Parent:
    """A classful discipline in tc's syntax."""

    line: str
    handle: str
    """Handle, such as `1:`."""
    parts: Sequence[ClassSpec] = ()
    more: Sequence[str] = ()
    """tc lines after the discipline's, with `{dev}` for the device."""
    bands: Mapping[int, int] = field(default_factory=dict)
    """Class of each priority, for `prio`."""

    def filters(self, class_id: str, addresses: Sequence[str]) -> Iterator[str]:
        """Yield filters for the hosts' packets of a class such as `1:2`, or of a priority such as `0:6`."""
        major, minor = (int(part or "0", 16) for part in class_id.split(":"))
        is_own = f"{major:x}:" == self.handle
        preference = PREFER_BY_CLASS
        if self.bands:
            target = minor if is_own else self.bands.get(minor, 1) if major == 0 else 0
            if target not in self.bands.values() and not 1 <= target <= len(self.parts):
                target = self.bands[0]
            preference = PREFER_BY_CLASS if is_own else PREFER_DEFAULT
        elif is_own and (minor == 0 or minor in {part.number for part in self.parts}):
            target = minor
        else:
            return
        for address in addresses:
            yield _filter(self.handle, preference, f"ip src {address}/32", target)


def is_parent(aqm: Mapping[str, Any]) -> bool:
    """Whether a queue manager is classful."""
    return aqm["name"].split("{")[0].strip() in TRANSLATORS


def parent(place: str, link: Mapping[str, Any], make: TranslateQueue) -> Parent:
    """Translate a link's parent; `make` translates its children."""
    aqm = link["aqm"]
    name, brace, inside = aqm["name"].partition("{")
    parts = (
        [_parse_class(text) for text in split_outside(inside.rpartition("}")[0], ";") if text]
        if brace and name.strip() != "tbf"
        else []
    )
    if name.strip() == "tbf":
        parts = [ClassSpec("tbf", 1, {}, (), inside.rpartition("}")[0].strip())]
    translated = TRANSLATORS[name.strip()](place, link, parts, make)
    if int(translated.handle.rstrip(":"), 16) >= FIRST_CHILD:
        refuse(f"{place}.aqm.handle", f"reserves handles from {FIRST_CHILD:x}: on", "use a smaller one")
    return translated


def _tbf(place: str, link: Mapping[str, Any], parts: Sequence[ClassSpec], make: TranslateQueue) -> Parent:
    aqm = link["aqm"]
    rate = bits(f"{place}.aqm.rate", aqm["rate"])
    if not rate:
        refuse(f"{place}.aqm", "does not support a tbf without a rate", "write tbf rate 10mbit burst 5kB limit 50kB")
    limit, latency = octets(place, aqm["limit"]), nanoseconds(place, aqm["latency"])
    child = parts[0].child
    words = [f"rate {rate}bit", f"burst {octets(place, aqm['burst'])}"]
    if latency and not limit:
        words.append(f"latency {latency / 1000:g}us")
    else:
        # Ignored with a child, but tc requires it.
        words.append(f"limit {limit or octets(place, aqm['burst'])}")
        if not limit and not child:
            refuse(f"{place}.aqm", "needs a limit for tbf", "add limit 50kB")
    if peak := bits(place, aqm["peakrate"]):
        words.append(f"peakrate {peak}bit mtu {octets(place, aqm['mtu'])}")
    words += _framing(aqm)
    children = _Children(place, link, "10:", make)
    more = children.add(1, child) if child else []
    return Parent(f"tbf {' '.join(words)}", children.handle, more=more)


def _prio(place: str, link: Mapping[str, Any], parts: Sequence[ClassSpec], make: TranslateQueue) -> Parent:
    aqm = link["aqm"]
    priomap = [int(band) for band in aqm["priomap"].split(",")]
    handle, count = f"{aqm['handle']}:", int(aqm["bands"])
    by_number = {part.number: part for part in parts}
    bands = [by_number.get(number, ClassSpec("band", number, {}, (), "")) for number in range(1, count + 1)]
    more: list[str] = []
    children = _Children(place, link, handle, make)
    for band in bands:
        more += [*children.add(band.number, band.child), *_by_code(handle, band)]
    line = f"prio bands {count} priomap {' '.join(map(str, priomap))}"
    return Parent(line, handle, bands, more, {number: band + 1 for number, band in enumerate(priomap)})


def _htb(place: str, link: Mapping[str, Any], parts: Sequence[ClassSpec], make: TranslateQueue) -> Parent:
    aqm = link["aqm"]
    handle = f"{aqm['handle']}:"
    inner = {int(part.values["parent"], 16) for part in parts if "parent" in part.values}
    more: list[str] = []
    children = _Children(place, link, handle, make)
    for part in _parents_first(parts):
        above = part.values.get("parent", "")
        words = " ".join(_class_parameters(f"{place}.aqm", part))
        more.append(f"class add dev {{dev}} parent {handle}{above} classid {handle}{part.number:x} htb {words}")
        if part.number not in inner:
            more += [*children.add(part.number, part.child), *_by_code(handle, part)]
    leaves = [part for part in parts if part.number not in inner]
    line = f"htb default {int(aqm['default'], 16):x} r2q {aqm['r2q']} direct_qlen {aqm['direct_qlen']}"
    return Parent(line, handle, leaves, more)


def _parents_first(parts: Sequence[ClassSpec]) -> Iterator[ClassSpec]:
    """Classes in order, but each after its parent."""
    placed = {0}
    left = list(parts)
    while left:
        ready = next(part for part in left if int(part.values.get("parent", "0"), 16) in placed)
        placed.add(ready.number)
        left.remove(ready)
        yield ready


def _class_parameters(place: str, part: ClassSpec) -> Iterator[str]:
    """Parameters of an htb class, always with bursts: tc's defaults depend on the guest's tick."""
    values = part.values
    rate = _bits(place, values["rate"])
    yield f"rate {rate}bit ceil {_bits(place, values.get('ceil', values['rate']))}bit"
    for word in ("burst", "cburst"):
        yield f"{word} {octets(place, values[word]) if word in values else DEFAULT_BURST}"
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
    """Children of a parent's classes."""

    place: str
    link: Mapping[str, Any]
    handle: str
    """The parent's handle."""
    make: TranslateQueue
    count: int = 0

    def add(self, number: int, text: str) -> list[str]:
        """Line of tc for a class's child; by default a FIFO with the link's limit, as ours, not the device's."""
        where = f"{self.place}.aqm"
        if "{" in text:
            refuse(where, "does not support nested parents", "leave one of them out")
        parsed = json.loads(_core.parse_aqm(text or "droptail"))
        aqm = {"name": parsed["name"], "profile": parsed["profile"], **parsed["parameters"]}
        qdisc = self.make(self.place, {**self.link, "aqm": aqm})
        if qdisc.inner:
            refuse(
                where, f"does not support {parsed['name']} in a class", "choose codel, fq_codel, pie, cake or droptail"
            )
        handle = f"{FIRST_CHILD + self.count:x}:"
        self.count += 1
        return [f"qdisc add dev {{dev}} parent {self.handle}{number:x} handle {handle} {qdisc.line}"]


def _by_code(handle: str, part: ClassSpec) -> list[str]:
    return [_filter(handle, PREFER_BY_DSCP, f"ip dsfield {code << 2:#x} 0xfc", part.number) for code in part.codes]


def _filter(handle: str, preference: int, match: str, minor: int) -> str:
    start = f"filter add dev {{dev}} parent {handle} protocol ip prio {preference}"
    return f"{start} u32 match {match} flowid {handle}{minor:x}"


def _bits(place: str, text: str) -> int:
    """Rate as written in braces, without a space."""
    found = _RATE.fullmatch(text)
    return bits(place, f"{found[1]} {found[2]}" if found else text)


def _parse_class(text: str) -> ClassSpec:
    head, _, inside = text.partition("{")
    kind, number, *words = head.split()
    values: dict[str, str] = {}
    codes: list[int] = []
    rest = iter(words)
    for word in rest:
        value = next(rest)
        if word == "match":
            code = next(rest)
            if value != "dscp":
                refuse(f"match {value} {code}", "classifies by DSCP and class only", "write match dscp EF")
            codes.append(_core.dscp(code))
        else:
            values[word] = value
    base = 16 if kind == "class" else 10
    return ClassSpec(kind, int(number.rpartition(":")[2], base), values, codes, inside.rpartition("}")[0].strip())


TRANSLATORS = {"tbf": _tbf, "prio": _prio, "htb": _htb}
"""Translators by name."""
