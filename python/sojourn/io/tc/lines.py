"""Parser of `tc`'s output and commands: queue disciplines, classes and filters by device.

`tc [-s] qdisc show` prints a line per discipline with indented statistics below it; with `dev eth0` it omits the
device. `tc class show dev eth0` never prints the device. Commands may come from a script or, without `tc`, from a file
for `tc -batch`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sojourn.base.errors import InputError
from sojourn.io.tc import filters, values
from sojourn.io.tc.objects import numbered
from sojourn.io.tc.records import INPUT, Class, Device, Qdisc, TcConfig
from sojourn.io.tc.shown import UNNAMED, ShownParts, after
from sojourn.io.tc.words import whole_words

MAX_LINE = 10_000
"""Maximum characters of a line with its indented continuation; tc's longest, filters with many actions, have some
hundreds."""


def read(text: str) -> TcConfig:
    """Parse output and commands of tc; other lines are skipped."""
    given = numbered(text)
    config = read_lines(given.lines)
    config.is_json = given.is_json
    return config


def read_lines(lines: Sequence[tuple[int, str]]) -> TcConfig:
    """Parse numbered lines of output and commands."""
    config, parts, current = TcConfig(), ShownParts(), UNNAMED
    for number, line in _logical_lines(lines):
        words = _words(line)
        if shown_device := _shown_device(words):
            current = shown_device
            hook = next((word for word in words if word in ("ingress", "egress")), "")
            parts.begin(current if current != UNNAMED else "", hook)
        elif words[:1] == ["qdisc"] and len(words) > 2 and re.fullmatch(r"[0-9a-fA-F]*:(\[\w+\])?", words[2]):
            current = _shown_qdisc(config, number, words[1:], current)
            parts.saw_qdisc(current)
        elif words[:1] == ["class"] and len(words) > 2 and re.fullmatch(NUMBER, words[2]):
            parts.add_class(number, words[1:])
        elif words[:1] == ["filter"] and words[1:2] and words[1] not in VERBS:
            parts.add_filter(number, words[1:])
        elif command := _command(words):
            if any("$" in word or "`" in word for word in command):
                config.note(number, f"{' '.join(command)}: contains a shell variable; give the output of tc qdisc show")
            else:
                _apply(config, number, command)
    parts.resolve(config)
    route = DEFAULT_ROUTE.search("\n".join(line for _, line in lines))
    config.routed = route[1] if route else ""
    return config


def _logical_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield numbered logical lines: joined at backslashes, filters with their indented lines, no statistics.

    A discipline has its size table at the end, after `stab`.
    """
    command, shown = _LogicalLine(), _LogicalLine()
    for number, line in lines:
        if not command.parts and line[:1].isspace() and not re.match(r"\s+(sudo\s+)?(\S*/)?tc\s", line):
            if shown.accepts(line):
                shown.add(number, line.strip())
            continue
        if shown.parts and SIZE_TABLE.match(line):
            shown.add(number, line.strip())  # pasted without its indentation
            continue
        if shown.parts:
            yield shown.take()
        if not command.parts and SHOWN.match(line):
            shown.add(number, line.removeprefix("replaced ").removeprefix("added "))
            continue
        command.add(number, line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield from _shell_commands(*command.take())
    if shown.parts:
        yield shown.take()
    if command.parts:
        yield from _shell_commands(*command.take())


def _shell_commands(number: int, line: str) -> Iterator[tuple[int, str]]:
    """Commands of a line of a shell, without their redirections."""
    start = 0
    for found in SHELL.finditer(line):
        if found["end"]:
            yield number, REDIRECTION.sub("", line[start : found.start()]).lstrip()
            start = found.end()
    rest = REDIRECTION.sub("", line[start:])
    yield number, rest.lstrip() if start else rest


@dataclass
class _LogicalLine:
    """Parts of a logical line."""

    parts: list[str] = field(default_factory=list)
    line: int = 0
    length: int = 0

    def accepts(self, line: str) -> bool:
        """Whether an indented line belongs to this one, such as a size table, or a filter's matches and actions."""
        if not self.parts or not self.parts[0].startswith("qdisc"):
            return bool(self.parts) and not line.strip().startswith(("Sent", "backlog", "rate"))
        return SIZE_TABLE.match(line) is not None or MAPPING.match(line) is not None

    def add(self, line: int, part: str) -> None:
        """Add a part from a physical line."""
        self.line = self.line if self.parts else line
        self.length += len(part)
        if self.length > MAX_LINE:
            raise InputError(f"line {self.line}: more than {MAX_LINE} characters; give the output of tc, line by line")
        is_table = bool(self.parts) and self.parts[0].startswith("qdisc") and not MAPPING.match(part)
        self.parts.append(f"stab {part}" if is_table else part)

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
    verb = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in OBJECTS), "")
    if words[:1] == ["tc"] and (verb in ("show", "ls", "list") or words[-1] in ("qdisc", "class")):
        return words[words.index("dev") + 1] if "dev" in words[:-1] else UNNAMED
    return None


def _command(words: list[str]) -> list[str] | None:
    """Words of a tc command: object, verb and arguments, without tc's options; None for other lines."""
    if words[:1] == ["tc"]:
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-n", "-netns", "-b", "-batch", "-cf", "-conf") else words[1:]
        # tc takes any beginning of these words.
        words = [*(_whole(word, known) for word, known in zip(words, (OBJECTS, VERBS), strict=False)), *words[2:]]
    if len(words) > 2 and words[0] in OBJECTS and words[1] in VERBS:
        return words
    return None


def _whole(word: str, known: Sequence[str]) -> str:
    return next((one for one in known if one.startswith(word)), word)


def _shown_qdisc(config: TcConfig, line: int, words: list[str], current: str) -> str:
    """Parse a line of `tc qdisc show`; returns the device for later lines that omit it."""
    kind, handle, *rest = words
    handle = values.class_id(handle.partition("[")[0])
    handle = "" if handle == "0:" else handle
    device, rest = after("dev", rest)
    is_root, rest = rest[:1] == ["root"], rest[1:] if rest[:1] == ["root"] else rest
    parent, rest = ("root", rest) if is_root else after("parent", rest)
    name = device or current
    if not device and is_root and config.device(name).root:
        name = f"{UNNAMED} {len(config.devices) + 1}"
    while rest and rest[0] in ("refcnt", "offloaded", "ingress_block", "egress_block"):
        rest = rest[1:] if rest[0] == "offloaded" else rest[2:]
    rest, table = _split_table([word for word in rest if word.strip("-")])
    parent = "ingress" if kind in INPUT else _place(parent)
    config.add(name, Qdisc(kind, handle, parent, rest, line, table, is_shown=True))
    return name


def _split_table(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the words of a size table, which follow `stab`, from the others."""
    if "stab" not in words:
        return words, []
    start = words.index("stab")
    end = start + 1
    while end + 1 < len(words) and words[end] in STAB:
        end += 2
    return words[:start] + words[end:], words[start + 1 : end]


def _place(parent: str) -> str:
    """Parent in the form of tc's output; a handle alone means its first class, the only one of tbf and netem."""
    parent = values.class_id(parent) if parent != "root" else parent
    return f"{parent}1" if parent.endswith(":") else parent


def _apply(config: TcConfig, line: int, command: list[str]) -> None:
    object_, verb, *rest = command
    location, rest = _split_location(rest, is_filter=object_ == "filter")
    device = config.device(location.get("dev", UNNAMED))
    if object_ == "qdisc":
        _apply_qdisc(config, device, line, (verb, location, rest))
    elif object_ == "class":
        number = values.class_id(location.get("classid", ""))
        device.classes.pop(number, None)
        if verb not in ("del", "delete") and not re.fullmatch(NUMBER, number):
            config.note(line, f"class add: classid {number or 'is missing'}")
        elif verb not in ("del", "delete") and rest:
            parent = values.class_id(location["parent"]) if "parent" in location else "root"
            device.classes[number] = Class(rest[0], number, parent, whole_words(rest[0], rest[1:]), line)
    elif verb not in ("del", "delete"):
        filters.apply(config, device, line, location, rest)


def _apply_qdisc(config: TcConfig, device: Device, line: int, command: tuple[str, dict[str, str], list[str]]) -> None:
    verb, location, rest = command
    handle = values.handle(location["handle"]) if "handle" in location else ""
    parent = "root" if "root" in location else _place(location.get("parent", "root"))
    if "ingress" in location or "clsact" in location:
        rest, parent = [*(word for word in ("ingress", "clsact") if word in location), *rest], "ingress"
    before = device.qdiscs.pop(parent, None)
    if verb in ("del", "delete"):
        if parent == "root":
            device.qdiscs = {key: one for key, one in device.qdiscs.items() if one.parent == "ingress"}
            device.classes.clear()
        return
    table = location.get("stab", "").split()
    if rest and verb == "add" and before:
        config.note(
            before.line, f"{device.name}: {before.kind}: line {line} adds {rest[0]} in its place, which is taken"
        )
    if rest:
        rest = [rest[0], *whole_words(rest[0], rest[1:])]
        is_change = verb == "change" and before and before.kind == rest[0]
        words = [*before.words, *rest[1:]] if is_change and before else rest[1:]
        # A size table is attached when a discipline is created; `change` may replace it.
        table = table or (before.table if is_change and before else [])
        config.add(device.name, Qdisc(rest[0], handle, parent, words, line, table))


def _split_location(words: list[str], *, is_filter: bool) -> tuple[dict[str, str], list[str]]:
    """Split leading location words (dev, parent, handle, stab, …) from the rest."""
    location: dict[str, str] = {}
    rest = list(words)
    while rest:
        if rest[0] in ("root", "ingress", "egress", "clsact"):
            location[rest.pop(0)] = ""
        elif rest[1:] and (rest[0] in LOCATION or (is_filter and rest[0] in FILTER_LOCATION)):
            location[rest[0]] = rest[1]
            rest = rest[2:]
        elif rest[0] == "estimator" and rest[2:]:
            rest = rest[3:]
        elif rest[0] == "stab":
            rest, table = _split_table(rest)
            location["stab"] = " ".join(table)
        else:
            break
    return location, rest


LOCATION = ("dev", "parent", "handle", "classid", "ingress_block", "egress_block")
"""Words with a value before the kind of an object."""
FILTER_LOCATION = ("protocol", "prio", "priority", "preference", "pref", "chain", "block")
"""Further ones of filters; `prio` is also a discipline."""
NUMBER = r"[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}"
"""Pattern of a class id."""
QUOTED = re.compile(r"[\"'#\\]")
"""Characters with a meaning to a shell; the lines of `tc`'s output have none."""
OBJECTS = ("qdisc", "class", "filter")
SHELL = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=\s)\#.*|(?P<end>;|&&|\|\|?|(?<!>)&(?![>\d]))""")
"""Text in quotes, a comment, or the end of a command."""
REDIRECTION = re.compile(r"\s(?:[0-9]?>{1,2}|&>)\s*(?:&[0-9]|[^\s&|;'\"]+)(?=\s|$)")
VERBS = ("add", "change", "replace", "link", "del", "delete")
STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")
SHOWN = re.compile(r"(?:(?:replaced|added) )?(?:qdisc|filter) (?!add|del|replace|change|link)")
"""Line of output; `tc monitor` prints a word before it."""
DEFAULT_ROUTE = re.compile(r"^default\b(?:.*\n\s+nexthop)?.*\bdev (\S+)", re.MULTILINE)
"""Default route of `ip route`, also with several next hops, each on a line."""
SIZE_TABLE = re.compile(rf"\s*(?:{'|'.join(STAB)})\s+\S")
"""Begin of the line of a size table (`print_size_table` in iproute2's `tc_stab.c`), below its discipline."""
MAPPING = re.compile(r"\s*(?:queues|mode|shaper|min_rate|max_rate|fp):")
"""Begin of a further line of mqprio (`mqprio_print_opt`)."""
