"""CSV files of a comparison, a row per cell, as `docs/data` has them."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from sojourn.base.files import write_file

output_option = click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path), help="CSV file for the table, a row per cell"
)


def write_table(path: Path, frame: pl.DataFrame) -> None:
    """Write the rows with three digits after the point, whole or not at all."""
    write_file(path, lambda file: frame.write_csv(file, float_precision=3))
