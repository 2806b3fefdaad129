"""The simulator beside the real kernel over a grid, run now: ``python -m sojourn.kernel.validate -o FILE``.

Both engines run the same scenario files; the stack is `linux-6.1`. `sojourn.validation` does the same with recorded
runs of an earlier build. The page is written by `sojourn.kernel.validation_page`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from sojourn.base.files import write_file
from sojourn.base.progress import progress
from sojourn.engines.kernel import control_grid, grid, offload_grid
from sojourn.engines.kernel.cache import built
from sojourn.engines.kernel.grid import AnyPoint, Grid
from sojourn.engines.kernel.validation_page import Words, page, table

GRIDS: Mapping[str, tuple[Callable[[], Sequence[AnyPoint]], Words | None]] = {
    "queues": (grid.grid, None),
    "controls": (control_grid.grid, control_grid.WORDS),
    "controls-elsewhere": (control_grid.other_grid, control_grid.OTHER_WORDS),
    "super-packets": (offload_grid.grid, offload_grid.WORDS),
}
"""By name: the points, and what the page says around the numbers."""


@click.command()
@click.option("--grid", "name", type=click.Choice(list(GRIDS)), default="queues", show_default=True)
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), help="write the page there; default: print it")
@click.option(
    "--results", type=click.Path(path_type=Path), help="folder of the kernel's runs, to go on where it stopped"
)
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
@click.option("--finished", is_flag=True, help="only what the kernel has run already; the page says what is missing")
def main(name: str, out: Path | None, results: Path | None, jobs: int | None, finished: bool) -> None:
    """Run the grid on both engines and compare; beside the page goes the complete table (.csv)."""
    kernel = built()
    make, words = GRIDS[name]
    points = make()
    with progress() as report_progress:
        runs = Grid(results, jobs, only_finished=finished, progress=report_progress)
        cells = runs.cells(points)
    again = Grid(results, jobs, only_finished=finished).repeated(cells)
    complete = out.with_suffix(".csv") if out else None
    beside = complete.name if complete else None
    text = page(points, cells, f"Linux {kernel.version}, build {kernel.digest}", again, beside, words)
    if out is None or complete is None:
        click.echo(text)
    else:
        write_file(out, lambda file: file.write(text.encode()))
        write_file(complete, lambda file: table(cells).write_csv(file, float_precision=3))
    click.echo(f"{sum(cell.agrees for cell in cells)} of {len(cells)} cells agree; {len(points) - len(cells)} not run")


if __name__ == "__main__":
    main()
