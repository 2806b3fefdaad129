"""Soak test: episodes of drawn scenarios under random actions; all numbers must be finite.

python -m sojourn.gym.soak --episodes 10000 [--cc]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import click
import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.cc_settings import CcSettings, cc_names
from sojourn.apps.gym.seeds import seed_of
from sojourn.apps.gym.settings import Settings, names
from sojourn.apps.gym.source import Source
from sojourn.apps.gym.suites import names as suites
from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.base.progress import progress

STEPS = 60
"""Maximum steps of an episode: non-finite numbers appear if a queue is empty, full or new."""


def soak(episodes: int, first: int = 0) -> tuple[int, list[str]]:
    """Run some episodes; returns their number, and descriptions of the failures."""
    observe = [name for name, _ in names()["observations"]]
    sources = {name: Source(name) for name in suites()}
    kinds = [(suite, action) for suite in sources for action in names()["actions"]]
    wrong = []
    done = 0
    for number in range(first, first + episodes):
        suite, action = kinds[number % len(kinds)]
        seed = seed_of("train", number)
        random = np.random.default_rng(seed)
        step = ("1 ms", "10 ms", "100 ms", "1 s")[int(random.integers(4))]
        reward = names()["rewards"][int(random.integers(len(names()["rewards"])))]
        start = None if random.integers(2) else "default"
        settings = Settings(step, action, observe, int(random.integers(1, 4)), reward, start)
        found = _episode(settings, sources[suite].scenario(seed).canonical, seed, random)
        if found:
            wrong.append(f"{suite}, {action}, step {step}, reward {reward}, start {start}, seed {seed}: {found}")
        done += 1
    return done, wrong


def soak_connections(episodes: int, first: int = 0) -> tuple[int, list[str]]:
    """Like `soak`, for connections."""
    known = cc_names()
    observe = [name for name, _ in known["observations"]]
    sources = {name: Source(name) for name in suites()}
    kinds = [(suite, action) for suite in sources for action in known["actions"]]
    wrong = []
    for number in range(first, first + episodes):
        suite, action = kinds[number % len(kinds)]
        seed = seed_of("train", number)
        random = np.random.default_rng(seed)
        step = ("1 ms", "20 ms", "100 ms", "1 s", "rtt")[int(random.integers(5))]
        delay = ("0 s", "5 ms", "70 ms")[int(random.integers(3))]
        reward = known["rewards"][int(random.integers(len(known["rewards"])))]
        rto: Literal["collapse", "policy"] = "collapse" if random.integers(2) else "policy"
        stack = int(random.integers(1, 4))
        settings = CcSettings(step, delay, action, 0.025, rto, observe, stack, reward)
        found = _connection(settings, sources[suite].scenario(seed).canonical, seed, random)
        if found:
            wrong.append(
                f"{suite}, {action}, step {step}, delay {delay}, reward {reward}, rto {rto}, seed {seed}: {found}"
            )
    return episodes, wrong


def _episode(settings: Settings, scenario: str, seed: int, random: np.random.Generator) -> str:
    """Description of a non-finite number in an episode; empty if all are finite."""
    episodes = settings.episodes()
    episodes.set(0, scenario)
    episodes.reset([0], [seed])

    def step(action: float) -> tuple[float, bool]:
        return episodes.step_one(action)

    return _steps(episodes.observations, names()["actions"][settings.action], step, random)


def _connection(settings: CcSettings, scenario: str, seed: int, random: np.random.Generator) -> str:
    """Description of a non-finite number in an episode of a connection; empty if all are finite."""
    episodes = settings.episodes()
    episodes.set(scenario)
    episodes.reset(seed)

    def step(action: float) -> tuple[float, bool]:
        episodes.step(np.array([action]))
        return float(episodes.rewards[0]), bool(episodes.over[0])

    return _steps(episodes.observations, cc_names()["actions"][settings.action], step, random)


def _steps(
    observations: NDArray[np.float32],
    kind: tuple[float, float, bool],
    act: Callable[[float], tuple[float, bool]],
    random: np.random.Generator,
) -> str:
    """Description of a non-finite number in the first steps under random actions; empty if all are finite."""
    low, high, choices = kind
    for step in range(STEPS):
        if not np.isfinite(observations).all():
            return f"observation {step}: {observations[0].tolist()}"
        reward, over = act(float(random.integers(int(high) + 1)) if choices else float(random.uniform(low, high)))
        if not math.isfinite(reward):
            return f"reward of step {step}: {reward}"
        if over:
            break
    return ""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--episodes", default=10_000, show_default=True, help="Number of episodes.")
@click.option("--cc", is_flag=True, help="Use environments of connections instead of queues.")
def main(episodes: int, cc: bool) -> None:
    """Run drawn episodes under random actions, and list those with a number that is not finite."""
    done, wrong = 0, list[str]()
    with progress("episodes") as report:
        while done < episodes:
            more, found = (soak_connections if cc else soak)(min(100, episodes - done), done)
            done, wrong = done + more, wrong + found
            report(done / episodes, done, episodes)
    for text in wrong:
        print(text)
    print(f"{done} episodes, {len(wrong)} with a number that is not finite")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
