"""Reproduction of a figure: its runs, the verdicts on its claims, and the cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sojourn.engines import SIMULATE
from sojourn.papers import Paper, paper
from sojourn.papers.engine import EngineMapping, on_engine, study_of
from sojourn.papers.judge import claims_of, judge
from sojourn.papers.original import add_original
from sojourn.papers.setup import Assumed, concerning

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from sojourn.base.progress import Progress
    from sojourn.papers.judge import Measurements, Verdict
    from sojourn.studies.study import StudyResult


class HasCost(Protocol):
    """An object with a known cost."""

    @property
    def spent(self) -> Cost:
        """Cost of the object."""


@dataclass(frozen=True)
class Cost:
    """Cost of simulation; runs found among earlier results cost nothing."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    packets: int = 0
    """Packets that the bottlenecks sent in the simulated runs, without those of the warm-up."""
    found: int = 0
    """Packets of the runs that were found."""

    @classmethod
    def total(cls, parts: Iterable[HasCost]) -> Cost:
        """Total cost of several objects."""
        all_spent = [part.spent for part in parts]
        return cls(
            sum(one.wall_s for one in all_spent),
            sum(one.cpu_s for one in all_spent),
            sum(one.packets for one in all_spent),
            sum(one.found for one in all_spent),
        )

    @property
    def packets_per_cpu_s(self) -> float | None:
        """Speed of the simulation including writing its results; None if every run was found."""
        return self.packets / self.cpu_s if self.packets and self.cpu_s else None

    def texts(self) -> dict[str, str]:
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
    """A reproduced figure."""

    paper: Paper
    figure_id: str
    study: StudyResult
    measured: Measurements
    verdicts: list[Verdict]
    assumed: Assumed = field(default_factory=dict)
    """Non-default assumptions that concern this figure."""
    spent: Cost = Cost()
    engine: str = SIMULATE
    short: bool = False
    """Whether it was made by the figure's short study, which no claim is about."""
    there: EngineMapping = field(default_factory=EngineMapping)
    """Substitutes for the paper's queue managers on that engine, and omissions."""

    @property
    def shares(self) -> pl.DataFrame | None:
        """Closeness of published runs to ours, if the figure compares them one by one."""
        shares: Callable[[Measurements], pl.DataFrame] | None = getattr(
            self.paper.figure(self.figure_id), "shares", None
        )
        return shares(self.measured) if shares else None

    @property
    def ran_by(self) -> str:
        """Engine that ran it, with its build if that matters."""
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
    """Run a figure's study and judge its claims.

    `seeds` replaces the number of the study file, `quick` limits it to three; `assumed` has values of the paper's
    assumptions by name. An emulated `engine` takes real time, so its default is one seed. A `short` study shows the
    same in less time, and no claim is about it.
    """
    found, assumed = paper(paper_id), assumed or {}
    module = found.figure(figure_id)
    if engine == "emulate" and seeds is None and not quick:
        seeds = 1
    study = study_of(found, figure_id, engine, short=short, quick=quick, seeds=seeds, assumed=assumed)
    there = EngineMapping()
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
    # An unfaithful run judges nothing.
    judged = None if starved else measured
    verdicts = judge(claims, judged, engine, as_published=not short, left_out=left_out, full=full)
    verdicts = add_original(claims, verdicts, found.original(figure_id))
    concerned = concerning(found.assumptions, assumed, figure_id)
    return Reproduction(found, figure_id, result, measured, verdicts, concerned, spent, engine, short, there)


def not_faithful(result: StudyResult) -> dict[str, str]:
    """Reasons why emulated runs are not faithful, by their names in the study; empty if all are."""
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
    """CPU time of this process and of its reaped children, such as guests."""
    return sum(os.times()[:4])


def _spent(result: StudyResult, wall_s: float, cpu_s: float) -> Cost:
    packets = {False: 0, True: 0}
    for one in {id(one): one for one in result.results}.values():  # a run shared by two points was done once
        packets[one.found] += int(one.summary["packets"][0])
    return Cost(wall_s, cpu_s, packets[False], packets[True])
