"""The two queues of DualPI2 with an agent in place of their controller."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn import _core
from sojourn.apps.gym import AqmEnv
from sojourn.apps.gym.baselines import PiStep
from sojourn.apps.gym.evaluation import evaluate
from sojourn.apps.gym.policies import Layer, Network
from sojourn.apps.gym.settings import Settings

SCENARIO = """
duration = "8 s"
warmup = "2 s"
[link]
rate = "23 Mbit/s"
aqm = "droptail"
[[flows]]
kind = "tcp"
cc = "prague"
rtt = "17 ms"
count = 2
[[flows]]
kind = "tcp"
cc = "cubic"
ecn = false
rtt = "31 ms"
count = 2
"""

DUALPI2 = {"action": "coupled", "step": "15 ms", "observe": ["sojourn_now"]}


def scenario(aqm: str = "droptail") -> sj.Scenario:
    return sj.Scenario.parse(SCENARIO, {"link.aqm": aqm})


def of_dualpi2(settings: Settings) -> PiStep:
    """The controller of RFC 9332, Appendix A, run every Tupdate."""
    return PiStep(settings, target_s=0.015, alpha=0.15, beta=3.0, scaled=False)


def test_the_law_of_dualpi2_as_an_agent_is_dualpi2() -> None:
    # Not equal packet by packet: an observation has 32 bits, less precision than DualPI2's delay.
    settings = Settings(**DUALPI2)
    agent, env = of_dualpi2(settings), AqmEnv(scenario(), start=None, **DUALPI2)
    observation, _ = env.reset(seed=3)
    truncated = False
    while not truncated:
        observation, _, _, truncated, info = env.step(agent(observation))
    found, native = info["summary"]["links"]["forward"], scenario("dualpi2").run(3)
    assert found["marked"] == pytest.approx(native.number("marked"), rel=0.1) and found["marked"] > 500
    assert found["sojourn_ms"]["mean"] == pytest.approx(native.number("sojourn_mean_ms"), rel=0.1)
    assert info["summary"]["goodput_bps"] == pytest.approx(native.number("goodput_bps"), rel=0.02)


def test_p_of_zero_marks_only_by_the_low_latency_queue_s_threshold() -> None:
    env = AqmEnv(scenario(), action="coupled", start=None, raw=True)
    env.reset(seed=5)
    total, truncated = {"marked": 0, "ect1": 0, "dropped": 0, "overflowed": 0}, False
    while not truncated:
        _, _, _, truncated, info = env.step([0.0])
        total = {name: count + info["raw"][name] for name, count in total.items()}
    assert 0 < total["marked"] < total["ect1"] and total["dropped"] == total["overflowed"]
    # p' = 1 marks all packets, and drops all in overload.
    env = AqmEnv(scenario(), action="coupled", start=None)
    env.reset(seed=5)
    truncated = False
    while not truncated:
        *_, truncated, info = env.step([1.0])
    assert info["summary"]["goodput_bps"] < 0.02 * 23e6


@pytest.mark.parametrize(("start", "native"), [("default", "dualpi2"), ("dualpi2 target 3ms",) * 2])
def test_its_own_controller_rules_until_the_first_step(start: str, native: str) -> None:
    seen = {}
    for name, settings in {
        "steered": Settings(action="coupled", start=start),
        "native": Settings(start=native, native=True),
        "other": Settings(action="coupled", start="dualpi2 target 40ms"),
    }.items():
        episodes = settings.episodes()
        episodes.set(0, scenario().canonical)
        episodes.reset([0], [2])
        first = episodes.observations[0].copy()
        episodes.step_one(0.02)
        seen[name] = (first, episodes.observations[0].copy())
    assert (seen["steered"][0] == seen["native"][0])[:-1].all(), "the last entry is what is in force"
    assert (seen["steered"][0] != seen["other"][0]).any() and (seen["steered"][1] != seen["native"][1]).any()


def test_a_policy_of_a_file_acts_as_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    layers = [Layer(np.array([[0.11]]), np.array([-0.03]))]
    policy = Network(layers, Settings(**DUALPI2), note="p' by the delay")
    policy.save("pair.json")
    env = AqmEnv(scenario(), start=None, **DUALPI2)
    observation, _ = env.reset(seed=3)
    truncated = False
    while not truncated:
        observation, _, _, truncated, info = env.step(policy(observation))
    alone = scenario("policy:pair.json").run(3)
    assert alone.summary["fingerprint"][0] == info["fingerprint"]
    assert json.loads(_core.check_aqm("policy:pair.json", 20_000, 1))["violation"] is None
    with pytest.raises(sj.InputError, match=r"pair\.json"):
        scenario("fq(policy:pair.json)")


def test_queue_managers_of_one_queue_and_of_two_are_judged_side_by_side() -> None:
    agent = of_dualpi2(Settings(**DUALPI2))
    candidates = {"dualpi2": "dualpi2", "agent": agent, "codel": "codel", "droptail": "droptail"}
    table = evaluate(candidates, scenario(), episodes=2, settings=Settings(**DUALPI2)).table()
    reward = dict(zip(table["candidate"], table["reward"], strict=True))
    assert reward["droptail"] < reward["codel"]
    assert reward["agent"] == pytest.approx(reward["dualpi2"], abs=0.05)
