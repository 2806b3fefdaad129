"""Run a grid on the simulator and on the real kernel: ``python -m sojourn.kernel.validate --grid NAME -o FILE.csv``.

Both engines run the same scenario files; the stack is `linux-6.1`. `sojourn.validation` compares with recorded runs of
an earlier build. `docs/validation.md` describes the grids and `docs/data` has their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from sojourn.base.progress import progress
from sojourn.engines.kernel import control_grid, grid, offload_grid
from sojourn.engines.kernel.cache import built
from sojourn.engines.kernel.grid import AnyPoint, Grid
from sojourn.engines.kernel.validation_table import Causes, table
from sojourn.engines.validation.tables import output_option, write_table

GRIDS: Mapping[str, tuple[Callable[[], Sequence[AnyPoint]], Causes | None]] = {
    "queues": (grid.grid, None),
    "controls": (control_grid.grid, Causes()),
    "controls-elsewhere": (control_grid.other_grid, Causes()),
    "super-packets": (offload_grid.grid, offload_grid.CAUSES),
}
"""By name: the points, and known causes of differences."""


@click.command()
@click.option("--grid", "name", type=click.Choice(list(GRIDS)), default="queues", show_default=True)
@output_option
@click.option(
    "--results", type=click.Path(path_type=Path), help="folder of the kernel's runs, to continue where it stopped"
)
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
@click.option("--finished", is_flag=True, help="only cells that the kernel has already run")
def main(name: str, out: Path | None, results: Path | None, jobs: int | None, finished: bool) -> None:
    """Run the grid on both engines, compare, and write the table."""
    kernel = built()
    make, causes = GRIDS[name]
    points = make()
    with progress() as report_progress:
        runs = Grid(results, jobs, only_finished=finished, progress=report_progress)
        cells = runs.cells(points)
    again = Grid(results, jobs, only_finished=finished).repeated(cells)
    if out is not None:
        write_table(out, table(cells, again, f"{kernel.version} {kernel.digest}", causes))
    click.echo(f"{sum(cell.agrees for cell in cells)} of {len(cells)} cells agree; {len(points) - len(cells)} not run")


if __name__ == "__main__":
    main()
