"""Search by the cross-entropy method: shows without a learning library that an environment is learnable.

Candidates are drawn from a normal distribution of parameters; the best of them define the next distribution (R.
Rubinstein, Methodology and Computing in Applied Probability 1, 1999).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.policies import Layer, Network
from sojourn.apps.gym.seeds import seed_of
from sojourn.apps.gym.settings import Settings
from sojourn.apps.gym.source import Source
from sojourn.apps.gym.suites import Suite
from sojourn.model.scenarios.scenario import Scenario

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SearchConfig:
    """Parameters of a search."""

    candidates: int = 24
    """Candidates per round."""
    best: int = 6
    """Number of best candidates that define the next round."""
    episodes: int = 8
    """Episodes per round for every candidate; each round has different ones."""
    spread: float = 1.0
    """Initial standard deviation of a parameter, about the network with zero output."""
    noise: float = 0.05
    """Minimum standard deviation, which prevents premature convergence."""
    rounds: int = 1000
    """Maximum number of rounds."""
    cpu_s: float = 25.0
    """CPU seconds of this process after which no round starts."""


@dataclass(frozen=True)
class LearningResult:
    """Result of a search."""

    network: Network
    rounds: list[float] = field(default_factory=list)
    """Mean reward of the best candidates, round by round; each round has other episodes."""
    cpu_s: float = 0.0


def learn(
    suite: str | Path | Scenario | Suite,
    settings: Settings,
    *,
    first: float = 0.0,
    search: SearchConfig | None = None,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> LearningResult:
    """Search for a linear policy with a high reward in a suite's training episodes.

    `first`: the action of the initial policy. Only `cpu_s` depends on the machine: with the same number of rounds the
    same policy is found. `progress` is called with the elapsed share of the time.
    """
    search = search or SearchConfig()
    source, random = Source(suite), np.random.default_rng(seed)
    width = settings.observation_space().shape
    assert width is not None
    mean = np.zeros(width[0] + 1)
    mean[-1] = first
    deviation = np.full(len(mean), search.spread)
    began, rounds = time.process_time(), list[float]()
    while len(rounds) < search.rounds and (elapsed := time.process_time() - began) < search.cpu_s:
        if progress is not None:
            progress(elapsed / search.cpu_s)
        drawn = mean + deviation * random.standard_normal((search.candidates, len(mean)))
        numbers = range(len(rounds) * search.episodes, (len(rounds) + 1) * search.episodes)
        rewards = sum(_rewards(drawn, settings, source, seed_of("train", number)) for number in numbers)
        assert not isinstance(rewards, int)
        best = drawn[np.argsort(-rewards, kind="stable")[: search.best]]
        mean, deviation = best.mean(axis=0), np.maximum(best.std(axis=0), search.noise)
        rounds.append(float(np.sort(rewards)[-search.best :].mean()) / search.episodes)
    return LearningResult(linear(mean, settings), rounds, time.process_time() - began)


def linear(parameters: Floats, settings: Settings) -> Network:
    """A network of one layer: a weight for each number of an observation, and the bias."""
    weights, bias = np.float32(parameters[:-1])[None, :], np.float32(parameters[-1:])
    return Network([Layer(weights, bias)], settings, "found by the cross-entropy method")


def _rewards(drawn: Floats, settings: Settings, source: Source, seed: int) -> Floats:
    """Mean reward per step of each candidate in one episode; they are stepped together."""
    count = len(drawn)
    episodes = settings.episodes(count)
    scenario = source.scenario(seed).canonical
    for place in range(count):
        episodes.set(place, scenario)
    episodes.reset(list(range(count)), [seed] * count)
    weights, bias = np.float32(drawn[:, :-1]), np.float32(drawn[:, -1])
    going, total, steps = np.ones(count, np.bool_), np.zeros(count), 0
    while not episodes.over.all():
        actions = np.einsum("ij,ij->i", weights, episodes.observations) + bias
        episodes.step(actions.astype(np.float64), going)
        total, steps = total + episodes.rewards, steps + 1
    return total / steps
