"""Conversion of `tc -j` output to tc's text lines.

`tc -j [-s] qdisc show`, `tc -j class show dev DEV` and `tc -j filter show dev DEV` each print an array of objects; a
file may have several. Rates are in bytes per second, times in microseconds (netem's in seconds), sizes in bytes
(iproute2, `tc/tc_util.c` and the `print_opt` of each kind).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.base.errors import InputError

RATES = {"rate", "ceil", "peakrate", "maxrate", "low_rate_threshold", "bandwidth", "packet_rate"}
"""Keys in bytes per second; tc's text has bits per second."""
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
BEGIN = re.compile(r"\S")
PLAIN = ("diffserv", "flowmode", "atm")
"""Keys of CAKE whose values are themselves words."""


def is_json(text: str) -> bool:
    """Whether a text is output of `tc -j`."""
    return text.lstrip().startswith(("[{", "[ {", "[\n", "[]"))


def lines(text: str) -> str:
    """Equivalent text lines, with the Nth object in line N; raises `InputError` for other JSON."""
    found = []
    decoder, place = json.JSONDecoder(), 0
    while (begin := BEGIN.search(text, place)) is not None:
        place = begin.start()
        try:
            array, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise InputError(f"byte {place}: not JSON of tc; give the output of tc -j qdisc show") from None
        if not isinstance(array, list) or not all(isinstance(one, dict) for one in array):
            raise InputError("not a list of objects as printed by tc -j qdisc show")
        found += [_line(one) for one in array]
    return "\n".join(found)


def _line(one: Mapping[str, Any]) -> str:
    options = one.get("options") or {}
    if not isinstance(options, Mapping):
        options = {}
    if "class" in one:
        parameters = {**{key: value for key, value in one.items() if key not in (*OBJECT_KEYS, "stats")}, **options}
        leaf = f" leaf {one['leaf']}" if "leaf" in one else ""
        place = "root" if one.get("root") else f"parent {one.get('parent', 'root')}"
        return f"class {one['class']} {one.get('handle', '')} {place}{leaf} {' '.join(_words(parameters))}"
    if "protocol" in one or "pref" in one:
        return _filter(one, options)
    kind = str(one.get("kind", ""))
    words = _cake(options) if kind == "cake" else list(_words(options))
    device = f" dev {one['dev']}" if "dev" in one else ""
    place = " root" if one.get("root") else f" parent {one['parent']}" if "parent" in one else ""
    if isinstance(one.get("stab"), Mapping):
        words = ["stab", *(f"{key} {value}" for key, value in one["stab"].items()), *words]
    handle = str(one.get("handle") or "0:")
    return f"qdisc {kind} {handle}{device}{place} {' '.join(words)}".rstrip()


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        if value is True or value is None:
            yield key
        elif value is False:
            continue
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
        yield key
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
            words.append(table.get(str(value), ""))
        elif table is not None:
            words.append(table[0] if value else table[1])
        elif key in PLAIN:
            words.append(str(value))
        elif key == "rtt":
            words.append(f"rtt {value}us")
        elif key == "fwmark":
            words += [f"fwmark {value}"] if str(value) not in ("0", "0x0") else []
        else:
            words += _words({key: value})
    if options.get("raw"):
        words = [word for word in words if not word.startswith("overhead")]
    return [word for word in words if word]


def _filter(one: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Line of a filter."""
    words = ["filter", *(f"{key} {one[key]}" for key in ("parent", "protocol", "pref", "kind") if key in one)]
    words[-1] = words[-1].removeprefix("kind ")
    keys = options.get("keys") or {}
    for key, value in keys.items() if isinstance(keys, Mapping) else ():
        words.append(f"{key} {value}")
    match = options.get("match")
    if isinstance(match, Mapping) and "value" in match:
        words.append(f"match {match['value']}/{match.get('mask', 'ffffffff')} at {match.get('off', 0)}")
    for key in ("flowid", "classid"):
        if key in options:
            words.append(f"{key} {options[key]}")
    for action in options.get("actions") or ():
        if isinstance(action, Mapping) and action.get("kind") == "mirred" and "to_dev" in action:
            words.append(f"mirred egress redirect dev {action['to_dev']}")
    return " ".join(words)
