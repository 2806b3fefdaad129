"""The engine `kernel`: a scenario on the real kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sojourn import _core
from sojourn.engines.endpoint_log import EndpointLog
from sojourn.engines.kernel import cache, changes
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.network import CREATION_NS, START_NS, Network, lay_out
from sojourn.engines.kernel.own_qdisc import crate
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.kernel.routers import directions
from sojourn.engines.kernel.trace import entries, read_trace, timeouts
from sojourn.engines.kernel.traffic import traffic
from sojourn.engines.recorded import Endpoints, result
from sojourn.model.aqms.spelling import KERNEL_FILE, is_library
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

NO_PROBES = {
    "headers": "does not record transport headers",
    "senders": "does not record its senders",
    "state": "does not record the state of its queue disciplines",
}


def identity(scenario: Scenario | None = None, /, *, version: str = cache.VERSIONS[0]) -> str:
    """Name in the hash of a run, with the build's digest."""
    return cache.built(version, own=_own(scenario) if scenario else cache.NOTHING).identity


def check(scenario: Scenario) -> None:
    """Raise `InputError` for what the kernel cannot express."""
    _job(scenario, 0, "")


def run(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    *,
    version: str = cache.VERSIONS[0],
) -> Result:
    """Run a scenario once in its own guest, on the built kernel of a version."""
    kernel = cache.built(version, own=_own(scenario))
    with job_folder() as folder:
        network, files, flows, groups, limits = _job(scenario, seed, str(folder))
        boot(kernel, folder, files, seed=seed, tick=progress)
        changes.check_done(folder, network)
        log = EndpointLog.read((folder / "out").read_text().splitlines())
        events = read_trace(folder / "trace")
    ends = Endpoints(log, flows, groups, timeouts(events, log.opened), len(events))
    columns = entries(events, START_NS, log.opened, network.hosts, network.replacements)
    output = _core.summarise(scenario.canonical, seed, limits, columns)
    return result(scenario, seed, output, ends)


def _own(scenario: Scenario) -> cache.Own:
    """Files of users that a scenario needs in its kernel."""
    named = {place: name.removeprefix(KERNEL_FILE) for place, name in scenario.kernel_files.items()}
    qdiscs, controls = (
        frozenset(name for place, name in named.items() if place.endswith(end)) for end in (".aqm", ".cc")
    )
    crates = frozenset(crate("aqm", name) for name in scenario.user_aqms() if is_library(name))
    return cache.Own(qdiscs, controls, crates)


def _job(
    scenario: Scenario, seed: int, folder: str
) -> tuple[Network, dict[str, str | bytes], list[int | None], list[int], list[tuple[str, bool]]]:
    """Network, files of the job, flows and groups of the sources, limits of the queues."""
    document = scenario.document
    for name, reason in NO_PROBES.items():
        if document["probes"].get(name):
            refuse(f"probes.{name}", reason, "leave it out")
    network = lay_out(document)
    changes.add(document, network)
    plan = _core.plan(scenario.canonical, seed)
    sources = traffic(document, plan, network.ends, _core.starts(scenario.canonical).tolist())
    router, device = network.traced
    streams = _streams(document, seed)
    # Before the queues are made, because `sojourn` takes the state then; and after, because others draw meanwhile.
    made = network.job.index(f"until {CREATION_NS}")
    shared = [f"at {router}", f"hosts {device} hosts", "at -"] if network.hosts.is_shared else []
    job = [
        *network.job[:made],
        *shared,
        *streams,
        *network.job[made:],
        *streams,
        f"at {router}",
        f"controls {device} {seed}",
        f"trace {device} {folder}/trace",
        "at -",
        "run traffic out",
        f"at {router}",
        f"flush {device}",
        "at -",
    ]
    files: dict[str, str | bytes] = {**network.files, **sources.files, "traffic": sources.text}
    if shared:
        files["hosts"] = network.hosts.table()
    files["job"] = "\n".join([*job, ""])
    limits = [(queue.limit, queue.drops_early) for queue in network.queues]
    return network, files, sources.flows, [ends.group for ends in network.ends], limits


def _streams(document: Mapping[str, Any], seed: int) -> list[str]:
    """Lines of the job that seed each queue's random generator as in the simulator."""
    return [
        line
        for link in directions(document)
        for line in (f"at {link.router}", f"random {link.device} {_core.state_of_queue(seed, link.number)}", "at -")
    ]
