"""Random configurations of `tc` from its table of words, as output, as JSON and as commands."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sojourn.io.tc.values import RATES, SIZES, TIMES
from sojourn.io.tc.words import PRINTED, Value


@dataclass(frozen=True)
class Drawn:
    """A value: as tc prints it, in a command, its JSON, and its numbers in bit/s, bytes, seconds or as they are."""

    shown: str
    command: str
    json: Any
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Option:
    """A word of a discipline or a class with its value."""

    word: str
    value: Drawn

    def text(self, *, is_command: bool) -> str:
        """Word with its value."""
        return f"{self.word} {self.value.command if is_command else self.value.shown}".rstrip()


def _spelled(draw: random.Random, amount: int, units: Mapping[str, Fraction]) -> str:
    """Amount with at most four decimals and a unit in random case."""
    known = [unit for unit, scale in units.items() if (Fraction(amount) / scale * 10**4).denominator == 1]
    unit = draw.choice(known)
    number = Fraction(amount) / units[unit]
    text = str(int(number)) if number.denominator == 1 else f"{float(number):.4f}".rstrip("0")
    return text + draw.choice([unit, unit.upper(), unit.capitalize()])


def _rate(draw: random.Random) -> Drawn:
    scale, unit = draw.choice([(1, ""), (10**3, "K"), (10**6, "M"), (10**9, "G"), (1024, "Ki"), (1024**2, "Mi")])
    bits = 8 * draw.randint(1, 1200) * scale
    bits = bits * 1000 if scale == 1 else min(bits, 800 * 10**9)
    shown = f"{bits}bit" if scale == 1 else f"{bits // scale}{unit}bit"
    return Drawn(shown, _spelled(draw, bits, RATES), bits // 8, (float(bits),))


def _bytes(draw: random.Random) -> Drawn:
    scale, unit = draw.choice([(1, "b"), (1, "b"), (1024, "Kb"), (1024**2, "Mb")])
    number = draw.randint(2, 63) if scale > 1 else draw.randint(300, 60_000)
    return Drawn(f"{number}{unit}", _spelled(draw, number * scale, SIZES), number * scale, (float(number * scale),))


def _time(draw: random.Random) -> Drawn:
    number, scale, unit = draw.choice(
        [(draw.randint(20, 999), 1, "us"), (draw.randint(2, 9990), 100, "ms"), (draw.randint(2, 99), 10**5, "s")]
    )
    micro = number * scale
    shown = f"{micro / {'us': 1, 'ms': 1000, 's': 10**6}[unit]:g}{unit}"
    return Drawn(shown, _spelled(draw, 1000 * micro, TIMES), micro, (micro / 1e6,))


def _count(low: int, high: int, unit: str = "") -> Callable[[random.Random], Drawn]:
    def drawn(draw: random.Random) -> Drawn:
        number = draw.randint(low, high)
        return Drawn(f"{number}{unit}", draw.choice([str(number), f"{number:#x}"]), number, (float(number),))

    return drawn


def _number(draw: random.Random) -> Drawn:
    number = (10 * draw.randint(0, 98) + 7) / 1000
    return Drawn(f"{number:g}", f"{number:g}", number, (number,))


def _percent(draw: random.Random) -> Drawn:
    number = draw.randint(1, 97)
    return Drawn(f"{number}%", f"{number}%", number / 100, (float(number),))


def _many(count: int, high: int) -> Callable[[random.Random], Drawn]:
    def drawn(draw: random.Random) -> Drawn:
        numbers = [draw.randint(0, high) for _ in range(count)]
        text = " ".join(map(str, numbers))
        return Drawn(text, text, numbers, tuple(map(float, numbers)))

    return drawn


def _words(*choices: str) -> Callable[[random.Random], Drawn]:
    def drawn(draw: random.Random) -> Drawn:
        text = draw.choice(choices)
        return Drawn(text, text, text)

    return drawn


def _bits(draw: random.Random) -> Drawn:
    number = draw.randint(1, 255)
    return Drawn(f"{number:#x}", f"{number:#x}", f"{number:#x}", (float(number),))


def _selector(draw: random.Random) -> Drawn:
    first, mask = draw.randint(1, 255), draw.randint(1, 255)
    text = f"{first:#x}/{mask:#x}"
    return Drawn(text, text, {"ce_threshold_selector": first, "ce_threshold_mask": mask}, (first, mask))


def _signed(draw: random.Random) -> Drawn:
    number = draw.randint(-60, 250)
    return Drawn(str(number), str(number), number, (float(number),))


def _step(draw: random.Random) -> Drawn:
    if draw.random() < 0.5:
        time = _time(draw)
        return Drawn(time.shown, time.command, {"step-thresh-us": time.json}, time.numbers)
    number = draw.randint(1, 99)
    return Drawn(f"{number}p", f"{number}p", {"step-thresh-pkts": number}, (float(number),))


def _delay(draw: random.Random) -> Drawn:
    parts, keys = [_time(draw)], ["delay"]
    if draw.random() < 0.6:
        parts, keys = [*parts, _time(draw)], [*keys, "jitter"]
    found = {key: one.json / 1e6 for key, one in zip(keys, parts, strict=True)}
    shown, command = "  ".join(one.shown for one in parts), " ".join(one.command for one in _with_units(parts))
    numbers = tuple(one.numbers[0] for one in parts)
    if len(parts) > 1 and draw.random() < 0.6:
        correlation = _percent(draw)
        found["correlation"] = correlation.json
        return Drawn(
            f"{shown} {correlation.shown}", f"{command} {correlation.shown}", found, (*numbers, *correlation.numbers)
        )
    return Drawn(shown, command, {**found, "correlation": 0}, numbers)


def _with_units(times: Sequence[Drawn]) -> list[Drawn]:
    """Times with a unit in commands; netem's without one are nanoseconds (`get_time64`), others microseconds."""
    return [Drawn(one.shown, one.shown, one.json, one.numbers) for one in times]


def _slots(draw: random.Random) -> Drawn:
    first, second = sorted((_time(draw), _time(draw)), key=lambda one: one.numbers)
    packets, size = draw.randint(1, 99), draw.randint(100, 9999)
    tail = f" packets {packets} bytes {size}" if draw.random() < 0.6 else ""
    sizes = {"packets": packets if tail else 0, "bytes": size if tail else 0}
    numbers = (*first.numbers, *second.numbers, *((float(packets), float(size)) if tail else ()))
    if draw.random() < 0.5:
        found = {"distribution": second.json / 1e6, "jitter": first.json / 1e6, **sizes}
        shown = f"distribution {second.shown}  {first.shown}{tail}"
        return Drawn(shown, shown.replace("distribution", "distribution normal"), found, numbers)
    found = {"min-delay": first.json / 1e6, "max-delay": second.json / 1e6, **sizes}
    return Drawn(f"{first.shown} {second.shown}{tail}", f"{first.shown} {second.shown}{tail}", found, numbers)


def _loss(draw: random.Random) -> Drawn:
    kind = draw.choice(["random", "random", "gemodel", "state"])
    if kind == "random":
        return _with_correlation("loss-random")(draw)
    names = ("p", "r", "1-h", "1-k") if kind == "gemodel" else ("p13", "p31", "p32", "p23", "p14")
    parts = [_percent(draw) for _ in names]
    shown = " ".join([kind, *(f"{name} {one.shown}" for name, one in zip(names, parts, strict=True))])
    command = " ".join([kind, *(one.shown for one in parts)])
    found = {f"loss-{kind}": {name: one.json for name, one in zip(names, parts, strict=True)}}
    return Drawn(shown, command, found, tuple(one.numbers[0] for one in parts))


def _with_correlation(name: str) -> Callable[[random.Random], Drawn]:
    def drawn(draw: random.Random) -> Drawn:
        first, second = _percent(draw), _percent(draw)
        inside = name.removeprefix("loss-") if name != "loss-random" else "loss"
        if draw.random() < 0.5:
            return Drawn(first.shown, first.shown, {name: {inside: first.json, "correlation": 0}}, first.numbers)
        text = f"{first.shown} {second.shown}"
        found = {name: {inside: first.json, "correlation": second.json}}
        return Drawn(text, text, found, (*first.numbers, *second.numbers))

    return drawn


def _cells(draw: random.Random) -> Drawn:
    rate = _rate(draw)
    overhead, cell, beside = draw.randint(-20, 60), draw.randint(40, 70), draw.randint(1, 9)
    sizes = {"packetoverhead": overhead, "cellsize": cell, "celloverhead": beside}
    found = {"rate": {"rate": rate.json, **(sizes if cell % 2 else dict.fromkeys(sizes, 0))}}
    if not cell % 2:
        return Drawn(rate.shown, rate.command, found, rate.numbers)
    tail = " ".join(f"{word} {size}" for word, size in sizes.items() if size)
    numbers = (*rate.numbers, *(float(size) for size in sizes.values() if size))
    return Drawn(f"{rate.shown} {tail}", f"{rate.command} {overhead} {cell} {beside}", found, numbers)


def _flag(draw: random.Random) -> Drawn:
    del draw
    return Drawn("", "", True)


DRAWS: dict[Value, Callable[[random.Random], Drawn]] = {
    Value.FLAG: _flag,
    Value.COUNT: _count(1, 4999),
    Value.PACKETS: _count(2, 19_999, "p"),
    Value.BYTES: _bytes,
    Value.RATE: _rate,
    Value.TIME: _time,
    Value.SECONDS: _count(1, 99, "sec"),
    Value.NUMBER: _number,
    Value.PERCENT: _percent,
    Value.BITS: _bits,
    Value.STEP: _step,
    Value.SIGNED: _signed,
    Value.LAYER: _words("atm", "ethernet", "adsl"),
    Value.DELAY: _delay,
    Value.SLOTS: _slots,
    Value.LOSS: _loss,
    Value.CELLS: _cells,
    Value.BANDS: _many(16, 2),
    Value.WEIGHTS: _many(3, 999_999),
    Value.QUANTA: _many(2, 9999),
    Value.SWITCH: _words("on", "off"),
}
"""Draws by kind of value."""


def _sixteenths(draw: random.Random) -> Drawn:
    number = draw.choice([one for one in range(1, 33) if one not in (2, 20)])
    return Drawn(str(number), draw.choice([str(number), f"{number:#x}"]), number, (number / 16,))


def _red_limit(draw: random.Random) -> Drawn:
    number = draw.randint(60_000, 400_000)
    return Drawn(f"{number}b", _spelled(draw, number, SIZES), number, (float(number),))


def _milliseconds(draw: random.Random) -> Drawn:
    number = draw.randint(1, 999)
    return Drawn(f"{number}ms", str(number), 1000 * number, (number / 1000,))


def _plain_bytes(draw: random.Random) -> Drawn:
    number = draw.randint(300, 60_000)
    return Drawn(f"{number}b", draw.choice([str(number), f"{number:#x}"]), number, (float(number),))


def _plain(of: Callable[[random.Random], Drawn]) -> Callable[[random.Random], Drawn]:
    """Values that commands have in decimal (`get_u32` of base 10), possibly with another unit than the output."""

    def drawn(draw: random.Random) -> Drawn:
        one = of(draw)
        return Drawn(one.shown, str(one.json), one.json, one.numbers)

    return drawn


OWN_DRAWS: dict[tuple[str, str], Callable[[random.Random], Drawn]] = {
    ("fq_codel", "ce_threshold_selector"): _selector,
    ("fq_codel", "quantum"): _plain_bytes,
    ("fq_codel", "drop_batch"): _count(65, 200),
    ("fq", "quantum"): _plain_bytes,
    ("fq", "initial_quantum"): _plain_bytes,
    ("fq", "bands"): lambda _: Drawn("3", "3", 3, (3.0,)),
    ("red", "limit"): _red_limit,
    ("hhf", "non_hh_weight"): _count(3, 99),
    ("hhf", "quantum"): _plain_bytes,
    ("hhf", "admit_bytes"): _plain_bytes,
    ("sfq", "min"): _plain_bytes,
    ("sfq", "max"): _plain_bytes,
    ("sfq", "redflowlimit"): _plain_bytes,
    ("sfb", "rehash"): _milliseconds,
    ("sfb", "db"): _milliseconds,
    ("sfb", "penalty_rate"): _count(1, 4999, "pps"),
    ("dualpi2", "limit"): _plain(_count(2, 19_999, "p")),
    ("dualpi2", "min_qlen_step"): _plain(_count(1, 999, "p")),
    ("dualpi2", "coupling_factor"): _count(3, 9),
    ("dualpi2", "memlimit"): lambda draw: _plain(_count(300, 10**6, "B"))(draw),
    ("dualpi2", "classic_protection"): _plain(_count(1, 97, "%")),
    ("pie", "alpha"): _sixteenths,
    ("pie", "beta"): _sixteenths,
    ("fq_pie", "alpha"): _sixteenths,
    ("fq_pie", "beta"): _sixteenths,
    ("fq_pie", "ecn_prob"): _plain(_count(11, 97)),
    ("cake", "mpu"): _plain(_count(1, 250)),
    ("netem", "duplicate"): _with_correlation("duplicate"),
    ("netem", "reorder"): _with_correlation("reorder"),
    ("netem", "corrupt"): _with_correlation("corrupt"),
    ("netem", "seed"): _plain(_count(1, 10**6)),
    ("ets", "bands"): _plain(_count(4, 9)),
    ("ets", "strict"): _plain(_count(1, 2)),
    ("prio", "bands"): _plain(_count(4, 9)),
    ("pfifo_fast", "bands"): lambda _: Drawn("3", "3", 3, (3.0,)),
    ("htb", "r2q"): _plain(_count(1, 99)),
    ("htb", "direct_qlen"): _plain(_count(1, 4999)),
    ("htb", "prio"): _plain(_count(0, 7)),
    ("htb", "quantum"): _plain(_count(1000, 60_000)),
    ("htb", "mpu"): _plain(_count(1, 250, "b")),
    ("htb", "overhead"): _plain(_count(1, 90)),
    ("htb", "default"): lambda _: Drawn("0x1", "1", "0x1"),
    ("hfsc", "default"): lambda _: Drawn("0x1", "1", "0x1"),
    ("stab", "linklayer"): _words("atm", "ethernet", "adsl"),
    ("stab", "overhead"): _signed,
    ("stab", "mpu"): _plain(_count(1, 250)),
    ("stab", "mtu"): _plain(_count(1500, 9000)),
    ("stab", "tsize"): _plain(_count(2, 2048)),
    ("tbf", "overhead"): _plain(_count(1, 90)),
    ("tbf", "mpu"): _plain(_count(1, 250, "b")),
}
"""Draws of words with a range or a unit of their own."""


def drawn_option(draw: random.Random, kind: str, word: str) -> Option:
    """Word of the table with a random value."""
    own = OWN_DRAWS.get(("cake" if kind == "cake_mq" else kind, word))
    return Option(word, (own or DRAWS[PRINTED[kind].words[word]])(draw))


def drawn_curve(draw: random.Random, name: str) -> Option:
    """Curve of a class of hfsc, with its first slope or without."""
    first, time, rate = _rate(draw), _with_units([_time(draw)])[0], _rate(draw)
    is_linear = draw.random() < 0.5
    shown = "m1 0bit d 0us" if is_linear else f"m1 {first.shown} d {time.shown}"
    numbers = (*(() if is_linear else (*first.numbers, *time.numbers)), *rate.numbers)
    command = f"rate {rate.command}" if is_linear else f"m1 {first.command} d {time.command} m2 {rate.command}"
    return Option(name, Drawn(f"{shown} m2 {rate.shown}", command, None, numbers))


@dataclass(frozen=True)
class Line:
    """A discipline with options, and its class and its size table if it has one; an unknown word may be among them."""

    kind: str
    options: tuple[Option, ...]
    class_options: tuple[Option, ...] = ()
    """Options of the class 1:1 of htb and hfsc."""
    table: tuple[Option, ...] = ()
    child: Line | None = None
    unknown: str = ""

    @property
    def all_options(self) -> tuple[tuple[str, Option], ...]:
        """Options with the kind of their discipline."""
        own = tuple((self.kind, one) for one in (*self.options, *self.class_options))
        table = tuple(("stab", one) for one in self.table)
        return (*own, *table, *(self.child.all_options if self.child else ()))

    def without(self, left: Option) -> Line:
        """The same without an option."""
        options, class_options, table = (
            tuple(one for one in listed if one is not left) for listed in (self.options, self.class_options, self.table)
        )
        child = self.child.without(left) if self.child else None
        return replace(self, options=options, class_options=class_options, table=table, child=child)

    def kept(self, keep: Callable[[str, str], bool]) -> Line:
        """The same without the words that a form does not have."""
        left = [option for kind, option in self.all_options if not keep(kind, option.word)]
        line = self
        for option in left:
            line = line.without(option)
        return line

    def shown(self) -> str:
        """Output of tc."""
        lines = [f"qdisc {self.kind} 1: dev eth0 root refcnt 2 {self._words(self.options)} {self.unknown}".rstrip()]
        if self.table:
            lines.append(f"  {self._words(self.table)}")
        if self.child:
            lines.append(f"qdisc {self.child.kind} 2: dev eth0 parent 1:1 {self._words(self.child.options)}")
        if self.class_options:
            lines.append(f"class {self.kind} 1:1 root {self._words(self.class_options)}")
        return "\n".join(lines)

    def command(self) -> str:
        """Commands of tc."""

        def words(options: Sequence[Option]) -> str:
            return " ".join(one.text(is_command=True) for one in options)

        table = f"stab {words(self.table)} " if self.table else ""
        lines = [f"tc qdisc add dev eth0 root handle 1: {table}{self.kind} {words(self.options)}"]
        if self.class_options:
            lines.append(f"tc class add dev eth0 parent 1: classid 1:1 {self.kind} {words(self.class_options)}")
        if self.child:
            lines.append(f"tc qdisc add dev eth0 parent 1:1 {self.child.kind} {words(self.child.options)}")
        return "\n".join(lines)

    def json(self) -> str:
        """Output of `tc -j`."""
        options = _members(self.kind, self.options)
        if self.unknown:
            word, _, value = self.unknown.partition(" ")
            options[word] = int(value) if value else True
        found: dict[str, Any] = {"kind": self.kind, "handle": "1:", "dev": "eth0", "root": True, "refcnt": 2}
        if self.table:
            found["stab"] = {one.word: one.value.json for one in self.table}
        arrays = [[{**found, "options": options}]]
        if self.child:
            inside = _members(self.child.kind, self.child.options)
            arrays[0].append(
                {"kind": self.child.kind, "handle": "2:", "dev": "eth0", "parent": "1:1", "options": inside}
            )
        if self.class_options:
            members = _members(self.kind, self.class_options)
            arrays.append([{"class": self.kind, "handle": "1:1", "root": True, **members}])
        return "\n".join(map(json.dumps, arrays))

    @staticmethod
    def _words(options: Sequence[Option]) -> str:
        return " ".join(one.text(is_command=False) for one in options)


def _members(kind: str, options: Sequence[Option]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in options:
        found |= json_of(kind, one)
    return found


CAKE_KEYS = {
    **dict.fromkeys(("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"), "diffserv"),
    **dict.fromkeys(("flowblind", "srchost", "dsthost", "hosts", "flows"), "flowmode"),
    **dict.fromkeys(("dual-srchost", "dual-dsthost", "triple-isolate"), "flowmode"),
    **dict.fromkeys(("atm", "ptm", "noatm"), "atm"),
    "autorate-ingress": "autorate",
}
"""Keys of CAKE whose values are the words."""
CAKE_FLAGS: dict[str, dict[str, Any]] = {
    "nat": {"nat": True},
    "nonat": {"nat": False},
    "wash": {"wash": True},
    "nowash": {"wash": False},
    "ingress": {"ingress": True},
    "egress": {"ingress": False},
    "split-gso": {"split_gso": True},
    "no-split-gso": {"split_gso": False},
    "raw": {"raw": True},
    "ack-filter": {"ack-filter": "enabled"},
    "ack-filter-aggressive": {"ack-filter": "aggressive"},
    "no-ack-filter": {"ack-filter": "disabled"},
    "unlimited": {"bandwidth": "unlimited"},
}
"""Members of CAKE's JSON by word."""
DUALPI2_KEYS: dict[str, dict[str, Any]] = {
    "drop_on_overload": {"drop-overload": "drop"},
    "overflow": {"drop-overload": "overflow"},
    "drop_enqueue": {"drop-early": "drop-enqueue"},
    "drop_dequeue": {"drop-early": "drop-dequeue"},
    "l4s_ect": {"ecn-mask": "l4s-ect"},
    "any_ect": {"ecn-mask": "any-ect"},
    "split_gso": {"split-gso": None},
}
DUALPI2_NAMES = {
    "memlimit": "memory-limit",
    "min_qlen_step": "min-qlen-step",
    "coupling_factor": "coupling",
    "classic_protection": "c-protection",
}
NO_JSON = {
    *("noecn", "nobytemode", "no_dq_rate_estimator", "noecn", "ce_threshold_mask", "adaptative"),
    *("no_split_gso", "max_rtt", "typical_rtt", "peakrate", "pacing", "multiqueue:", "avpkt", "sc", "rt", "ls", "ul"),
    *PRINTED["cake"].words.keys()
    - {*CAKE_KEYS, *CAKE_FLAGS, "bandwidth", "rtt", "memlimit", "fwmark", "overhead", "mpu", "diffserv"},
    "diffserv",
}
"""Words that tc's JSON does not have: negations, and words of commands alone."""


def json_of(kind: str, option: Option) -> dict[str, Any]:
    """Members of an option in tc's JSON; times in microseconds, rates in bytes per second."""
    word, value = option.word, option.value.json
    if kind.startswith("cake"):
        if word in CAKE_FLAGS:
            return CAKE_FLAGS[word]
        return {CAKE_KEYS[word]: word} if word in CAKE_KEYS else {word: value}
    if kind == "dualpi2" and word in DUALPI2_KEYS:
        return DUALPI2_KEYS[word]
    if isinstance(value, dict) and word not in ("delay", "slot"):
        return value
    if word == "nopacing":
        return {"pacing": False}
    if word in ("horizon_cap", "horizon_drop"):
        return {word: None}
    if word == "priomap" and kind == "fq":
        return {"priomap ": value}
    return {DUALPI2_NAMES.get(word, word) if kind == "dualpi2" else word: value}
