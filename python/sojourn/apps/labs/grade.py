"""Grading a solution: its goals, under every setting, with every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.apps.labs.exercise import Exercise, spelled_keys
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.sentences import parse


@dataclass(frozen=True)
class Grade:
    """Outcome of a goal."""

    goal: str
    setting: str
    """Keys with values; empty if an exercise has no settings."""
    is_reached: bool
    """With every seed."""
    values: tuple[float, ...]
    """The left side of the goal, seed by seed."""
    unit: str

    @property
    def line(self) -> str:
        """One line: whether it is reached, the goal, and the measured values."""
        least, most = min(self.values), max(self.values)
        measured = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        where = f" with {self.setting}" if self.setting else ""
        return f"{'reached' if self.is_reached else 'missed '}  {self.goal}{where}: {measured} {self.unit}".rstrip()


def grade(about: Exercise, solution: Scenario) -> list[Grade]:
    """Run a solution and judge each goal under each setting."""
    grades = []
    for setting in about.settings:
        scenario = solution.replace(setting)
        runs = [scenario.run(seed, progress=False) for seed in about.seeds]
        grades += [_judged(goal, spelled_keys(setting), scenario, runs) for goal in about.goals]
    return grades


def _judged(goal: str, setting: str, scenario: Scenario, runs: Sequence[Result]) -> Grade:
    sentence = parse(goal, "goals", [scenario])
    [comparison] = sentence.comparisons
    values = tuple(sentence.sides([run])[0][0] for run in runs)
    return Grade(goal, setting, all(sentence.holds([run]) for run in runs), values, comparison.unit)
