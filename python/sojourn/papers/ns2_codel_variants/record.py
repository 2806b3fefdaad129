"""Runs the studies on ns-2 itself: ``python -m sojourn.papers.ns2_codel_variants.record --results DIR -o FILE``.

Tail drop is ns-2's own; the other schemes are our queue managers inside ns-2. FILE is what `original.py` reads. It is
written anew after each point, and runs that are in DIR are not repeated, so the command can be stopped and go on.
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
from sojourn.runs.runner import Run, Runner
from sojourn.studies.study import Point, Study, StudyResult

OWN = "droptail"
"""The scheme that ns-2 has itself."""
SWEPT = {"bandwidth": "link.rate", "ftps": "flows.0.count", "rtt": "flows.0.rtt"}
"""By the name of a sweep; in the order of `NORMAL`."""


@click.command()
@click.option("--results", type=click.Path(path_type=Path), required=True, help="folder of the runs")
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), required=True, help="the table")
@click.option("--over", type=click.Choice(list(SWEPT)), multiple=True, help="only these sweeps; default: all")
@click.option("--seeds", type=int, help="default: as many as the study has")
@click.option("--jobs", type=int, help="runs at a time; default: all cores")
def main(results: Path, out: Path, over: tuple[str, ...], seeds: int | None, jobs: int | None) -> None:
    """Run every point of the sweeps with every scheme, few FTPs before many."""
    study = study_of(paper("ns2-codel-variants"), "conclusion", seeds=seeds)
    found: list[pl.DataFrame] = []
    with progress() as report:
        runner = Runner(results, jobs, progress=report)
        for part in parts(study, over or tuple(SWEPT)):
            found.append(conclusion_cells(_run(part, runner)))
            _write(pl.concat(found).sort("scheme", *POINT, "seed"), out)


def parts(study: Study, over: tuple[str, ...]) -> Iterator[Study]:
    """Yield the schemes at one point after the other, of the points at which nothing but `over` is unusual."""
    places: dict[tuple[float, ...], list[Point]] = {}
    for point in study.points:
        place = tuple(float(str(point.values[path]).split()[0]) for path in SWEPT.values())
        places.setdefault(place, []).append(point)
    for place, points in sorted(places.items(), key=lambda item: item[0][1]):
        unusual = {name for name, value, usual in zip(SWEPT, place, NORMAL.values(), strict=True) if value != usual}
        if unusual <= set(over):
            yield replace(study, points=points)


def _run(study: Study, runner: Runner) -> StudyResult:
    """Run the scheme that ns-2 has by its own queue, the others by the plugin."""
    engines = ["ns2" if point.values["link.aqm"] == OWN else "ns2-plugin" for point in study.points]
    chosen = zip(study.points, engines, strict=True)
    return StudyResult(
        study, runner([Run(point.scenario, seed, engine) for point, engine in chosen for seed in study.seeds])
    )


def _write(table: pl.DataFrame, out: Path) -> None:
    write_file(out, lambda file: table.write_csv(file, float_precision=6))


if __name__ == "__main__":
    main()
