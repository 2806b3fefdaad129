"""Methods of a queue manager in Python that the core calls, and detection of misspelled ones."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from sojourn.base.errors import InputError

if TYPE_CHECKING:
    from sojourn._core import Cx, Fifo, Limits, Link, Meta

Verdict = Literal["accept", "mark", "drop"]
"""Verdict on an arriving packet; a mark on a packet that is not ECN-capable is a drop."""


class Hooks:
    """Default behaviour of every method of a queue manager."""

    def attach(self, limits: Limits, link: Link) -> None:
        """Receive the queue's limits and its link; called once, first."""

    def enqueue(self, cx: Cx, meta: Meta, queue: Fifo) -> Verdict | None:
        """Judge an arriving packet, which is not yet in `queue`: "accept" (or None), "mark" or "drop"."""
        return None

    def dequeue(self, cx: Cx, queue: Fifo) -> Meta | None:
        """Choose what to transmit: drop or mark at will, then pop. `queue` may be empty."""
        return queue.pop()

    def next_update(self) -> int | None:
        """Return when `update` is due next, in ns; queried after `attach` and after each update."""
        return None

    def update(self, at: int, cx: Cx) -> None:
        """Do periodic work; called for each due instant with the scheduled time, also when idle or late."""

    def overflowed(self, cx: Cx, meta: Meta) -> None:
        """Handle an arriving packet that the limits refused."""

    def emptied(self, cx: Cx) -> None:
        """Handle a dequeue that emptied the queue."""

    def shed(self, cx: Cx, n: int) -> None:
        """Handle the removal of `n` packets from the head of this sub-queue by the limits, to make room."""

    def unscheduled(self) -> None:
        """Handle the removal of this empty sub-queue from the round-robin schedule."""

    def observe(self) -> dict[str, float]:
        """Return state variables by name; times in seconds."""
        return {}


def hooks_of(cls: type, base: type, without: str) -> list[str]:
    """Methods of `base` that a class defines; raises `InputError` if it defines none, or misspells one.

    `without` says what a class without methods would be, and what to write.
    """
    hooks = [name for name in vars(base) if not name.startswith("_")]
    found = [name for name in hooks if getattr(cls, name) is not getattr(base, name)]
    for name, method in _public_methods(cls, base):
        near = _hook_like(name, hooks)
        if near and near not in found:
            message = f'{_location(method)}{cls.__qualname__}.{name} is never called; did you mean "{near}"?'
            raise InputError(f"{message} Names of your own methods must begin with _")
    if not found:
        raise InputError(f"{_location(cls)}{cls.__qualname__} defines no method that is ever called and {without}")
    return found


def _public_methods(cls: type, without: type) -> Iterator[tuple[str, object]]:
    """Methods of a class and its bases, without those of `without` and its bases."""
    for base in cls.__mro__:
        if base in without.__mro__:
            continue
        for name, item in vars(base).items():
            method = item.__func__ if isinstance(item, staticmethod | classmethod) else item
            if not name.startswith("_") and inspect.isfunction(method) and not hasattr(without, name):
                yield name, method


def _hook_like(name: str, hooks: list[str]) -> str | None:
    """Hook that `name` misspells: dequeu, deQueue, on_dequeue; a longer name such as update_p is not a misspelling."""
    plain = _plain(re.sub(r"^(on|do)_", "", name))
    far = {hook: _distance(plain, _plain(hook)) for hook in hooks}
    nearest = min(hooks, key=far.__getitem__)
    is_longer = any(name.startswith(f"{hook}_") for hook in hooks)
    return None if is_longer or far[nearest] > (2 if len(nearest) > 6 else 1) else nearest


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _distance(a: str, b: str) -> int:
    """Edit distance: insertions, deletions, replacements, and swaps of neighbours."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        following = [i + 1]
        for j, y in enumerate(b):
            least = min(row[j] + (x != y), row[j + 1] + 1, following[j] + 1)
            if i and j and x == b[j - 1] and y == a[i - 1]:
                least = min(least, before[j - 1] + 1)
            following.append(least)
        before, row = row, following
    return row[-1]


def _location(item: object) -> str:
    """Source location of a definition, as a prefix for messages."""
    try:
        _, number = inspect.getsourcelines(item)  # type: ignore[arg-type]
        return f"{inspect.getsourcefile(item)}: line {number}: "  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        return ""
