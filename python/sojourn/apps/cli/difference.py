"""Output of `sojourn aqm diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sojourn.apps.cli import output

if TYPE_CHECKING:
    from sojourn.studies.difference import Difference


def print_difference(found: Difference) -> None:
    """Print the inputs, the agreement, and the first difference with both queues before it; for each direction."""
    if found.directions:
        for one in found.directions.values():
            print_difference(one)
        return
    output.print_note(f"A: {found.a}")
    output.print_note(f"B: {found.b}")
    output.print_note(f"Arrivals: {found.source}")
    output.print_note(
        f"Agreement: {_percent(found.agreeing, found)} % of {found.packets} packets have the same verdict at the same "
        f"instant, {_percent(found.same_verdicts, found)} % the same verdict"
    )
    for note in _notes(found):
        output.print_note(note)
    first = found.first_difference
    if first is None:
        return
    arrival = first["arrival"]
    output.print_note(
        f"First difference: packet {first['index']} (flow {arrival['flow']}, {arrival['bytes']} B, {arrival['ecn']}), "
        f"arrived at {_seconds(arrival['time_ns'])}, treated differently at {_seconds(first['at_ns'])}"
    )
    output.print_text_table(["", "A", "B"], [*_fates(first["a"], first["b"]), *_states(first["a"], first["b"])])
    output.print_note(
        f"State: before the verdict, at {first['clock_ns'] / 1e9:.9f} s of the queues' clock; times are in s of that "
        "clock"
    )


def _notes(found: Difference) -> Iterator[str]:
    """Notes about the agreement."""
    if found.shared_buckets:
        pairs = ", ".join(f"{flow} and {other}" for flow, other in found.shared_buckets)
        yield (
            f"Buckets: flows {pairs} are assumed to share one; the recording does not name buckets, and not all "
            "verdicts agree otherwise"
        )
    if found.differing_labels:
        yield (
            f"Labels: {found.differing_labels} packets are dropped on arrival by both, but labelled drop in one and "
            "drop_on_arrival in the other; the verdicts count as equal"
        )
    if found.instead:
        yield f"The recording is from Linux; compare {found.instead}, Linux's variant of this discipline"


def _percent(count: int, found: Difference) -> str:
    """Percentage with two decimals; 100 only if all agree."""
    percent = 100 * count / found.packets
    return f"{percent if count == found.packets else min(percent, 99.99):.2f}"


def _fates(a: dict[str, Any], b: dict[str, Any]) -> list[list[str]]:
    rows = [["verdict", *(fate["verdict"].replace("_", " ") for fate in (a, b))]]
    for key, heading in (("departure_ns", "departure"), ("dropped_ns", "dropped at"), ("reason", "reason")):
        if any(fate[key] is not None for fate in (a, b)):
            rows.append([heading, *("" if fate[key] is None else _shown(key, fate[key]) for fate in (a, b))])
    return rows


def _states(a: dict[str, Any], b: dict[str, Any]) -> list[list[str]]:
    states = [fate["state"] for fate in (a, b)]
    names = dict.fromkeys(name for state in states for name in state or {})
    return [[name, *(_value(state, name) for state in states)] for name in names]


def _value(state: dict[str, Any] | None, name: str) -> str:
    if state is None:
        return "not recorded"
    value = state.get(name)
    return "" if value is None else f"{value:.12g}"


def _shown(key: str, value: Any) -> str:
    return _seconds(value) if key.endswith("_ns") else str(value)


def _seconds(nanos: int) -> str:
    return f"{nanos / 1e9:.9f} s"
