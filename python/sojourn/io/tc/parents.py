"""Translation of `tc`'s classful disciplines: `htb`, `tbf`, `prio`, `netem`, and multiqueue devices (`mq`).

`nearest` approximates `hfsc` and `ets`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.base.errors import InputError
from sojourn.io.tc import netem, values
from sojourn.io.tc.disciplines import TranslatedQdisc, translate, validated, with_framing
from sojourn.io.tc.nearest import NEAREST
from sojourn.io.tc.options import accepted, convert, pairs, refusal, refusal_in
from sojourn.io.tc.records import Class, Device, Qdisc, TcConfig
from sojourn.model.aqms.registry import parsed


@dataclass(frozen=True)
class EgressTree:
    """Translated egress configuration of a device."""

    qdisc: TranslatedQdisc
    bounds: tuple[int, ...] = ()
    """Rates of its shapers in bit/s; empty if it does not shape."""
    classes: tuple[str, ...] = ()
    """Leaf classes of HTB, such as `1:11`, in order."""
    default: str = ""
    """Class of unclassified packets; empty if they are not shaped."""


def tree(device: Device, config: TcConfig, class_id: str | None = None) -> EgressTree:
    """Translate the root discipline of a device; `class_id` is a class that selects a tree of a multiqueue device.

    Raises `InputError` for missing or unsupported parts.
    """
    root = device.root
    if root is None:
        raise InputError(f"{device.name}: no root qdisc; give the output of tc qdisc show")
    whole = _tree(device, root, config, class_id)
    _report_unused(device, config)
    return whole


def _report_unused(device: Device, config: TcConfig) -> None:
    """Note the disciplines, classes and filters that are nowhere in the translated tree."""
    owners = {one.handle: one for one in device.qdiscs.values() if one.handle}
    inner = {one.parent for one in device.classes.values()}
    for one in device.qdiscs.values():
        # Linux deletes the discipline of a class that gets classes of its own.
        if one in config.used or one.parent == "ingress" or (one.parent in inner and not one.is_shown):
            continue
        owner = owners.get(one.parent.partition(":")[0] + ":")
        if owner is None:
            why = f"there is no qdisc {one.parent.partition(':')[0]}:"
        elif owner in config.used and owner.kind not in ("htb", "hfsc", "prio", "ets"):
            why = f"{owner.kind} here has no such discipline inside"
        else:
            why = "its parent is not used" if owner not in config.used else f"there is no class {one.parent}"
        config.note(one.line, f"{f'{one.kind} {one.handle}'.strip()}, parent {one.parent}: {why}; it is left out")
    for one_class in device.classes.values():
        handle = f"{one_class.number.partition(':')[0]}:"
        if handle not in owners:
            config.note(one_class.line, f"{one_class.title}: there is no qdisc of its handle; it is left out")
        elif owners[handle].kind != one_class.kind:
            why = f"qdisc {handle} is {owners[handle].kind}, not {one_class.kind}"
            config.note(one_class.line, f"{one_class.title}: {why}; it is left out")
    for rule in device.filters:
        if not _selects(device, owners, rule.target):
            config.note(rule.line, f"filter to {rule.target}: there is no such class; it is left out")


def _selects(device: Device, owners: Mapping[str, Qdisc], target: str) -> bool:
    """Whether a class that a filter names exists; `owners` are the disciplines by handle."""
    handle, _, minor = target.partition(":")
    owner = owners.get(f"{handle}:")
    if owner is None or not minor:
        return False
    return target in device.classes or owner.kind in ("prio", "ets")


def _tree(device: Device, qdisc: Qdisc, config: TcConfig, class_id: str | None) -> EgressTree:
    with config.inside(qdisc):
        return _tree_of(device, qdisc, config, class_id)


def _tree_of(device: Device, qdisc: Qdisc, config: TcConfig, class_id: str | None) -> EgressTree:
    if qdisc.kind in ("mq", "mqprio"):
        queues = _queues(device, qdisc, config, class_id)
        whole = _tree(device, queues[0], config, class_id)
        _report_queues(qdisc, queues, config, shapes=bool(whole.bounds))
        return whole
    if qdisc.kind == "cake_mq":
        return _leaf(_with_queues(device, qdisc, config), config)
    if qdisc.kind in NEAREST:
        device, qdisc = NEAREST[qdisc.kind](device, qdisc, config)
    if qdisc.kind == "htb":
        return _htb(device, qdisc, config)
    if qdisc.kind == "tbf":
        return _tbf(device, qdisc, config)
    if qdisc.kind == "netem":
        return _netem(device, qdisc, config)
    if qdisc.kind == "prio":
        return EgressTree(_prio(device, qdisc, config))
    return _leaf(qdisc, config)


def _leaf(qdisc: Qdisc, config: TcConfig) -> EgressTree:
    """A discipline without classes; CAKE shapes to the bandwidth that it accepts, others have no shaper."""
    found = translate(qdisc, config)
    shapes = qdisc.kind in ("cake", "cake_mq") and re.search(r"\bbandwidth \d", found.text)
    return EgressTree(found, _bounds(qdisc, "bandwidth") if shapes else ())


def _queues(device: Device, mq: Qdisc, config: TcConfig, class_id: str | None) -> list[Qdisc]:
    """Queues of a multiqueue device, first the one of the wanted class; they are usually alike."""
    major = mq.handle
    queues = [
        one for one in device.qdiscs.values() if one.parent.startswith(":") or (major and one.parent.startswith(major))
    ]
    if not queues:
        raise InputError(f"line {mq.line}: {mq.kind} without its queues; give the complete output of tc qdisc show")
    if class_id:
        handle = f"{class_id.partition(':')[0]}:"
        queues.sort(key=lambda one: one.handle.lower() != handle.lower())
    for one in queues:
        _use_all(device, one, config)
    return queues


def _report_queues(mq: Qdisc, queues: Sequence[Qdisc], config: TcConfig, *, shapes: bool) -> None:
    """Note the words of a multiqueue discipline, and that its queues are one here."""
    for word, value in pairs(mq.kind, mq.words):
        config.note(mq.line, f"{mq.kind}: {word} {value}".rstrip())
    if len(queues) > 1:
        named = f"{queues[0].kind} {queues[0].handle}".strip()
        rate = ", with the rate of one queue" if shapes else ""
        config.note(mq.line, f"{mq.kind}: {len(queues)} queues of the card are merged into one, {named}{rate}")


def _with_queues(device: Device, qdisc: Qdisc, config: TcConfig) -> Qdisc:
    """`cake_mq` with the number of its queues; tc shows a `cake` for each."""
    queues = [one for one in device.qdiscs.values() if qdisc.handle and one.parent.startswith(qdisc.handle)]
    for one in queues:
        if not one.is_shown:  # `cake_mq_graft`, `cake_change`
            raise InputError(
                f"line {one.line}: {one.kind}, parent {one.parent}: Linux refuses a discipline or settings of its own "
                f"for a queue of cake_mq; leave out the line"
            )
        _use_all(device, one, config)
    if not queues:
        config.assume(qdisc.line, "cake_mq: the card has 4 queues; tc shows a cake for each, below the cake_mq")
    if len(queues) == 1:
        config.note(qdisc.line, "cake_mq: a single queue; cake is the same")
        return replace(qdisc, kind="cake")
    return replace(qdisc, queues=len(queues))


def _use_all(device: Device, qdisc: Qdisc, config: TcConfig) -> None:
    """Mark a discipline and its descendants as used."""
    left = [qdisc]
    while left:
        one = left.pop()
        if one not in config.used:
            config.used.add(one)
            left += [child for child in device.qdiscs.values() if one.handle and child.parent.startswith(one.handle)]


def _tbf(device: Device, qdisc: Qdisc, config: TcConfig) -> EgressTree:
    words, framing = with_framing(qdisc, config)
    out = ["tbf"]
    for word, value in pairs("tbf", words):
        name, read = TBF_PARAMETERS.get(word, ("", str))
        if not name or not value:
            config.note(qdisc.line, f"tbf: {word} {value}".rstrip())
        elif text := convert(qdisc, (word, value), read, config):
            out.append(f"{name} {text}")
    child, bounds = _only_child(device, qdisc, config)
    if child:
        # As in Linux, tbf's own limit has no effect with a child.
        out = [word for word in out if not word.startswith(("limit ", "latency "))]
    limits = child.limits if child else (DEVICE_LIMIT,)
    link = {"limit": next(iter(limits), DEVICE_LIMIT), **framing}
    text = validated(qdisc, _with_bursts(out), link, config, f"{{ {child.text} }}" if child else "")
    return EgressTree(TranslatedQdisc(text, limits, framing), (*_bounds(qdisc, "rate"), *bounds))


def _with_bursts(parts: list[str]) -> list[str]:
    """Parameters of tbf, a rate together with those that it needs."""
    given = {part.partition(" ")[0]: part for part in parts[1:]}
    for rate, needed in NEEDED.items():
        if rate in given:
            given[rate] = " ".join([given[rate], *(given.pop(word) for word in needed if word in given)])
    return [parts[0], *given.values()]


def _netem(device: Device, qdisc: Qdisc, config: TcConfig) -> EgressTree:
    words, framing = with_framing(qdisc, config)
    out = ["netem", *netem.translate_words(qdisc, words, config)]
    child, bounds = _only_child(device, qdisc, config)
    if child:
        out.append(f"{{ {child.text} }}")
    try:
        aqm = parsed(" ".join(out))
    except InputError as error:
        raise InputError(f"line {qdisc.line}: netem: {error}") from None
    limits = [option for option in out if option.startswith("limit ")]
    limit = f"{limits[-1].split()[1]} packets" if limits else "1000 packets"
    whole = TranslatedQdisc(str(aqm["text"]), child.limits if child else (limit,), framing)
    return EgressTree(whole, (*_bounds(qdisc, "rate"), *bounds))


def _prio(device: Device, qdisc: Qdisc, config: TcConfig) -> TranslatedQdisc:
    words, framing = with_framing(qdisc, config)
    limits: list[ClassLimit] = []
    given = _prio_words(qdisc, words, config)
    rest = device.rest.removeprefix(qdisc.handle)
    if device.rest.startswith(qdisc.handle) and rest.isalnum():
        given["priomap"] = ",".join([str(int(rest, 16) - 1)] * 16)
    bands = int(given.get("bands", 3))
    out = ["prio", *(f"{word} {value}" for word, value in given.items())]
    if qdisc.handle:
        out.append(f"handle {qdisc.handle.rstrip(':')}")
    parts = []
    for number in range(1, bands + 1):
        child = _child(device, qdisc, number, config)
        match = "".join(f" match dscp {code}" for code in _dscps(device, f"{qdisc.handle}{number:x}"))
        inside = f" {{ {child.text} }}" if child else ""
        limits.append(_limit(device, qdisc, number, child))
        if match or inside:
            parts.append(f"band {number}{match}{inside}")
    if parts:
        out.append(f"{{ {'; '.join(parts)} }}")
    try:
        text = str(parsed(" ".join(out))["text"])
    except InputError as error:
        raise InputError(f"line {qdisc.line}: {qdisc.kind}: {error}") from None
    return TranslatedQdisc(text, _common_limit(limits, config), framing)


def _prio_words(qdisc: Qdisc, words: Sequence[str], config: TcConfig) -> dict[str, str]:
    """Parameters of PRIO for our parser."""
    options: list[str] = []
    for word, value in pairs("prio", words):
        if word == "bands" and value:
            read = convert(qdisc, (word, value), values.count, config)
            options += [f"bands {read}"] if read else []
        elif word == "priomap" and value:
            options.append(f"priomap {','.join(value.split())}")
        elif (word, value) != ("multiqueue:", "off"):
            config.note(qdisc.line, f"{qdisc.kind}: {word} {value}".rstrip())
    return dict(option.split() for option in accepted(qdisc, sorted(options), refusal_in("prio {}"), config))


def _htb(device: Device, qdisc: Qdisc, config: TcConfig) -> EgressTree:
    words, framing = with_framing(qdisc, config)
    classes = [one for one in device.classes.values() if one.kind == "htb" and one.number.startswith(qdisc.handle)]
    inner = {one.parent for one in classes}
    leaves = [one.number for one in classes if one.number not in inner]
    head, default = _htb_words(qdisc, words, leaves, config)
    if not leaves:
        raise InputError(f"line {qdisc.line}: htb without classes; add the output of tc class show dev {device.name}")
    chosen = device.rest if device.rest in leaves else f"{qdisc.handle}{default}"
    if chosen in leaves:
        head.append(f"default {chosen.removeprefix(qdisc.handle)}")
    elif default.strip("0"):
        config.note(qdisc.line, f"htb: default {default} is not a leaf; unclassified packets are not shaped")
    parts: list[tuple[str, list[str], str]] = []
    limits: list[ClassLimit] = []
    for one in classes:
        parent = "" if one.parent in ("root", qdisc.handle) else f"parent {one.parent} "
        text = ""
        if one.number in leaves:
            number = int(one.number.rpartition(":")[2], 16)
            child = _child(device, qdisc, number, config)
            text += "".join(f" match dscp {code}" for code in _dscps(device, one.number))
            text += f" {{ {child.text} }}" if child else ""
            limits.append(_limit(device, qdisc, number, child))
        parts.append((f"class {one.number} {parent}", _class_options(one, config), text))
    rates_alone = [(begin, options[:1], end) for begin, options, end in parts]
    if refusal(_joined(head, parts)) is not None and refusal(_joined(head, rates_alone)) is None:
        kept = [
            accepted(one, part[1], refusal_in("htb {{ class 1 {} }}"), config)
            for one, part in zip(classes, parts, strict=True)
        ]
        parts = [(begin, options, end) for (begin, _, end), options in zip(parts, kept, strict=True)]
    if (error := refusal(_joined(head, parts))) is not None:
        raise InputError(f"line {qdisc.line}: htb: {error}")
    text = str(parsed(_joined(head, parts))["text"])
    bounds = tuple(bound for one in classes for bound in (*_bounds(one, "ceil"), *_bounds(one, "rate")))
    return EgressTree(
        TranslatedQdisc(text, _common_limit(limits, config), framing),
        bounds,
        tuple(leaves),
        chosen if chosen in leaves else "",
    )


def _joined(head: Sequence[str], parts: Sequence[tuple[str, list[str], str]]) -> str:
    """Text of HTB from its parameters and the begin, the options and the end of each class."""
    return f"{' '.join(head)} {{ {'; '.join(begin + ' '.join(options) + end for begin, options, end in parts)} }}"


def _htb_words(qdisc: Qdisc, words: Sequence[str], leaves: Sequence[str], config: TcConfig) -> tuple[list[str], str]:
    """Translated parameters of HTB itself, and the minor number of its default class."""
    options, default = list[str](), ""
    for word, value in pairs("htb", words):
        if word == "default" and value:
            default = _default(qdisc, value, leaves, config)
        elif word in ("r2q", "direct_qlen") and value:
            read = convert(qdisc, (word, value), values.count, config)
            options += [f"{word} {read}"] if read else []
        elif word not in ("direct_packets_stat", "ver"):
            config.note(qdisc.line, f"htb: {word} {value}".rstrip())
    options = accepted(qdisc, options, refusal_in("htb {} {{ class 1 rate 1mbit }}"), config)
    return [f"htb handle {qdisc.handle.rstrip(':') or '1'}", *options], default


def _default(qdisc: Qdisc, text: str, leaves: Sequence[str], config: TcConfig) -> str:
    """Minor number of the default class, in hexadecimal; iproute2 4.15 to 4.18 print it in decimal."""
    read = values.class_id(f"{qdisc.handle or '1:'}{text.rpartition(':')[2].removeprefix('0x')}").rpartition(":")[2]
    if not qdisc.is_shown or text.startswith("0x") or not text.isdecimal():
        return read
    decimal = f"{int(text):x}"
    found = [number for number in (read, decimal) if f"{qdisc.handle}{number}" in leaves]
    if read == decimal or not found or found == [read]:
        return read
    why = "" if len(found) == 1 else f", or class {decimal} of iproute2 4.15 to 4.18, which print it in decimal"
    other = f"htb: default {text} is class {found[0]} in decimal, as iproute2 4.15 to 4.18 print it"
    config.assume(qdisc.line, other if not why else f"htb: default {text} is class {read} in hexadecimal{why}")
    return found[0]


def _class_options(one: Class, config: TcConfig) -> list[str]:
    """Options of a class of HTB for our parser; the rate is the first, which each class must have."""
    out: dict[str, str] = {"rate": ""}
    # iproute2 6 prints `burst 1600b/1mpu 0b`, without a space.
    left = [part for word in one.words for part in re.sub(r"(/\d+)mpu$", r"\1 mpu", word).split()]
    for name, value in pairs("htb", left):
        word = JSON_CLASS_WORDS.get(name, name)
        if word in CLASS_CONVERTERS and value:
            read = convert(one, (word, value), CLASS_CONVERTERS[word], config)
            if word == "mpu" and out.get(word, read) != read:
                config.note(one.line, f"{one.title}: mpu {value} of its ceiling")
            elif read:
                out[word] = read
        elif word not in ("level", "burst_cell", "cburst_cell"):
            config.note(one.line, f"{one.title}: {word} {value}".rstrip())
    return [f"{word} {value}" for word, value in out.items() if value]


def _bounds(of: Qdisc | Class, word: str) -> tuple[int, ...]:
    """Rate in bit/s after a word; empty if the word is missing, `unlimited` or unreadable."""
    if word not in of.words[:-1]:
        return ()
    try:
        return (int(values.rate(of.words[of.words.index(word) + 1]).split()[0]),)
    except InputError:
        return ()


def _only_child(device: Device, qdisc: Qdisc, config: TcConfig) -> tuple[TranslatedQdisc | None, tuple[int, ...]]:
    """Translate the child of a discipline with a single class, which every class id of its handle names.

    Also returns the rates of the child's shapers in bit/s.
    """
    place = device.last_children.get(qdisc.handle)
    inside = _child_tree(device, place, config) if place else None
    return (inside.qdisc, inside.bounds) if inside else (None, ())


def _child(device: Device, qdisc: Qdisc, number: int, config: TcConfig) -> TranslatedQdisc | None:
    """Translate the child of a class, which may be classful itself; None if it has none."""
    inside = _child_tree(device, f"{qdisc.handle}{number:x}", config) if qdisc.handle else None
    return inside.qdisc if inside else None


def _child_tree(device: Device, place: str, config: TcConfig) -> EgressTree | None:
    """Translate the discipline of a class; None if it has none."""
    child = device.children.get(place)
    if child is None:
        return None
    inside = _tree(device, child, config, None)
    if inside.qdisc.framing:
        given = " ".join(f"{word} {value}" for word, value in inside.qdisc.framing.items())
        config.note(child.line, f"{child.kind}: stab: {given}: a link here has the size table of its root alone")
    return inside


@dataclass(frozen=True)
class ClassLimit:
    """Limit of a class, and whether it becomes the link's limit here."""

    line: int
    kind: str
    text: str
    sets_link_limit: bool


def _limit(device: Device, qdisc: Qdisc, number: int, child: TranslatedQdisc | None) -> ClassLimit:
    """Limit of a class; without a child that of the device's queue."""
    place = f"{qdisc.handle}{number:x}"
    if child is None:
        one = device.classes.get(place)
        return ClassLimit(one.line if one else qdisc.line, f"class {place}", DEVICE_LIMIT, sets_link_limit=True)
    leaf = device.children[place]
    return ClassLimit(leaf.line, leaf.kind, " and ".join(child.limits) or DEVICE_LIMIT, child.sets_link_limit)


def _dscps(device: Device, place: str) -> Iterator[str]:
    yield from map(str, device.dscps.get(place, ()))


def _common_limit(limits: Sequence[ClassLimit], config: TcConfig) -> tuple[str, ...]:
    """Maximum of the limits in packets, since all classes share the link's limit; others are noted."""
    packets = [int(one.text.split()[0]) for one in limits if one.text.endswith("packets")]
    chosen = f"{max(packets, default=1000)} packets"
    for one in limits:
        if one.sets_link_limit and one.text != chosen:
            config.note(
                one.line, f"{one.kind}: its limit of {one.text}; here each class has that of the link, {chosen}"
            )
    return (chosen,)


def _overhead(text: str) -> str:
    return text.removesuffix("b")


DEVICE_LIMIT = "1000 packets"
"""Limit of a device's queue, `txqueuelen`."""
TBF_PARAMETERS: dict[str, tuple[str, Callable[[str], str]]] = {
    "rate": ("rate", values.rate),
    "burst": ("burst", values.size),
    "buffer": ("burst", values.size),
    "maxburst": ("burst", values.size),
    "limit": ("limit", values.size),
    "latency": ("latency", values.time),
    "lat": ("latency", values.time),
    "peakrate": ("peakrate", values.rate),
    "mtu": ("mtu", values.size),
    "minburst": ("mtu", values.size),
    "overhead": ("overhead", _overhead),
    "mpu": ("mpu", _overhead),
    "linklayer": ("linklayer", str),
}
"""Our parameter and converter by tc's word of tbf."""
NEEDED = {"rate": ("burst", "limit", "latency"), "peakrate": ("mtu",)}
"""Parameters that a rate of tbf needs."""
CLASS_CONVERTERS: dict[str, Callable[[str], str]] = {
    "rate": values.rate,
    "ceil": values.rate,
    "burst": values.size,
    "cburst": values.size,
    "quantum": values.size,
    "prio": values.count,
    "overhead": _overhead,
    "mpu": _overhead,
    "linklayer": str,
}
"""Converters by tc's word of an htb class."""
JSON_CLASS_WORDS = {"mpu_rate": "mpu", "mpu_ceil": "mpu"}
"""Words of the text by keys of the JSON."""
