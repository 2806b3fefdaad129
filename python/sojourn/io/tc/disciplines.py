"""Translation of `tc`'s classless queue disciplines to ours, with notes about unsupported parts.

Each kind of tc is an entry of `KINDS`. Its words are parameters of the registry, with the same name unless the entry
renames them; `values` converts numbers by the parameter's kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.options import accepted, convert, error_of, take_values
from sojourn.io.tc.records import Qdisc, TcConfig
from sojourn.io.tc.red import red_weight
from sojourn.io.tc.words import count_of
from sojourn.model.aqms.registry import find, parsed
from sojourn.model.scenarios.scenario import Scenario


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
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Values of words without an equivalent that change nothing here, by word; empty for a flag."""
    converters: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Converters of values in other units, by tc's word."""
    texts: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Texts in our syntax by tc's word, from its value; a flag has an empty one."""
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
    if qdisc.kind in ("cake", "cake_mq"):
        link = {"limit": CAKE_LIMIT, **framing}
        text = validated(qdisc, [qdisc.kind, *_cake(qdisc, words, config)], link, config)
        return TranslatedQdisc(text, (CAKE_LIMIT,), framing)
    translator = _Translator(qdisc, _mapping_of(qdisc, config), config)
    rest = list(words)
    while rest:
        translator.translate_word(rest.pop(0), rest)
    link = {"limit": translator.limit or "1000 packets", **framing}
    name = validated(qdisc, [translator.kind.name, *_red_maximum(qdisc, translator.limit)], link, config)
    text = validated(qdisc, [name, *translator.out, *red_weight(qdisc, config)], link, config)
    return TranslatedQdisc(text, (translator.limit,) if translator.limit else (), framing, translator.sets_link_limit)


class _Translator:
    """Translator of the words of a discipline."""

    def __init__(self, qdisc: Qdisc, kind: KindMapping, config: TcConfig) -> None:
        self.qdisc, self.kind, self.config = qdisc, kind, config
        self.params: dict[str, str] = {
            param["name"]: param["kind"] for param in find(kind.name.partition("@")[0])["params"]
        }
        self.out: list[str] = []
        self.limit = kind.default_limit
        self.sets_link_limit = False

    def translate_word(self, word: str, rest: list[str]) -> None:
        """Translate a word with its values, which are taken from the words after it."""
        if self._is_flag(self._parameter(word)):
            self.out.append(self._parameter(word))
            return
        given = take_values(self.qdisc.kind, word, rest)
        if word == "ewma":  # `red_weight` reads it with the thresholds
            return
        try:
            is_known = self._translate_parameter(word, given)
        except InputError as error:
            if not self.qdisc.is_shown:  # tc refuses such a command
                raise InputError(f"line {self.qdisc.line}: {self.qdisc.kind} {word}: {error}") from None
            self.config.note(self.qdisc.line, f"{self.qdisc.kind}: {word}: {error}")
            return
        if not is_known and self.kind.defaults.get(word) != " ".join(given):
            self.config.note(self.qdisc.line, f"{self.qdisc.kind}: {' '.join([word, *given])}")

    def _translate_parameter(self, word: str, given: list[str]) -> bool:
        """Translate a word with its values; false if it has no equivalent."""
        name, text = self._parameter(word), " ".join(given)
        if word in self.kind.texts:
            self.out.append(self.kind.texts[word](text))
        elif word == "limit" and self.kind.limit and given:
            self.limit, self.sets_link_limit = _possible_limit(self.kind.limit(text)), True
        elif name not in self.params or not given:
            return False
        elif self.params[name] == "bands":
            self.out.append(f"{name} {','.join(given)}")
        else:
            read = self.kind.converters.get(word, CONVERTERS[self.params[name]])
            if word == "limit":
                self.limit = _possible_limit(f"{read(text)} packets")
            self.out.append(f"{name} {read(text).replace(' ', '')}")
        return True

    def _parameter(self, word: str) -> str:
        return self.kind.parameter_names.get(word, word.replace("-", "_"))

    def _is_flag(self, name: str) -> bool:
        """Whether a parameter is a flag, such as `ecn`, or a negated one, such as `noecn`."""
        return "flag" in (self.params.get(name), name.startswith("no") and self.params.get(name[2:]))


def _mapping_of(qdisc: Qdisc, config: TcConfig) -> KindMapping:
    """Mapping of tc's kind, with a note if ours is only the nearest equivalent."""
    if qdisc.kind == "sfq" and any(word in qdisc.words for word in ("min", "max", "probability", "redflowlimit")):
        return replace(KINDS["sfq"], name="sfq_red")
    kind = KINDS[qdisc.kind]
    if kind.nearest:
        config.note(qdisc.line, f"{qdisc.kind} is not supported; {kind.nearest}")
    return kind


def _red_maximum(qdisc: Qdisc, limit: str) -> list[str]:
    """Default of tc for RED's `max`, a quarter of its limit; inside a class the link's limit is another one."""
    if qdisc.kind != "red" or qdisc.parent == "root" or "max" in qdisc.words or not limit.endswith(" B"):
        return []
    return [f"max {int(limit.removesuffix(' B')) // 4}B"]


def _cake(qdisc: Qdisc, words: list[str], config: TcConfig) -> list[str]:
    """Translate CAKE, whose words our parser accepts, except for sizes and for what tc adds in its output."""
    if qdisc.kind == "cake_mq" and "autorate-ingress" in words and not qdisc.is_shown:
        raise InputError(f"line {qdisc.line}: cake_mq: Linux refuses autorate-ingress; leave it out, or use cake")
    # The words of the framing apply in order: some set the overhead, others add to it.
    chosen, framing, rest = dict[str, str](), list[str](), list(words)
    while rest:
        word = rest.pop(0)
        group = next((name for name, members in CAKE.items() if word in members), word)
        given = take_values("cake", word, rest)
        if word in CAKE_NOTES or count_of("cake", word) is None or (word in CAKE_VALUES and not given):
            reason = f": {CAKE_NOTES[word]}" if CAKE_NOTES.get(word) else ""
            config.note(qdisc.line, f"{qdisc.kind}: {' '.join([word, *given])}{reason}")
        elif word == "unlimited" or given == ["unlimited"]:
            chosen.pop("bandwidth", None)
        elif word in CAKE_VALUES:
            read = convert(qdisc, (word, given[0]), CAKE_VALUES[word], config)
            if word in ("overhead", "mpu"):
                framing += [f"{word} {read}"] if read else []
            elif read:
                chosen[group] = f"{word} {read}"
        elif word in CAKE_FRAMINGS:
            framing.append(word)
        else:
            chosen[group] = word  # tc uses the last one
    return [*framing, *chosen.values(), *_queues(qdisc)]


def _queues(qdisc: Qdisc) -> list[str]:
    """Number of hardware queues of `cake_mq`, which `parents` counts."""
    return [f"queues {qdisc.queues}"] if qdisc.kind == "cake_mq" and qdisc.queues else []


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
        if not re.fullmatch("-?[0-9]{1,5}" if word == "overhead" else "[0-9]{1,5}", text) or abs(int(text)) > 65_535:
            config.note(qdisc.line, f"stab: {word} {text}")
        elif int(text):
            keys[word] = f"{int(text)} B"
    layer = given.pop("linklayer", "ethernet")
    if layer in ("atm", "adsl"):
        keys = {"framing": "atm", **keys}
    elif layer not in ("ethernet", "unspec"):
        config.note(qdisc.line, f"stab: linklayer {layer}")
    for word, value in given.items():
        if TABLE_DEFAULTS.get(word) != value:
            why = ": sizes are exact here" if word in TABLE_DEFAULTS else ""
            config.note(qdisc.line, f"stab: {word} {value}{why}")
    return words, keys


def validated(qdisc: Qdisc, parts: list[str], link: Mapping[str, str], config: TcConfig, tail: str = "") -> str:
    """Validate by our parser; returns the shortest equivalent text. Parameters that it refuses are noted.

    `link` has the limit and the framing; `tail` is a child in braces, which is kept.
    """
    name, *options = parts
    keys = tuple(link.items())

    def refuses(options: list[str]) -> InputError | None:
        error = error_of(lambda: shortest(" ".join([name, *options, tail]), keys))
        return InputError(str(error).removeprefix("link.aqm: ")) if error else None

    kept = accepted(qdisc, options, refuses, config, is_kept=True)
    return shortest(" ".join([name, *kept, tail]), keys)


def _possible_limit(limit: str) -> str:
    """The limit; raises `InputError` for one that no link can have."""
    shortest("droptail", (("limit", limit),))
    return limit


@lru_cache(maxsize=256)  # thousands of classes have equal queues
def shortest(text: str, keys: tuple[tuple[str, str], ...]) -> str:
    """Shortest equivalent text; raises `InputError` for one that no link with these keys can have."""
    spelled = str(parsed(text)["text"])
    link = {"rate": "1 Gbit/s", "aqm": spelled, **dict(keys)}
    Scenario.build({"duration": "1 s", "link": link, "flows": [{"kind": "tcp"}]})
    return spelled


def _packets(text: str) -> str:
    return f"{values.count(text)} packets"


def _fifo_packets(text: str) -> str:
    return f"{values.packets(text)} packets"


def _seconds(text: str) -> str:
    """Seconds as sfq prints them, such as `10sec`, or without a unit."""
    try:
        return f"{values.count(text.removesuffix('sec'))} s"
    except InputError:
        raise InputError(f'"{text}" is not a number of seconds') from None


def _flows(text: str) -> str:
    """Flows of sfq, which some versions of tc print with the divisor, `128/1024`."""
    return values.count(text.partition("/")[0])


def _milliseconds(text: str) -> str:
    """Time of sfb, whose commands have milliseconds without a unit."""
    return f"{values.count(text)} ms" if re.fullmatch("(0x)?[0-9a-fA-F]+", text) else values.time(text)


def _percent(text: str) -> str:
    return f"{int(values.count(text.removesuffix('%'))) / 100:g}"


def _whole_percent(text: str) -> str:
    return values.count(text.removesuffix("%"))


def _sixteenths(text: str) -> str:
    """Gain of PIE per second, which tc counts in sixteenths."""
    return f"{int(values.count(text)) / 16:g}"


def _selector(text: str) -> str:
    """Value and mask of `ce_threshold_selector`, such as `0x1/0x3`."""
    selector, slash, mask = text.partition("/")
    return f"ce_threshold_selector {values.count(selector)}" + (
        f" ce_threshold_mask {values.count(mask)}" if slash else ""
    )


def _step(text: str) -> str:
    """Threshold of DualPI2's step, a time or packets."""
    if re.fullmatch("[0-9]+p(?:ackets?)?", text):
        return f"step_packets {int(re.sub('[a-z]', '', text))}"
    return f"step_thresh {values.time(text)}".replace(" ns", "ns")


def _weights(text: str) -> str:
    """Weights of fq's three bands."""
    return " ".join(f"weight_{place} {values.count(one)}" for place, one in enumerate(text.split(), start=1))


def _text(of: str) -> Callable[[str], str]:
    """Text of a flag."""
    return lambda _: of


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
    "bandwidth": values.rate,
    "memlimit": values.size,
    "rtt": values.time,
    "overhead": values.signed,
    "mpu": values.count,
}
"""Words of CAKE with a value."""
TABLE_DEFAULTS = {"mtu": "2047", "tsize": "512"}
"""Resolution of a size table in tc (`tc_stab.c`)."""
CAKE_LIMIT = "100000 packets"
"""Limit of the link of CAKE, which limits its memory itself."""
CAKE_NOTES = {
    "fwmark": "packets have no firewall marks here",
    "via-ethernet": "tc ignores it",
}
"""Words of CAKE without an equivalent, with the reason."""
CAKE_FRAMINGS = (
    *("raw", "atm", "ptm", "noatm", "conservative", "ethernet", "ether-vlan", "docsis"),
    *("ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux", "pppoa-llc"),
    *("pppoe-vcmux", "pppoe-llcsnap", "pppoe-ptm", "bridged-ptm"),
)
"""Words of CAKE that set its link layer, or add to its overhead."""
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

KINDS = {
    "fq_codel": KindMapping(
        "fq_codel@linux",
        default_limit="10240 packets",
        texts={"ce_threshold_selector": _selector},
    ),
    "codel": KindMapping("codel@linux", limit=_packets, default_limit="1000 packets"),
    "pie": KindMapping(
        "pie@linux",
        {"no_dq_rate_estimator": "nodq_rate_estimator"},
        limit=_packets,
        default_limit="1000 packets",
        converters=dict.fromkeys(("alpha", "beta"), _sixteenths),
    ),
    "fq_pie": KindMapping(
        "fq_pie",
        {"ecn_prob": "mark_ecnth", "no_dq_rate_estimator": "nodq_rate_estimator"},
        default_limit="10240 packets",
        converters={"ecn_prob": _percent, **dict.fromkeys(("alpha", "beta"), _sixteenths)},
    ),
    "red": KindMapping(
        "red@linux", limit=values.size, texts=dict.fromkeys(("adaptive", "adaptative"), _text("adaptive aimd"))
    ),
    "choke": KindMapping("choke", limit=_packets, default_limit="1000 packets"),
    "sfq": KindMapping("sfq", {"perturb": "perturb_period"}, converters={"perturb": _seconds, "flows": _flows}),
    "fq": KindMapping(
        "sch_fq",
        {"horizon_cap": "nohorizon_drop"},
        default_limit="10000 packets",
        defaults={"buckets": "1024", "bands": "3", "timer_slack": "10us", "offload_horizon": "0us"},
        texts={"weights": _weights},
    ),
    "sfb": KindMapping(
        "sfb@tc",
        limit=_packets,
        default_limit="1000 packets",
        converters=dict.fromkeys(("rehash", "db"), _milliseconds),
    ),
    "dualpi2": KindMapping(
        "dualpi2@linux",
        {"overflow": "nodrop_on_overload", "drop_dequeue": "nodrop_enqueue", "no_split_gso": "nosplit_gso"},
        default_limit="10000 packets",
        converters={"classic_protection": _whole_percent},
        texts={"l4s_ect": _text("classify l4s-ect"), "any_ect": _text("classify any-ect"), "step_thresh": _step},
    ),
    "hhf": KindMapping(
        "drr",
        limit=_packets,
        default_limit="1000 packets",
        nearest="drr is the nearest: flows take turns by bytes, and heavy flows get no lower priority",
        defaults={
            "hh_limit": "2048",
            "reset_timeout": "40ms",
            "admit_bytes": "128Kb",
            "evict_timeout": "1s",
            "non_hh_weight": "2",
        },
    ),
    "cake": KindMapping("cake"),
    "cake_mq": KindMapping("cake_mq"),
    "pfifo": KindMapping("droptail", limit=_fifo_packets, default_limit="1000 packets"),
    "bfifo": KindMapping("droptail", limit=values.size, default_limit="1514000 B"),
    "pfifo_head_drop": KindMapping("drophead", limit=_fifo_packets, default_limit="1000 packets"),
    "pfifo_fast": KindMapping(
        "pfifo_fast",
        default_limit="1000 packets",
        defaults={"bands": "3", "priomap": "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"},
    ),
    "noqueue": KindMapping("droptail", default_limit="1000 packets"),
}
"""Mappings by tc's name. Classful disciplines are in `parents`."""
