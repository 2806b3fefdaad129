"""Run a grid on the simulator and on ns-2: ``python -m sojourn.ns2.validate -o FILE.csv``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from sojourn.base.progress import progress
from sojourn.engines import SIMULATE
from sojourn.engines.ns2 import installed, plugin
from sojourn.engines.ns2.divergence import Divergence, find_divergence
from sojourn.engines.ns2.grid import SEEDS, Cell, Point, cells, grid
from sojourn.engines.ns2.validation_table import table
from sojourn.engines.validation.engine_pair import EnginePair
from sojourn.engines.validation.tables import output_option, write_table


@click.command()
@output_option
@click.option("--results", type=click.Path(path_type=Path), help="folder of ns-2's runs, to continue where it stopped")
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
@click.option("--finished", is_flag=True, help="only cells that ns-2 has already run")
def main(out: Path | None, results: Path | None, jobs: int | None, finished: bool) -> None:
    """Run the grid on both engines, compare, and write the table."""
    installed.ns()
    plugin.built()
    with progress() as report:
        found = cells(grid(), EnginePair(results, jobs, progress=report), only_finished=finished)
    if out is not None:
        write_table(out, table(found, divergences(found)))
    counted = [cell for cell in found if cell.counts]
    click.echo(f"{sum(cell.agrees for cell in counted)} of {len(counted)} counted cells agree")


def divergences(cells: Iterable[Cell]) -> dict[Point, Divergence | None]:
    """Find the first divergence between the runs of the first seed, for counted cells that do not agree."""
    return {cell.point: diverge(cell.point, SEEDS[0]) for cell in cells if cell.counts and not cell.agrees}


def diverge(point: Point, seed: int) -> Divergence | None:
    """Find the first divergence between both engines' runs of a point."""
    scenario = point.scenario(probes={"packets": True})
    there, here = (scenario.run(seed, engine=engine) for engine in (point.engine, SIMULATE))
    return find_divergence(there, here)


if __name__ == "__main__":
    main()
