"""`[[changes]]` in the guest: each becomes a timed `tc qdisc change`, or `replace` for another queue manager.

Changes of rates are part of a link's schedule and are not handled here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.base.errors import MissingError
from sojourn.engines.kernel import guest_change
from sojourn.engines.kernel.network import START_NS, Network
from sojourn.engines.kernel.own_qdisc import is_own
from sojourn.engines.kernel.parents import is_parent
from sojourn.engines.kernel.qdisc import DISCIPLINES, like, queue
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.kernel.routers import Direction, directions
from sojourn.engines.kernel.trace import BEFORE_NS
from sojourn.engines.values import nanoseconds
from sojourn.model.scenarios.scenario import changed_directions

UNCHANGEABLE = ("sfq",)
"""Disciplines without a change operation."""
FIRST_HANDLE, INNER = 0x10, 0x1000
"""Handle of a link's first discipline, counted up per replacement, and the offset of an inner discipline's handle."""


def add(document: Mapping[str, Any], network: Network) -> None:
    """Add the changes of a canonical scenario to the guest's job; raises `InputError` for those the kernel lacks."""
    links = {link.place: link for link in directions(document)}
    now = {place: dict(link.keys) for place, link in links.items()}
    duration = nanoseconds("duration", document["duration"])
    handles = dict.fromkeys(links, FIRST_HANDLE)
    for number, entry in enumerate(document.get("changes", [])):
        at = nanoseconds(f"changes[{number}].at", entry["at"])
        for place, where, keys in _changed(number, entry, document):
            if "loss" in keys:
                refuse(f"{where}.loss", "does not support loss behind the queue", "leave it out")
            before, link = now[place], links[place]
            now[place] = {**before, **keys}
            if _is_other(before["aqm"], now[place]["aqm"]):
                handles[place] += 1
                line = _replacement(link, where, (before, now[place]), handles[place])
                network.replacements.append((START_NS + at - BEFORE_NS, link.number))
                if queue(where, now[place]).drops_early:
                    network.queues[link.number] = replace(network.queues[link.number], drops_early=True)
            else:
                line = _line(link, where, (before, now[place]), handles[place])
            if at < duration:
                name = f"change{len(network.changes)}.tc"
                network.files[name] = f"{line}\n"
                network.changes.append(name)
                network.job += [f"at {links[place].router}", _wait_command(START_NS + at - BEFORE_NS, name), "at -"]


def check_done(folder: Path, network: Network) -> None:
    """Raise `MissingError` unless the guest made every change."""
    for name in network.changes:
        code = folder / f"{name}.code"
        if not code.exists() or code.read_text() != "0":
            output = folder / f"{name}.said"
            reason = output.read_text(errors="replace").strip() if output.exists() else "the change was not reached"
            line = network.files[name].strip()
            raise MissingError(f"the kernel did not change a queue discipline ({line}): {reason}; leave the change out")


def _changed(
    number: int, entry: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield for each direction that an entry changes: its place, its path in the entry, the keys."""
    names = [link["name"] for link in document.get("links", [])]
    for path, keys in changed_directions(entry):
        place = path if path[0] != "links" else (f"links[{names.index(path[1])}]", *path[2:])
        yield ".".join(place), ".".join((f"changes[{number}]", *path)), keys


def _is_other(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the change replaces the discipline and loses its backlog."""
    return (old["name"], old["profile"]) != (new["name"], new["profile"])


def _replacement(link: Direction, where: str, states: tuple[Mapping[str, Any], Mapping[str, Any]], handle: int) -> str:
    """Lines of tc that replace the discipline under a new handle; the old one is deleted with its packets."""
    old, new = (state["aqm"] for state in states)
    for aqm in (old, new):
        if is_parent(aqm):
            refuse(f"{where}.aqm", f"does not replace {aqm['name'].split()[0]} while it runs", "simulate it")
    qdisc = queue(where, states[1])
    lines = [f"qdisc replace dev {link.device} parent 1:1 handle {handle:x}: {qdisc.line}"]
    if qdisc.inner:
        lines.append(f"qdisc add dev {link.device} parent {handle:x}:1 handle {handle + INNER:x}: {qdisc.inner}")
    return "\n".join(lines)


def _line(link: Direction, where: str, states: tuple[Mapping[str, Any], Mapping[str, Any]], handle: int) -> str:
    """Line of tc that changes a discipline's parameters."""
    before, after = states
    old = before["aqm"]
    at = f"{where}.{'aqm' if after['aqm'] != old else 'limit'}"
    new = queue(where, after).line
    if not is_own(new):
        name = like(old)
        if is_parent(old) or name in UNCHANGEABLE or (name and DISCIPLINES[name].limit == "inside"):
            refuse(at, f"does not change {old['name']} while it runs", "leave it as it is, or simulate it")
        # Linux refuses `flows` in a change, even if it is the current number.
        new = re.sub(r" flows \d+", "", new)
    return f"qdisc change dev {link.device} parent 1:1 handle {handle:x}: {new}"


def _wait_command(at_ns: int, file: str) -> str:
    python = Path(os.path.realpath(sys.executable))
    return f"exec {python} -I -S {guest_change.__file__} {at_ns} {file}"
