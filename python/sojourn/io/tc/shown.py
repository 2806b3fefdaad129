"""Classes and filters of `tc`'s output, which name no device: assigned after everything has been read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sojourn.io.tc import filters, values
from sojourn.io.tc.records import Class, Device, TcConfig

UNNAMED = "the device"
"""Name of a device that the input does not name."""


@dataclass
class _Part:
    """Output of one command: classes and filters of one device."""

    device: str
    """Device that the command names; empty if unknown."""
    hook: str = ""
    """`ingress` or `egress` if the command names it."""
    listed: list[str] = field(default_factory=list)
    """Devices of the disciplines since the part before."""
    classes: dict[str, Class] = field(default_factory=dict)
    """Classes by id."""
    filters: list[tuple[int, list[str]]] = field(default_factory=list)


@dataclass
class ShownParts:
    """Output about classes and filters, in parts by device."""

    parts: list[_Part] = field(default_factory=list)
    device: str = ""
    hook: str = ""
    listed: list[str] = field(default_factory=list)

    def begin(self, device: str, hook: str) -> None:
        """Begin a part with the command that printed it; `hook` is `ingress`, `egress` or empty."""
        self.device, self.hook, self.listed = device, hook, []
        self._next(device)

    def saw_qdisc(self, device: str) -> None:
        """Record the device of a discipline; the next class or filter begins a part."""
        if self.parts and (self.parts[-1].classes or self.parts[-1].filters):
            self.listed = []
            self.parts.append(_Part(self.device, self.hook, self.listed))
        if device not in self.listed:
            self.listed.append(device)

    def add_class(self, line: int, words: list[str]) -> None:
        """Parse a line of `tc class show`."""
        kind, number, *rest = words
        device, rest = after("dev", rest)
        rest = rest[1:] if rest[:1] == ["root"] else rest
        parent, rest = after("parent", rest)
        _, rest = after("leaf", rest)
        one = Class(kind, values.class_id(number), values.class_id(parent) or "root", rest, line, is_shown=True)
        part = self._part(device)
        if one.number in part.classes or part.filters:
            part = self._next(device)
        part.classes[one.number] = one

    def add_filter(self, line: int, words: list[str]) -> None:
        """Keep a line of `tc filter show`; hash tables and empty heads are skipped."""
        if re.search(r"flowid|classid|baseclass|mirred|police|\baction\b", " ".join(words)):
            device, words = after("dev", words)
            self._part(device).filters.append((line, words))

    def resolve(self, config: TcConfig) -> None:
        """Add everything to its device."""
        devices = {name: _Majors.of(device) for name, device in config.devices.items()}
        for part in self.parts:
            if part.classes:
                name = _device_of_classes(config, part, devices)
                devices.setdefault(name, _Majors()).taken |= _majors(part.classes)
                for one in part.classes.values():
                    config.add_class(name, one)
                part.device = part.device or name
        for part in self.parts:
            for line, words in part.filters:
                _add_filter(config, part, line, words)

    def _part(self, device: str) -> _Part:
        if not self.parts or (device and self.parts[-1].device != device):
            return self._next(device)
        return self.parts[-1]

    def _next(self, device: str) -> _Part:
        self.parts.append(_Part(device or self.device, self.hook, self.listed))
        return self.parts[-1]


@dataclass
class _Majors:
    """Major numbers of a device: of its disciplines, with the classes that have a child, and of its classes."""

    children: dict[str, set[str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, device: Device) -> _Majors:
        """Major numbers of a device as read so far."""
        children = {one.handle.rstrip(":"): set[str]() for one in device.qdiscs.values() if one.handle}
        for one in device.qdiscs.values():
            major, colon, _ = one.parent.partition(":")
            if colon and major in children:
                children[major].add(one.parent)
        return cls(children, _majors(device.classes))


def _majors(classes: Iterable[str]) -> set[str]:
    return {number.partition(":")[0] for number in classes}


def _device_of_classes(config: TcConfig, part: _Part, devices: Mapping[str, _Majors]) -> str:
    """Device of classes: with a discipline of their handle, with children in them, and without classes so far."""
    if part.device:
        return part.device
    majors = _majors(part.classes)
    owners = [name for name, device in devices.items() if majors <= device.children.keys()]
    free = [name for name in owners if not majors & devices[name].taken]
    fitting = [name for name in free if all(devices[name].children[major] <= part.classes.keys() for major in majors)]
    names = fitting or free or owners or part.listed[-1:] or [UNNAMED]
    if len(part.listed) == 1 and part.listed[0] in names:
        return part.listed[0]
    if len(names) > 1:
        config.assume(
            next(iter(part.classes.values())).line,
            f"classes of {names[0]}, the first device with such a handle; tc does not print it, so put a line "
            f'"tc class show dev DEV" before its output',
        )
    return names[0]


def _add_filter(config: TcConfig, part: _Part, line: int, words: list[str]) -> None:
    text = " ".join(words)
    location = {"shown": "", **({part.hook: ""} if part.hook else {})}
    while len(words) > 1 and words[0] in ("parent", "protocol", "pref", "block", "ingress", "egress"):
        if words[0] in ("ingress", "egress"):
            location[words[0]], words = "", words[1:]
        else:
            location[words[0]], words = words[1], words[2:]
    parent = values.class_id(location.get("parent", ""))
    owners = list(config.owners.get(parent, ()))
    target = re.search(r"(?:flowid|classid|baseclass) (\S+)", text)
    if target is not None and len(owners) > 1:
        place = values.class_id(target[1])
        owners = [name for name in owners if place in config.devices[name].classes] or owners
    owners = owners or part.listed[-1:] or list(config.devices)[:1] or [UNNAMED]
    name = part.device or (part.listed[0] if part.listed[:1] == owners[:1] and part.listed else "") or owners[0]
    if not part.device and len(owners) > 1:
        config.assume(line, f"filter of {name}, the first device with such a handle; tc does not print it")
    filters.apply(config, config.device(name), line, location, words)


def after(word: str, words: list[str]) -> tuple[str, list[str]]:
    """Value of `word` if the words start with it, and the words after it."""
    return (words[1], words[2:]) if words[:1] == [word] and len(words) > 1 else ("", words)
