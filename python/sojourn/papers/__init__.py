"""Published results and how to make them again: a paper is a folder here and a line in `PAPERS`.

A paper's package has `TITLE` and `FIGURES`, which maps a figure's id to its module: a new figure is a file and a line
there. A figure's module has what `FigureModule` lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Protocol

from sojourn.errors import InputError, unknown

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from sojourn.judge import Measured, Verdict
    from sojourn.runner import Progress
    from sojourn.study import StudyResult

PAPERS = {
    "schwarzkopf2016": "sojourn.papers.schwarzkopf2016",
    "ns2-codel-variants": "sojourn.papers.ns2_codel_variants",
    "cs244-2015": "sojourn.papers.cs244_2015",
}
QUICK_SEEDS = 3


class FigureModule(Protocol):
    """What the module of a figure offers."""

    TITLE: str
    STUDY: str
    """Name of the study file beside the module: one set-up for the whole figure."""

    def measure(self, result: StudyResult) -> Measured:
        """Reduce the runs to what the claims are about."""

    def draw(self, result: StudyResult, verdicts: Sequence[Verdict], /) -> Figure:
        """Draw the figure in the paper's form, or published against measured."""


@dataclass(frozen=True)
class Paper:
    """A paper of which some figures can be made again."""

    id: str
    title: str
    figures: dict[str, str]
    """Modules by id of the figure."""

    def figure(self, figure_id: str) -> FigureModule:
        """Module of a figure; refused with those that exist if there is none such."""
        if figure_id not in self.figures:
            raise _missing(f"figure of {self.id}", figure_id, list(self.figures), "figure")
        module: FigureModule = import_module(self.figures[figure_id])
        return module


@dataclass(frozen=True)
class Reproduction:
    """A figure made again."""

    paper: Paper
    figure_id: str
    study: StudyResult
    measured: Measured
    verdicts: list[Verdict]


def paper(paper_id: str) -> Paper:
    """Return a paper by its id; refused with those that exist if there is none such."""
    if paper_id not in PAPERS:
        raise _missing("paper", paper_id, list(PAPERS), "paper")
    package = import_module(PAPERS[paper_id])
    return Paper(paper_id, package.TITLE, package.FIGURES)


def reproduce(
    paper_id: str,
    figure_id: str,
    *,
    seeds: int | None = None,
    root: Path | None = None,
    jobs: int | None = None,
    command: Sequence[str] = (),
    progress: Progress | None = None,
) -> Reproduction:
    """Run what a figure needs and judge its claims; `seeds` replaces the number of the study file."""
    from sojourn.judge import claims_of, judge
    from sojourn.study import Study

    found = paper(paper_id)
    module = found.figure(figure_id)
    package, _, _ = found.figures[figure_id].rpartition(".")
    with as_file(files(package) / module.STUDY) as path:
        study = Study.load(path, seeds=seeds)
    result = study.run(root, jobs=jobs, command=command, progress=progress)
    measured = module.measure(result)
    return Reproduction(found, figure_id, result, measured, judge(claims_of(paper_id, figure_id), measured))


def _missing(kind: str, name: str, known: list[str], field: str) -> InputError:
    """Tell what has claims but cannot be made again yet from what nobody has heard of."""
    from sojourn.judge import all_claims

    if any(claim[field] == name for claim in all_claims()):
        return InputError(f'{kind} "{name}" cannot be made again yet; there is {", ".join(known)}')
    return unknown(kind, name, known)
