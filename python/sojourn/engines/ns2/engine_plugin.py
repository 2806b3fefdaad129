"""A scenario on ns-2 with our queue managers: ns-2's TCP, links and clock, and the queues of the simulator."""

from __future__ import annotations

from collections.abc import Callable

from sojourn.engines.ns2 import engine, plugin
from sojourn.engines.ns2.script import script
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario


def identity() -> str:
    """Name of this engine in the hash of a run."""
    return plugin.built().identity


def check(scenario: Scenario) -> None:
    """Refuse what ns-2 cannot express."""
    script(scenario, 0, plugin=True)


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Run a scenario once."""
    made = script(scenario, seed, plugin=True)
    return engine.run_script(scenario, seed, made, progress, [str(plugin.built().file)])
