"""Result of a run on another engine, from its events at the queues and its endpoint data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn import _core
from sojourn.engines.endpoint_log import EndpointLog
from sojourn.engines.values import nanoseconds
from sojourn.model.results.payload import windows_with_ends
from sojourn.model.results.result import Result

if TYPE_CHECKING:
    from sojourn._core import Output
    from sojourn.model.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Endpoints:
    """Endpoint data of a run."""

    log: EndpointLog
    flows: Sequence[int | None]
    """Flow number of each source, or None if it opens short connections."""
    groups: Sequence[int]
    """Group of each source."""
    timeouts: Mapping[int, int]
    """Retransmission timeouts by flow."""
    events: int


def result(scenario: Scenario, seed: int, output: Output, ends: Endpoints) -> Result:
    """Make the result; `output` is that of `_core.summarise` for the queues."""
    document, links = scenario.document, json.loads(output.summary)
    end = nanoseconds("duration", document["duration"])
    tables = {name: pl.DataFrame(columns) for name, columns in output.tables().items()}
    tables |= _tables(document, ends)
    starts = [round(1e9 * links["warmup_s"])]
    if "windows" in tables:
        starts += tables["windows"]["start_ns"].unique().sort().to_list()
    counts = ends.log.counts(ends.flows, ends.groups, ends.timeouts)
    end_totals, *window_ends = json.loads(_core.end_summaries(scenario.canonical, counts, starts, end))
    if "windows" in tables:
        tables |= windows_with_ends(tables["windows"], dict(zip(starts[1:], window_ends, strict=True)))
    totals = {
        "duration_s": end / 1e9,
        **{key: links[key] for key in ("warmup_s", "settled", "not_settled") if key in links},
        "events": ends.events,
        **{key: links[key] for key in ("fingerprint", "links", "hops")},
        **end_totals,
    }
    return Result(scenario, seed, totals, {name: partial(tables.__getitem__, name) for name in tables})


def _tables(document: Mapping[str, Any], ends: Endpoints) -> dict[str, pl.DataFrame]:
    """Tables of the endpoint probes."""
    tables = {}
    if document["probes"].get("transfers"):
        tables["transfers"] = ends.log.transfers(ends.groups)
    if step := document["probes"].get("flows"):
        windowless = {
            flow
            for flow, group in zip(ends.flows, ends.groups, strict=True)
            if flow is not None and "cc" not in document["flows"][group]
        }
        tables["flows"] = ends.log.flows(nanoseconds("probes.flows", step), windowless)
    return tables
