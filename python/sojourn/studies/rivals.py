"""Rivals of a comparison, A, B, … in sentences: its queue managers, or its controls if it has one queue manager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sojourn.studies.loads import label

T = TypeVar("T")


@dataclass(frozen=True)
class Rivals:
    """The rivals, and the loads under which they compete."""

    names: list[str]
    loads: list[str]
    """Names of the loads without the controls, if these are the rivals."""

    @classmethod
    def of(cls, aqms: Sequence[str], loads: Sequence[dict[str, Any]]) -> Rivals:
        """Rivals among queue managers and loads, of which the control varies fastest."""
        controls = list(dict.fromkeys(load["cc"] for load in loads if "cc" in load))
        if len(aqms) > 1 or not controls:
            return cls(list(aqms), [label(load) for load in loads])
        others = [label({key: value for key, value in load.items() if key != "cc"}) for load in loads]
        return cls(controls, others[:: len(controls)])

    def cells(self, entries: Sequence[T]) -> list[tuple[str, list[T]]]:
        """Entries by load, then queue manager: for each of `loads`, its name and the entries of the rivals."""
        return list(zip(self.loads, parted(entries, len(self.names)), strict=True))

    def scenarios(self, entries: Sequence[T]) -> tuple[list[T], list[T]]:
        """Entries of the rivals under the first load, and all others."""
        return list(entries[: len(self.names)]), list(entries[len(self.names) :])


def parted(entries: Sequence[T], size: int) -> list[list[T]]:
    """Entries in parts of equal size."""
    return [list(entries[place : place + size]) for place in range(0, len(entries), size)]
