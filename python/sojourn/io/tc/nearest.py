"""Approximation of unsupported disciplines of `tc` by the nearest supported ones, with notes about the differences.

`hfsc` becomes `htb`: a class's long-term rate (m2 of its real-time, link-sharing or service curve) becomes the assured
rate, its upper limit the ceiling. `ets` becomes `prio`: first its strict bands, then one band for all round-robin
bands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.records import Class, Device, Qdisc, TcConfig

CURVES = ("rt", "ls", "sc", "ul")
DEFAULT_CEILING = 10**9
"""Ceiling in bit/s of a class without an upper limit."""


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
    classes = dict(device.classes)
    for key, one in device.classes.items():
        if one.kind != "hfsc":
            continue
        curves = _curves(one)
        rate = next((curves[name] for name in ("rt", "sc", "ls") if curves.get(name)), 0) or curves.get("ul", 0)
        above = ceilings.get(one.parent, DEFAULT_CEILING)
        ceiling = max(rate, min(curves.get("ul") or above, above))
        if not rate:
            raise InputError(f"line {one.line}: class {one.number} has no rate; hfsc needs rt, ls or sc with one")
        ceilings[one.number] = ceiling
        classes[key] = replace(one, kind="htb", words=["rate", f"{rate}bit", "ceil", f"{ceiling}bit"])
    default = qdisc.words[qdisc.words.index("default") + 1] if "default" in qdisc.words[:-1] else "0"
    return replace(device, classes=classes), replace(qdisc, kind="htb", words=["default", default])


def _curves(one: Class) -> dict[str, int]:
    """Long-term rates of a class's curves in bit/s."""
    rates: dict[str, int] = {}
    name = ""
    for word, value in zip(one.words, [*one.words[1:], ""], strict=True):
        if word in CURVES:
            name = word
        elif word in ("m2", "rate") and name:
            try:
                rates[name] = int(values.rate(value).split()[0])
            except InputError as error:
                raise InputError(f"line {one.line}: class {one.number} {word}: {error}") from None
    return rates


def _ets(device: Device, qdisc: Qdisc, config: TcConfig) -> tuple[Device, Qdisc]:
    """Convert ETS to PRIO."""
    strict = _numbers(qdisc, "strict", 1)
    quanta = _numbers(qdisc, "quanta", 16)
    listed = _numbers(qdisc, "bands", 1)
    first = strict[0] if strict else 0
    bands = listed[0] if listed else first + len(quanta)
    kept = min(bands, first + 1)
    merged = f", and bands {first + 1} to {bands}, which take turns, are one band" if bands > kept else ""
    config.note(qdisc.line, f"ets is not supported; prio is the nearest: {first} bands are strict{merged}")
    priomap = _numbers(qdisc, "priomap", 16)
    places = [*priomap, *[bands - 1] * (16 - len(priomap))]
    words = ["bands", str(max(2, kept)), "priomap", *(str(min(place, kept - 1)) for place in places)]

    def map_class(target: str) -> str:
        handle, _, band = target.partition(":")
        is_own = f"{handle}:" == qdisc.handle and band
        return f"{handle}:{min(int(band, 16), kept):x}" if is_own else target

    filters = [replace(one, target=map_class(one.target)) for one in device.filters]
    return replace(device, filters=filters), replace(qdisc, kind="prio", words=words)


def _numbers(qdisc: Qdisc, word: str, max_count: int) -> list[int]:
    """Up to `max_count` integers after a word."""
    numbers: list[int] = []
    place = qdisc.words.index(word) + 1 if word in qdisc.words else len(qdisc.words)
    for text in qdisc.words[place : place + max_count]:
        if not text.isdecimal():
            break
        numbers.append(int(text))
    return numbers


NEAREST: dict[str, Callable[[Device, Qdisc, TcConfig], tuple[Device, Qdisc]]] = {"hfsc": _hfsc, "ets": _ets}
"""Conversions by tc's name."""
