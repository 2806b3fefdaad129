"""Making a figure again: running what it needs, judging its claims, and what that cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sojourn.engines import SIMULATE
from sojourn.papers import Paper, paper
from sojourn.papers.engine import OnEngine, on_engine, study_of
from sojourn.papers.judge import claims_of, judge
from sojourn.papers.original import beside_original
from sojourn.papers.setup import Assumed, concerning

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from sojourn.base.progress import Progress
    from sojourn.papers.judge import Measured, Verdict
    from sojourn.studies.study import StudyResult


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
    def shares(self) -> pl.DataFrame | None:
        """How near published runs are to ours, where the figure compares them one by one."""
        shares: Callable[[Measured], pl.DataFrame] | None = getattr(self.paper.figure(self.figure_id), "shares", None)
        return shares(self.measured) if shares else None

    @property
    def ran_by(self) -> str:
        """What ran it, with its build where that matters."""
        return self.study.results[0].engine


def reproduce(
    paper_id: str,
    figure_id: str,
    *,
    seeds: int | None = None,
    assumed: Mapping[str, Any] | None = None,
    engine: str = SIMULATE,
    short: bool = False,
    quick: bool = False,
    root: Path | None = None,
    jobs: int | None = None,
    command: Sequence[str] = (),
    progress: Progress | None = None,
) -> Reproduction:
    """Run what a figure needs and judge its claims.

    `seeds` replaces the number of the study file, `quick` takes three where it has more; `assumed` has values of the
    paper's assumptions by name. `engine` is what runs it: an emulation takes as long as it shows, so one seed is enough
    if not told otherwise. A `short` study shows the same in less time, and no claim is about it.
    """
    found, assumed = paper(paper_id), assumed or {}
    module = found.figure(figure_id)
    if engine == "emulate" and seeds is None and not quick:
        seeds = 1
    study = study_of(found, figure_id, engine, short=short, quick=quick, seeds=seeds, assumed=assumed)
    there = OnEngine()
    if engine != SIMULATE:
        study, there = on_engine(found, study, engine)
    wall_s, cpu_s = time.monotonic(), _cpu_s()
    result = study.run(root, jobs=jobs, command=command, progress=progress)
    spent = _spent(result, time.monotonic() - wall_s, _cpu_s() - cpu_s)
    measured = module.measure(result)
    claims = claims_of(paper_id, figure_id)
    full = study.own_seeds
    starved = not_faithful(result)
    left_out = {**there.left_out, **starved}
    # A run that says of itself that it is not faithful judges nothing.
    judged = None if starved else measured
    verdicts = judge(claims, judged, engine, as_published=not short, left_out=left_out, full=full)
    verdicts = beside_original(claims, verdicts, found.original(figure_id))
    concerned = concerning(found.assumptions, assumed, figure_id)
    return Reproduction(found, figure_id, result, measured, verdicts, concerned, spent, engine, short, there)


def not_faithful(result: StudyResult) -> dict[str, str]:
    """Why emulated runs are not to be trusted, by what the study calls them; empty if all are."""
    found: dict[str, str] = {}
    for values, one in result.with_values():
        faults = one.totals.get("emulation", {}).get("faults", [])
        if faults:
            name = ", ".join(str(value) for value in values.values())
            found[name] = f"{name}, seed {one.seed}: not faithful: {faults[0]}"
    return found


def share_text(value: Any) -> str:
    """A cell of `Reproduction.shares` as text: floats are shares."""
    if value is None:
        return "–"
    return f"{value:.1%}" if isinstance(value, float) else str(value)


def _cpu_s() -> float:
    """CPU time of this process and of those that it has waited for, such as guests."""
    return sum(os.times()[:4])


def _spent(result: StudyResult, wall_s: float, cpu_s: float) -> Spent:
    packets = {False: 0, True: 0}
    for one in {id(one): one for one in result.results}.values():  # a run that two points share was done once
        packets[one.found] += int(one.summary["packets"][0])
    return Spent(wall_s, cpu_s, packets[False], packets[True])
