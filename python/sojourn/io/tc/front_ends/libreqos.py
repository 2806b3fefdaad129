"""A subscriber's part of LibreQoS's tree, from its `network.json`, its `ShapedDevices.csv`, or both one after another.

Source: LibreQoS (`src/LibreQoS.py`, `loadSubscriberCircuits` and `traverseNetwork`; `lqos_bakery/src/queue_math.rs`).
Differs: the classes are those from the top of the tree to the subscriber; the others are idle.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends.translation import Translation

MAX_TEXT = 16 << 20
"""Maximum characters of both files."""
MAX_LISTED = 12
"""Maximum subscribers in a message."""


def recognises(text: str) -> bool:
    """Whether a text is one of the files of LibreQoS."""
    return '"downloadBandwidthMbps"' in text or HEADER.search(text) is not None


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for the subscriber that `--class` names; raises `InputError` if several could be meant."""
    if len(text) > MAX_TEXT:
        raise InputError("more than 16 MiB; give the rows of fewer subscribers")
    found = Translation(replace(options, download=options.download or DOWN, upload=options.upload or UP, class_id=None))
    header = HEADER.search(text)
    start = text.find("{")
    nodes: dict[str, _Node] = {}
    if start >= 0 and (header is None or '"downloadBandwidthMbps"' in text):
        end = header.start() if header and header.start() > start else len(text)
        nodes = _nodes(text[start:end].strip(), text)
    circuits: list[_Circuit] = []
    if header:
        table = re.split(r"^[ \t]*\{", text[header.start() :], maxsplit=1, flags=re.MULTILINE)[0]
        circuits = list(_circuits(table, text.count("\n", 0, header.start()), found))
    if header and not circuits:
        raise InputError("ShapedDevices.csv without a subscriber; add a row below its header")
    chosen = (
        _of_circuit(circuits, nodes, options.class_id, found) if circuits else _of_node(nodes, options.class_id, found)
    )
    others = (len(circuits) or sum(not one.has_children for one in nodes.values())) - 1
    if others > 0:
        found.assume(chosen.line, f"{chosen.name} alone has traffic; {others} others are idle")
    for device, side in ((DOWN, 0), (UP, 1)):
        _commands(found, chosen, device, side)
    return found


@dataclass
class _Node:
    """A node of the tree."""

    name: str
    line: int
    values: Mapping[str, Any]
    above: tuple[_Node, ...]
    """Nodes from the top to its parent."""

    @property
    def has_children(self) -> bool:
        """Whether it has nodes below it."""
        return bool(self.values.get("children"))

    def rates(self) -> tuple[float, float]:
        """Rates to and from the subscribers in Mbit/s; raises `InputError`."""
        return self._rate("downloadBandwidthMbps"), self._rate("uploadBandwidthMbps")

    def _rate(self, key: str) -> float:
        return _mbps(self.values.get(key, ""), f"line {self.line}: {self.name}: {key}")


@dataclass
class _Circuit:
    """A subscriber, with the rates of its first device to and from it in Mbit/s."""

    line: int
    number: str
    names: set[str]
    parents: tuple[str, str]
    """Name and ID of its node."""
    least: tuple[float, float]
    most: tuple[float, float]
    sqm: str


@dataclass
class _Chosen:
    """Path to a subscriber."""

    name: str
    line: int
    path: tuple[_Node, ...]
    least: tuple[float, float]
    most: tuple[float, float]
    sqm: str = ""


def _of_circuit(
    circuits: list[_Circuit], nodes: Mapping[str, _Node], wanted: str | None, found: Translation
) -> _Chosen:
    by_number = {one.number: one for one in circuits}
    if wanted is None:
        matching = circuits
    elif wanted in by_number:
        matching = [by_number[wanted]]
    else:
        matching = [one for one in circuits if wanted.casefold() in one.names]
    if len(matching) != 1:
        raise InputError(_choice([f"{one.number}" for one in matching or circuits], wanted if not matching else None))
    one = matching[0]
    parent = next((nodes[name] for name in one.parents if name in nodes), None)
    if parent is None and any(one.parents):
        name = next(filter(None, one.parents))
        why = "it is not in network.json" if nodes else "network.json is not in the input"
        found.assume(one.line, f"its node {name} is never the bottleneck; {why}")
    path = (*parent.above, parent) if parent else ()
    least = tuple(_below(rate, most) for rate, most in zip(one.least, one.most, strict=True))
    return _Chosen(f"circuit {one.number}", one.line, path, (least[0], least[1]), one.most, one.sqm)


def _below(least: float, most: float) -> float:
    """Assured rate, which LibreQoS keeps below the maximum."""
    if least < most:
        return least
    return most - 1 if most > 1 else max(0.01, most - 0.01)


def _of_node(nodes: Mapping[str, _Node], wanted: str | None, found: Translation) -> _Chosen:
    leaves = [one for name, one in nodes.items() if not one.has_children and name == one.name]
    if not nodes:
        raise InputError("network.json without a node; give ShapedDevices.csv, or both one after another")
    if wanted is not None and wanted not in nodes:
        raise InputError(_choice([one.name for one in leaves], wanted))
    if wanted is None and len(leaves) != 1:
        raise InputError(_choice([one.name for one in leaves], None))
    node = nodes[wanted] if wanted is not None else leaves[0]
    found.assume(node.line, f"{node.name} is one subscriber; ShapedDevices.csv is not in the input")
    rates = node.rates()
    return _Chosen(node.name, node.line, node.above, rates, rates)


def _choice(names: list[str], wanted: str | None) -> str:
    """Sentence that lists subscribers to choose from."""
    more = f" and {len(names) - MAX_LISTED} others" if len(names) > MAX_LISTED else ""
    listed = ", ".join(name[:60] for name in names[:MAX_LISTED]) + more
    begin = (
        f"--class: {wanted} is no subscriber; expected" if wanted is not None else "choose a subscriber with --class:"
    )
    return f"{begin} one of: {listed}" if wanted is not None else f"{begin} {listed}"


def _commands(found: Translation, chosen: _Chosen, device: str, side: int) -> None:
    """Add HTB with a class per node of the path, and the subscriber's class with its discipline."""
    path = [node for node in chosen.path if node.values.get("virtual") is not True]
    last = len(path) + 1
    found.add(chosen.line, "qdisc add", device, f"root handle 1: htb default {last:x}")
    parent = "1:"
    for number, node in enumerate(path, 1):
        rate = _tc(node.rates()[side])
        found.add(
            node.line, "class add", device, f"parent {parent} classid 1:{number:x} htb rate {rate} ceil {rate} prio 3"
        )
        parent = f"1:{number:x}"
        if side == 0:
            for key in sorted(node.values.keys() - KEYS):
                found.note(node.line, f"{node.name}: {key}")
    rates = f"rate {_tc(chosen.least[side])} ceil {_tc(chosen.most[side])} prio 3"
    found.add(chosen.line, "class add", device, f"parent {parent} classid 1:{last:x} htb {rates}")
    sqm = _sqm(found, chosen, side)
    if sqm:
        found.add(chosen.line, "qdisc add", device, f"parent 1:{last:x} {sqm}")


def _sqm(found: Translation, chosen: _Chosen, side: int) -> str:
    """Discipline of a subscriber; empty for none."""
    parts = [part.strip() for part in chosen.sqm.lower().split("/", 1)]
    name = parts[min(side, len(parts) - 1)]
    rate = chosen.most[side]
    if name in ("none", "fq_codel"):
        return "" if name == "none" else name
    if name not in ("", "cake"):
        found.note(chosen.line, f"sqm {name}")
    if name != "cake" and rate >= FAST_MBPS:
        found.assume(chosen.line, f"fq_codel, LibreQoS's default from {FAST_MBPS} Mbit/s on (fast_queues_fq_codel)")
        return "fq_codel"
    if name != "cake":
        found.assume(chosen.line, "cake diffserv4, LibreQoS's default (default_sqm in lqos.conf)")
    rtt = next((f" rtt {rtt}ms" for most, rtt in SLOW_RTTS if rate <= most), "")
    return f"cake diffserv4{rtt}"


def _nodes(text: str, whole: str) -> dict[str, _Node]:
    """Nodes of `network.json` by name and by ID; raises `InputError`."""
    try:
        document = parse_json(text)
    except InputError as error:
        raise InputError(f"network.json: {error}") from None
    except ValueError as error:
        raise InputError(f"network.json: {error}; give a file that LibreQoS reads") from None
    if not isinstance(document, dict):
        raise InputError("network.json: not a tree of nodes; give a file that LibreQoS reads")
    lines = _lines_of_names(whole)
    found: dict[str, _Node] = {}
    left: list[tuple[str, Any, tuple[_Node, ...]]] = [(name, value, ()) for name, value in document.items()]
    for name, value, above in left:
        if not isinstance(value, dict):
            raise InputError(
                f"line {lines.get(name, 1)}: {name[:60]}: not a node; write its rates and children in braces"
            )
        node = _Node(name, lines.get(name, 1), value, above)
        found.setdefault(name, node)
        children = value.get("children") or {}
        if not isinstance(children, dict):
            raise InputError(f"line {node.line}: {name[:60]}: children are no nodes; write them in braces")
        left += [(child, inner, (*above, node)) for child, inner in children.items()]
    for node in list(found.values()):
        if isinstance(number := node.values.get("id"), str) and number:
            found.setdefault(number, node)
    return found


def _lines_of_names(text: str) -> dict[str, int]:
    """Line of the first occurrence of each name in a JSON text."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.finditer(r'"((?:[^"\\]|\\.)*)"\s*:', line):
            lines.setdefault(name[1] if "\\" not in name[1] else json.loads(f'"{name[1]}"', strict=False), number)
    return lines


def _circuits(text: str, before: int, found: Translation) -> Iterator[_Circuit]:
    """Subscribers of `ShapedDevices.csv`, which begins after `before` lines; raises `InputError`."""
    rows = csv.reader(text.lstrip("\ufeff").split("\n"), strict=True)
    known: dict[str, _Circuit] = {}
    columns: dict[str, int] = {}
    try:
        for row in rows:
            line = before + rows.line_num
            if not row or row[0].startswith("#") or not any(cell.strip() for cell in row):
                continue
            if not columns:
                columns = _columns(row, line, found)
            else:
                _add(known, _cells(row, columns), line, found)
    except csv.Error as error:
        raise InputError(f"line {before + rows.line_num}: {error}; fix the quotes of the row") from None
    yield from known.values()


def _columns(row: list[str], line: int, found: Translation) -> dict[str, int]:
    """Places of the columns by name."""
    columns: dict[str, int] = {}
    for place, cell in enumerate(row):
        name = re.sub(r"[^a-z0-9]", "", cell.lower()).removesuffix("mbps")
        if name in COLUMNS and name not in columns:
            columns[name] = place
        elif name:
            found.note(line, f"column {cell.strip()[:60]}")
    if missing := [name for name in RATES if name not in columns]:
        raise InputError(f"line {line}: no column {missing[0]}; LibreQoS has e.g. Download Min Mbps, Upload Max Mbps")
    return columns


def _cells(row: list[str], columns: Mapping[str, int]) -> Callable[[str], str]:
    """Text of a row's cell by the name of its column; empty for a missing one."""
    return lambda name: row[columns[name]].strip() if columns.get(name, len(row)) < len(row) else ""


def _add(known: dict[str, _Circuit], cell: Callable[[str], str], line: int, found: Translation) -> None:
    """Add a device to its subscriber."""
    number = cell("circuitid")
    if not number:
        raise InputError(f"line {line}: no Circuit ID; LibreQoS needs one in each row")
    most_down, most_up = (_mbps(cell(name), f"line {line}: {name}") for name in ("downloadmax", "uploadmax"))
    least_down, least_up = (_least(cell(name), line, name, found) for name in ("downloadmin", "uploadmin"))
    names = {cell(name).casefold() for name in ("circuitname", "deviceid", "devicename")} - {""}
    one = _Circuit(
        *(line, number, names, (cell("parentnodeid"), cell("parentnode"))),
        *((least_down, least_up), (most_down, most_up), cell("sqm")),
    )
    first = known.setdefault(number, one)
    first.names |= names
    if (first.least, first.most) != (one.least, one.most):
        found.assume(line, f"circuit {number} has the rates of its first device, line {first.line}")


def _least(text: str, line: int, name: str, found: Translation) -> float:
    """Assured rate in Mbit/s, which matters only beside other subscribers; LibreQoS refuses a missing one."""
    if text and text.strip("0."):
        return _mbps(text, f"line {line}: {name}")
    found.assume(line, f"{name} {text!r} is {LEAST_MBPS} Mbit/s, LibreQoS's minimum")
    return LEAST_MBPS


def _mbps(value: object, place: str) -> float:
    """Rate in Mbit/s; raises `InputError`."""
    try:
        rate = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        rate = math.nan
    if not 0.01 <= rate <= MAX_MBPS:
        raise InputError(f"{place}: {str(value)[:40]!r} is not a rate in Mbit/s; write e.g. 100")
    return rate


def _tc(mbps: float) -> str:
    """Rate in tc's units with the digits that LibreQoS gives it."""
    if mbps >= 1000:
        return f"{mbps / 1000:.1f}gbit"
    return f"{mbps:.1f}mbit" if mbps >= 1 else f"{mbps * 1000:.0f}kbit"


DOWN, UP = "to-subscribers", "to-internet"
"""Devices of the two directions, which LibreQoS has in lqos.conf."""
HEADER = re.compile(r'^\ufeff?"?circuit[ _]?id"?[ \t]*,.*download', re.MULTILINE | re.IGNORECASE)
COLUMNS = {
    *("circuitid", "circuitname", "deviceid", "devicename", "parentnode", "parentnodeid", "anchornodeid", "id", "mac"),
    *("ipv4", "ipv6", "downloadmin", "uploadmin", "downloadmax", "uploadmax", "comment", "sqm"),
}
RATES = ("downloadmin", "uploadmin", "downloadmax", "uploadmax")
KEYS = {
    *("downloadBandwidthMbps", "uploadBandwidthMbps", "downloadBandwidthMbpsMin", "uploadBandwidthMbpsMin"),
    *("type", "children", "id", "name", "virtual"),
}
"""Keys of a node that change nothing else on the path to a subscriber."""
LEAST_MBPS = 0.1
MAX_MBPS = 10**6
FAST_MBPS = 1000
SLOW_RTTS = ((1, 300), (2, 180), (3, 140), (4, 120))
"""RTT of CAKE in ms up to a rate in Mbit/s."""
