"""Evaluation of policies, queue managers and congestion controls on the same held-out episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.apps.gym.cc_settings import CcSettings
from sojourn.apps.gym.policies import Network, Policy
from sojourn.apps.gym.seeds import Split, seed_of
from sojourn.apps.gym.settings import Settings
from sojourn.apps.gym.source import Source
from sojourn.apps.gym.suites import Suite
from sojourn.base.errors import InputError
from sojourn.model.analysis.stats import mean_ci, paired_difference
from sojourn.model.scenarios.scenario import Scenario

Candidate = Policy | str
"""A policy, or the name of a queue manager of a single queue, of DualPI2, or of a congestion control, run natively."""


@dataclass(frozen=True)
class Evaluation:
    """Mean reward per step of each candidate in each episode."""

    rewards: pl.DataFrame
    """Columns `candidate`, `episode`, `seed`, `reward`."""
    baseline: str

    def table(self) -> pl.DataFrame:
        """A row for each candidate: `reward` and `ci95`, the mean over the episodes with its 95 % half width.

        `difference` and `difference_ci95` are the same for candidate minus baseline, episode by episode.
        """
        first = self.of(self.baseline)
        rows = []
        for name in self.rewards["candidate"].unique(maintain_order=True):
            values = self.of(name)
            mean, half = mean_ci(values)
            row: dict[str, Any] = {"candidate": name, "episodes": len(values), "reward": mean, "ci95": half}
            if name != self.baseline:
                found = paired_difference(first, values)
                row |= {"difference": found.difference, "difference_ci95": found.ci95}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def of(self, name: str) -> list[float]:
        """Rewards of a candidate, in the order of the episodes."""
        return self.rewards.filter(pl.col("candidate") == name)["reward"].to_list()


def evaluate(
    candidates: Mapping[str, Candidate] | Candidate,
    suite: str | Path | Scenario | Suite,
    *,
    episodes: int = 200,
    settings: Settings | CcSettings | None = None,
    baseline: str | None = None,
    split: Split = "held-out",
) -> Evaluation:
    """Evaluate candidates by name on the same episodes of a suite.

    A policy acts in the environment of `settings` (a `Network` has its own); a text is a queue manager that runs
    natively from the start of the run, with rewards computed in the same way. Counting starts at the end of the
    scenario's warm-up. `baseline`: the candidate that the others are compared with; default: the first.

    With `CcSettings` a text is a congestion control for the first flow of the group, and counting starts when its
    connection is open.
    """
    named = dict(candidates) if isinstance(candidates, Mapping) else {_name(candidates): candidates}
    if not named:
        raise InputError("candidates: none given; give e.g. {'pie': 'pie'}")
    if baseline is not None and baseline not in named:
        raise InputError(f'baseline: "{baseline}" is not a candidate; expected one of {", ".join(named)}')
    if episodes < 1:
        raise InputError(f"episodes: {episodes} is too few; give at least 1")
    source = Source(suite)
    seeds = [seed_of(split, i) for i in range(episodes)]
    scenarios = [source.scenario(seed).canonical for seed in seeds]
    rows = []
    for name, candidate in named.items():
        own: Settings | CcSettings = settings or (candidate.settings if isinstance(candidate, Network) else Settings())
        rewards = _run(candidate, own, scenarios, seeds)
        rows += [
            {"candidate": name, "episode": i, "seed": seed, "reward": reward}
            for i, (seed, reward) in enumerate(zip(seeds, rewards, strict=True))
        ]
    return Evaluation(pl.DataFrame(rows), baseline or next(iter(named)))


def _name(candidate: Candidate) -> str:
    return candidate if isinstance(candidate, str) else "policy"


def _run(
    candidate: Candidate, settings: Settings | CcSettings, scenarios: Sequence[str], seeds: Sequence[int]
) -> list[float]:
    """Mean reward per step of each episode."""
    place = _Connection(candidate, settings) if isinstance(settings, CcSettings) else _Queue(candidate, settings)
    rewards = []
    for scenario, seed in zip(scenarios, seeds, strict=True):
        place.begin(scenario, seed)
        if hasattr(candidate, "reset"):
            candidate.reset()
        total, steps, over = 0.0, 0, False
        while not over:
            action: Any = 0.0 if isinstance(candidate, str) else candidate(place.seen)
            reward, over = place.step(float(action[0] if np.ndim(action) else action))
            total, steps = total + reward, steps + 1
        rewards.append(total / steps)
    return rewards


class _Queue:
    """Episodes of one queue."""

    def __init__(self, candidate: Candidate, settings: Settings) -> None:
        if isinstance(candidate, str):
            settings = replace(settings, start=candidate, native=True)
        self._episodes, self._judge = settings.episodes(), settings.judge
        self.seen = self._episodes.observations[0]

    def begin(self, scenario: str, seed: int) -> None:
        self._episodes.set(0, scenario)
        self._episodes.reset([0], [seed])

    def step(self, action: float) -> tuple[float, bool]:
        reward, over = self._episodes.step_one(action)
        return (reward if self._judge is None else float(self._judge(self._episodes.raw(0)))), over


class _Connection:
    """Episodes of one connection."""

    def __init__(self, candidate: Candidate, settings: CcSettings) -> None:
        native = candidate if isinstance(candidate, str) else ""
        self._episodes, self._judge = settings.episodes(native=native), settings.judge
        self.seen = self._episodes.observations[0]

    def begin(self, scenario: str, seed: int) -> None:
        self._episodes.set(scenario)
        self._episodes.reset(seed)

    def step(self, action: float) -> tuple[float, bool]:
        episodes = self._episodes
        episodes.step(np.array([action]))
        reward = episodes.rewards[0] if self._judge is None else self._judge(episodes.raw(0))
        return float(reward), bool(episodes.over[0])
