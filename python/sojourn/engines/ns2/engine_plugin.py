"""The engine `ns2-plugin`: ns-2's TCP, links and clock with our queue managers."""

from __future__ import annotations

from collections.abc import Callable

from sojourn.engines.ns2 import engine, plugin
from sojourn.engines.ns2.script import script
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario


def identity(_scenario: Scenario | None = None, /) -> str:
    """Name in the hash of a run."""
    return plugin.built().identity


def check(scenario: Scenario) -> None:
    """Raise `InputError` for what ns-2 cannot express."""
    script(scenario, 0, plugin=True)


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Run a scenario once."""
    tcl = script(scenario, seed, plugin=True)
    return engine.run_script(scenario, seed, tcl, progress, [str(plugin.built().file)])
