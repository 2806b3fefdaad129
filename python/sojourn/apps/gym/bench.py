"""Speed of the environments in CPU seconds of this process, compared with a plain run of the same scenario.

python -m sojourn.gym.bench
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np

import sojourn.apps.gym  # noqa: F401 (it registers the environments)
from sojourn import _core
from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.model.scenarios.scenario import Scenario

SCENARIO = """
duration = "60 s"
[link]
rate = "{rate}"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "50 ms"
count = 4
"""
PROBABILITY = 0.01
"""Constant action that keeps link and senders busy."""
MANY = 64
"""Number of parallel environments."""
RESETS = 500


def main() -> None:
    """Measure, and print a table."""
    print(f"{'':24}{'steps/CPU s':>14}{'plain run / this':>22}")
    for rate in ("10 Mbit/s", "100 Mbit/s"):
        scenario = Scenario.parse(SCENARIO.format(rate=rate))
        env = gymnasium.make("Sojourn/Aqm-v0", scenario=scenario, start=None)
        steps, single = _cpu(partial(_episode, env))
        envs = gymnasium.make_vec("Sojourn/Aqm-v0", num_envs=MANY, scenario=scenario, start=None, copy=False)
        many_steps, many = _cpu(partial(_episodes, envs))
        # The queue of a plain run drops with the same probability.
        plain_s = _plain(scenario)
        for name, count, spent in ((f"{rate}, one", steps, single), (f"{rate}, {MANY} at once", many_steps, many)):
            print(f"{name:24}{count / spent:14,.0f}{100 * plain_s / (spent / count * 6000):21.0f} %")
    slow = Scenario.parse(SCENARIO.format(rate="10 Mbit/s"))
    connection = gymnasium.make("Sojourn/Cc-v0", scenario=slow)
    steps, spent = _cpu(partial(_episode, connection, 0.0))
    print(f"{'10 Mbit/s, a connection':24}{steps / spent:14,.0f}")
    env = gymnasium.make("Sojourn/Aqm-v0", scenario=slow, start=None)
    drawn = gymnasium.make("Sojourn/Aqm-v0", scenario="wired", start=None)
    env.reset(seed=1)
    core = env.unwrapped._episodes  # type: ignore[attr-defined]
    resets: list[tuple[str, Callable[[int], Any]]] = [
        ("reset, in the core", lambda seed: core.reset([0], [seed])),
        ("reset, Gymnasium", lambda seed: env.reset(seed=seed)),
        ("reset, with [draw]", lambda seed: drawn.reset(seed=seed)),
        ("reset, a connection", lambda seed: connection.reset(seed=seed)),
    ]
    for name, reset in resets:
        _, spent = _cpu(partial(_each, reset))
        print(f"{name:24}{1e6 * spent / RESETS:11,.0f} us")


def _each(reset: Callable[[int], Any]) -> None:
    for seed in range(RESETS):
        reset(seed)


def _cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """Result of a function, and its CPU seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def _episode(env: gymnasium.Env[Any, Any], act: float = PROBABILITY) -> int:
    env.reset(seed=1)
    action, steps, over = np.array([act], np.float32), 0, False
    while not over:
        *_, over, _ = env.step(action)
        steps += 1
    return steps


def _episodes(envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> int:
    envs.reset(seed=1)
    actions, steps = np.full((MANY, 1), PROBABILITY, np.float32), 0
    while True:
        *_, over, _ = envs.step(actions)
        steps += MANY
        if over.all():
            return steps


def _plain(scenario: Scenario) -> float:
    """CPU seconds of a run with one step per second and the same probability."""
    episodes = _core.Episodes("1 s", "probability", ["action"], 1, "delay-goodput", "", False, 1, 1)
    episodes.set(0, scenario.canonical)

    def run() -> None:
        episodes.reset([0], [1])
        while not episodes.step_one(PROBABILITY)[1]:
            pass

    return min(_cpu(run)[1] for _ in range(3))


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
