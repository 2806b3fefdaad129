"""Published results and their reproduction: a paper is a folder here and a line in `PAPERS`.

A paper's package provides the members of `PaperModule`. `FIGURES` maps a figure's id to its module: a new figure is a
file and a line there. A figure's module provides the members of `FigureModule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Protocol, cast

from sojourn.base.errors import InputError, known_name
from sojourn.papers.judge import Measurements, Verdict, claims_of, judge
from sojourn.papers.original import Original, add_original
from sojourn.papers.setup import Assumption, Setting

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from sojourn.studies.study import StudyResult

PAPERS = {
    "schwarzkopf2016": "sojourn.papers.schwarzkopf2016",
    "gao2015": "sojourn.papers.gao2015",
    "khademi2013": "sojourn.papers.khademi2013",
    "ns2-codel-variants": "sojourn.papers.ns2_codel_variants",
    "cs244-2015": "sojourn.papers.cs244_2015",
    "nichols2012": "sojourn.papers.nichols2012",
}
QUICK_SEEDS = 3


class PaperModule(Protocol):
    """Interface of a paper's package.

    A paper that can run on the real kernel also has `on_kernel(aqm, scenario)`. It returns the keys of the canonical
    scenario to set for a queue manager of a study, or raises `LackingError` if the kernel has no such manager. If a
    search over the assumptions should use only some figures, `SEARCHED` has their ids.
    """

    TITLE: str
    FIGURES: dict[str, str]
    """Modules by id of the figure, in the order in which they are made."""
    SETUP: Sequence[Setting]
    """The paper's statements about its set-up, and our choices."""
    ASSUMPTIONS: dict[str, Assumption]
    """Unstated parts of the set-up that `--assume` can vary, by name."""
    METHODS: str
    """Description of the simulations for a methods section; `[1]` is the first reference."""
    NEAREST: Mapping[str, str]
    """For each claim that fails: the experiment that came nearest, and the missing information."""
    REFERENCES: Sequence[str]
    """The paper itself, then the other references of a methods section."""


class FigureModule(Protocol):
    """Interface of a figure's module.

    Optional members: `EMULATED`, the study for real programs in place of `STUDY`; `SHORT`, a study that shows the same
    in less time; `original()`, measurements of the authors' own runs or their tool (an `Original`, or None);
    `points(study, load)`, the study with additional runs, such as those of a table of data, or of other study files,
    which `load` reads by name; `shares(measured)`, a table of how close published runs are to ours: the columns that
    name a row, their number `runs`, and floats, which are shares; and `ON_REQUEST`, the reason why the figure is made
    only if it is named.
    """

    TITLE: str
    STUDY: str
    """Name of the study file beside the module: one set-up for the whole figure."""

    def measure(self, result: StudyResult) -> Measurements:
        """Compute the claims' values from the runs."""

    def draw(self, result: StudyResult, verdicts: Sequence[Verdict], /) -> Figure:
        """Draw the figure in the paper's form, or published against measured."""


@dataclass(frozen=True)
class Paper:
    """A paper with figures that can be reproduced."""

    id: str
    about: PaperModule

    @property
    def title(self) -> str:
        """Authors and subject."""
        return self.about.TITLE

    @property
    def figures(self) -> dict[str, str]:
        """Modules by id of the figure."""
        return self.about.FIGURES

    @property
    def assumptions(self) -> dict[str, Assumption]:
        """Unstated parts of the set-up, by name."""
        return self.about.ASSUMPTIONS

    @property
    def searched(self) -> tuple[str, ...]:
        """Figures used by a search over the assumptions: those with claims, or those named by the package."""
        of_claims = {claim["figure"] for claim in claims_of(self.id)}
        named: tuple[str, ...] = getattr(self.about, "SEARCHED", tuple(self.figures))
        return tuple(figure_id for figure_id in named if figure_id in of_claims)

    def figure_name(self, figure_id: str) -> str:
        """Id of a figure in the paper's spelling; raises `InputError` with the list of figures if it is unknown."""
        return known_name(f"figure of {self.id}", figure_id, self.figures)

    def figure(self, figure_id: str) -> FigureModule:
        """Module of a figure; raises `InputError` with the list of figures if it is unknown."""
        module: FigureModule = import_module(self.figures[self.figure_name(figure_id)])
        return module

    def original(self, figure_id: str) -> Original | None:
        """Measurements of the authors' own runs, or of their tool, for a figure; None if there are none."""
        found: Callable[[], Original | None] = getattr(self.figure(figure_id), "original", lambda: None)
        return found()

    def not_yet(self, left_out: Mapping[str, str] | None = None) -> list[Verdict]:
        """Claims about figures that cannot be made yet, or that are `left_out` for a reason, as not-run verdicts."""
        left_out, verdicts = left_out or {}, []
        for claim in claims_of(self.id):
            figure_id = claim["figure"]
            if figure_id in left_out:
                not_run = judge([claim], None, left_out={figure_id: left_out[figure_id]})
                verdicts += add_original([claim], not_run, self.original(figure_id))
            elif figure_id not in self.figures:
                verdicts += judge([claim], None)
        return verdicts

    @contextmanager
    def study_file(self, figure_id: str, engine: str = "simulate", *, short: bool = False) -> Iterator[Path]:
        """Path of a figure's study file, of its variant for real programs, or of its short variant."""
        package, _, _ = self.figures[figure_id].rpartition(".")
        module = self.figure(figure_id)
        name = getattr(module, "SHORT", None) if short else module.STUDY
        if engine == "emulate" and not short:
            name = getattr(module, "EMULATED", name)
        if name is None:
            raise InputError(f"--short: {figure_id} of {self.id} has no short study; leave it out")
        with as_file(files(package)) as folder:
            yield folder / name


def paper(paper_id: str) -> Paper:
    """Return a paper by its id; raises `InputError` with the list of papers if it is unknown."""
    paper_id = known_name("paper", paper_id, PAPERS)
    return Paper(paper_id, cast(PaperModule, import_module(PAPERS[paper_id])))
