"""Varied keys that change no run, such as the rate of an unused link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import Run, Runner


@dataclass(frozen=True)
class Trial:
    """A run of a study: its swept values by dotted path, and its packets' fingerprint."""

    values: Mapping[str, Any]
    seed: int
    scenario: Scenario
    fingerprint: str


def idle_axes(trials: Sequence[Trial], axes: Sequence[Sequence[str]]) -> list[str]:
    """A sentence for each of `axes` (paths that change together) whose values give equal fingerprints everywhere.

    Everywhere means with each seed and all other swept values. The warm-up is exempt, because it changes no packet.
    """
    sentences = []
    for axis in axes:
        places: dict[str, dict[Scenario, str]] = {}
        for trial in trials:
            others = {path: value for path, value in trial.values.items() if path not in axis}
            places.setdefault(repr((others, trial.seed)), {})[trial.scenario] = trial.fingerprint
        count = max(map(len, places.values()), default=0)
        if count > 1 and "warmup" not in axis and all(len(set(prints.values())) == 1 for prints in places.values()):
            sentences.append(
                f"{', '.join(axis)}: {count} values and the same runs with each: nothing here depends on it"
            )
    return sentences


def idle_keys(ends: Mapping[str, Sequence[tuple[Scenario, Scenario]]], seed: int, runner: Runner) -> list[str]:
    """A sentence for each key whose scenarios, at both ends of its range, have equal fingerprints.

    There is a pair for each queue manager or setting; the runs are done here.
    """
    distinct = {key: [pair for pair in pairs if pair[0] != pair[1]] for key, pairs in ends.items()}
    runs = [Run(scenario, seed) for pairs in distinct.values() for pair in pairs for scenario in pair]
    prints = iter([result.fingerprint for result in runner(runs)])
    sentences = []
    for key, pairs in distinct.items():
        same = [next(prints) == next(prints) for _ in pairs]
        if same and all(same):
            sentences.append(f"{key}: the same runs at both ends of its range: nothing here depends on it")
    return sentences
