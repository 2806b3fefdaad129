"""The tables of real_stacks.md have the measures of the records, for every stack, queue and load."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from tables import Table

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "real_stacks.py"))


def record(load: str, seed: int, goodputs: list[float]) -> dict[str, Any]:
    """Return the parts of a record that the script reads."""
    link = {"sojourn_ms": {"p50": 2.0, "p99": 7.0}, "mark_rate": 0.25, "drop_rate": 0.01}
    groups = [{"goodput_bps": goodput} for goodput in goodputs]
    return {
        "name": f"stack 1.2, BBR.cake.{load}",
        "seed": seed,
        "summary": {"groups": groups, "links": {"forward": link}},
    }


def test_a_row_has_means_over_the_seeds_of_a_cell() -> None:
    records = [record("beside", 1, [3e6, 1e6]), record("beside", 2, [2e6, 2e6]), record("alone", 1, [5e6])]
    [row] = SCRIPT["rows"](records, "beside")
    assert (row["queue"], row["stack"], row["seeds"]) == ("CAKE", "stack 1.2, BBR", "2")
    # Half of the difference of two values times Student's t of 12.706 for one degree of freedom.
    assert (row["share_percent"], row["share_percent_ci95"]) == ("62.5", "158.8")
    assert (row["marks_percent"], row["drops_percent"], row["queue_p99_ms"]) == ("25.00", "1.00", "7.0")
    [alone] = SCRIPT["rows"](records, "alone")
    assert (alone["seeds"], alone["goodput_mbps"]) == ("1", "5.0")


def test_tables_have_every_queue_for_every_stack() -> None:
    for load, measures in SCRIPT["MEASURES"].items():
        table = Table.read(f"real-stacks-{load}.csv")
        columns = [column for name in measures for column in (name, f"{name}_ci95")]
        assert list(table.columns) == ["queue", "stack", "seeds", *columns]
        cells = {(row["queue"], row["stack"]) for row in table.rows}
        stacks = {stack for _, stack in cells}
        assert cells == {(queue, stack) for queue in SCRIPT["QUEUES"].values() for stack in stacks} and len(stacks) >= 5
        assert len(cells) == len(table.rows) and all(int(row["seeds"]) >= 20 for row in table.rows)
