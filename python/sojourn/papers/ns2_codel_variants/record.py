"""Runs the studies on ns-2 itself: ``python -m sojourn.papers.ns2_codel_variants.record --results DIR -o FILE``.

Tail drop is ns-2's own; the other schemes are our queue managers inside ns-2. FILE is the input of `original.py`. It is
rewritten after each point. Complete points in it are not repeated, nor are runs in DIR, so the command can be stopped
and resumed, also on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import polars as pl

from sojourn.base.files import write_file
from sojourn.base.progress import progress
from sojourn.papers import paper
from sojourn.papers.engine import study_of
from sojourn.papers.ns2_codel_variants.conclusion import POINT, conclusion_cells
from sojourn.papers.ns2_codel_variants.original import NORMAL
from sojourn.studies.runs.runner import Run, Runner
from sojourn.studies.study import Point, Study, StudyResult

OWN = "droptail"
"""The scheme that ns-2 has itself."""
SWEPT = {"bandwidth": "link.rate", "ftps": "flows.0.count", "rtt": "flows.0.rtt"}
"""Key by name of a sweep; in the order of `NORMAL`."""


@click.command()
@click.option("--results", type=click.Path(path_type=Path), required=True, help="folder of the runs")
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), required=True, help="the table")
@click.option("--over", type=click.Choice(list(SWEPT)), multiple=True, help="only these sweeps; default: all")
@click.option("--seeds", type=int, help="default: as many as the study has")
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
def main(results: Path, out: Path, over: tuple[str, ...], seeds: int | None, jobs: int | None) -> None:
    """Run every point of the sweeps with every scheme, few FTPs before many."""
    study = study_of(paper("ns2-codel-variants"), "conclusion", seeds=seeds)
    found = [pl.read_csv(out)] if out.exists() else []
    with progress() as report:
        runner = Runner(results, jobs, progress=report)
        for part in parts(study, over or tuple(SWEPT)):
            if not (found and is_whole(found[0], part)):
                found.append(conclusion_cells(_run(part, runner)))
                _write(merge_tables(found), out)


def is_whole(rows: pl.DataFrame, part: Study) -> bool:
    """Whether a table has every run of the schemes at a point."""
    place = dict(zip(POINT, _place(part.points[0]), strict=True))
    there = rows.filter(*(pl.col(name) == value for name, value in place.items()), pl.col("seed").is_in(part.seeds))
    return there.select("scheme", "seed").unique().height == len(part.points) * len(part.seeds)


def merge_tables(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Merge the rows of several tables, each run once, in order."""
    keys = ["scheme", *POINT, "seed"]
    same = [table.with_columns(pl.col(*POINT).cast(pl.Float64)) for table in tables]
    return pl.concat(same).unique(keys, keep="last").sort(keys)


def parts(study: Study, over: tuple[str, ...]) -> Iterator[Study]:
    """Yield the schemes at one point after another, for the points that deviate from `NORMAL` in `over` only."""
    places: dict[tuple[float, ...], list[Point]] = {}
    for point in study.points:
        places.setdefault(_place(point), []).append(point)
    for place, points in sorted(places.items(), key=lambda item: item[0][1]):
        unusual = {name for name, value, usual in zip(SWEPT, place, NORMAL.values(), strict=True) if value != usual}
        if unusual <= set(over):
            yield replace(study, points=points)


def _place(point: Point) -> tuple[float, ...]:
    return tuple(float(str(point.values[path]).split()[0]) for path in SWEPT.values())


def _run(study: Study, runner: Runner) -> StudyResult:
    """Run ns-2's own scheme by its own queue, the others by the plugin."""
    engines = ["ns2" if point.values["link.aqm"] == OWN else "ns2-plugin" for point in study.points]
    chosen = zip(study.points, engines, strict=True)
    return StudyResult(
        study, runner([Run(point.scenario, seed, engine) for point, engine in chosen for seed in study.seeds])
    )


def _write(table: pl.DataFrame, out: Path) -> None:
    write_file(out, lambda file: table.write_csv(file, float_precision=6))


if __name__ == "__main__":
    main()
