"""Translation of `tc`'s classless queue disciplines to ours, with notes about unsupported parts.

Each kind of tc is an entry of `KINDS`. Its words are parameters of the registry, with the same name unless the entry
renames them; `values` converts numbers by the parameter's kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.records import Qdisc, TcConfig
from sojourn.model.aqms.registry import find, parsed


@dataclass(frozen=True)
class KindMapping:
    """Mapping of a tc kind to our queue manager."""

    name: str
    parameter_names: Mapping[str, str] = field(default_factory=dict)
    """Our parameter by tc's word, if they differ."""
    limit: Callable[[str], str] | None = None
    """Converter of `limit`, if it becomes the link's limit here."""
    default_limit: str = ""
    """Default of that limit in tc."""
    ignored_values: tuple[str, ...] = ()
    """Ignored words with a value."""
    ignored_flags: tuple[str, ...] = ()
    """Ignored words without a value."""
    converters: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Converters of values in other units, by tc's word."""
    nearest: str = ""
    """Difference of ours from tc's kind, if ours is only the nearest equivalent."""


@dataclass(frozen=True)
class TranslatedQdisc:
    """A translated discipline."""

    text: str
    limits: tuple[str, ...] = ()
    """Values of the link's `limit`."""
    framing: Mapping[str, str] = field(default_factory=dict)
    """Keys of the link equivalent to a size table (`stab`)."""
    sets_link_limit: bool = False
    """Whether an explicit `limit` became the link's limit."""


def translate(qdisc: Qdisc, config: TcConfig) -> TranslatedQdisc:
    """Translate a classless discipline; raises `InputError` for an unknown one."""
    if qdisc.kind not in KINDS:
        raise InputError(f"line {qdisc.line}: {qdisc.kind} is not supported; leave out that device, or its line")
    words, framing = with_framing(qdisc, config)
    if qdisc.kind == "cake":
        return _cake(qdisc, words, framing, config)
    translator = _Translator(qdisc, _mapping_of(qdisc, config), config)
    rest = list(words)
    while rest:
        rest = translator.translate_word(rest.pop(0), rest)
    text = _validated(qdisc, " ".join(translator.out))
    return TranslatedQdisc(text, (translator.limit,) if translator.limit else (), framing, translator.sets_link_limit)


class _Translator:
    """Translator of the words of a discipline."""

    def __init__(self, qdisc: Qdisc, kind: KindMapping, config: TcConfig) -> None:
        self.qdisc, self.kind, self.config = qdisc, kind, config
        self.params: dict[str, str] = {
            param["name"]: param["kind"] for param in find(kind.name.partition("@")[0])["params"]
        }
        self.out = [kind.name]
        self.limit = kind.default_limit
        self.sets_link_limit = False

    def translate_word(self, word: str, rest: list[str]) -> list[str]:
        """Translate a word with its values; returns the words after them."""
        if word in CHOICES.get(self.qdisc.kind, {}):
            self.out.append(CHOICES[self.qdisc.kind][word])
            return rest
        if word == "limit" and self.kind.limit and rest:
            self.limit, self.sets_link_limit = _read(self.qdisc, word, rest[0], self.kind.limit), True
            return rest[1:]
        if word in LISTS:
            self.out += _list_parameter(word, rest[: LISTS[word]], self.params)
            return rest[LISTS[word] :]
        if self._translate_parameter(word, rest[:1]):
            return rest if self._is_flag(self._parameter(word)) else rest[1:]
        if word in self.kind.ignored_values:
            return rest[1:]
        return rest if word in self.kind.ignored_flags else self._note_unsupported(word, rest)

    def _translate_parameter(self, word: str, value: list[str]) -> bool:
        name = self._parameter(word)
        if self._is_flag(name):
            self.out.append(name)
            return True
        if name not in self.params or not value:
            return False
        read = self.kind.converters.get(word, CONVERTERS[self.params[name]])
        text = _read(self.qdisc, word, value[0], read)
        self.out.append(f"{name} {text.replace(' ', '')}")
        if word == "limit":
            self.limit = f"{text} packets"
        return True

    def _parameter(self, word: str) -> str:
        return self.kind.parameter_names.get(word, word.replace("-", "_"))

    def _is_flag(self, name: str) -> bool:
        """Whether a parameter is a flag, such as `ecn`, or a negated one, such as `noecn`."""
        return "flag" in (self.params.get(name), name.startswith("no") and self.params.get(name[2:]))

    def _note_unsupported(self, word: str, rest: list[str]) -> list[str]:
        arguments = list(takewhile(values.is_value, rest))
        self.config.note(self.qdisc.line, f"{self.qdisc.kind}: {' '.join([word, *arguments])}")
        return rest[len(arguments) :]


def _mapping_of(qdisc: Qdisc, config: TcConfig) -> KindMapping:
    """Mapping of tc's kind, with a note if ours is only the nearest equivalent."""
    kind = KINDS[qdisc.kind]
    if kind.nearest:
        config.note(qdisc.line, f"{qdisc.kind} is not supported; {kind.nearest}")
    return kind


def _list_parameter(word: str, numbers: list[str], params: Mapping[str, str]) -> list[str]:
    """Translate a list parameter; empty if it has no effect here."""
    if word == "priomap" and params.get(word) == "bands":
        return [f"priomap {','.join(numbers)}"]
    if word == "weights":
        return [f"weight_{place} {text}" for place, text in enumerate(numbers, start=1)]
    return []


def _cake(qdisc: Qdisc, words: list[str], framing: Mapping[str, str], config: TcConfig) -> TranslatedQdisc:
    """Translate CAKE, whose words our parser accepts, except for sizes and for what tc adds in its output."""
    out, chosen, rest = ["cake"], dict[str, str](), list(words)
    while rest:
        word = rest.pop(0)
        group = next((name for name, members in CAKE.items() if word in members), None)
        if group:
            chosen[group] = word  # tc uses the last one
        elif word in CAKE_VALUES and rest:
            value = rest.pop(0)
            if value != "unlimited":
                chosen[word] = f"{word} {_read(qdisc, word, value, CAKE_VALUES[word]).replace(' ', '')}"
        elif word == "fwmark" and rest:
            config.note(qdisc.line, f"cake: fwmark {rest.pop(0)}: packets have no firewall marks here")
        elif word == "raw":
            out.append("noatm overhead 0")
        elif word == "unlimited":
            chosen.pop("bandwidth", None)
        elif word not in out:
            out.append(word)
    return TranslatedQdisc(_validated(qdisc, " ".join([*out, *chosen.values()])), ("100000 packets",), framing)


def with_framing(qdisc: Qdisc, config: TcConfig) -> tuple[list[str], dict[str, str]]:
    """Words of a discipline without its size table (`stab`), and the table as keys of the link.

    Some outputs have the table at the end of the discipline's own line, where tbf and CAKE have parameters of the same
    names.
    """
    words, table = list(qdisc.words), list(qdisc.table)
    if not table and qdisc.kind not in ("tbf", "cake", "cake_mq") and "linklayer" in words:
        start = words.index("linklayer")
        words, table = words[:start], words[start:]
    keys: dict[str, str] = {}
    given = dict(zip(table[::2], table[1::2], strict=False))
    for word in ("overhead", "mpu"):
        text = given.pop(word, "0").removesuffix("b")
        if not re.fullmatch("-?[0-9]{1,5}", text):
            config.note(qdisc.line, f"stab: {word} {text}")
        elif int(text) < 0:
            config.note(qdisc.line, f"stab: {word} {text}: a link cannot have a negative one")
        elif int(text):
            keys[word] = f"{int(text)} B"
    layer = given.pop("linklayer", "ethernet")
    if layer in ("atm", "adsl"):
        keys = {"framing": "atm", **keys}
    elif layer not in ("ethernet", "unspec"):
        config.note(qdisc.line, f"stab: linklayer {layer}")
    for word, value in given.items():
        # The resolution of the table; here sizes are exact.
        if word not in ("mtu", "tsize"):
            config.note(qdisc.line, f"stab: {word} {value}")
    return words, keys


def _read(qdisc: Qdisc, word: str, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"line {qdisc.line}: {qdisc.kind} {word}: {error}") from None


def _validated(qdisc: Qdisc, text: str) -> str:
    """Validate by our parser; returns the shortest equivalent text."""
    try:
        return _shortest(text)
    except InputError as error:
        raise InputError(f"line {qdisc.line}: {qdisc.kind}: {error}") from None


@lru_cache(maxsize=256)  # thousands of classes have equal queues
def _shortest(text: str) -> str:
    return str(parsed(text)["text"])


def _packets(text: str) -> str:
    return f"{values.count(text)} packets"


def _seconds(text: str) -> str:
    """Seconds as sfq prints them, such as `10sec`, or without a unit."""
    match = re.fullmatch(r"([0-9]+)(?:sec)?", text)
    if not match:
        raise InputError(f'"{text}" is not a number of seconds')
    return f"{match[1]} s"


def _percent(text: str) -> str:
    return f"{int(values.count(text.removesuffix('%'))) / 100:g}"


def _whole_percent(text: str) -> str:
    return values.count(text.removesuffix("%"))


def _halvings(text: str) -> str:
    """RED's weight from `ewma`, the negative binary logarithm of the weight."""
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
"""Mutually exclusive words of CAKE, by our parameter."""
CAKE_VALUES: dict[str, Callable[[str], str]] = {
    "bandwidth": lambda text: text if text == "unlimited" else values.rate(text),
    "memlimit": values.size,
    "rtt": values.time,
    "overhead": str,
    "mpu": str,
}
"""Words of CAKE with a value."""
CONVERTERS: dict[str, Callable[[str], str]] = {
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
"""Converters by kind of a parameter in the registry."""
CHOICES = {"dualpi2": {"l4s_ect": "classify l4s-ect", "any_ect": "classify any-ect"}}
"""Words that set one of our choice parameters, by tc's kind."""
LISTS = {"priomap": 16, "weights": 3}
"""Words with a list of numbers, and its length."""
KINDS = {
    "fq_codel": KindMapping("fq_codel", default_limit="10240 packets"),
    "codel": KindMapping("codel@linux", limit=_packets, default_limit="1000 packets"),
    "pie": KindMapping("pie@linux", limit=_packets, default_limit="1000 packets"),
    "fq_pie": KindMapping(
        "fq_pie", {"ecn_prob": "mark_ecnth"}, default_limit="10240 packets", converters={"ecn_prob": _percent}
    ),
    "red": KindMapping(
        "red@linux",
        {"ewma": "weight"},
        values.size,
        ignored_values=("Plog", "Scell_log"),
        converters={"ewma": _halvings},
    ),
    "choke": KindMapping("choke", {}, _packets, "1000 packets", ignored_values=("ewma", "Plog", "Scell_log")),
    "sfq": KindMapping(
        "sfq", {"perturb": "perturb_period"}, converters={"perturb": _seconds}, ignored_values=("flows",)
    ),
    "fq": KindMapping(
        "sch_fq",
        ignored_values=("orphan_mask", "timer_slack", "buckets", "bands"),
        default_limit="10000 packets",
    ),
    "sfb": KindMapping("sfb@tc", limit=_packets, default_limit="1000 packets"),
    "dualpi2": KindMapping(
        "dualpi2",
        ignored_flags=("drop_dequeue",),
        default_limit="10000 packets",
        converters={"classic_protection": _whole_percent},
    ),
    "hhf": KindMapping(
        "drr",
        limit=_packets,
        default_limit="1000 packets",
        ignored_values=("hh_limit", "reset_timeout", "admit_bytes", "evict_timeout", "non_hh_weight"),
        nearest="drr is the nearest: flows take turns by bytes, and heavy flows get no lower priority",
    ),
    "cake": KindMapping("cake"),
    "pfifo": KindMapping("droptail", limit=_packets, default_limit="1000 packets"),
    "bfifo": KindMapping("droptail", limit=values.size, default_limit="1514000 B"),
    "pfifo_head_drop": KindMapping("drophead", limit=_packets, default_limit="1000 packets"),
    "pfifo_fast": KindMapping("pfifo_fast", default_limit="1000 packets", ignored_values=("bands", "priomap")),
    "noqueue": KindMapping("droptail", default_limit="1000 packets"),
}
"""Mappings by tc's name. Classful disciplines are in `parents`."""
