"""`sojourn sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli import options

if TYPE_CHECKING:
    import polars as pl

    from sojourn.study import Study


@click.command("sweep")
@click.argument("study", type=click.Path(path_type=Path))
@options.jobs
@options.out
@options.as_json
def command(study: Path, jobs: int | None, out: Path, as_json: bool) -> None:
    """Run STUDY, a scenario with a table [sweep] of lists and seeds, on all cores.

    Finished runs are kept: a study that was interrupted goes on where it stopped.
    """
    from sojourn.cli import output
    from sojourn.cli.progress import progress
    from sojourn.files import write_file
    from sojourn.metrics import aggregate
    from sojourn.study import Study

    loaded = Study.load(study)
    with progress() as report:
        result = loaded.run(out, jobs=jobs, command=options.command_line(), progress=report)
    runs = result.runs
    summaries = write_file(out / f"{loaded.name}.parquet", lambda file: runs.write_parquet(file))
    by = loaded.swept or ["link.aqm"]
    table = aggregate(runs if loaded.swept else _with_aqm(runs, loaded), by)
    if as_json:
        folders = [str(one.folder) for one in result.results]
        output.print_json(
            {"table": table.to_dicts(), "seeds": loaded.seeds, "folders": folders, "runs": str(summaries)}
        )
        return
    title = f"{loaded.name}: {len(loaded.points)} points, {len(loaded.seeds)} seeds"
    output.summary_table(table, by, title=title)
    click.echo(f"Results: {out}, one row per run in {summaries}")


def _with_aqm(runs: pl.DataFrame, study: Study) -> pl.DataFrame:
    import polars as pl

    return runs.with_columns(pl.lit(study.points[0].scenario.aqm).alias("link.aqm"))
