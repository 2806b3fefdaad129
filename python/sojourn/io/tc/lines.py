"""Parser of `tc`'s output and commands: queue disciplines, classes and filters by device.

`tc [-s] qdisc show` prints a line per discipline with indented statistics below it; with `dev eth0` it omits the
device. `tc class show dev eth0` never prints the device. Commands may come from a script or, without `tc`, from a file
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
MAX_LINE = 10_000
"""Maximum characters of a line with its indented continuation; tc's longest, filters with many actions, have some
hundreds."""


@dataclass(eq=False)
class Qdisc:
    """A queue discipline on a device."""

    kind: str
    handle: str
    """Handle, such as `8001:`; empty if none."""
    parent: str
    """`root`, `ingress`, or a class, such as `1:11`."""
    words: list[str]
    line: int


@dataclass(eq=False)
class Class:
    """A class of a discipline."""

    kind: str
    number: str
    """Class id, such as `1:11`."""
    parent: str
    """`root`, a handle or a class."""
    words: list[str]
    line: int


@dataclass(eq=False)
class Filter:
    """A filter from a DSCP to a class."""

    dscp: int
    target: str
    """Class id, such as `1:11`."""


@dataclass(eq=False)
class Device:
    """A network interface. The cached indices are valid only after everything has been read."""

    name: str
    qdiscs: dict[str, Qdisc] = field(default_factory=dict)
    """Disciplines by parent, in order; the key of a duplicate parent includes the line."""
    classes: dict[str, Class] = field(default_factory=dict)
    """Classes by id, with the same treatment of duplicates."""
    filters: list[Filter] = field(default_factory=list)
    rest: str = ""
    """Class of a match-all filter, such as `1:11`; empty if there is none."""
    ingress_to: str | None = None
    """Device to which ingress is redirected."""

    @property
    def root(self) -> Qdisc | None:
        """Root discipline."""
        return self.qdiscs.get("root")

    @cached_property
    def children(self) -> dict[str, Qdisc]:
        """Disciplines by parent class, such as `1:a` in lower case."""
        by_parent: dict[str, Qdisc] = {}
        for one in self.qdiscs.values():
            by_parent.setdefault(one.parent.lower(), one)
        return by_parent

    @cached_property
    def dscps(self) -> dict[str, list[int]]:
        """DSCPs that filters map to each class."""
        by_class: dict[str, list[int]] = {}
        for one in self.filters:
            by_class.setdefault(one.target, []).append(one.dscp)
        return by_class


@dataclass
class TcConfig:
    """Parsed configuration, by device in order of appearance."""

    devices: dict[str, Device] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Unsupported parts, each with its line."""
    owners: dict[str, dict[str, None]] = field(default_factory=dict)
    """Devices with a discipline of a handle, in order, by handle."""
    ancestors: list[Qdisc] = field(default_factory=list)
    """Ancestors of the discipline that is being translated."""

    def device(self, name: str) -> Device:
        """Get or create a device."""
        return self.devices.setdefault(name, Device(name))

    def note(self, line: int, text: str) -> None:
        """Record an unsupported part."""
        self.notes.append(f"line {line}: {text}")

    def add(self, name: str, qdisc: Qdisc) -> None:
        """Add a discipline to a device."""
        qdiscs = self.device(name).qdiscs
        qdiscs[qdisc.parent if qdisc.parent not in qdiscs else f"{qdisc.parent} {qdisc.line}"] = qdisc
        self.owners.setdefault(qdisc.handle, {})[name] = None

    @contextmanager
    def inside(self, qdisc: Qdisc) -> Iterator[None]:
        """Context of translating a discipline; raises `InputError` for a cycle or too deep nesting."""
        if qdisc in self.ancestors:
            circle = [*self.ancestors[self.ancestors.index(qdisc) :], qdisc]
            names = " in ".join(f"{one.kind} {one.handle or one.parent}".strip() for one in reversed(circle))
            raise InputError(f"line {qdisc.line}: qdiscs form a loop, {names}; leave one of them out")
        if len(self.ancestors) > MAX_DEPTH:
            raise InputError(f"line {qdisc.line}: qdiscs are nested more than {MAX_DEPTH} deep; use fewer levels")
        self.ancestors.append(qdisc)
        try:
            yield
        finally:
            self.ancestors.pop()


def read(text: str) -> TcConfig:
    """Parse output and commands of tc; other lines are skipped."""
    config, current = TcConfig(), UNNAMED
    for number, line in _logical_lines(text if not is_json(text) else lines(text)):
        words = _words(line)
        shown_device = _shown_device(words)
        if shown_device:
            current = shown_device
        elif words[:1] == ["qdisc"] and len(words) > 2 and re.fullmatch(r"[0-9a-fA-F]*:", words[2]):
            current = _shown_qdisc(config, number, words[1:], current)
        elif words[:1] == ["class"] and len(words) > 2 and re.fullmatch(NUMBER, words[2]):
            _shown_class(config, number, words[1:], current)
        elif words[:1] == ["filter"] and words[1:2] and words[1] not in VERBS:
            _shown_filter(config, number, words[1:], current)
        elif command := _command(words):
            if any("$" in word or "`" in word for word in command):
                config.note(number, f"{' '.join(command)}: contains a shell variable; give the output of tc qdisc show")
            else:
                _apply(config, number, command)
    return config


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered logical lines: joined at backslashes, filters with their indented lines, no statistics."""
    command, shown = _LogicalLine(), _LogicalLine()
    for number, line in enumerate(text.splitlines(), start=1):
        if not command.parts and line[:1].isspace() and not re.match(r"\s+(sudo\s+)?(\S*/)?tc\s", line):
            if shown.parts and not line.strip().startswith(("Sent", "backlog", "rate")):
                shown.add(number, line.strip())  # matches and actions of a filter
            continue
        if shown.parts:
            yield shown.take()
        if not command.parts and re.match(r"filter (?!add|del|replace|change)", line):
            shown.add(number, line)
            continue
        command.add(number, line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield command.take()
    for rest in (shown, command):
        if rest.parts:
            yield rest.take()


@dataclass
class _LogicalLine:
    """Parts of a logical line."""

    parts: list[str] = field(default_factory=list)
    line: int = 0
    length: int = 0

    def add(self, line: int, part: str) -> None:
        """Add a part from a physical line."""
        self.line = self.line if self.parts else line
        self.length += len(part)
        if self.length > MAX_LINE:
            raise InputError(f"line {self.line}: more than {MAX_LINE} characters; give the output of tc, line by line")
        self.parts.append(part)

    def take(self) -> tuple[int, str]:
        """Take the logical line and its first line number; the next part begins another one."""
        take = (self.line, " ".join(self.parts))
        self.parts, self.length = [], 0
        return take


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True) if QUOTED.search(line) else line.split()
    except ValueError:
        words = line.split()
    while words and (words[0] in ("$", "#", "sudo") or re.search(r"[#$]$", words[0])):
        words = words[1:]
    if words and (words[0] == "tc" or words[0].endswith("/tc")):
        words[0] = "tc"
    return words


def _shown_device(words: Sequence[str]) -> str | None:
    """Device of a `tc … show` command line, e.g. pasted with its output; None for other lines."""
    # `ls` is also a curve of an hfsc class.
    objects = ("qdisc", "class", "filter")
    verb = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in objects), "")
    if words[:1] == ["tc"] and (verb in ("show", "ls", "list") or words[-1] in ("qdisc", "class")):
        return words[words.index("dev") + 1] if "dev" in words[:-1] else UNNAMED
    return None


def _command(words: list[str]) -> list[str] | None:
    """Words of a tc command: object, verb and arguments, without tc's options; None for other lines."""
    if words[:1] == ["tc"]:
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-n", "-netns", "-b", "-batch", "-cf", "-conf") else words[1:]
    if len(words) > 2 and words[0] in ("qdisc", "class", "filter") and words[1] in VERBS:
        return words
    return None


def _shown_qdisc(config: TcConfig, line: int, words: list[str], current: str) -> str:
    """Parse a line of `tc qdisc show`; returns the device for later lines that omit it."""
    kind, handle, *rest = words
    handle = "" if handle == "0:" else handle
    device, rest = _after("dev", rest)
    is_root, rest = rest[:1] == ["root"], rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = ("root", rest) if is_root else _after("parent", rest)
    name = device or current
    if not device and is_root and config.device(name).root:
        name = f"{UNNAMED} {len(config.devices) + 1}"
    while rest and rest[0] in ("refcnt", "offloaded", "ingress_block", "egress_block"):
        rest = rest[1:] if rest[0] == "offloaded" else rest[2:]
    parent = "ingress" if kind in INPUT else parent
    config.add(name, Qdisc(kind, handle, parent, [word for word in rest if word.strip("-")], line))
    return name


def _shown_class(config: TcConfig, line: int, words: list[str], current: str) -> None:
    kind, number, *rest = words
    major = number.partition(":")[0]
    owners = config.owners.get(f"{major}:", {})
    name = current if current in owners or not owners else next(reversed(owners))
    rest = rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = _after("parent", rest)
    _, rest = _after("leaf", rest)
    classes = config.device(name).classes
    key = number if number not in classes else f"{number} {line}"
    classes[key] = Class(kind, number, parent or "root", rest, line)


def _after(word: str, words: list[str]) -> tuple[str, list[str]]:
    """Value of `word` if the words start with it, and the words after it."""
    return (words[1], words[2:]) if words[:1] == [word] and len(words) > 1 else ("", words)


def _apply(config: TcConfig, line: int, command: list[str]) -> None:
    object_, verb, *rest = command
    values, rest = _split_location(rest)
    device = config.device(values.get("dev", UNNAMED))
    if object_ == "qdisc":
        _apply_qdisc(config, device, line, (verb, values, rest))
    elif object_ == "class":
        number = values.get("classid", "")
        device.classes.pop(number, None)
        if verb not in ("del", "delete") and not re.fullmatch(NUMBER, number):
            config.note(line, f"class add: classid {number or 'is missing'}")
        elif verb not in ("del", "delete") and rest:
            parent = values.get("parent", "root")
            parent = parent.removesuffix("0") if parent.endswith(":0") else parent
            device.classes[number] = Class(rest[0], number, parent, rest[1:], line)
    elif verb not in ("del", "delete"):
        _apply_filter(config, device, line, values, rest)


def _apply_qdisc(config: TcConfig, device: Device, line: int, command: tuple[str, dict[str, str], list[str]]) -> None:
    verb, values, rest = command
    handle, parent = values.get("handle", ""), values.get("parent", "root")
    parent = "root" if "root" in values else parent
    if "ingress" in values or "clsact" in values:
        rest, parent = [*(word for word in ("ingress", "clsact") if word in values), *rest], "ingress"
    if parent.endswith(":") and parent != "root":
        # tbf and netem have a single class, which may be given as the handle alone.
        parent = f"{parent}1"
    before = device.qdiscs.pop(parent, None)
    if verb in ("del", "delete"):
        if parent == "root":
            device.qdiscs = {key: one for key, one in device.qdiscs.items() if one.parent == "ingress"}
            device.classes.clear()
        return
    if rest:
        words = [*before.words, *rest[1:]] if verb == "change" and before and before.kind == rest[0] else rest[1:]
        config.add(device.name, Qdisc(rest[0], handle, parent, words, line))


def _shown_filter(config: TcConfig, line: int, words: list[str], current: str) -> None:
    """Parse a line of `tc filter show`; hash tables and empty heads are skipped."""
    text = " ".join(words)
    if re.search(r"flowid|classid|mirred", text) is None:
        return
    device, words = _after("dev", words)
    parent = re.search(r"\bparent (\S+)", text)
    owners = list(config.owners.get(parent[1], ())) if parent else []
    name = device or (owners[0] if len(owners) == 1 else current)
    values, rest = _split_location(words)
    _apply_filter(config, config.device(name), line, values, rest)


def _apply_filter(config: TcConfig, device: Device, line: int, values: dict[str, str], rest: list[str]) -> None:
    text = " ".join(rest)
    if (redirect := re.search(r"mirred egress redirect dev (\S+)", text)) is not None:
        device.ingress_to = redirect[1]
        return
    target = re.search(r"(?:flowid|classid) (?:0x)?(\S+)", text)
    kind = rest[0] if rest else ""
    dscps = _dscps_of(text)
    if target and dscps is not None:
        for code in dscps:
            entry = Filter(code, target[1])
            if not device.rest and all(one.dscp != code for one in device.filters):
                device.filters.append(entry)
    elif target and _matches_all(kind, text):
        device.rest = device.rest or target[1]
    elif not ("protocol" in values and values["protocol"] == "arp"):
        reason = next((remedy for word, remedy in UNSUPPORTED_MATCHES.items() if re.search(word, text)), "")
        supported = "by the DSCP (u32, flower, basic) and for everything (matchall)"
        config.note(line, f"filter {text}: {reason or 'only those ' + supported + ' are understood'}")


def _dscps_of(text: str) -> list[int] | None:
    """DSCPs of a filter that matches only the DSCP (with a mask); None for any other filter."""
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
        # First 32 bits of the header: the TOS byte is the second (IPv4), or follows the 4-bit version (IPv6).
        shift = 20 if "ipv6" in text else 16
        value, mask = int(word[1], 16) >> shift, int(word[2], 16) >> shift
        if int(word[2], 16) & ~(0xFF << shift):
            return None
    else:
        return None
    criteria = r"\bmatch (?:ip6?|u\d+|[0-9a-f]{8}/)|\b(?:dst|src)_(?:port|ip)\b|\bip_proto\b|\bip_tos\b|\bcmp\("
    if len(re.findall(criteria, text)) != 1 or not mask & 0xFC:
        return None
    return [code for code in range(64) if code << 2 & mask & 0xFC == value & mask & 0xFC]


def _matches_all(kind: str, text: str) -> bool:
    """Whether a filter matches every packet."""
    if kind == "matchall":
        return True
    return bool(re.search(r"match (?:u32 0(?:x0)? 0(?:x0)? at 0|00000000/00000000 at 0)", text))


def _split_location(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Split leading location words (dev, parent, handle, …) from the rest."""
    values: dict[str, str] = {}
    rest = list(words)
    while rest:
        if rest[0] in ("root", "ingress", "clsact"):
            values[rest.pop(0)] = ""
        elif rest[0] in ("dev", "parent", "handle", "classid", "protocol", "prio", "pref", "estimator") and rest[1:]:
            values[rest[0]] = rest[1]
            rest = rest[2:]
        elif rest[0] == "stab":
            # Move a size table, which precedes the kind, behind it, as words of the discipline.
            end = 1
            while end + 1 < len(rest) and rest[end] in STAB:
                end += 2
            table, rest = rest[:end], rest[end:]
            return values, [*rest[:1], *table, *rest[1:]]
        else:
            break
    return values, rest


UNSUPPORTED_MATCHES = {
    r"\bfw\b": "firewall marks are not modelled; match the DSCP that they follow",
    r"(?:dport|sport|_port)": "ports are not modelled; match a DSCP, or name --class",
    r"(?:match ip6? (?:src|dst)|(?:src|dst)_ip)": "addresses are not modelled; match a DSCP, or name --class",
    r"(?:ip_proto|match ip6? protocol)": "protocols are not modelled; match a DSCP, or name --class",
    r"\bbpf\b": "BPF programs are not run",
}
"""Unsupported match criteria of filters, with the remedy."""
NUMBER = r"[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}"
"""Pattern of a class id."""
QUOTED = re.compile(r"[\"'#\\]")
"""Characters with a meaning to a shell; the lines of `tc`'s output have none."""
VERBS = ("add", "replace", "change", "link", "del", "delete")
INPUT = ("ingress", "clsact")
STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")
