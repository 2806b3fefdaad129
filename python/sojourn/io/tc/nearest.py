"""Disciplines of `tc` that are not here, turned into the nearest that are; what is lost is said.

`hfsc` becomes `htb`: a class's long-term rate (m2 of its real-time, link-sharing or service curve) is what it is
promised, its upper limit the ceiling. `ets` becomes `prio`: its strict bands are the first ones, and those that take
turns are one band behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.lines import Class, Device, Qdisc, Read

CURVES = ("rt", "ls", "sc", "ul")
UNBOUNDED = 10**9
"""Ceiling in bit/s of a class without an upper limit."""


def _hfsc(device: Device, qdisc: Qdisc, found: Read) -> tuple[Device, Qdisc]:
    """Make it HTB."""
    found.note(
        qdisc.line,
        "hfsc is not there; htb is the nearest: rates and upper limits hold, what a curve has in its first slope "
        "(m1, d; umax, dmax) is left out, and a class without an upper limit may have 1 Gbit/s",
    )
    if not any(one.kind == "hfsc" for one in device.classes.values()):
        raise InputError(f"line {qdisc.line}: hfsc without classes; add what tc class show dev {device.name} prints")
    ceilings: dict[str, int] = {}
    classes = dict(device.classes)
    for key, one in device.classes.items():
        if one.kind != "hfsc":
            continue
        curves = _curves(one)
        rate = next((curves[name] for name in ("rt", "sc", "ls") if curves.get(name)), 0) or curves.get("ul", 0)
        above = ceilings.get(one.parent, UNBOUNDED)
        ceiling = max(rate, min(curves.get("ul") or above, above))
        if not rate:
            raise InputError(f"line {one.line}: class {one.number} has no rate; hfsc needs rt, ls or sc with one")
        ceilings[one.number] = ceiling
        classes[key] = replace(one, kind="htb", words=["rate", f"{rate}bit", "ceil", f"{ceiling}bit"])
    default = qdisc.words[qdisc.words.index("default") + 1] if "default" in qdisc.words[:-1] else "0"
    return replace(device, classes=classes), replace(qdisc, kind="htb", words=["default", default])


def _curves(one: Class) -> dict[str, int]:
    """Long-term rates of a class's curves in bit/s."""
    found: dict[str, int] = {}
    name = ""
    for word, value in zip(one.words, [*one.words[1:], ""], strict=True):
        if word in CURVES:
            name = word
        elif word in ("m2", "rate") and name:
            try:
                found[name] = int(values.rate(value).split()[0])
            except InputError as error:
                raise InputError(f"line {one.line}: class {one.number} {word}: {error}") from None
    return found


def _ets(device: Device, qdisc: Qdisc, found: Read) -> tuple[Device, Qdisc]:
    """Make it PRIO."""
    strict = _numbers(qdisc, "strict", 1)
    quanta = _numbers(qdisc, "quanta", 16)
    listed = _numbers(qdisc, "bands", 1)
    first = strict[0] if strict else 0
    bands = listed[0] if listed else first + len(quanta)
    kept = min(bands, first + 1)
    merged = f", and bands {first + 1} to {bands}, which take turns, are one band" if bands > kept else ""
    found.note(qdisc.line, f"ets is not there; prio is the nearest: {first} bands are strict{merged}")
    given = _numbers(qdisc, "priomap", 16)
    places = [*given, *[bands - 1] * (16 - len(given))]
    words = ["bands", str(max(2, kept)), "priomap", *(str(min(place, kept - 1)) for place in places)]

    def moved(target: str) -> str:
        handle, _, band = target.partition(":")
        known = f"{handle}:" == qdisc.handle and band
        return f"{handle}:{min(int(band, 16), kept):x}" if known else target

    filters = [replace(one, target=moved(one.target)) for one in device.filters]
    return replace(device, filters=filters, rest=moved(device.rest)), replace(qdisc, kind="prio", words=words)


def _numbers(qdisc: Qdisc, word: str, most: int) -> list[int]:
    """Whole numbers behind a word."""
    found: list[int] = []
    place = qdisc.words.index(word) + 1 if word in qdisc.words else len(qdisc.words)
    for text in qdisc.words[place : place + most]:
        if not text.isdecimal():
            break
        found.append(int(text))
    return found


NEAREST: dict[str, Callable[[Device, Qdisc, Read], tuple[Device, Qdisc]]] = {"hfsc": _hfsc, "ets": _ets}
"""By tc's name."""
