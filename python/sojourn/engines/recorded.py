"""The result of a run on another engine: what it saw at the queues, and what its ends knew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.engines.heard import Heard, Window, flow_summaries, group_summaries
from sojourn.engines.values import nanoseconds
from sojourn.results.payload import columns_of_ends, whole
from sojourn.results.result import Result

if TYPE_CHECKING:
    from sojourn._core import Output
    from sojourn.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Ends:
    """What the ends of a run knew."""

    heard: Heard
    flows: Sequence[int | None]
    """Of each source the number of its flow, or None if it opens connections that come and go."""
    groups: Sequence[int]
    """Group of each source."""
    late: Mapping[int, int]
    """Time-outs by flow."""
    events: int


def result(scenario: Scenario, seed: int, output: Output, ends: Ends) -> Result:
    """Make the result; `output` is what `_core.summarise` made of the queues."""
    document, links = scenario.document, json.loads(output.summary)
    end = nanoseconds("duration", document["duration"])
    tables = {name: pl.DataFrame(columns) for name, columns in output.tables().items()}
    tables |= _tables(document, ends)
    if "windows" in tables:
        rows = [_totals(links, document, ends, Window(start, end)) for start in tables["windows"]["start_ns"]]
        tables["windows"] = tables["windows"].with_columns(columns_of_ends(rows))
    totals = _totals(links, document, ends, Window(round(1e9 * links["warmup_s"]), end))
    return Result(scenario, seed, totals, {name: partial(tables.__getitem__, name) for name in tables})


def _tables(document: Mapping[str, Any], ends: Ends) -> dict[str, pl.DataFrame]:
    """Tables of the probes that look at the ends."""
    tables = {}
    if document["probes"].get("transfers"):
        tables["transfers"] = ends.heard.transfers(ends.groups)
    if step := document["probes"].get("flows"):
        without = {
            flow
            for flow, group in zip(ends.flows, ends.groups, strict=True)
            if flow is not None and "cc" not in document["flows"][group]
        }
        tables["flows"] = ends.heard.flows(nanoseconds("probes.flows", step), without)
    return tables


def _totals(links: Mapping[str, Any], document: Mapping[str, Any], ends: Ends, window: Window) -> dict[str, Any]:
    """Return the summary, as a simulation has it."""
    heard, flows, groups, late = ends.heard, ends.flows, ends.groups, ends.late
    of_flows = flow_summaries(heard, document, flows, groups, late, window)
    of_groups = group_summaries(heard, document, of_flows, groups, late, window)
    return {
        "duration_s": window.end / 1e9,
        **{key: links[key] for key in ("warmup_s", "settled", "not_settled") if key in links},
        "events": ends.events,
        "fingerprint": links["fingerprint"],
        **whole(of_groups, of_flows),
        "links": links["links"],
        "hops": links["hops"],
        "groups": of_groups,
        "flows": of_flows,
    }
