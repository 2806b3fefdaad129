"""The simulator beside ns-2 over a grid, run now: ``python -m sojourn.ns2.validate -o FILE``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from sojourn.base.files import write_file
from sojourn.base.progress import progress
from sojourn.engines import SIMULATE
from sojourn.engines.ns2 import installed, plugin
from sojourn.engines.ns2.grid import SEEDS, Cell, Point, cells, grid
from sojourn.engines.ns2.parting import Parting, parting
from sojourn.engines.ns2.validation_page import page, table
from sojourn.engines.validation.sides import Sides


@click.command()
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), help="write the page there; default: print it")
@click.option("--results", type=click.Path(path_type=Path), help="folder of ns-2's runs, to go on where it stopped")
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
@click.option("--finished", is_flag=True, help="only what ns-2 has run already")
def main(out: Path | None, results: Path | None, jobs: int | None, finished: bool) -> None:
    """Run the grid on both and compare; beside the page goes the complete table (.csv)."""
    installed.ns()
    plugin.built()
    with progress() as report:
        found = cells(grid(), Sides(results, jobs, progress=report), only_finished=finished)
    complete = out.with_suffix(".csv") if out else None
    text = page(found, partings(found), complete.name if complete else None)
    if out is None or complete is None:
        click.echo(text)
    else:
        write_file(out, lambda file: file.write(text.encode()))
        write_file(complete, lambda file: table(found).write_csv(file, float_precision=3))
    counted = [cell for cell in found if cell.counts]
    click.echo(f"{sum(cell.agrees for cell in counted)} of {len(counted)} counted cells agree")


def partings(found: Iterable[Cell]) -> dict[Point, Parting | None]:
    """Where both runs of the first seed part, of the cells outside."""
    return {cell.point: part(cell.point, SEEDS[0]) for cell in found if cell.counts and not cell.agrees}


def part(point: Point, seed: int) -> Parting | None:
    """Where both runs of a point part."""
    scenario = point.scenario(probes={"packets": True})
    there, here = (scenario.run(seed, engine=engine) for engine in (point.engine, SIMULATE))
    return parting(there, here)


if __name__ == "__main__":
    main()
