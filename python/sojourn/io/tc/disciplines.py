"""A queue discipline of `tc` in our spelling, with what holds and what is not understood of it.

Each of tc's kinds is a line of `KINDS`. Its words are parameters of the registry, under the same name unless the line
says otherwise; numbers go through `values`, by the kind of the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.lines import Qdisc, Read
from sojourn.model.aqms.registry import find, parsed


@dataclass(frozen=True)
class Kind:
    """How tc's words of a kind are ours."""

    ours: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    """tc's word: our parameter."""
    limit: Callable[[str], str] | None = None
    """Reads the word `limit` where it is the host's here, with the default that tc's kind has."""
    default_limit: str = ""
    silent: tuple[str, ...] = ()
    """Words with a value that change nothing here, with what they say in `ABOUT`."""
    flags: tuple[str, ...] = ()
    """The same without a value."""
    changed: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Values that are told in another unit, by tc's word."""
    nearest: str = ""
    """How ours differs, where tc's kind is not there and ours is the nearest."""


@dataclass(frozen=True)
class Spelled:
    """A discipline in our spelling."""

    text: str
    limits: tuple[str, ...] = ()
    """What the link's `limit` has to say."""
    framing: Mapping[str, str] = field(default_factory=dict)
    """Keys of the link: what a size table (`stab`) does."""
    limited_by_host: bool = False
    """Whether a `limit` was given that is not the discipline's own here, but the link's."""


def spell(qdisc: Qdisc, found: Read) -> Spelled:
    """Translate a discipline that holds no other one."""
    if qdisc.kind not in KINDS:
        raise InputError(f"line {qdisc.line}: tc's {qdisc.kind} is not there; take out that device, or its line")
    words, framing = without_table(qdisc)
    if qdisc.kind == "cake":
        return _cake(qdisc, words, framing, found)
    spelling = _Spelling(qdisc, _kind(qdisc, found), found)
    left = list(words)
    while left:
        left = spelling.take(left.pop(0), left)
    text = _checked(qdisc, " ".join(spelling.out))
    return Spelled(text, (spelling.limit,) if spelling.limit else (), framing, spelling.limited_by_host)


class _Spelling:
    """Our words of a discipline, as far as tc's have been read."""

    def __init__(self, qdisc: Qdisc, kind: Kind, found: Read) -> None:
        self.qdisc, self.kind, self.found = qdisc, kind, found
        self.params: dict[str, str] = {
            param["name"]: param["kind"] for param in find(kind.ours.partition("@")[0])["params"]
        }
        self.out = [kind.ours]
        self.limit = kind.default_limit
        self.limited_by_host = False

    def take(self, word: str, left: list[str]) -> list[str]:
        """Take a word with its values from those that follow; return the others."""
        if word in CHOICES.get(self.qdisc.kind, {}):
            self.out.append(CHOICES[self.qdisc.kind][word])
            return left
        if word == "limit" and self.kind.limit and left:
            self.limit, self.limited_by_host = _read(self.qdisc, word, left[0], self.kind.limit), True
            return left[1:]
        if word in LISTS:
            self.out += _listed(word, left[: LISTS[word]], self.params)
            return left[LISTS[word] :]
        if self._take_parameter(word, left[:1]):
            return left if self._is_flag(self._ours(word)) else left[1:]
        if word in self.kind.silent:
            return left[1:]
        return left if word in self.kind.flags else self._not_understood(word, left)

    def _take_parameter(self, word: str, value: list[str]) -> bool:
        ours = self._ours(word)
        if self._is_flag(ours):
            self.out.append(ours)
            return True
        if ours not in self.params or not value:
            return False
        read = self.kind.changed.get(word, READERS[self.params[ours]])
        text = _read(self.qdisc, word, value[0], read)
        self.out.append(f"{ours} {text.replace(' ', '')}")
        if word == "limit":
            self.limit = f"{text} packets"
        return True

    def _ours(self, word: str) -> str:
        return self.kind.renamed.get(word, word.replace("-", "_"))

    def _is_flag(self, name: str) -> bool:
        """Whether a parameter is a flag, as `ecn`, or the negation of one, as `noecn`."""
        return "flag" in (self.params.get(name), name.startswith("no") and self.params.get(name[2:]))

    def _not_understood(self, word: str, left: list[str]) -> list[str]:
        values_of_it = list(takewhile(values.is_value, left))
        self.found.note(self.qdisc.line, f"{self.qdisc.kind}: {' '.join([word, *values_of_it])}")
        return left[len(values_of_it) :]


def _kind(qdisc: Qdisc, found: Read) -> Kind:
    """What tc's kind is here, with a note where ours is only the nearest."""
    kind = KINDS[qdisc.kind]
    if kind.nearest:
        found.note(qdisc.line, f"{qdisc.kind} is not there; {kind.nearest}")
    return kind


def _listed(word: str, given: list[str], params: Mapping[str, str]) -> list[str]:
    """The words of a list in our spelling; none where it changes nothing here."""
    if word == "priomap" and params.get(word) == "bands":
        return [f"priomap {','.join(given)}"]
    if word == "weights":
        return [f"weight_{place} {text}" for place, text in enumerate(given, start=1)]
    return []


def _cake(qdisc: Qdisc, words: list[str], framing: Mapping[str, str], found: Read) -> Spelled:
    """CAKE's words are read by our own parser, which knows all of them, but for sizes and for what tc adds."""
    out, chosen, left = ["cake"], dict[str, str](), list(words)
    while left:
        word = left.pop(0)
        group = next((name for name, members in CAKE.items() if word in members), None)
        if group:
            chosen[group] = word  # tc takes the last of several
        elif word in CAKE_VALUES and left:
            value = left.pop(0)
            if value != "unlimited":
                chosen[word] = f"{word} {_read(qdisc, word, value, CAKE_VALUES[word]).replace(' ', '')}"
        elif word == "fwmark" and left:
            found.note(qdisc.line, f"cake: fwmark {left.pop(0)}: packets have no marks of a firewall here")
        elif word == "raw":
            out.append("noatm overhead 0")
        elif word == "unlimited":
            chosen.pop("bandwidth", None)
        elif word not in out:
            out.append(word)
    return Spelled(_checked(qdisc, " ".join([*out, *chosen.values()])), ("100000 packets",), framing)


def without_table(qdisc: Qdisc) -> tuple[list[str], dict[str, str]]:
    """Words of a discipline, and its size table as keys of the link.

    Commands say `stab` before the table; what tc shows has its words at the end, where TBF and CAKE have words of
    their own of that name.
    """
    words, kept = list(qdisc.words), []
    if "stab" in words:
        start = words.index("stab")
        kept, words = words[:start], words[start + 1 :]
    elif qdisc.kind in ("tbf", "cake"):
        return words, {}
    else:
        start = next((place for place, word in enumerate(words) if word == "linklayer"), len(words))
        kept, words = words[:start], words[start:]
    table: dict[str, str] = {}
    while len(words) > 1 and words[0] in TABLE:
        table[words[0]] = words[1].removesuffix("b")
        words = words[2:]
    framing = {
        word: f"{_read(qdisc, word, table[word], values.count)} B"
        for word in ("overhead", "mpu")
        if table.get(word, "0") != "0"
    }
    if table.get("linklayer") in ("atm", "adsl"):
        framing = {"framing": "atm", **framing}
    return [*kept, *words], framing


def _read(qdisc: Qdisc, word: str, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"line {qdisc.line}: {qdisc.kind} {word}: {error}") from None


def _checked(qdisc: Qdisc, text: str) -> str:
    """The shortest spelling of what our own parser takes."""
    try:
        return str(parsed(text)["text"])
    except InputError as error:
        raise InputError(f"line {qdisc.line}: {qdisc.kind}: {error}") from None


def _packets(text: str) -> str:
    return f"{values.count(text)} packets"


def _seconds(text: str) -> str:
    """`10sec`, as sfq prints it; a plain number is in seconds."""
    found = re.fullmatch(r"([0-9]+)(?:sec)?", text)
    if not found:
        raise InputError(f'"{text}" is no number of seconds')
    return f"{found[1]} s"


def _percent(text: str) -> str:
    return f"{int(values.count(text.removesuffix('%'))) / 100:g}"


def _whole_percent(text: str) -> str:
    return values.count(text.removesuffix("%"))


def _halvings(text: str) -> str:
    """The `ewma` of RED: the logarithm of one over the weight."""
    return f"{0.5 ** int(values.count(text)):.10g}"


CAKE = {
    "tins": ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"),
    "isolation": (
        *("flowblind", "srchost", "dsthost", "hosts", "flows"),
        *("dual-srchost", "dual-dsthost", "triple-isolate"),
    ),
    "ack_filter": ("ack-filter", "ack-filter-aggressive", "no-ack-filter"),
    "wash": ("wash", "nowash"),
    "nat": ("nat", "nonat"),
    "ingress": ("ingress", "egress"),
    "split_gso": ("split-gso", "no-split-gso"),
}
"""Words of CAKE of which one holds, by our parameter, if there is one."""
CAKE_VALUES: dict[str, Callable[[str], str]] = {
    "bandwidth": lambda text: text if text == "unlimited" else values.rate(text),
    "memlimit": values.size,
    "rtt": values.time,
    "overhead": str,
    "mpu": str,
}
"""Those with a value."""
READERS: dict[str, Callable[[str], str]] = {
    "bytes": values.size,
    "rate": values.rate,
    "time": values.time,
    "count": values.count,
    "number": values.number,
    "choice": str,
    "class": str,
    "bands": str,
    "distribution": str,
}
"""By the kind of a parameter in the registry."""
CHOICES = {"dualpi2": {"l4s_ect": "classify l4s-ect", "any_ect": "classify any-ect"}}
"""Words that are the value of one of our parameters, by tc's kind."""
LISTS = {"priomap": 16, "weights": 3}
"""Words with so many numbers behind them."""
TABLE = ("mtu", "tsize", "mpu", "overhead", "linklayer")
"""Words of a size table."""

KINDS = {
    "fq_codel": Kind("fq_codel", default_limit="10240 packets"),
    "codel": Kind("codel@linux", limit=_packets, default_limit="1000 packets"),
    "pie": Kind("pie@linux", limit=_packets, default_limit="1000 packets"),
    "fq_pie": Kind("fq_pie", {"ecn_prob": "mark_ecnth"}, default_limit="10240 packets", changed={"ecn_prob": _percent}),
    "red": Kind(
        "red@linux",
        {"ewma": "weight"},
        values.size,
        silent=("Plog", "Scell_log"),
        changed={"ewma": _halvings},
    ),
    "choke": Kind("choke", {}, _packets, "1000 packets", silent=("ewma", "Plog", "Scell_log")),
    "sfq": Kind("sfq", {"perturb": "perturb_period"}, changed={"perturb": _seconds}, silent=("flows",)),
    "fq": Kind(
        "sch_fq",
        silent=("orphan_mask", "timer_slack", "buckets", "bands"),
        default_limit="10000 packets",
    ),
    "sfb": Kind("sfb@tc", limit=_packets, default_limit="1000 packets"),
    "dualpi2": Kind(
        "dualpi2",
        flags=("drop_dequeue",),
        default_limit="10000 packets",
        changed={"classic_protection": _whole_percent},
    ),
    "hhf": Kind(
        "drr",
        limit=_packets,
        default_limit="1000 packets",
        silent=("hh_limit", "reset_timeout", "admit_bytes", "evict_timeout", "non_hh_weight"),
        nearest="drr is the nearest: flows take turns by bytes, and heavy ones are not put behind the others",
    ),
    "cake": Kind("cake"),
    "pfifo": Kind("droptail", limit=_packets, default_limit="1000 packets"),
    "bfifo": Kind("droptail", limit=values.size, default_limit="1514000 B"),
    "pfifo_head_drop": Kind("drophead", limit=_packets, default_limit="1000 packets"),
    "pfifo_fast": Kind("pfifo_fast", default_limit="1000 packets", silent=("bands", "priomap")),
    "noqueue": Kind("droptail", default_limit="1000 packets"),
}
"""By tc's name. Parents are in `parents`."""
