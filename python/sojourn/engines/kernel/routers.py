"""Routers of a scenario's network in the guest, the links between them, and the path of each flow group.

The routers of a dumbbell are L and R. With links in series r0 is before the first bottleneck, r1 after it and so on; in
a graph r0 is the first node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.model.scenarios.paths import paths as numbers_of_links


@dataclass(frozen=True)
class Direction:
    """One direction of a bottleneck."""

    number: int
    """Link number in the trace and in results."""
    place: str
    """Path in the scenario."""
    keys: Mapping[str, Any]
    device: str
    router: str
    """Namespace of the queue."""
    next: str
    """Namespace at the far end."""


@dataclass(frozen=True)
class Path:
    """Links on the path of a flow group."""

    data: Sequence[Direction]
    acks: Sequence[Direction]


def directions(document: Mapping[str, Any]) -> list[Direction]:
    """Both directions of all bottlenecks of a canonical scenario, in order of link numbers."""
    found: list[Direction] = []
    for device, place, hop, reverse, (near, far) in _hops(document):
        back = f"{place}.reverse" if place != "link" else "reverse"
        found.append(Direction(len(found), place, hop, device, near, far))
        found.append(Direction(len(found), back, reverse, device, far, near))
    return found


def paths(document: Mapping[str, Any], links: Sequence[Direction]) -> list[Path]:
    """Path of each flow group."""
    numbers = numbers_of_links(document)
    return [Path([links[link] for link in data], [links[link] for link in acks]) for data, acks in numbers]


def _hops(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any], tuple[str, str]]]:
    """Yield device, place, both directions and the routers of each bottleneck."""
    listed = document.get("links", [])
    if "nodes" in document:
        names = {node["name"]: f"r{index}" for index, node in enumerate(document["nodes"])}
        for index, hop in enumerate(listed):
            yield f"f{index}", f"links[{index}]", hop, hop["reverse"], (names[hop["from"]], names[hop["to"]])
        return
    ends = ("r0", "r1") if listed else ("L", "R")
    yield "f0" if listed else "f", "link", document["link"], document["reverse"], ends
    for index, hop in enumerate(listed, 1):
        yield f"f{index}", f"links[{index - 1}]", hop, hop["reverse"], (f"r{index}", f"r{index + 1}")
