"""The comparison of simulator and ns-2: grid, bands, first difference of runs. No ns-2 needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import Scenario
from sojourn.engines.ns2.divergence import END, FATE, ORDER, TICKS, TIME, classify, find_divergence
from sojourn.engines.ns2.grid import AQMS, FLOWS, NS2, PLUGIN, RATES, RTTS_MS, SEEDS, TCPS, Cell, Point, cells, grid
from sojourn.engines.ns2.script import script
from sojourn.engines.ns2.validation_table import AGREES, APART, NOT_COUNTED, table
from sojourn.engines.validation.engine_pair import EnginePair, standard_error
from sojourn.studies.runs.runner import Run

POINT = Point("droptail", "reno", 10, 100, 4)
RUN = {"delivered": 9.0, "delay": 10.0, "tail": 30.0, "mean": 12.0, "drops": 2.0, "marks": 0.0, "jain": 1.0}


def cell(point: Point = POINT, here: Sequence[dict[str, float]] = ({}, {}, {}), there: Any = ({}, {}, {})) -> Cell:
    return Cell(point, [RUN | one for one in there], [RUN | one for one in here])


def test_the_grid_is_complete_and_supported_by_ns2() -> None:
    points = grid()
    assert len(points) == len(set(points)) == 480
    own = [point for point in points if point.engine == NS2]
    assert len(own) == len(RATES) * len(RTTS_MS) * len(FLOWS) * len(TCPS) * 2 == 288
    codel = Counter((point.aqm, point.tcp) for point in points if point.engine == PLUGIN)
    assert len(codel) == 12 and set(codel.values()) == {16}, "each variant meets each TCP in a third of its cells"
    for point in points[::7]:
        assert script(point.scenario(), 1, plugin=point.engine == PLUGIN).limits


def test_the_bands_are_of_means_over_seeds() -> None:
    assert cell(here=[{"delivered": 9.17}, {"delivered": 9.17}, {"delivered": 9.19}]).agrees
    assert not cell(here=[{"delivered": 9.19}] * 3).agrees
    assert cell(here=[{"mean": 13.19}] * 3).agrees and not cell(here=[{"mean": 13.21}] * 3).agrees
    quick = cell(here=[{"mean": 1.49}] * 3, there=[{"mean": 1.0}] * 3)
    assert quick.agrees, "half a millisecond is allowed in any case"
    assert not cell(here=[{"mean": 1.51}] * 3, there=[{"mean": 1.0}] * 3).agrees


def test_a_cell_with_a_spread_above_the_bands_does_not_count() -> None:
    runs = [{"delivered": value} for value in (8.6, 9.0, 9.4)]
    error = standard_error([RUN | run for run in runs], "delivered")
    assert error == pytest.approx(0.4 / 3**0.5)
    for unsure in (cell(here=runs), cell(there=runs)):
        assert unsure.error == pytest.approx(error / (0.02 * 9)) and not unsure.counts
    assert cell().counts and cell().error == 0


class Runs:
    """Stub of both engines: records requests, and provides some runs."""

    def __init__(self, finished: set[tuple[str, int]]) -> None:
        self.finished, self.queries = finished, Counter[str]()

    def find(self, run: Run) -> bool | None:
        return (run.scenario.canonical, run.seed) in self.finished or None

    def __call__(self, runs: Sequence[Run]) -> list[Any]:
        self.queries.update(run.engine for run in runs)
        link = {"sojourn_ms": {"p50": 1.0, "p95": 2.0, "mean": 1.5}, "drop_rate": 0.0, "mark_rate": 0.0}
        flows = [{"direction": "forward", "delivered_bps": 1e6}]
        totals = {"delivered_bps": 1e6, "links": {"forward": link}, "flows": flows}
        return [SimpleNamespace(totals=totals) for _ in runs]


def test_each_point_is_run_with_every_seed_on_its_engine_and_here() -> None:
    points = [POINT, Point("codel rfc8289", "sack", 4, 20, 16)]
    runs = Runs({(points[1].scenario().canonical, seed) for seed in SEEDS})
    found = cells(points, EnginePair(None, runner=runs))
    assert [one.point for one in found] == points and all(len(one.there) == len(one.here) == 3 for one in found)
    assert runs.queries == {NS2: 3, PLUGIN: 3, "simulate": 6}
    assert [one.point for one in cells(points, EnginePair(None, runner=runs), only_finished=True)] == points[1:]


def test_runs_part_at_the_first_event_that_only_one_has() -> None:
    document = {
        "duration": "4 s",
        "link": {"rate": "1.1 Mbit/s", "limit": "9 packets"},
        "flows": [{"kind": "poisson", "rate": "1 Mbit/s", "size": "611 B"}],
        "probes": {"packets": True},
    }
    run = Scenario.build(document).run(3)
    assert find_divergence(run, Scenario.build(document).run(3)) is None
    smaller = Scenario.build(document).replace({"link.limit": "5 packets"}).run(3)
    found = find_divergence(run, smaller)
    assert found is not None and found.before > 20 and found.kind == FATE
    assert found.here.startswith("d ") and not found.there.startswith("d ")
    dropped = smaller.packets.filter(smaller.packets["fate"] != "sent")["time_s"].min()
    assert float(found.here.split()[1]) == pytest.approx(dropped, abs=1e-6)
    shorter = find_divergence(run, Scenario.build(document | {"duration": "2 s"}).run(3))
    assert shorter is not None and float(shorter.there.split()[1]) > 1.9 and shorter.kind == END


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ((3_000_000_400, "d", 7, 1500), FATE),
        ((3_010_000_800, "+", 7, 1500), TICKS),
        ((2_970_000_000, "d", 7, 1500), TICKS),
        ((3_004_000_000, "+", 7, 1500), TIME),
        ((3_000_000_000, "+", 8, 1500), ORDER),
        ((3_010_000_000, "+", 7, 0), ORDER),
    ],
)
def test_packets_differ_in_order_fate_ticks_or_time(other: tuple[int, str, int, int], expected: str) -> None:
    assert classify((3_000_000_000, "+", 7, 1500), other) == expected


def test_the_table_has_verdicts_and_where_runs_part() -> None:
    outside = replace(POINT, flows=1)
    unsure = replace(POINT, tcp="sack")
    found = [
        cell(),
        cell(outside, here=[{"delivered": 8.1}] * 3),
        cell(unsure, here=[{"delivered": value} for value in (8.0, 9.0, 10.0)]),
    ]
    run = Scenario.build(
        {
            "duration": "1 s",
            "link": {"rate": "1 Mbit/s", "limit": "2 packets"},
            "flows": [{"kind": "poisson", "rate": "2 Mbit/s"}],
            "probes": {"packets": True},
        }
    )
    parted = find_divergence(run.run(1), run.run(2))
    assert parted is not None
    frame = table(found, {outside: parted})
    assert frame["agrees"].to_list() == [True, False, True]
    assert frame["verdict"].to_list() == [AGREES, APART, NOT_COUNTED]
    packets = ("equal_packets", "packet_there", "packet_here")
    assert frame.select(packets).rows() == [(None,) * 3, (parted.before, parted.there, parted.here), (None,) * 3]
    assert table(found, {outside: None})["remark"][1] == "seed 1 does not diverge"
    assert frame["delivered_mbps_here"].to_list() == [9.0, 8.1, 9.0]
    assert set(AQMS) >= set(frame["aqm"])
