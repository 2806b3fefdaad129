"""Conversion of `tc -j` output to tc's text lines.

`tc -j [-s] qdisc show`, `tc -j class show dev DEV` and `tc -j filter show dev DEV` each print an array of objects; a
file may have several. Rates are in bytes per second, times in microseconds (netem's in seconds), sizes in bytes
(iproute2, `tc/tc_util.c` and the `print_opt` of each kind).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.base.errors import InputError
from sojourn.io.tc.words import PRINTED, Value

RATES = {"packet_rate", *(word for one in PRINTED.values() for word, value in one.words.items() if value is Value.RATE)}
"""Keys in bytes per second; tc's text has bits per second."""
CURVE = ("m1", "d", "m2")
"""Keys of a curve of hfsc."""
OBJECT_KEYS = {"offloaded", "dev", "kind", "handle", "parent", "root", "options", "refcnt", "class", "leaf", "stab"}
"""Keys of an object that are not parameters of its kind."""
CAKE: dict[str, tuple[str, str] | dict[str, str]] = {
    "nat": ("nat", "nonat"),
    "wash": ("wash", "nowash"),
    "ingress": ("ingress", "egress"),
    "split_gso": ("split-gso", "no-split-gso"),
    "raw": ("raw", ""),
    "ack-filter": {"enabled": "ack-filter", "aggressive": "ack-filter-aggressive", "disabled": "no-ack-filter"},
    "autorate": {"autorate-ingress": "autorate-ingress"},
}
"""Words of CAKE by key: for true and false, or by value."""
DUALPI2: dict[str, str | dict[str, str]] = {
    "memory-limit": "memlimit",
    "step-thresh-us": "step_thresh",
    "min-qlen-step": "min_qlen_step",
    "coupling": "coupling_factor",
    "c-protection": "classic_protection",
    "drop-overload": {"drop": "drop_on_overload", "overflow": "overflow"},
    "drop-early": {"drop-enqueue": "drop_enqueue", "drop-dequeue": "drop_dequeue"},
    "ecn-mask": {"l4s-ect": "l4s_ect", "any-ect": "any_ect"},
    "split-gso": "split_gso",
}
"""Words of DualPI2 by key, or by key and value."""
ARRAY = re.compile(r"[ \t]*\[\s*(?=[{\]])", re.MULTILINE)
PLAIN = ("diffserv", "flowmode", "atm")
"""Keys of CAKE whose values are themselves words."""


@dataclass(frozen=True)
class Numbered:
    """Lines of an input with their numbers."""

    lines: tuple[tuple[int, str], ...]
    is_json: bool
    """Whether the input is JSON alone: then an object's number is its place, otherwise its array's line."""


def numbered(text: str) -> Numbered:
    """Lines of a text, with a line for each object of its arrays of JSON; raises `InputError` for other JSON."""
    lines: list[tuple[int, str]] = []
    objects, is_json, place, number = 0, True, 0, 1
    while place < len(text):
        if ARRAY.match(text, place):
            array, end = _array(text, place)
            lines += [(number, _line(one)) for one in array]
            objects += len(array)
        else:
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            lines.append((number, text[place:end].rstrip("\r")))
            is_json = is_json and not text[place:end].strip()
            end += 1
        number += text.count("\n", place, end)
        place = end
    if not is_json or not objects:
        return Numbered(tuple(lines), is_json=False)
    return Numbered(tuple(enumerate((line for _, line in lines if line.strip()), start=1)), is_json=True)


def _array(text: str, place: int) -> tuple[list[Mapping[str, Any]], int]:
    """Array of objects at a place, and the place after it."""
    begin = text.index("[", place)
    try:
        array, end = json.JSONDecoder(object_pairs_hook=_with_repeated).raw_decode(text, begin)
    except (ValueError, RecursionError):
        raise InputError(f"byte {begin}: not JSON of tc; give the output of tc -j qdisc show") from None
    if not isinstance(array, list) or not all(isinstance(one, dict) for one in array):
        raise InputError("not a list of objects as printed by tc -j qdisc show")
    return array, end


def _with_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Object with what tc prints a key for each time, in lists: matches, actions of a policer, curves of hfsc."""
    found = dict(pairs)
    for name in ("match", "control_action"):
        if name in found:
            found[name] = [value for key, value in pairs if key == name]
    if "m2" in found:
        found["curves"] = [pair for pair in pairs if pair[0] in CURVE]
    return found


def _line(one: Mapping[str, Any]) -> str:
    options = one.get("options") or {}
    if not isinstance(options, Mapping):
        options = {}
    if "dst" in one:  # of ip -j route
        return next((f"{one['dst']} dev {hop['dev']}" for hop in (one, *_hops(one)) if "dev" in hop), "")
    if "class" in one:
        parameters = {**{key: value for key, value in one.items() if key not in (*OBJECT_KEYS, "stats")}, **options}
        curves = [f"{word} {_curve(word, value)}" for word, value in parameters.pop("curves", ())]
        parameters = {key: value for key, value in parameters.items() if not curves or key not in CURVE}
        leaf = f" leaf {one['leaf']}" if "leaf" in one else ""
        place = "root" if one.get("root") else f"parent {one.get('parent', 'root')}"
        return f"class {one['class']} {one.get('handle', '')} {place}{leaf} {' '.join([*_words(parameters), *curves])}"
    if "protocol" in one or "pref" in one:
        return _filter(one, options)
    kind = str(one.get("kind", ""))
    words = list(OPTIONS.get(kind, _words)(_with_units(kind, options)))
    device = f" dev {one['dev']}" if "dev" in one else ""
    place = " root" if one.get("root") else f" parent {one['parent']}" if "parent" in one else ""
    if isinstance(one.get("stab"), Mapping):
        words = ["stab", *(f"{key} {value}" for key, value in one["stab"].items()), *words]
    handle = str(one.get("handle") or "0:")
    return f"qdisc {kind} {handle}{device}{place} {' '.join(words)}".rstrip()


def _curve(word: str, value: Any) -> str:
    """Value of a curve of hfsc: a rate in bytes per second, or a time in microseconds."""
    return f"{value}us" if word == "d" else f"{8 * int(value)}bit"


def _with_units(kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options with the unit of tc's times, since commands of some kinds have others."""
    printed = PRINTED[kind].words if kind in PRINTED else {}
    return {
        key: f"{value}us" if printed.get(key) is Value.TIME and isinstance(value, int) else value
        for key, value in options.items()
    }


def _hops(route: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Next hops of a route with several."""
    hops = route.get("nexthops")
    return [hop for hop in hops if isinstance(hop, Mapping)] if isinstance(hops, list) else []


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for spaced, value in options.items():
        key = spaced.strip()  # `priomap ` of fq
        if value is True or value is None:
            yield key
        elif value is False:
            yield from ["nopacing"] if key == "pacing" else []
        elif isinstance(value, Mapping):
            yield from _netem(key, value)
        elif isinstance(value, list):
            yield " ".join([key, *map(str, value)])
        elif key == "default" and not isinstance(value, str):
            yield f"default {int(value):#x}"
        elif key in RATES and not isinstance(value, str):
            yield f"{key} {8 * int(value)}bit"
        elif key in ("probability", "min_p", "max_p") and isinstance(value, float):
            yield f"{key} {value:g}"
        else:
            yield f"{key} {value}"


def _netem(key: str, of: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of a part of netem, whose JSON has seconds and fractions."""
    name = {"loss-random": "loss", "loss-state": "loss state", "loss-gemodel": "loss gemodel"}.get(key, key)
    if key == "delay":
        times = [of.get("delay", 0), *([of["jitter"]] if of.get("jitter") else [])]
        formatted = [f"{round(1e9 * float(one))}ns" for one in times]
        yield " ".join([name, *formatted, *_percentage(of.get("correlation"))])
    elif key == "rate":
        sizes = [str(of[word]) for word in ("packetoverhead", "cellsize", "celloverhead") if of.get(word)]
        yield " ".join([f"rate {8 * int(of.get('rate', 0))}bit", *sizes])
    elif key == "loss-state":
        yield " ".join(
            [name, *(f"{100 * float(of[word]):g}%" for word in ("p13", "p31", "p32", "p23", "p14") if word in of)]
        )
    elif key == "loss-gemodel":
        yield " ".join([name, *(f"{100 * float(of[word]):g}%" for word in ("p", "r", "1-h", "1-k") if word in of)])
    elif key == "slot":
        pair = ("distribution", "jitter") if "distribution" in of else ("min-delay", "max-delay")
        times = [f"{round(1e9 * float(of.get(word, 0)))}ns" for word in pair]
        sizes = [f"{word} {of[word]}" for word in ("packets", "bytes") if of.get(word)]
        yield " ".join(["slot", *(["distribution"] if "distribution" in of else []), *times, *sizes])
    else:
        value = next((of[word] for word in (name, key) if word in of), 0)
        yield " ".join([name, f"{100 * float(value):g}%", *_percentage(of.get("correlation"))])


def _percentage(value: Any) -> list[str]:
    return [f"{100 * float(value):g}%"] if value else []


def _cake(options: Mapping[str, Any]) -> list[str]:
    words = []
    for key, value in options.items():
        table = CAKE.get(key)
        if isinstance(table, dict):
            words.append(table.get(str(value), f"{key}={value}"))
        elif table is not None:
            words.append(table[0] if value else table[1])
        elif key in PLAIN:
            words.append(str(value))
        elif key == "fwmark":
            words += [f"fwmark {value}"] if str(value) not in ("0", "0x0") else []
        else:
            words += _words({key: value})
    if options.get("raw"):
        words = [word for word in words if not word.startswith("overhead")]
    return [word for word in words if word]


def _dualpi2(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        word = DUALPI2.get(key)
        if isinstance(word, dict):
            yield word.get(str(value), f"{key} {value}")
        elif key == "step-thresh-pkts":
            yield f"step_thresh {value}p"
        else:
            yield from _words({word or key: value})
    if options and "split-gso" not in options:
        yield "no_split_gso"


OPTIONS: dict[str, Callable[[Mapping[str, Any]], Iterable[str]]] = {
    "cake": _cake,
    "cake_mq": _cake,
    "dualpi2": _dualpi2,
}
"""Conversions of the options of a kind whose JSON has other words than its text."""


def _filter(one: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Line of a filter."""
    words = ["filter", *(f"{key} {one[key]}" for key in ("dev", "parent", "protocol", "pref", "kind") if key in one)]
    words[-1] = words[-1].removeprefix("kind ")
    keys = options.get("keys") or {}
    for key, value in keys.items() if isinstance(keys, Mapping) else ():
        words.append(f"{key} {value}")
    for match in options.get("match") or ():
        words += _match(match) if isinstance(match, Mapping) else []
    for key in ("flowid", "classid"):
        if key in options:
            words.append(f"{key} {options[key]}")
    if options.get("kind") == "police":
        words.append(_police(options))  # u32 prints its own policer beside its keys
    for action in options.get("actions") or ():
        if isinstance(action, Mapping):
            words.append(_action(action))
    return " ".join(words)


def _match(match: Mapping[str, Any]) -> Iterator[str]:
    """Yield the match of a filter, with `-p` also as fields of the header."""
    if "value" in match:
        yield f"match {match['value']:0>8}/{match.get('mask', 'ffffffff'):0>8}"
        yield f"at {match.get('offmask', '')}{match.get('off', 0)}"
    for key in ("src", "dst"):
        if isinstance(match.get(key), Mapping):
            yield f"match IP {key} {match[key].get('address')}/{match[key].get('prefixlen')}"
    for key in ("ip_dsfield", "ip_protocol", "ip_ihl", "dport", "sport"):
        if key in match:
            yield f"match {key.replace('ip_', 'IP ')} {match[key]}"


def _action(action: Mapping[str, Any]) -> str:
    """Words of an action."""
    kind = action.get("kind")
    if kind == "mirred" and "to_dev" in action and action.get("mirred_action", "redirect") == "redirect":
        return f"mirred egress redirect dev {action['to_dev']}"
    return _police(action) if kind == "police" else f"action {kind}"


def _police(policer: Mapping[str, Any]) -> str:
    """Words of a policer; tc's JSON has neither its rate nor its burst."""
    keys = ("index", "rate", "burst", "pkts_rate", "pkts_burst", "overhead", "linklayer")
    known = [f"{key} {policer[key]}" for key in keys if policer.get(key)]
    controls = [str(one.get("type")) for one in policer.get("control_action") or () if isinstance(one, Mapping)]
    return " ".join(["police", *known, *([f"action {'/'.join(controls)}"] if controls else [])])
