"""A scenario on ns-2, with ns-2's own queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn import _core
from sojourn.base.files import temporary_folder
from sojourn.engines.ns2 import installed, process
from sojourn.engines.ns2.ends import OF_SENDERS, ends
from sojourn.engines.ns2.script import Script, script
from sojourn.engines.ns2.trace import arrivals, entries, read
from sojourn.engines.ns2.web import connections
from sojourn.engines.recorded import result
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

identity = installed.identity


def check(scenario: Scenario) -> None:
    """Refuse what ns-2 cannot express."""
    script(scenario, 0, plugin=False)


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Run a scenario once."""
    return run_script(scenario, seed, script(scenario, seed, plugin=False), progress)


def run_script(
    scenario: Scenario,
    seed: int,
    made: Script,
    progress: Callable[[float], None] | None,
    more: Sequence[str] = (),
) -> Result:
    """Run a translated scenario in a process of its own."""
    with temporary_folder("sojourn-ns2-") as folder:
        (folder / "run.tcl").write_text(made.text, encoding="utf-8")
        said = process.run(folder / "run.tcl", folder / "trace", more, progress)
        return told(scenario, seed, made, said, folder / "trace")


def told(scenario: Scenario, seed: int, made: Script, said: Sequence[str], trace: Path) -> Result:
    """Make the result of what ns-2 said and traced."""
    network, of_sources = made.network, made.traffic.groups
    events = read(trace, [network.number(link) for link in network.links])
    opened = connections([line for line in said if not line.startswith(OF_SENDERS)])
    groups = of_sources + [of_sources[one.source] for one in opened]
    routes = [group.links for group in network.groups]
    output = _core.summarise(scenario.canonical, seed, made.limits, entries(events, groups, routes))
    came = arrivals(events, [routes[group][-1] for group in groups])
    plan, starts = _core.plan(scenario.canonical, seed), _core.starts(scenario.canonical).tolist()
    return result(scenario, seed, output, ends(scenario.document, plan, made.traffic, said, opened, came, starts))
