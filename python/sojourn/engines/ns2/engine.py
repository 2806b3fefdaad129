"""The engine `ns2`: a scenario on ns-2 with ns-2's own queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn import _core
from sojourn.base.files import temporary_folder
from sojourn.engines.ns2 import installed, process
from sojourn.engines.ns2.ends import SENDER_PREFIXES, endpoints
from sojourn.engines.ns2.script import Script, script
from sojourn.engines.ns2.trace import arrivals, entries, read
from sojourn.engines.ns2.web import connections
from sojourn.engines.recorded import result
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario


def identity(_scenario: Scenario | None = None, /) -> str:
    """Name in the hash of a run, with ns-2's version."""
    return installed.identity()


def check(scenario: Scenario) -> None:
    """Raise `InputError` for what ns-2 cannot express."""
    script(scenario, 0, plugin=False)


def run(scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
    """Run a scenario once."""
    return run_script(scenario, seed, script(scenario, seed, plugin=False), progress)


def run_script(
    scenario: Scenario,
    seed: int,
    tcl: Script,
    progress: Callable[[float], None] | None,
    more: Sequence[str] = (),
) -> Result:
    """Run a translated scenario in its own process."""
    with temporary_folder("sojourn-ns2-") as folder:
        (folder / "run.tcl").write_text(tcl.text, encoding="utf-8")
        printed = process.run(folder / "run.tcl", folder / "trace", more, progress)
        return make_result(scenario, seed, tcl, printed, folder / "trace")


def make_result(scenario: Scenario, seed: int, tcl: Script, printed: Sequence[str], trace: Path) -> Result:
    """Make the result from ns-2's output and trace."""
    network, source_groups = tcl.network, tcl.traffic.groups
    events = read(trace, [network.number(link) for link in network.links])
    opened = connections([line for line in printed if not line.startswith(SENDER_PREFIXES)])
    groups = source_groups + [source_groups[one.source] for one in opened]
    routes = [group.links for group in network.groups]
    output = _core.summarise(scenario.canonical, seed, tcl.limits, entries(events, groups, routes))
    arrived = arrivals(events, [routes[group][-1] for group in groups])
    plan, starts = _core.plan(scenario.canonical, seed), _core.starts(scenario.canonical).tolist()
    end_data = endpoints(scenario.document, plan, tcl.traffic, printed, opened, arrived, starts)
    return result(scenario, seed, output, end_data)
