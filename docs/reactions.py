"""Measure the reactions of every congestion control and write `data/cc-reactions.csv`: `python docs/reactions.py`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sojourn.model.aqms.registry import registry
from sojourn.studies.reactions import REACTIONS, react, spelled_reaction

FILE = Path(__file__).with_name("data") / "cc-reactions.csv"
COLUMNS = ("control", *(f"{reaction.name.replace(' ', '_').replace('%', 'percent')}" for reaction in REACTIONS))


def row(control: str) -> tuple[str, ...]:
    """Return a row of the table."""
    found = react(control)
    return (control, *(spelled_reaction(reaction, found[reaction.name]) for reaction in REACTIONS))


if __name__ == "__main__":
    rows = [row(entry["name"]) for entry in registry()["ccs"]]
    pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row").write_csv(FILE)
