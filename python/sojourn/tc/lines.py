"""Reads what `tc` prints and what it is told: queue disciplines, classes and filters by device.

`tc [-s] qdisc show` prints a line for each discipline, statistics indented below it; with `dev eth0` it leaves the
device out. `tc class show dev eth0` never names the device. Commands may stand in a script or, without `tc`, in a file
for `tc -batch`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

UNNAMED = "the device"


@dataclass
class Qdisc:
    """A queue discipline on a device."""

    kind: str
    handle: str
    """As `8001:`; empty where it has none."""
    parent: str
    """`root`, `ingress`, or a class, as `1:11`."""
    words: list[str]
    line: int


@dataclass
class Class:
    """A class of a discipline."""

    kind: str
    number: str
    """As `1:11`."""
    parent: str
    """`root`, a handle or a class."""
    words: list[str]
    line: int


@dataclass
class Filter:
    """Packets of some code points to a class."""

    dscp: int
    target: str
    """As `1:11`."""


@dataclass
class Device:
    """What a device has."""

    name: str
    qdiscs: list[Qdisc] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    redirected_to: str | None = None
    """The device that gets what comes in here."""

    @property
    def root(self) -> Qdisc | None:
        """The discipline of what is sent."""
        return next((one for one in self.qdiscs if one.parent == "root"), None)


@dataclass
class Read:
    """What was read, by device in the order in which they appear."""

    devices: dict[str, Device] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What was not understood, each with its line."""

    def device(self, name: str) -> Device:
        """The device called `name`; a new one, where nothing was said of it yet."""
        return self.devices.setdefault(name, Device(name))

    def note(self, line: int, text: str) -> None:
        """Remember what was not understood."""
        self.notes.append(f"line {line}: {text}")


def read(text: str) -> Read:
    """Read lines of tc; what is neither its output nor its commands is passed over."""
    found, current = Read(), UNNAMED
    for number, line in _logical(text):
        words = _words(line)
        asked = _asked(words)
        if asked:
            current = asked
        elif words[:1] == ["qdisc"] and len(words) > 2 and re.fullmatch(r"[0-9a-fA-F]*:", words[2]):
            current = _shown_qdisc(found, number, words[1:], current)
        elif words[:1] == ["class"] and len(words) > 2 and re.fullmatch(NUMBER, words[2]):
            _shown_class(found, number, words[1:], current)
        elif command := _command(words):
            if any("$" in word or "`" in word for word in command):
                found.note(number, f"{' '.join(command)}: has a variable of a shell; give what tc qdisc show prints")
            else:
                _do(found, number, command)
    return found


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; one that ends in a backslash goes on in the next, statistics are left out."""
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not held and line[:1].isspace() and not re.match(r"\s+(sudo\s+)?(\S*/)?tc\s", line):
            continue
        first = first if held else number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield first, held + line
        held = ""
    if held:
        yield first, held


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    while words and (words[0] in ("$", "#", "sudo") or re.search(r"[#$]$", words[0])):
        words = words[1:]
    if words and (words[0] == "tc" or words[0].endswith("/tc")):
        words[0] = "tc"
    return words


def _asked(words: Sequence[str]) -> str | None:
    """The device of a line with which a user asked tc to show something."""
    if words[:1] == ["tc"] and ({"show", "ls", "list"} & set(words) or words[-1] in ("qdisc", "class")):
        return words[words.index("dev") + 1] if "dev" in words[:-1] else UNNAMED
    return None


def _command(words: list[str]) -> list[str] | None:
    """What tc is told: object, verb and the rest, without its options."""
    if words[:1] == ["tc"]:
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-n", "-netns", "-b", "-batch", "-cf", "-conf") else words[1:]
    if len(words) > 2 and words[0] in ("qdisc", "class", "filter") and words[1] in VERBS:
        return words
    return None


def _shown_qdisc(found: Read, line: int, words: list[str], current: str) -> str:
    """Take a line of `tc qdisc show`; the device that later lines without one belong to."""
    kind, handle, *rest = words
    handle = "" if handle == "0:" else handle
    named, rest = _after("dev", rest)
    is_root, rest = rest[:1] == ["root"], rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = ("root", rest) if is_root else _after("parent", rest)
    name = named or current
    if not named and is_root and found.device(name).root:
        name = f"{UNNAMED} {len(found.devices) + 1}"
    while rest and rest[0] in ("refcnt", "offloaded", "ingress_block", "egress_block"):
        rest = rest[1:] if rest[0] == "offloaded" else rest[2:]
    parent = "ingress" if kind in INPUT else parent
    found.device(name).qdiscs.append(Qdisc(kind, handle, parent, [word for word in rest if word.strip("-")], line))
    return name


def _shown_class(found: Read, line: int, words: list[str], current: str) -> None:
    kind, number, *rest = words
    major = number.partition(":")[0]
    owners = [one.name for one in found.devices.values() for qdisc in one.qdiscs if qdisc.handle == f"{major}:"]
    name = current if current in owners or not owners else owners[-1]
    rest = rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = _after("parent", rest)
    _, rest = _after("leaf", rest)
    found.device(name).classes.append(Class(kind, number, parent or "root", rest, line))


def _after(word: str, words: list[str]) -> tuple[str, list[str]]:
    """The value of `word`, if it is the first one, and what is behind it."""
    return (words[1], words[2:]) if words[:1] == [word] and len(words) > 1 else ("", words)


def _do(found: Read, line: int, command: list[str]) -> None:
    what, verb, *rest = command
    values, rest = _places(rest)
    device = found.device(values.get("dev", UNNAMED))
    if what == "qdisc":
        _do_qdisc(device, line, verb, values, rest)
    elif what == "class":
        number = values.get("classid", "")
        device.classes[:] = [one for one in device.classes if one.number != number]
        if verb not in ("del", "delete") and not re.fullmatch(NUMBER, number):
            found.note(line, f"class add: classid {number or 'is missing'}")
        elif verb not in ("del", "delete") and rest:
            parent = values.get("parent", "root")
            parent = parent.removesuffix("0") if parent.endswith(":0") else parent
            device.classes.append(Class(rest[0], number, parent, rest[1:], line))
    elif verb not in ("del", "delete"):
        _do_filter(found, device, line, values, rest)


def _do_qdisc(device: Device, line: int, verb: str, values: dict[str, str], rest: list[str]) -> None:
    handle, parent = values.get("handle", ""), values.get("parent", "root")
    parent = "root" if "root" in values else parent
    if "ingress" in values or "clsact" in values:
        rest, parent = [*(word for word in ("ingress", "clsact") if word in values), *rest], "ingress"
    if parent.endswith(":") and parent != "root":
        # tbf and netem have one class, which tc lets one name by the handle.
        parent = f"{parent}1"
    before = next((one for one in device.qdiscs if one.parent == parent), None)
    device.qdiscs[:] = [one for one in device.qdiscs if one.parent != parent]
    if verb in ("del", "delete"):
        if parent == "root":
            device.qdiscs[:] = [one for one in device.qdiscs if one.parent == "ingress"]
            device.classes.clear()
        return
    if rest:
        words = [*before.words, *rest[1:]] if verb == "change" and before and before.kind == rest[0] else rest[1:]
        device.qdiscs.append(Qdisc(rest[0], handle, parent, words, line))


def _do_filter(found: Read, device: Device, line: int, values: dict[str, str], rest: list[str]) -> None:
    text = " ".join(rest)
    if (redirect := re.search(r"mirred egress redirect dev (\S+)", text)) is not None:
        device.redirected_to = redirect[1]
        return
    code = re.search(r"match ip6? (?:dsfield|tos|priority) (\S+) 0xfc", text)
    target = re.search(r"(?:flowid|classid) (\S+)", text)
    if code and target:
        entry = Filter(int(code[1], 0) >> 2, target[1])
        if entry not in device.filters:
            device.filters.append(entry)
    elif not ("protocol" in values and values["protocol"] == "arp"):
        found.note(line, f"filter {text}: only those by the whole DSCP (u32 match ip dsfield … 0xfc) are understood")


def _places(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Where something is said to be, and the words behind that."""
    values: dict[str, str] = {}
    rest = list(words)
    while rest:
        if rest[0] in ("root", "ingress", "clsact"):
            values[rest.pop(0)] = ""
        elif rest[0] in ("dev", "parent", "handle", "classid", "protocol", "prio", "pref", "estimator") and rest[1:]:
            values[rest[0]] = rest[1]
            rest = rest[2:]
        elif rest[0] == "stab":
            # A size table stands before the kind; to us it is a word of the discipline behind it.
            end = 1
            while end + 1 < len(rest) and rest[end] in STAB:
                end += 2
            table, rest = rest[:end], rest[end:]
            return values, [*rest[:1], *table, *rest[1:]]
        else:
            break
    return values, rest


NUMBER = r"[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}"
"""Of a class."""
VERBS = ("add", "replace", "change", "link", "del", "delete")
INPUT = ("ingress", "clsact")
STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")
