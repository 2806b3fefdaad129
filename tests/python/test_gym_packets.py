"""`Sojourn/AqmPacket-v0`: stopping at each packet does not change the run, and the agent decides each verdict."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sojourn as sj
from sojourn.apps.gym.packet import AqmPacketEnv

TEXT = """
duration = "3 s"
[link]
rate = "10 Mbit/s"
limit = "40 packets"
aqm = "droptail"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "40 ms"
count = 3
spread = "100 ms"
"""
SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.filterwarnings("ignore:.*A Box observation space maximum value is infinity.*")
def test_the_checker_of_gymnasium_is_content() -> None:
    check_env(gymnasium.make("Sojourn/AqmPacket-v0", scenario=sj.Scenario.parse(TEXT)).unwrapped)


@pytest.mark.parametrize("name", ["", "web", "two-way", "parking-lot", "rate-steps", "voice", "bbr", "outages", "ns2"])
def test_an_agent_that_lets_all_in_is_tail_drop_to_the_last_record(name: str) -> None:
    """For many kinds of scenarios: bursts, several links, other senders, ns-2's order of events."""
    sets = {"link.aqm": "droptail", "duration": "3 s", "warmup": "0 s"}
    path = SCENARIOS / f"{name}.toml"
    scenario = sj.Scenario.load(path, sets) if name else sj.Scenario.parse(TEXT)
    env = AqmPacketEnv(scenario)
    env.reset(seed=3)
    arrived, truncated = 0, False
    while not truncated:
        observation, _, _, truncated, info = env.step(0)
        arrived += 1
        assert np.isfinite(observation).all()
    assert info["fingerprint"] == scenario.run(3).summary["fingerprint"][0]
    assert arrived == info["summary"]["links"]["forward"]["arrived"]


def test_every_verdict_is_done() -> None:
    env = AqmPacketEnv(sj.Scenario.parse(TEXT, {"flows.0.ecn": True}), observe=["backlog"])
    observation, _ = env.reset(seed=1)
    reported, truncated, number = [0, 0, 0], False, 0
    while not truncated:
        ect, number = bool(observation[2]), number + 1
        action = number % 50 if number > 500 and number % 50 in (1, 2) else 0
        reported[action if action != 1 or ect else 2] += 1
        observation, reward, _, truncated, info = env.step(action)
        assert (reward <= 0) if action == 2 else (reward <= 1)
    forward = info["summary"]["links"]["forward"]
    assert forward["marked"] == reported[1] > 10
    assert forward["dropped_by"]["early"] == reported[2] > 10
    assert sum(reported) == forward["arrived"]


def test_wireless_lans_are_refused() -> None:
    with pytest.raises(sj.InputError, match="wireless LAN"):
        AqmPacketEnv(SCENARIOS / "access-points.toml").reset(seed=1)
