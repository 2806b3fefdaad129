"""The simulator as an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _core
from sojourn.base import memory
from sojourn.base.errors import OutOfMemoryError
from sojourn.model.results.result import Result

if TYPE_CHECKING:
    from sojourn.model.scenarios.scenario import Scenario


def identity() -> str:
    """Name in the hash of a run; results of a version of the core are the same on every machine."""
    return "simulate"


def check(_scenario: Scenario) -> None:
    """Refuse nothing: what was parsed can be simulated."""


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Simulate once."""
    return Result.of(scenario, seed, _core.simulate(scenario.canonical, seed, progress, None, _ask))


def run_into(folder: Path, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Simulate once, with the tables written to `folder` as Parquet in row groups while the run goes on."""
    return Result.of(scenario, seed, _core.simulate(scenario.canonical, seed, progress, folder, _ask), folder)


def _ask(need: int, what: str) -> None:
    """Raise `OutOfMemoryError` unless there are `need` bytes for what the run is about to take."""
    if not memory.is_available(need):
        raise OutOfMemoryError(
            f"{what} {memory.format_bytes(need)}, {memory.format_bytes(memory.free() or 0)} are free"
        )
