"""The probe of drops, and statistics of losses: bursts, and flows per loss event."""

from __future__ import annotations

from copy import copy
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from sojourn.base.errors import InputError
from sojourn.model.analysis.losses import bursts, longest_burst, synchronisation
from sojourn.model.results.result import Result

MIX: list[dict[str, Any]] = [
    {"kind": "tcp", "count": 5, "rtt": "37 ms"},
    {"kind": "cbr", "rate": "1.9 Mbit/s", "size": "333 B"},
    {"kind": "web", "interval": "170 ms", "size": "41 kB"},
]


def run(aqm: str, flows: list[dict[str, Any]] = MIX, seed: int = 7, **probes: bool) -> Result:
    link = {"rate": "7.3 Mbit/s", "aqm": aqm, "limit": "31 packets"}
    document = {
        "duration": "13 s",
        "warmup": "3 s",
        "link": link,
        "reverse": {"rate": "90 kbit/s", "limit": "9 packets"},
    }
    return sj.Scenario.build({**document, "flows": flows, "probes": probes or {"drops": True}}).run(seed)


@pytest.mark.parametrize("aqm", ["droptail", "drophead", "codel", "pie", "fq_codel", "cake besteffort"])
def test_drops_equal_the_table_of_packets(aqm: str) -> None:
    both = run(aqm, drops=True, packets=True)
    assert both.drops.height > 20 and set(both.drops["link"].cast(str).unique()) == {"forward", "reverse"}
    from_packets = copy(both)
    from_packets._tables = {name: table for name, table in both._tables.items() if name != "drops"}
    order = ["link", "flow", "number"]
    assert from_packets.drops.sort(order).equals(both.drops.sort(order))
    alone = run(aqm)
    assert (
        alone.drops.equals(both.drops) and alone.fingerprint == both.fingerprint == run(aqm, packets=False).fingerprint
    )
    with pytest.raises(InputError, match=r"probes\.drops=true"):
        _ = run(aqm, transfers=True).drops


def brute(result: Result) -> list[tuple[int, int]]:
    """Flow and length of all bursts at the forward link, computed packet by packet."""
    waiting = result.table("waiting").with_columns(fate=pl.lit(0, pl.UInt8))
    columns = ["link", "flow", "arrival", "time_ns", "fate"]
    table = pl.concat([result.table("packets").select(columns), waiting.select(columns)]).filter(link=0).sort("arrival")
    found: list[tuple[int, int]] = []
    for flow in table["flow"].unique().sort():
        length = 0
        for time, fate in table.filter(flow=flow).select("time_ns", "fate").iter_rows():
            if fate >= 2 and length == 0:
                begun = time
            length = length + 1 if fate >= 2 else 0
            if length == 1:
                found.append((flow, 0))
            if length:
                begun = min(begun, time)
                found[-1] = (flow, length) if begun >= 3e9 else (flow, -length)
    return sorted((flow, length) for flow, length in found if length > 0)


@pytest.mark.parametrize("aqm", ["droptail", "red", "codel"])
def test_bursts_are_runs_of_a_flows_successive_packets(aqm: str) -> None:
    result = run(aqm, packets=True)
    found = bursts(result)
    assert sorted(found.select("flow", "packets").iter_rows()) == brute(result)
    assert longest_burst(result) == max(length for _, length in brute(result))
    assert longest_burst(result, 1) == max((length for flow, length in brute(result) if flow == 5), default=0)


def test_flows_that_lose_at_once() -> None:
    result = run("droptail", seed=11)
    lasting = 6
    rows = result.drops.filter(link="forward").sort("time_s").select("time_s", "flow").iter_rows()
    events: list[tuple[float, set[int]]] = []
    for time, flow in rows:
        if time >= 3.0 and flow < lasting:
            if not events or time > events[-1][0] + 0.037:
                events.append((time, set()))
            events[-1][1].add(flow)
    assert len(events) > 20
    assert synchronisation(result) == pytest.approx(sum(len(user) for _, user in events) / len(events) / lasting)


def test_without_drops_or_other_flows_there_are_no_statistics() -> None:
    assert synchronisation(run("droptail", [{"kind": "tcp", "rtt": "20 ms"}])) is None
    calm = run("fq_codel", [{"kind": "voice", "count": 2}])
    assert longest_burst(calm) == 0 and bursts(calm).is_empty() and synchronisation(calm) is None
