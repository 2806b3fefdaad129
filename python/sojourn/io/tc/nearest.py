"""Approximation of unsupported disciplines of `tc` by the nearest supported ones, with notes about the differences.

`hfsc` becomes `htb`: a class's long-term rate (m2 of its real-time, link-sharing or service curve) becomes the assured
rate, its upper limit the ceiling. `ets` becomes `prio`: first its strict bands, then one band for all round-robin
bands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.options import convert, pairs
from sojourn.io.tc.records import Class, Device, Qdisc, TcConfig
from sojourn.io.tc.words import PRINTED

CURVES = ("rt", "ls", "sc", "ul")
FIRST_SLOPE = ("m1", "d", "umax", "dmax")
"""Words of a curve's first slope; zeros mean that it has none."""
DEFAULT_CEILING = 10**9
"""Ceiling in bit/s of a class without an upper limit, its own or one above it."""


def _hfsc(device: Device, qdisc: Qdisc, config: TcConfig) -> tuple[Device, Qdisc]:
    """Convert HFSC to HTB."""
    config.note(
        qdisc.line,
        "hfsc is not supported; htb is the nearest: rates and upper limits are kept, the first slope of a curve "
        "(m1, d; umax, dmax) is dropped, and a class without an upper limit gets 1 Gbit/s",
    )
    if not any(one.kind == "hfsc" for one in device.classes.values()):
        raise InputError(f"line {qdisc.line}: hfsc without classes; add the output of tc class show dev {device.name}")
    ceilings: dict[str, int] = {}
    classes = {key: one for key, one in device.classes.items() if one.kind != "htb"}
    for key, one in device.classes.items():
        if one.kind != "hfsc":
            continue
        curves = _curves(one, config)
        rate = next((curves[name] for name in ("rt", "sc", "ls") if curves.get(name)), 0) or curves.get("ul", 0)
        if not rate:
            raise InputError(f"line {one.line}: class {one.number} has no rate; hfsc needs rt, ls or sc with one")
        above = ceilings.get(one.parent)
        limits = [limit for limit in (curves.get("ul"), above) if limit]
        ceiling = max(rate, min(limits, default=DEFAULT_CEILING))
        for name, kept in (("ls", rate), ("ul", ceiling)):
            if curves.get(name, kept) != kept:
                config.note(one.line, f"{one.title}: {name} {curves[name]}bit: htb here has {kept}bit")
        ceilings[one.number] = ceiling
        classes[key] = replace(one, kind="htb", words=["rate", f"{rate}bit", "ceil", f"{ceiling}bit"])
    default = "0"
    for word, value in pairs("hfsc", qdisc.words):
        if word == "default" and value:
            default = value
        else:
            config.note(qdisc.line, f"hfsc: {word} {value}".rstrip())
    return replace(device, classes=classes), replace(qdisc, kind="htb", words=["default", default])


def _curves(one: Class, config: TcConfig) -> dict[str, int]:
    """Long-term rates of a class's curves in bit/s."""
    rates: dict[str, int] = {}
    name = ""
    words = one.words
    if not set(CURVES) & set(words):
        name = "sc"
        config.assume(one.line, f"{one.title}: its first curve is both rt and ls (sc); tc -j does not name curves")
    for word, value in pairs("hfsc", words):
        if word in CURVES:
            name = word
        elif word in ("m2", "rate") and name and name not in rates:
            read = convert(one, (word, value), values.rate, config)
            rates |= {name: int(read.removesuffix("bit/s"))} if read else {}
        elif word not in FIRST_SLOPE or re.search("[1-9]", value):
            config.note(one.line, f"{one.title}: {word} {value}".rstrip())
    return rates


def _ets(device: Device, qdisc: Qdisc, config: TcConfig) -> tuple[Device, Qdisc]:
    """Convert ETS to PRIO."""
    given: dict[str, list[int]] = {}
    for word, value in pairs("ets", qdisc.words):
        numbers = value.split()
        if word in PRINTED["ets"].words and all(re.fullmatch("[0-9]{1,9}", one) for one in numbers):
            given[word] = [int(one) for one in numbers]
        else:
            config.note(qdisc.line, f"ets: {word} {value}".rstrip())
    strict, quanta, listed = (given.get(word, []) for word in ("strict", "quanta", "bands"))
    first = strict[0] if strict else 0
    bands = max(1, listed[0] if listed else first + len(quanta))
    kept = min(bands, first + 1)
    merged = f", and bands {first + 1} to {bands}, which take turns, are one band" if bands > kept else ""
    lost = f" without quanta {' '.join(map(str, quanta))}" if quanta else ""
    config.note(qdisc.line, f"ets is not supported; prio is the nearest: {first} bands are strict{merged}{lost}")
    priomap = given.get("priomap", [])[:16]
    places = [*priomap, *[bands - 1] * (16 - len(priomap))]
    words = ["bands", str(max(2, kept)), "priomap", *(str(min(place, kept - 1)) for place in places)]

    def map_class(target: str) -> str:
        handle, _, band = target.partition(":")
        is_own = f"{handle}:" == qdisc.handle and band
        return f"{handle}:{min(int(band, 16), kept):x}" if is_own else target

    filters = [replace(one, target=map_class(one.target)) for one in device.filters]
    return replace(device, filters=filters), replace(qdisc, kind="prio", words=words)


NEAREST: dict[str, Callable[[Device, Qdisc, TcConfig], tuple[Device, Qdisc]]] = {"hfsc": _hfsc, "ets": _ets}
"""Conversions by tc's name."""
