"""Published results and how to make them again: a paper is a folder here and a line in `PAPERS`.

A paper's package has what `PaperModule` lists. `FIGURES` maps a figure's id to its module: a new figure is a file and
a line there. A figure's module has what `FigureModule` lists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Protocol, cast

from sojourn.engines import SIMULATE
from sojourn.errors import InputError, unknown
from sojourn.papers.engine import OnEngine, on_engine
from sojourn.papers.setup import Assumed, Assumption, Setting, concerning, sets_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from sojourn.judge import Measured, Verdict
    from sojourn.runner import Progress
    from sojourn.study import StudyResult

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
    """What the package of a paper offers.

    One that the real kernel can make also has `on_kernel(aqm, scenario)`. It returns the keys of the canonical scenario
    to set where a study names this queue manager, or raises `LackingError` if the kernel has none such.
    """

    TITLE: str
    FIGURES: dict[str, str]
    """Modules by id of the figure, in the order in which they are made."""
    SETUP: Sequence[Setting]
    """What the paper states, and what we take where it does not."""
    ASSUMPTIONS: dict[str, Assumption]
    """What it leaves unsaid and `--assume` can vary, by name."""
    METHODS: str
    """What was simulated, in sentences for a methods section; `[1]` is the first reference."""
    REFERENCES: Sequence[str]
    """The paper itself, then what else a methods section has to cite."""


class FigureModule(Protocol):
    """What the module of a figure offers.

    It may also have `EMULATED`, the study that real programs run in place of `STUDY`, and `SHORT`, one that shows the
    same in less time.
    """

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
        """What the paper leaves unsaid, by name."""
        return self.about.ASSUMPTIONS

    def figure(self, figure_id: str) -> FigureModule:
        """Module of a figure; refused with those that exist if there is none such."""
        if figure_id not in self.figures:
            raise _missing(f"figure of {self.id}", figure_id, list(self.figures), "figure")
        module: FigureModule = import_module(self.figures[figure_id])
        return module

    def not_yet(self, left_out: Mapping[str, str] | None = None) -> list[Verdict]:
        """Claims about figures that cannot be made yet, or that are `left_out` for a reason, as not run."""
        from sojourn.judge import claims_of, judge

        left_out, verdicts = left_out or {}, []
        for claim in claims_of(self.id):
            figure_id = claim["figure"]
            if figure_id in left_out:
                verdicts += judge([claim], None, left_out={figure_id: left_out[figure_id]})
            elif figure_id not in self.figures:
                verdicts += judge([claim], None)
        return verdicts

    @contextmanager
    def study_file(self, figure_id: str, engine: str = "simulate", *, short: bool = False) -> Iterator[Path]:
        """Path of a figure's study file, of the one that real programs can run, or of a short one."""
        package, _, _ = self.figures[figure_id].rpartition(".")
        module = self.figure(figure_id)
        name = getattr(module, "SHORT", None) if short else module.STUDY
        if engine == "emulate" and not short:
            name = getattr(module, "EMULATED", name)
        if name is None:
            raise InputError(f"--short: {figure_id} of {self.id} has no short study; leave it out")
        with as_file(files(package)) as folder:
            yield folder / name


class Spending(Protocol):
    """What knows its cost."""

    @property
    def spent(self) -> Spent:
        """What it cost."""


@dataclass(frozen=True)
class Spent:
    """What simulating cost; runs that were found among earlier results cost nothing."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    packets: int = 0
    """Packets that the bottlenecks sent in the simulated runs, without those of the warm-up."""
    found: int = 0
    """The same of the runs that were found."""

    @classmethod
    def total(cls, parts: Iterable[Spending]) -> Spent:
        """What several things cost together."""
        all_spent = [part.spent for part in parts]
        return cls(
            sum(one.wall_s for one in all_spent),
            sum(one.cpu_s for one in all_spent),
            sum(one.packets for one in all_spent),
            sum(one.found for one in all_spent),
        )

    @property
    def packets_per_cpu_s(self) -> float | None:
        """Speed of the simulation with the writing of its results; None if every run was found."""
        return self.packets / self.cpu_s if self.packets and self.cpu_s else None

    def told(self) -> dict[str, str]:
        """Packets and time, as texts by name."""
        speed = self.packets_per_cpu_s
        rate = f", {speed:,.0f} packets per CPU second" if speed else ""
        found = f"; {self.found:,} in runs found among earlier results" if self.found else ""
        return {
            "packets": f"{self.packets:,} through the bottleneck{rate}{found}",
            "time": f"{self.wall_s:.1f} s for simulating, {self.cpu_s:.1f} s of CPU time",
        }


@dataclass(frozen=True)
class Reproduction:
    """A figure made again."""

    paper: Paper
    figure_id: str
    study: StudyResult
    measured: Measured
    verdicts: list[Verdict]
    assumed: Assumed = field(default_factory=dict)
    """What was assumed other than usual, as far as it is about this figure."""
    spent: Spent = Spent()
    engine: str = SIMULATE
    short: bool = False
    """Whether it was made by the figure's short study, which no claim is about."""
    there: OnEngine = field(default_factory=OnEngine)
    """What stood for the paper's queue managers on that engine, and what was left out."""

    @property
    def ran_by(self) -> str:
        """What ran it, with its build where that matters."""
        return self.study.results[0].engine


def paper(paper_id: str) -> Paper:
    """Return a paper by its id; refused with those that exist if there is none such."""
    if paper_id not in PAPERS:
        raise _missing("paper", paper_id, list(PAPERS), "paper")
    return Paper(paper_id, cast(PaperModule, import_module(PAPERS[paper_id])))


def reproduce(
    paper_id: str,
    figure_id: str,
    *,
    seeds: int | None = None,
    assumed: Mapping[str, Any] | None = None,
    engine: str = SIMULATE,
    short: bool = False,
    root: Path | None = None,
    jobs: int | None = None,
    command: Sequence[str] = (),
    progress: Progress | None = None,
) -> Reproduction:
    """Run what a figure needs and judge its claims.

    `seeds` replaces the number of the study file; `assumed` has values of the paper's assumptions by name. `engine` is
    what runs it: an emulation takes as long as it shows, so one seed is enough if not told otherwise. A `short` study
    shows the same in less time, and no claim is about it.
    """
    from sojourn.judge import claims_of, judge
    from sojourn.study import Study

    found, assumed = paper(paper_id), assumed or {}
    module = found.figure(figure_id)
    if engine == "emulate" and seeds is None:
        seeds = 1
    with found.study_file(figure_id, engine, short=short) as path:
        study = Study.load(path, seeds=seeds, sets=sets_of(found.assumptions, assumed, figure_id))
    there = OnEngine()
    if engine != SIMULATE:
        study, there = on_engine(found, study, engine)
    wall_s, cpu_s = time.monotonic(), _cpu_s()
    result = study.run(root, jobs=jobs, command=command, progress=progress)
    spent = _spent(result, time.monotonic() - wall_s, _cpu_s() - cpu_s)
    measured = module.measure(result)
    claims = claims_of(paper_id, figure_id)
    full = study.own_seeds
    verdicts = judge(claims, measured, engine, as_published=not short, left_out=there.left_out, full=full)
    concerned = concerning(found.assumptions, assumed, figure_id)
    return Reproduction(found, figure_id, result, measured, verdicts, concerned, spent, engine, short, there)


def _cpu_s() -> float:
    """CPU time of this process and of those that it has waited for, such as guests."""
    return sum(os.times()[:4])


def _spent(result: StudyResult, wall_s: float, cpu_s: float) -> Spent:
    packets = {False: 0, True: 0}
    for one in {id(one): one for one in result.results}.values():  # a run that two points share was done once
        packets[one.found] += int(one.summary["packets"][0])
    return Spent(wall_s, cpu_s, packets[False], packets[True])


def _missing(kind: str, name: str, known: list[str], field: str) -> InputError:
    """Tell what has claims but cannot be made again yet from what nobody has heard of."""
    from sojourn.judge import all_claims

    if any(claim[field] == name for claim in all_claims()):
        return InputError(f'{kind} "{name}" cannot be made again yet; there is {", ".join(known)}')
    return unknown(kind, name, known)
