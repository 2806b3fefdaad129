"""Pipes of dummynet, as `dnctl` and `ipfw` configure them on OPNsense, pfSense and FreeBSD, as TBF with a discipline.

Source: ipfw(8), "Traffic shaper (dummynet) configuration". Differs: a pipe is a token bucket of one packet; the rules
that choose a pipe are not in its configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends.translation import Translation

MAX_TEXT = 1 << 20
"""Maximum characters of a configuration."""


def recognises(text: str) -> bool:
    """Whether a text configures dummynet."""
    return LINE.search(text) is not None


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for the pipes of both directions; raises `InputError` for an unusable configuration."""
    if len(text) > MAX_TEXT:
        raise InputError("more than 1 MiB, which no configuration of dummynet has; give the file alone")
    found = Translation(options)
    parts: dict[tuple[str, int], _Part] = {}
    for line, command in _commands(text):
        match = LINE.match(command)
        if match is None:
            found.note_line(line, command)
            continue
        part = _Part(line, match[1], int(match[2]))
        part.read(command[match.end() :].split(), found)
        if before := parts.get((part.kind, part.number)):
            found.note(before.line, f"{part.kind} {part.number}: line {line} configures it anew")
        parts[part.kind, part.number] = part
    pipes = [part for part in parts.values() if part.kind == "pipe"]
    if not pipes:
        raise InputError("no pipe in it; add the lines pipe N config bw …")
    down, up = options.download or pipes[0].device, options.upload or (pipes[1].device if len(pipes) > 1 else None)
    found.options = replace(options, download=down, upload=up)
    if options.download is None and options.upload is None:
        sides = f"{down} sends to the home" + (f" and {up} from it" if up else "")
        found.assume(pipes[0].line, f"{sides}, by their order; --download and --upload choose")
    for pipe in pipes:
        _pipe(found, pipe, parts)
    return found


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Commands with their lines, without comments."""
    for line, whole in enumerate(text.split("\n"), 1):
        for command in re.split(r"&&|;", whole.partition("#")[0]):
            if command.strip():
                yield line, command.strip()


@dataclass
class _Part:
    """A pipe, a scheduler or a queue."""

    line: int
    kind: str
    number: int
    values: dict[str, str] = field(default_factory=dict)
    """Words with one value."""
    manager: str = ""
    """Queue manager, or type of a scheduler with queue managers."""
    parameters: list[str] = field(default_factory=list)
    """Words of the queue manager."""

    @property
    def device(self) -> str:
        """Name of a pipe in the scenario's messages."""
        return f"pipe{self.number}"

    def read(self, words: list[str], found: Translation) -> None:
        """Read the words after `config`."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "type" and rest and rest[0] in FAIR:
                word = rest.pop(0)
            if word in MANAGERS or word in FAIR:
                self.manager = word
                while rest and rest[0] not in WORDS:
                    self.parameters.append(rest.pop(0))
            elif word in ("mask", "flow_mask", "sched_mask"):
                while rest and (rest[0] in MASKS or rest[0] == "all"):
                    del rest[: 1 if rest[0] == "all" else 2]
                found.note(self.line, f"{self.kind} {self.number}: {word}: all traffic shares the queue")
            elif word in ONE_VALUE:
                self.values[word] = rest.pop(0) if rest else ""
                if word in REPORTED:
                    given = f"{word} {self.values[word]}".rstrip()
                    found.note(self.line, f"{self.kind} {self.number}: {given}: {REPORTED[word]}")
            elif word != "noerror":
                found.note(self.line, f"{self.kind} {self.number}: {word}")


def _pipe(found: Translation, pipe: _Part, parts: dict[tuple[str, int], _Part]) -> None:
    """Add a pipe with the discipline of its scheduler, or of its queue."""
    own = str(pipe.number)
    schedulers = [
        one for one in parts.values() if one.kind == "sched" and one.values.get("pipe", str(one.number)) == own
    ]
    numbers = [str(one.number) for one in schedulers]
    queues = [
        one
        for one in parts.values()
        if one.kind == "queue" and (one.values.get("pipe") == own or one.values.get("sched") in numbers)
    ]
    burst = _burst(found, pipe)
    found.add(
        pipe.line, "qdisc add", pipe.device, f"root handle 1: tbf rate {_rate(pipe)}bit burst {burst} limit {LIMIT}"
    )
    fair = next((one for one in schedulers if one.manager in FAIR), None)
    source = fair or next((one for one in (*queues, pipe) if one.manager), None)
    discipline = _discipline(found, source, _slots(pipe, queues)) if source else _slots(pipe, queues)
    found.add(source.line if source else pipe.line, "qdisc add", pipe.device, f"parent 1:1 {discipline}")
    for one in (pipe, *schedulers):
        if one.values.get("type", "fifo") not in ("fifo", "wf2q+"):
            found.note(one.line, f"type {one.values['type']}: packets leave in their order")
    for one in (*queues, pipe):
        if one is not source and one.manager not in ("", "droptail"):
            what = fair.manager if fair else "another queue"
            found.note(one.line, f"{one.kind} {one.number}: {one.manager} is left out, {what} is used")
    for one in (*queues, pipe):
        if fair and "queue" in one.values:
            size = one.values["queue"]
            found.note(one.line, f"{one.kind} {one.number}: queue {size}: {fair.manager} has a limit of its own")
    if len(queues) > 1:
        found.note(queues[1].line, f"queue {queues[1].number}: a pipe has one queue here, {queues[0].number}")


def _discipline(found: Translation, source: _Part, slots: str) -> str:
    """Discipline of tc for a queue manager of dummynet."""
    kind = source.manager
    if kind in ("red", "gred"):
        found.note(source.line, f"{kind} {' '.join(source.parameters)}: tail drop is used".replace("  ", " "))
    if kind not in VALUES:
        return slots
    out = {"ecn": "noecn"} | (FAIR_DEFAULTS if kind in FAIR else {"limit": _packets(found, source, slots)})
    rest = iter(source.parameters)
    for word in rest:
        if word in ("ecn", "noecn"):
            out["ecn"] = word
        elif word in VALUES[kind]:
            unit = VALUES[kind][word]
            value = next(rest, "")
            number = re.fullmatch(TIME if unit else "([0-9]{1,9})()", value)
            if not number:
                what = "a time in ms" if unit else "a whole number"
                raise InputError(f"line {source.line}: {kind} {word}: {value!r} is not {what}; write e.g. {word} 20")
            out[word] = f"{word} {number[1]}{number[2] or unit}"
        else:
            found.note(source.line, f"{kind}: {word}")
    return " ".join([kind, *out.values()])


def _packets(found: Translation, source: _Part, slots: str) -> str:
    """Limit in packets, which CoDel and PIE of tc need."""
    kind, _, size = slots.split()
    if kind == "pfifo":
        return f"limit {size}"
    packets = max(1, int(size) // 1500)
    found.assume(source.line, f"{source.manager}: its limit of {size} B is {packets} packets of 1500 B")
    return f"limit {packets}"


def _slots(pipe: _Part, queues: list[_Part]) -> str:
    """FIFO with the size of a queue: packets or bytes, by default 50 packets."""
    for one in (*queues, pipe):
        text = one.values.get("queue", "")
        if size := re.fullmatch(r"([0-9]{1,9})([kK]?)(?:[bB](?:ytes)?)?", text):
            is_bytes = not text[-1].isdigit()
            return f"bfifo limit {int(size[1]) * (1000 if size[2] else 1)}" if is_bytes else f"pfifo limit {size[1]}"
    return "pfifo limit 50"


def _rate(pipe: _Part) -> int:
    """Rate in bit/s; raises `InputError`."""
    text = pipe.values.get("bw", "")
    found = RATE.fullmatch(text)
    if not found or not float(found[1]):
        what = f"bw {text!r} is not a rate" if text else "no bw"
        raise InputError(f"line {pipe.line}: pipe {pipe.number}: {what}; write e.g. bw 95Mbit/s")
    scale = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2].lower()]
    is_bytes = found[3] == "B" or found[3].lower().startswith("byte")
    return round(float(found[1]) * scale * (8 if is_bytes else 1))


def _burst(found: Translation, pipe: _Part) -> int:
    """Bytes of the bucket: a packet, or the burst after a pause."""
    text = pipe.values.get("burst", "")
    size = re.fullmatch(r"([0-9]{1,9})([kKmM]?)[bB]?(?:ytes)?", text)
    if text and not size:
        found.note(pipe.line, f"burst {text}")
    return PACKET + (int(size[1]) * {"": 1, "k": 10**3, "m": 10**6}[size[2].lower()] if size else 0)


LINE = re.compile(
    r"^[ \t]*(?:(?:\S*/)?(?:dnctl|ipfw)[ \t]+(?:-\w+[ \t]+)*)?(pipe|sched|queue)[ \t]+([0-9]{1,9})[ \t]+config\b", re.M
)
RATE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmMgG]?)([bB](?:its?|ytes?)?|)(?:/s|ps)?")
"""Rate of a pipe; `B` alone is bytes, `b` bits."""
FAIR = ("fq_codel", "fq_pie")
"""Types of schedulers that manage their queues."""
FAIR_DEFAULTS = {"limit": "limit 10240", "flows": "flows 1024", "quantum": "quantum 1514"}
MANAGERS = ("codel", "pie", "red", "gred", "droptail")
VALUES = {
    "codel": {"target": "ms", "interval": "ms"},
    "pie": {"target": "ms", "tupdate": "ms"},
    "fq_codel": {"target": "ms", "interval": "ms", "quantum": "", "limit": "", "flows": ""},
    "fq_pie": {"target": "ms", "tupdate": "ms", "quantum": "", "limit": "", "flows": ""},
}
"""Parameters that mean the same in tc, with the unit of their numbers."""
REPORTED = {
    "delay": "delays are those of the flows (rtt)",
    "plr": "set loss of the link",
    "weight": "a pipe has one queue here",
    "profile": "profiles are not simulated",
}
"""Words without an equivalent, with the reason or the remedy."""
ONE_VALUE = (*REPORTED, "bw", "pipe", "sched", "type", "queue", "burst", "buckets", "priority")
MASKS = ("src-ip", "dst-ip", "src-ip6", "dst-ip6", "src-port", "dst-port", "proto", "flow-id", "queue")
WORDS = (*ONE_VALUE, *MANAGERS, *FAIR, "mask", "flow_mask", "sched_mask", "noerror")
"""Words that end the parameters of a queue manager."""
TIME = "([0-9]{1,9})(us|ms|s|)"
PACKET = 1600
LIMIT = 100_000_000
"""Limit of TBF itself in bytes, which has no effect with a discipline inside."""
