"""Common code of the papers' tests: all figures for one seed, synthetic tables, relations on shuffled tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import product
from pathlib import Path

import polars as pl

from sojourn.papers import paper
from sojourn.papers.judge import Measurements, Relation
from sojourn.papers.reproduction import Reproduction, reproduce
from sojourn.studies.study import Study, StudyResult

CLAIM = {
    "id": "S0-T1-CoDel-1-mean",
    "paper": "p",
    "figure": "f",
    "kind": "value",
    "metric": "m",
    "unit": "ms",
    "expected": 10.0,
    "tight_lo": 9.0,
    "tight_hi": 11.0,
    "loose_lo": 5.0,
    "loose_hi": 15.0,
}
"""A synthetic claim about a value."""
SHUFFLES = 40

Value = float | str | bool
Row = Mapping[str, Value]


def every_figure(paper_id: str, root: Path) -> dict[str, Reproduction]:
    """All figures of a paper, for one seed."""
    return {figure: reproduce(paper_id, figure, seeds=1, root=root) for figure in paper(paper_id).figures}


def short_studies(
    paper_id: str, root: Path, changes: str, *, whole: Collection[str] = (), without: Collection[str] = ()
) -> dict[str, StudyResult]:
    """Studies of all figures for one seed; those not in `whole` are overridden by lines such as `duration = "12 s"`."""
    found, done = paper(paper_id), {}
    for figure in [name for name in found.figures if name not in without]:
        with found.study_file(figure) as file:
            short = root / f"{figure}.toml"
            short.write_text(f'extends = "{file}"\n{"" if figure in whole else changes}')
            done[figure] = Study.load(short, seeds=1).run(root / "results")
    return done


def measured_of(paper_id: str, studies: Mapping[str, StudyResult]) -> dict[str, Measurements]:
    """Measurements of all figures' studies."""
    return {figure: paper(paper_id).figure(figure).measure(result) for figure, result in studies.items()}


def relations_of(paper_id: str) -> dict[str, tuple[str, Relation]]:
    """Figure and function of each relation of a paper, by claim id."""
    return {
        claim: (figure, relation)
        for figure in paper(paper_id).figures
        for claim, relation in paper(paper_id).figure(figure).RELATIONS.items()  # type: ignore[attr-defined]
    }


def table(keys: Mapping[str, Collection[Value]], cell: Callable[[Row], Row]) -> pl.DataFrame:
    """One row per combination of the keys, with the columns returned by `cell`."""
    rows = [dict(zip(keys, combination, strict=True)) for combination in product(*keys.values())]
    return pl.DataFrame([row | dict(cell(row)) for row in rows])


def assert_true_but_false_when_shuffled(relation: Relation, cells: pl.DataFrame, keys: Collection[str]) -> None:
    """The relation holds for the cells, and for few tables with shuffled values."""
    assert relation(cells)
    values = [name for name in cells.columns if name not in keys]
    wrong = sum(not relation(cells.with_columns(pl.col(values).shuffle(seed=seed))) for seed in range(SHUFFLES))
    assert wrong > SHUFFLES / 2
