"""The conformance suite, run on a queue manager by name."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sojourn import _core
from sojourn.base.errors import INPUT, AqmError

PATIENCE_S = 30.0
"""Timeout for a call into a library."""


@dataclass(frozen=True)
class Conformance:
    """Result of a conformance run."""

    aqm: str
    operations: int
    cases: int
    """Sequences of operations, each with its own limits, link and random stream."""
    packets: dict[str, int]
    """Packets that arrived, departed, were dropped, were marked."""
    violation: dict[str, Any] | None
    """The violated rule: `rule`, `step`, `detail`, and the `case` in which it was violated."""

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return asdict(self)

    def text(self) -> str:
        """Summary in one or two lines."""
        if self.violation is not None:
            rule, step, detail = (self.violation[key] for key in ("rule", "step", "detail"))
            return f"{self.aqm}: rule {rule} is broken at operation {step}: {detail}\n    {self.violation['case']}"
        counts = ", ".join(f"{count:,} {event}" for event, count in self.packets.items())
        return f"{self.aqm}: keeps every rule in {self.operations:,} operations ({self.cases} cases; packets: {counts})"


def check(
    aqm: str, operations: int = 200_000, seed: int = 1, progress: Callable[[float], object] | None = None
) -> Conformance:
    """Run random operations on a queue manager until `operations` are done or a rule is violated.

    A library that does what no queue may do is reported as a violation of the rule `Library`.
    """
    packets = dict.fromkeys(("arrived", "departed", "dropped", "marked"), 0)
    with _Watchdog(aqm) as watch:

        def tick(share: float) -> None:
            watch.start()
            if progress is not None:
                progress(share)

        watch.start()
        try:
            found = json.loads(_core.check_aqm(aqm, operations, seed, tick))
        except AqmError as error:
            violation = {"rule": "Library", "step": 0, "detail": str(error), "case": f"seed {seed}"}
            return Conformance(aqm, operations, 0, packets, violation)
    counts = {event: found[event] for event in packets}
    return Conformance(aqm, found["operations"], found["cases"], counts, found["violation"])


class _Watchdog:
    """Watchdog that exits the process on a timeout: a call into a library cannot be interrupted."""

    def __init__(self, aqm: str) -> None:
        self.aqm = aqm
        self.timer: threading.Timer | None = None

    def start(self) -> None:
        self.stop()
        self.timer = threading.Timer(PATIENCE_S, self.give_up)
        self.timer.daemon = True
        self.timer.start()

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def give_up(self) -> None:
        print(f"Error: {self.aqm}: does not return from a call within {PATIENCE_S:g} s", file=sys.stderr, flush=True)
        os._exit(INPUT)

    def __enter__(self) -> _Watchdog:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
