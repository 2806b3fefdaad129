"""The result of a run on another engine: what it saw at the queues, and what its ends knew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn import _core
from sojourn.engines.heard import Heard
from sojourn.engines.values import nanoseconds
from sojourn.model.results.payload import windows_with_ends
from sojourn.model.results.result import Result

if TYPE_CHECKING:
    from sojourn._core import Output
    from sojourn.model.scenarios.scenario import Scenario


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
    starts = [round(1e9 * links["warmup_s"])]
    if "windows" in tables:
        starts += tables["windows"]["start_ns"].unique().sort().to_list()
    counts = ends.heard.counts(ends.flows, ends.groups, ends.late)
    known, *of_windows = json.loads(_core.end_summaries(scenario.canonical, counts, starts, end))
    if "windows" in tables:
        tables |= windows_with_ends(tables["windows"], dict(zip(starts[1:], of_windows, strict=True)))
    totals = {
        "duration_s": end / 1e9,
        **{key: links[key] for key in ("warmup_s", "settled", "not_settled") if key in links},
        "events": ends.events,
        **{key: links[key] for key in ("fingerprint", "links", "hops")},
        **known,
    }
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
