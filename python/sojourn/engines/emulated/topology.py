"""Scenarios of several links: a network namespace per node, a program per group of flows, all links between them.

The nodes of links in series are called `0`, `1`, ... from the senders of forward flows on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.engines.emulated import programs
from sojourn.engines.emulated.logs import shell_report
from sojourn.model.scenarios.scenario import Scenario

SHELL = [sys.executable, "-m", "sojourn.engines.emulated.shell"]


class NodeShell(NamedTuple):
    """User's command in a node."""

    node: str
    command: list[str]


class LiveOptions(NamedTuple):
    """Options for access to a run in progress."""

    name: str | None = None
    """Name of the run for `sojourn ctl`."""
    meter: str | None = None
    """Link shown in the live view."""
    pcap: Path | None = None
    """Path prefix of the captures."""


def is_topology(document: dict[str, Any]) -> bool:
    """Whether a scenario has several links or nodes, so that it needs a topology instead of a shell."""
    return bool(document.get("links"))


def links(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and keys of each link direction, the forward one first."""
    if "nodes" not in document:
        yield "link", document["link"]
        yield "reverse", document["reverse"]
    for number, link in enumerate(document.get("links", ())):
        yield f"links[{number}]", link
        yield f"links[{number}].reverse", link["reverse"]


def arguments(
    scenario: Scenario, spec: dict[str, Any], folder: Path, live: LiveOptions, enter: NodeShell | None = None
) -> list[str]:
    """Command line that runs a scenario whose clients read `spec` from `folder / "spec.json"`.

    Logs are written to the folder, unless `enter` opens a shell in a node.
    """
    document = scenario.document
    script = [sys.executable, programs.__file__]
    topology = {
        "scenario": scenario.canonical,
        "seed": spec["seed"],
        "log": None if enter else str(folder),
        "gso": "keep" if document["flows"][0].get("gso") else "cut",
        "classes": spec["classes"],
        "hosts": spec["hosts"],
        "server": [*script, "serve", *map(str, spec["ports"])],
        "client": [*script, "client", str(folder / "spec.json")],
        "enter": {"node": enter.node, "command": enter.command} if enter else None,
        "name": live.name,
        "meter": live.meter,
        "pcap": str(live.pcap) if live.pcap else None,
    }
    file = folder / "topology.json"
    file.write_text(json.dumps(topology), encoding="utf-8")
    return ["topology", str(file)]


def logs(folder: Path, document: dict[str, Any]) -> list[Path]:
    """Log of each queue, in the scenario's order."""
    return [folder / f"{number}.records" for number, _ in enumerate(links(document))]


def last_queues(folder: Path) -> list[int]:
    """Last queue on the data path of each group of flows."""
    groups = shell_report(folder)["groups"]
    return [(group["to_client"] if group["downward"] else group["to_server"])[-1] for group in groups]
