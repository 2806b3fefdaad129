"""Vectorised environments equal single ones, with any number of threads and in every autoreset mode."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

import sojourn as sj
from sojourn.apps.gym import AqmEnv, AqmVectorEnv

TEXT = """
duration = "400 ms"
warmup = "100 ms"
[link]
rate = "8 Mbit/s"
limit = "100 packets"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "20 ms"
count = 3
spread = "50 ms"
"""
COUNT = 5


def actions(steps: int, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).uniform(0, 0.2, (steps, COUNT, 1)).astype(np.float32)


def run(envs: Any, steps: int, seed: int = 9, masked: bool = False) -> list[list[Any]]:
    """All outputs of the environments; with `masked` environments with a finished episode are reset."""
    observation, infos = envs.reset(seed=seed)
    seen = [[observation.copy(), None, None, infos["seed"].tolist()]]
    for action in actions(steps):
        observation, rewards, terminated, truncated, infos = envs.step(action)
        assert not terminated.any()
        final = [None if x is None else x.tolist() for x in infos["final_obs"]] if "final_obs" in infos else None
        reported = infos.get("final_info", infos)
        prints = list(reported["fingerprint"]) if "fingerprint" in reported else None
        seen.append([observation.copy(), rewards.copy(), truncated.copy(), (final, prints)])
        if masked and truncated.any():
            observation, infos = envs.reset(options={"reset_mask": truncated.copy()})
            seen.append([observation.copy(), None, None, None])
    return seen


def same(first: list[list[Any]], second: list[list[Any]]) -> bool:
    return all(
        all((x == y).all() if isinstance(x, np.ndarray) else x == y for x, y in zip(a, b, strict=True))
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("suite", [False, True])
def test_each_equals_a_single_environment(mode: AutoresetMode, suite: bool) -> None:
    """Compared with Gymnasium's own vector environment of single ones, which has the same modes."""
    scenario = "short" if suite else sj.Scenario.parse(TEXT)
    settings: dict[str, Any] = {"scenario": scenario, "step": "500 ms" if suite else "10 ms"}
    steps, masked = 45, mode is AutoresetMode.DISABLED
    single = SyncVectorEnv([lambda: AqmEnv(**settings)] * COUNT, autoreset_mode=mode)
    expected = run(single, steps, masked=masked)
    assert sum(bool(row[2].any()) for row in expected if row[2] is not None) >= 1, "an episode ends"
    for threads in (1, 3):
        envs = AqmVectorEnv(COUNT, threads=threads, autoreset_mode=mode, **settings)
        assert same(expected, run(envs, steps, masked=masked))


def test_make_vec_gives_this_environment() -> None:
    envs = gymnasium.make_vec("Sojourn/Aqm-v0", num_envs=2, scenario=sj.Scenario.parse(TEXT), copy=False)
    assert isinstance(envs.unwrapped, AqmVectorEnv)
    first, _ = envs.reset(seed=1)
    second, *_ = envs.step(np.zeros((2, 1), np.float32))
    assert first is second, "one array, written anew"
    assert envs.single_observation_space.contains(second[0]) and envs.action_space.contains(envs.action_space.sample())


def test_choices_are_one_number_for_each() -> None:
    envs = AqmVectorEnv(COUNT, sj.Scenario.parse(TEXT), action="delta", reward=lambda raw: raw["probability"])
    envs.reset(seed=1)
    _, rewards, *_ = envs.step(np.array([0, 1, 2, 3, 4]))
    assert rewards.tolist() == pytest.approx([0, 0, 0, 0.01, 0.1])


def test_errors_name_the_place() -> None:
    scenario = sj.Scenario.parse(TEXT)
    for setting, text in (({"num_envs": 0}, "num_envs: 0"), ({"threads": 0}, "threads: 0")):
        with pytest.raises(sj.InputError, match=text):
            AqmVectorEnv(**{"num_envs": 2, "scenario": scenario, **setting})  # type: ignore[arg-type]
    envs = AqmVectorEnv(2, scenario, autoreset_mode="Disabled", step="300 ms")
    with pytest.raises(sj.InputError, match="seed: 3 seeds for 2 environments"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(sj.InputError, match="reset_mask: not an array of 2"):
        envs.reset(options={"reset_mask": [True, False]})
    envs.reset(seed=1)
    assert envs.step(np.zeros((2, 1)))[3].all()
    with pytest.raises(sj.InputError, match="an episode is over"):
        envs.step(np.zeros((2, 1)))
