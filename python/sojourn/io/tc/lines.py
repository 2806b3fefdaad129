"""Reads what `tc` prints and what it is told: queue disciplines, classes and filters by device.

`tc [-s] qdisc show` prints a line for each discipline, statistics indented below it; with `dev eth0` it leaves the
device out. `tc class show dev eth0` never names the device. Commands may stand in a script or, without `tc`, in a file
for `tc -batch`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from sojourn.base.errors import InputError
from sojourn.base.inputs import MAX_DEPTH
from sojourn.io.tc.objects import is_json, lines

UNNAMED = "the device"
LONGEST = 10_000
"""Most characters of a line with what is indented below it; the longest that tc prints, of a filter with many actions,
have some hundreds."""


@dataclass(eq=False)
class Qdisc:
    """A queue discipline on a device."""

    kind: str
    handle: str
    """As `8001:`; empty where it has none."""
    parent: str
    """`root`, `ingress`, or a class, as `1:11`."""
    words: list[str]
    line: int


@dataclass(eq=False)
class Class:
    """A class of a discipline."""

    kind: str
    number: str
    """As `1:11`."""
    parent: str
    """`root`, a handle or a class."""
    words: list[str]
    line: int


@dataclass(eq=False)
class Filter:
    """Packets of a code point to a class."""

    dscp: int
    target: str
    """As `1:11`."""


@dataclass(eq=False)
class Device:
    """A network interface; all of it is read before the cached indices are asked for."""

    name: str
    qdiscs: dict[str, Qdisc] = field(default_factory=dict)
    """By parent, in their order; a further one that is shown at a parent has its line in the key as well."""
    classes: dict[str, Class] = field(default_factory=dict)
    """By number, likewise."""
    filters: list[Filter] = field(default_factory=list)
    rest: str = ""
    """The class of what no filter before matches, if a filter takes everything; as `1:11`."""
    redirected_to: str | None = None
    """The device that gets what comes in here."""

    @property
    def root(self) -> Qdisc | None:
        """The discipline of what is sent."""
        return self.qdiscs.get("root")

    @cached_property
    def below(self) -> dict[str, Qdisc]:
        """The discipline at each place, as `1:a` in lower case."""
        found: dict[str, Qdisc] = {}
        for one in self.qdiscs.values():
            found.setdefault(one.parent.lower(), one)
        return found

    @cached_property
    def codes(self) -> dict[str, list[int]]:
        """The code points that filters lead to each class."""
        found: dict[str, list[int]] = {}
        for one in self.filters:
            found.setdefault(one.target, []).append(one.dscp)
        return found


@dataclass
class Read:
    """What was read, by device in the order in which they appear."""

    devices: dict[str, Device] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What was not understood, each with its line."""
    owners: dict[str, dict[str, None]] = field(default_factory=dict)
    """By handle: the names of the devices with a discipline of that handle, in their order."""
    above: list[Qdisc] = field(default_factory=list)
    """The disciplines that hold the one which is being translated."""

    def device(self, name: str) -> Device:
        """The device called `name`; a new one, where nothing was said of it yet."""
        return self.devices.setdefault(name, Device(name))

    def note(self, line: int, text: str) -> None:
        """Remember what was not understood."""
        self.notes.append(f"line {line}: {text}")

    def add(self, name: str, qdisc: Qdisc) -> None:
        """Add a discipline to a device."""
        held = self.device(name).qdiscs
        held[qdisc.parent if qdisc.parent not in held else f"{qdisc.parent} {qdisc.line}"] = qdisc
        self.owners.setdefault(qdisc.handle, {})[name] = None

    @contextmanager
    def inside(self, qdisc: Qdisc) -> Iterator[None]:
        """Translate a discipline within those above it, none of which may be itself."""
        if qdisc in self.above:
            circle = [*self.above[self.above.index(qdisc) :], qdisc]
            names = " in ".join(f"{one.kind} {one.handle or one.parent}".strip() for one in reversed(circle))
            raise InputError(
                f"line {qdisc.line}: disciplines hold each other in a circle, {names}; take one of them out"
            )
        if len(self.above) > MAX_DEPTH:
            raise InputError(
                f"line {qdisc.line}: disciplines are nested more than {MAX_DEPTH} deep; write fewer inside each other"
            )
        self.above.append(qdisc)
        try:
            yield
        finally:
            self.above.pop()


def read(text: str) -> Read:
    """Read lines of tc; what is neither its output nor its commands is passed over."""
    found, current = Read(), UNNAMED
    for number, line in _logical(text if not is_json(text) else lines(text)):
        words = _words(line)
        asked = _asked(words)
        if asked:
            current = asked
        elif words[:1] == ["qdisc"] and len(words) > 2 and re.fullmatch(r"[0-9a-fA-F]*:", words[2]):
            current = _shown_qdisc(found, number, words[1:], current)
        elif words[:1] == ["class"] and len(words) > 2 and re.fullmatch(NUMBER, words[2]):
            _shown_class(found, number, words[1:], current)
        elif words[:1] == ["filter"] and words[1:2] and words[1] not in VERBS:
            _shown_filter(found, number, words[1:], current)
        elif command := _command(words):
            if any("$" in word or "`" in word for word in command):
                found.note(number, f"{' '.join(command)}: has a variable of a shell; give what tc qdisc show prints")
            else:
                _do(found, number, command)
    return found


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; one that ends in a backslash goes on in the next, statistics are left out."""
    held, shown = _Held(), _Held()
    for number, line in enumerate(text.splitlines(), start=1):
        if not held.parts and line[:1].isspace() and not re.match(r"\s+(sudo\s+)?(\S*/)?tc\s", line):
            if shown.parts and not line.strip().startswith(("Sent", "backlog", "rate")):
                shown.add(number, line.strip())  # what a filter matches and does
            continue
        if shown.parts:
            yield shown.taken()
        if not held.parts and re.match(r"filter (?!add|del|replace|change)", line):
            shown.add(number, line)
            continue
        held.add(number, line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield held.taken()
    for rest in (shown, held):
        if rest.parts:
            yield rest.taken()


@dataclass
class _Held:
    """Parts of a line that goes on."""

    parts: list[str] = field(default_factory=list)
    line: int = 0
    length: int = 0

    def add(self, line: int, part: str) -> None:
        """Add what is in the line of this number."""
        self.line = self.line if self.parts else line
        self.length += len(part)
        if self.length > LONGEST:
            raise InputError(
                f"line {self.line}: more than {LONGEST} characters; give the lines that tc prints, each by itself"
            )
        self.parts.append(part)

    def taken(self) -> tuple[int, str]:
        """The number of the first line, and all of them; the next part begins another one."""
        taken = (self.line, " ".join(self.parts))
        self.parts, self.length = [], 0
        return taken


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
    # The `ls` of an hfsc class is no verb.
    objects = ("qdisc", "class", "filter")
    verb = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in objects), "")
    if words[:1] == ["tc"] and (verb in ("show", "ls", "list") or words[-1] in ("qdisc", "class")):
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
    found.add(name, Qdisc(kind, handle, parent, [word for word in rest if word.strip("-")], line))
    return name


def _shown_class(found: Read, line: int, words: list[str], current: str) -> None:
    kind, number, *rest = words
    major = number.partition(":")[0]
    owners = found.owners.get(f"{major}:", {})
    name = current if current in owners or not owners else next(reversed(owners))
    rest = rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = _after("parent", rest)
    _, rest = _after("leaf", rest)
    known = found.device(name).classes
    key = number if number not in known else f"{number} {line}"
    known[key] = Class(kind, number, parent or "root", rest, line)


def _after(word: str, words: list[str]) -> tuple[str, list[str]]:
    """The value of `word`, if it is the first one, and what is behind it."""
    return (words[1], words[2:]) if words[:1] == [word] and len(words) > 1 else ("", words)


def _do(found: Read, line: int, command: list[str]) -> None:
    what, verb, *rest = command
    values, rest = _places(rest)
    device = found.device(values.get("dev", UNNAMED))
    if what == "qdisc":
        _do_qdisc(found, device, line, (verb, values, rest))
    elif what == "class":
        number = values.get("classid", "")
        device.classes.pop(number, None)
        if verb not in ("del", "delete") and not re.fullmatch(NUMBER, number):
            found.note(line, f"class add: classid {number or 'is missing'}")
        elif verb not in ("del", "delete") and rest:
            parent = values.get("parent", "root")
            parent = parent.removesuffix("0") if parent.endswith(":0") else parent
            device.classes[number] = Class(rest[0], number, parent, rest[1:], line)
    elif verb not in ("del", "delete"):
        _do_filter(found, device, line, values, rest)


def _do_qdisc(found: Read, device: Device, line: int, told: tuple[str, dict[str, str], list[str]]) -> None:
    verb, values, rest = told
    handle, parent = values.get("handle", ""), values.get("parent", "root")
    parent = "root" if "root" in values else parent
    if "ingress" in values or "clsact" in values:
        rest, parent = [*(word for word in ("ingress", "clsact") if word in values), *rest], "ingress"
    if parent.endswith(":") and parent != "root":
        # tbf and netem have one class, which tc lets one name by the handle.
        parent = f"{parent}1"
    before = device.qdiscs.pop(parent, None)
    if verb in ("del", "delete"):
        if parent == "root":
            device.qdiscs = {key: one for key, one in device.qdiscs.items() if one.parent == "ingress"}
            device.classes.clear()
        return
    if rest:
        words = [*before.words, *rest[1:]] if verb == "change" and before and before.kind == rest[0] else rest[1:]
        found.add(device.name, Qdisc(rest[0], handle, parent, words, line))


def _shown_filter(found: Read, line: int, words: list[str], current: str) -> None:
    """Take a line of `tc filter show`; a hash table or an empty head says nothing."""
    text = " ".join(words)
    if re.search(r"flowid|classid|mirred", text) is None:
        return
    device, words = _after("dev", words)
    parent = re.search(r"\bparent (\S+)", text)
    owners = list(found.owners.get(parent[1], ())) if parent else []
    name = device or (owners[0] if len(owners) == 1 else current)
    values, rest = _places(words)
    _do_filter(found, found.device(name), line, values, rest)


def _do_filter(found: Read, device: Device, line: int, values: dict[str, str], rest: list[str]) -> None:
    text = " ".join(rest)
    if (redirect := re.search(r"mirred egress redirect dev (\S+)", text)) is not None:
        device.redirected_to = redirect[1]
        return
    target = re.search(r"(?:flowid|classid) (?:0x)?(\S+)", text)
    kind = rest[0] if rest else ""
    codes = _codes_of(text)
    if target and codes is not None:
        for code in codes:
            entry = Filter(code, target[1])
            if not device.rest and all(one.dscp != code for one in device.filters):
                device.filters.append(entry)
    elif target and _takes_all(kind, text):
        device.rest = device.rest or target[1]
    elif not ("protocol" in values and values["protocol"] == "arp"):
        why = next((about for word, about in NOT_THERE.items() if re.search(word, text)), "")
        known = "by the DSCP (u32, flower, basic) and for everything (matchall)"
        found.note(line, f"filter {text}: {why or 'only those ' + known + ' are understood'}")


def _codes_of(text: str) -> list[int] | None:
    """Code points of a filter by the DSCP alone, of its first byte with a mask; None of any other one."""
    match = (
        re.search(r"match ip6? (?:dsfield|tos|priority) (\S+) (0x[0-9a-fA-F]+)", text)
        or re.search(r"ip_tos (0x[0-9a-fA-F]+|\d+)(?:/(0x[0-9a-fA-F]+))?", text)
        or re.search(r"cmp\(u8 at 1 layer (?:1|network) mask (0x[0-9a-fA-F]+) eq (\S+?)\)", text)
    )
    if match is not None and match[0].startswith("cmp"):
        value, mask = int(match[2], 0), int(match[1], 0)
    elif match is not None:
        value, mask = int(match[1], 0), int(match[2] or "0xff", 0)
    elif (word := re.search(r"match ([0-9a-f]{8})/([0-9a-f]{8}) at (-?\d+)", text)) and int(word[3]) == 0:
        # The first word of a header: version, then the byte of the DSCP (IPv4), or both across it (IPv6).
        shift = 20 if "ipv6" in text else 16
        value, mask = int(word[1], 16) >> shift, int(word[2], 16) >> shift
        if int(word[2], 16) & ~(0xFF << shift):
            return None
    else:
        return None
    looks = r"\bmatch (?:ip6?|u\d+|[0-9a-f]{8}/)|\b(?:dst|src)_(?:port|ip)\b|\bip_proto\b|\bip_tos\b|\bcmp\("
    if len(re.findall(looks, text)) != 1 or not mask & 0xFC:
        return None
    return [code for code in range(64) if code << 2 & mask & 0xFC == value & mask & 0xFC]


def _takes_all(kind: str, text: str) -> bool:
    """Whether a filter takes every packet."""
    if kind == "matchall":
        return True
    return bool(re.search(r"match (?:u32 0(?:x0)? 0(?:x0)? at 0|00000000/00000000 at 0)", text))


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


NOT_THERE = {
    r"\bfw\b": "packets have no marks of a firewall here; match the DSCP that they follow",
    r"(?:dport|sport|_port)": "packets have no ports that a filter could tell apart; match a DSCP, or name --class",
    r"(?:match ip6? (?:src|dst)|(?:src|dst)_ip)": "packets have no addresses of yours; match a DSCP, or name --class",
    r"(?:ip_proto|match ip6? protocol)": "protocols are not told apart; match a DSCP, or name --class",
    r"\bbpf\b": "its program is not run",
}
"""What a filter looks at that packets here do not have, and what to do."""
NUMBER = r"[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}"
"""Of a class."""
VERBS = ("add", "replace", "change", "link", "del", "delete")
INPUT = ("ingress", "clsact")
STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")
