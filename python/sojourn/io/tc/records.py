"""Records of a configuration of `tc`: queue disciplines, classes and filters by device, with notes by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from sojourn.base.errors import InputError
from sojourn.base.inputs import MAX_DEPTH

INPUT = ("ingress", "clsact")
"""Disciplines of arriving packets."""
ALL_DSCPS = frozenset(range(64))


@dataclass(eq=False)
class Qdisc:
    """A queue discipline on a device."""

    kind: str
    handle: str
    """Handle, such as `8001:`; empty if none."""
    parent: str
    """`root`, `ingress`, or a class, such as `1:11`."""
    words: list[str]
    line: int
    table: list[str] = field(default_factory=list)
    """Words of its size table (`stab`), with their values."""
    is_shown: bool = False
    """Whether it is output of tc; otherwise a command."""
    queues: int = 0
    """Queues of a multiqueue discipline; zero if unknown."""

    @property
    def title(self) -> str:
        """Name in notes."""
        return self.kind


@dataclass(eq=False)
class Class:
    """A class of a discipline."""

    kind: str
    number: str
    """Class id, such as `1:11`."""
    parent: str
    """`root`, a handle or a class."""
    words: list[str]
    line: int
    is_shown: bool = False
    """Whether it is output of tc; otherwise a command."""

    @property
    def title(self) -> str:
        """Name in notes."""
        return f"class {self.number}"


@dataclass(eq=False)
class Filter:
    """A filter from DSCPs to a class."""

    dscps: frozenset[int]
    """Matching DSCPs; all of them for a filter that matches everything."""
    target: str
    """Class id, such as `1:11`."""
    line: int
    priority: int
    """Filters with lower numbers match first."""


@dataclass(eq=False)
class Rule:
    """A filter of a hook, with its policers."""

    matches_all: bool
    policers: tuple[Qdisc, ...]
    """Policers with their words; their parent is the hook."""
    priority: int
    """Rules with lower numbers match first."""


@dataclass(eq=False)
class Device:
    """A network interface. The cached indices are valid only after everything has been read."""

    name: str
    qdiscs: dict[str, Qdisc] = field(default_factory=dict)
    """Disciplines by parent, in order; the key of a duplicate parent includes the line."""
    classes: dict[str, Class] = field(default_factory=dict)
    """Classes by id, with the same treatment of duplicates."""
    filters: list[Filter] = field(default_factory=list)
    rules: dict[str, list[Rule]] = field(default_factory=dict)
    """Filters by hook: `ingress`, `egress`, `root`, or a handle or class."""
    ingress_to: str | None = None
    """Device that gets the redirected ingress."""

    @property
    def root(self) -> Qdisc | None:
        """Root discipline."""
        return self.qdiscs.get("root")

    @property
    def first_policer(self) -> int:
        """Line of its first policer; zero if it has none."""
        return min((one.line for rules in self.rules.values() for rule in rules for one in rule.policers), default=0)

    @property
    def has_policer(self) -> bool:
        """Whether a filter polices."""
        return any(rule.policers for rules in self.rules.values() for rule in rules)

    @cached_property
    def children(self) -> dict[str, Qdisc]:
        """Disciplines by parent class, such as `1:a`."""
        by_parent: dict[str, Qdisc] = {}
        for one in self.qdiscs.values():
            by_parent.setdefault(one.parent, one)
        return by_parent

    @cached_property
    def last_children(self) -> dict[str, str]:
        """Last class with a discipline, by handle, such as `1:`."""
        return {f"{major}:": place for place in self.children if (major := place.rpartition(":")[0])}

    @cached_property
    def dscps(self) -> dict[str, list[int]]:
        """DSCPs that filters map to each class, up to the first filter that matches everything."""
        by_class: dict[str, list[int]] = {}
        left = set(ALL_DSCPS)
        for one in self._ordered_filters:
            if one.dscps == ALL_DSCPS:
                break
            by_class.setdefault(one.target, []).extend(sorted(one.dscps & left))
            left -= one.dscps
        return by_class

    @cached_property
    def rest(self) -> str:
        """Class of the first filter that matches everything, such as `1:11`; empty if there is none."""
        return next((one.target for one in self._ordered_filters if one.dscps == ALL_DSCPS), "")

    @property
    def _ordered_filters(self) -> list[Filter]:
        return sorted(self.filters, key=lambda one: one.priority)


@dataclass
class TcConfig:
    """Parsed configuration, by device in order of appearance."""

    devices: dict[str, Device] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Unsupported parts, each with its line."""
    assumed: list[str] = field(default_factory=list)
    """Guesses, each with its line."""
    is_json: bool = False
    """Whether the input is JSON alone, which has entries instead of lines."""
    routed: str = ""
    """Device of the default route; empty if the input has none."""
    owners: dict[str, dict[str, None]] = field(default_factory=dict)
    """Devices with a discipline of a handle, in order, by handle."""
    ancestors: list[Qdisc] = field(default_factory=list)
    """Ancestors of the discipline that is being translated."""
    used: set[Qdisc] = field(default_factory=set)
    """Disciplines that have been translated, or are merged into others."""

    def device(self, name: str) -> Device:
        """Get or create a device."""
        return self.devices.setdefault(name, Device(name))

    def note(self, line: int, text: str) -> None:
        """Record an unsupported part."""
        self.notes.append(f"line {line}: {text}")

    def assume(self, line: int, text: str) -> None:
        """Record a guess."""
        self.assumed.append(f"line {line}: {text}")

    def add(self, name: str, qdisc: Qdisc) -> None:
        """Add a discipline to a device."""
        qdiscs = self.device(name).qdiscs
        qdiscs[_key(qdisc.parent, qdisc.line, qdiscs)] = qdisc
        if qdisc.handle:
            self.owners.setdefault(qdisc.handle, {})[name] = None

    def add_class(self, name: str, one: Class) -> None:
        """Add a class to a device."""
        classes = self.device(name).classes
        classes[_key(one.number, one.line, classes)] = one

    @contextmanager
    def inside(self, qdisc: Qdisc) -> Iterator[None]:
        """Context of translating a discipline; raises `InputError` for a cycle or too deep nesting."""
        if qdisc in self.ancestors:
            circle = [*self.ancestors[self.ancestors.index(qdisc) :], qdisc]
            names = " in ".join(f"{one.kind} {one.handle or one.parent}".strip() for one in reversed(circle))
            raise InputError(f"line {qdisc.line}: qdiscs form a loop, {names}; leave one of them out")
        if len(self.ancestors) > MAX_DEPTH:
            raise InputError(f"line {qdisc.line}: qdiscs are nested more than {MAX_DEPTH} deep; use fewer levels")
        self.used.add(qdisc)
        self.ancestors.append(qdisc)
        try:
            yield
        finally:
            self.ancestors.pop()


def _key(name: str, line: int, known: dict[str, Qdisc] | dict[str, Class]) -> str:
    """Key of a record: its name, with a number after it if that is taken."""
    key = name
    while key in known:
        key, line = f"{name} {line}", line + 1
    return key
