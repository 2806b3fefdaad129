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


def identity(_scenario: Scenario | None = None, /) -> str:
    """Name in the hash of a run; results depend on the core's version only, not on the machine."""
    return "simulate"


def check(_scenario: Scenario) -> None:
    """Refuse nothing: every parsed scenario can be simulated, unless it names files of a kernel."""


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Simulate once."""
    return Result.of(scenario, seed, _core.simulate(scenario.canonical, seed, progress, None, _check_memory))


def run_into(folder: Path, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Simulate once; tables are written to `folder` as Parquet row groups during the run."""
    return Result.of(scenario, seed, _core.simulate(scenario.canonical, seed, progress, folder, _check_memory), folder)


def _check_memory(need: int, what: str) -> None:
    """Raise `OutOfMemoryError` unless `need` bytes are free; called before the run allocates them."""
    if not memory.is_available(need):
        raise OutOfMemoryError(
            f"{what} {memory.format_bytes(need)}, but only {memory.format_bytes(memory.free() or 0)} are free"
        )
