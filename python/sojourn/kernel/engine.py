"""A scenario on the real kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from sojourn import _core
from sojourn.kernel import cache
from sojourn.kernel.guest import boot, job_folder
from sojourn.kernel.heard import Heard, Window, flow_summaries, group_summaries
from sojourn.kernel.network import START_NS, lay_out
from sojourn.kernel.refuse import refuse
from sojourn.kernel.trace import entries, read_trace, timeouts
from sojourn.kernel.traffic import traffic
from sojourn.kernel.values import nanoseconds
from sojourn.results.payload import columns_of_ends, whole
from sojourn.results.result import Result
from sojourn.scenarios.scenario import Scenario

NO_PROBES = {
    "headers": "does not record transport headers",
    "state": "does not look into its queue disciplines",
}


def identity(version: str = cache.VERSIONS[0]) -> str:
    """Name of this engine in the hash of a run: the build is part of it."""
    return cache.built(version).identity


def check(scenario: Scenario) -> None:
    """Refuse what the kernel cannot express."""
    _job(scenario, 0, "")


def run(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    *,
    version: str = cache.VERSIONS[0],
) -> Result:
    """Run a scenario once in a guest of its own, on the built kernel of a version."""
    kernel = cache.built(version)
    with job_folder() as folder:
        files, flows, groups, limits = _job(scenario, seed, str(folder))
        boot(kernel, folder, files, seed=seed, tick=progress)
        heard = Heard.read((folder / "out").read_text().splitlines())
        events = read_trace(folder / "trace")
    output = _core.summarise(scenario.canonical, seed, limits, entries(events, START_NS, heard.opened, groups))
    document, late, links = scenario.document, timeouts(events, heard.opened), json.loads(output.summary)

    def since(start_ns: int) -> dict[str, Any]:
        window = Window(start_ns, nanoseconds("duration", document["duration"]))
        return _totals(links, heard, document, flows, groups, late, window, len(events))

    tables = {name: pl.DataFrame(columns) for name, columns in output.tables().items()}
    tables |= _told(heard, document, flows, groups)
    if "windows" in tables:
        ends = [since(start) for start in tables["windows"]["start_ns"]]
        tables["windows"] = tables["windows"].with_columns(columns_of_ends(ends))
    totals = since(round(1e9 * links["warmup_s"]))
    return Result(scenario, seed, totals, {name: partial(tables.__getitem__, name) for name in tables})


def _job(
    scenario: Scenario, seed: int, folder: str
) -> tuple[dict[str, str | bytes], list[int | None], list[int], list[tuple[str, bool]]]:
    """Files of the job, flows and groups of the sources, limits of the queues."""
    document = scenario.document
    for name, reason in NO_PROBES.items():
        if document["probes"].get(name):
            refuse(f"probes.{name}", reason, "leave it out")
    network = lay_out(document)
    plan = _core.plan(scenario.canonical, seed)
    told = traffic(document, plan, network.ends, _core.starts(scenario.canonical).tolist())
    router, device = network.traced
    job = [
        *network.job,
        f"at {router}",
        f"random {device} {seed}",
        f"trace {device} {folder}/trace",
        "at -",
        "run traffic out",
        f"at {router}",
        f"flush {device}",
        "at -",
    ]
    files: dict[str, str | bytes] = {**network.files, **told.files, "traffic": told.text}
    files["job"] = "\n".join([*job, ""])
    limits = [(queue.limit, queue.judges_arrivals) for queue in network.queues]
    return files, told.flows, [ends.group for ends in network.ends], limits


def _told(
    heard: Heard, document: dict[str, Any], flows: list[int | None], groups: list[int]
) -> dict[str, pl.DataFrame]:
    """Tables of the probes that look at the ends."""
    tables = {}
    if document["probes"].get("transfers"):
        tables["transfers"] = heard.transfers(groups)
    if step := document["probes"].get("flows"):
        without = {
            flow
            for flow, group in zip(flows, groups, strict=True)
            if flow is not None and "cc" not in document["flows"][group]
        }
        tables["flows"] = heard.flows(nanoseconds("probes.flows", step), without)
    return tables


def _totals(
    links: dict[str, Any],
    heard: Heard,
    document: dict[str, Any],
    flows: list[int | None],
    groups: list[int],
    late: dict[int, int],
    window: Window,
    events: int,
) -> dict[str, Any]:
    """Return the summary, as a simulation has it."""
    of_flows = flow_summaries(heard, document, flows, groups, late, window)
    lasting = [group for flow, group in zip(flows, groups, strict=True) if flow is not None]
    of_groups = group_summaries(heard, document, of_flows, groups, lasting, late, window)
    return {
        "duration_s": window.end / 1e9,
        **{key: links[key] for key in ("warmup_s", "settled", "not_settled") if key in links},
        "events": events,
        "fingerprint": links["fingerprint"],
        **whole(of_groups, of_flows),
        "links": links["links"],
        "hops": links["hops"],
        "groups": of_groups,
        "flows": of_flows,
    }
