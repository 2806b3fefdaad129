"""Ports of an emulated run's server: the shell knows the class and the hosts of a packet by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.engines.hosts import homes_of

FIRST_PORT = 5001


@dataclass(frozen=True)
class Ports:
    """One port for each class and pair of hosts."""

    by_group: Sequence[Sequence[int]]
    """Ports of each group, which its members take in turn."""
    classes: Sequence[str]
    """Classes in the syntax of `--class`."""
    hosts: Sequence[str]
    """Hosts in the syntax of `--hosts`; none if all flows have the same two."""

    @classmethod
    def of(cls, document: dict[str, Any]) -> Ports:
        """Ports of a canonical scenario."""
        known: dict[tuple[str, int, int], int] = {}
        by_group: list[Sequence[int]] = []
        for flow, pairs in zip(document["flows"], homes_of(document), strict=True):
            named = flow.get("class", "")
            by_group.append([known.setdefault((named, *pair), FIRST_PORT + len(known)) for pair in pairs])
        hosts = [f"{port}={client},{server}" for (_, client, server), port in known.items()]
        is_one = len({key[1:] for key in known}) == 1
        return cls(by_group, [f"{port}={name}" for (name, *_), port in known.items() if name], [] if is_one else hosts)

    @property
    def all(self) -> list[int]:
        """All ports in ascending order."""
        return sorted({port for ports in self.by_group for port in ports})
