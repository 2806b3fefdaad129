"""Scenarios of several links: a network namespace for each node, a program for each group of flows, all links between.

The nodes of a row of links have the names `0`, `1`, ... from where the data of forward flows begin.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.engines.emulated import programs
from sojourn.engines.emulated.logs import told_by_shell
from sojourn.model.scenarios.scenario import Scenario

SHELL = [sys.executable, "-m", "sojourn.engines.emulated.shell"]


class Entered(NamedTuple):
    """A node with a command of the user's."""

    node: str
    command: list[str]


class Wishes(NamedTuple):
    """What is wanted of a run while it goes on."""

    name: str | None = None
    """By which `sojourn ctl` finds it."""
    meter: str | None = None
    """The link that the live view shows."""
    pcap: Path | None = None
    """What the paths of captures begin with."""


def is_one(document: dict[str, Any]) -> bool:
    """Whether a scenario has several links, or nodes."""
    return bool(document.get("links"))


def links(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every link of a scenario with its place, of each the forward direction first."""
    if "nodes" not in document:
        yield "link", document["link"]
        yield "reverse", document["reverse"]
    for number, link in enumerate(document.get("links", ())):
        yield f"links[{number}]", link
        yield f"links[{number}].reverse", link["reverse"]


def words(
    scenario: Scenario,
    seed: int,
    folder: Path,
    spec: dict[str, Any],
    classes: list[str],
    wishes: Wishes,
    enter: Entered | None = None,
) -> list[str]:
    """Command line that runs a scenario whose clients find `spec`, what they are to do, in `folder / "spec.json"`.

    Logs come into the folder, unless a node is entered.
    """
    document = scenario.document
    script = [sys.executable, programs.__file__]
    ports = sorted({group["port"] for group in spec["groups"]})
    told = {
        "scenario": scenario.canonical,
        "seed": seed,
        "log": None if enter else str(folder),
        "gso": "keep" if document["flows"][0].get("gso") else "cut",
        "classes": classes,
        "server": [*script, "serve", *map(str, ports)],
        "client": [*script, "client", str(folder / "spec.json")],
        "enter": {"node": enter.node, "command": enter.command} if enter else None,
        "name": wishes.name,
        "meter": wishes.meter,
        "pcap": str(wishes.pcap) if wishes.pcap else None,
    }
    file = folder / "topology.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    return ["topology", str(file)]


def logs(folder: Path, document: dict[str, Any]) -> list[Path]:
    """Return the log of each queue, in the order of the scenario."""
    return [folder / f"{number}.records" for number, _ in enumerate(links(document))]


def last_queues(folder: Path) -> list[int]:
    """Return the last queue that the data of each group of flows pass."""
    groups = told_by_shell(folder)["groups"]
    return [(group["to_client"] if group["downward"] else group["to_server"])[-1] for group in groups]
