"""`Sojourn/Cc-v0` and its multi-agent variant: connections of the simulator, observed and controlled in steps."""

from __future__ import annotations

import json
import re
import warnings
from math import log
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sojourn as sj
from sojourn import _core
from sojourn.apps.gym import CcEnv
from sojourn.apps.gym.baselines import Constant
from sojourn.apps.gym.cc_settings import CcSettings, cc_names
from sojourn.apps.gym.evaluation import evaluate
from sojourn.apps.gym.soak import soak_connections

TWO_GROUPS = """
duration = "4 s"
warmup = "1 s"
[link]
rate = "9 Mbit/s"
aqm = "droptail"
limit = "70 packets"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "37 ms"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "53 ms"
start = "300 ms"
"""
ALONE = TWO_GROUPS[: TWO_GROUPS.rindex("[[flows]]")]
STILL = {"cwnd-scale": 0.0, "rate-scale": 0.0, "cwnd": log(29.0), "rate": log(7.3), "cwnd-choice": 0}


def scenario(sets: dict[str, object] | None = None, text: str = TWO_GROUPS) -> sj.Scenario:
    return sj.Scenario.parse(text, sets)


def episode(env: CcEnv, action: Any, seed: int = 3) -> tuple[np.ndarray[Any, Any], list[dict[str, Any]]]:
    """Observations of an episode with one action, or a function of the step, and the infos."""
    observation, info = env.reset(seed=seed)
    seen, reported, truncated = [observation], [info], False
    while not truncated:
        observation, reward, terminated, truncated, info = env.step(
            action(len(reported)) if callable(action) else action
        )
        assert not terminated and np.isfinite(reward) and np.isfinite(observation).all()
        seen.append(observation)
        reported.append({**info, "reward": reward})
    return np.array(seen), reported


@pytest.mark.filterwarnings("ignore:.*A Box observation space .*")
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized space.*")
@pytest.mark.parametrize("action", sorted(STILL))
def test_the_checker_of_gymnasium_is_content(action: str) -> None:
    env = gymnasium.make("Sojourn/Cc-v0", scenario=scenario({"duration": "900 ms", "warmup": "0 s"}), action=action)
    check_env(env.unwrapped)


@pytest.mark.parametrize("cc", ["cubic", "reno", "vegas", "westwood", "illinois", "cubic@rfc9438", "dctcp"])
@pytest.mark.parametrize("step", ["1 ms", "23 ms", "1 s", "rtt"])
def test_an_agent_that_never_scales_is_the_control_below_to_the_last_record(cc: str, step: str) -> None:
    run = scenario({"flows.0.cc": cc, "flows.0.ecn": cc == "dctcp"})
    *_, last = episode(CcEnv(run, step=step), [0.0])[1]
    assert last["fingerprint"] == run.run(3).summary["fingerprint"][0]


@pytest.mark.parametrize("cc", [control["name"] for control in json.loads(_core.registry())["ccs"]])
def test_a_control_that_is_judged_in_steps_runs_as_ever(cc: str) -> None:
    run = scenario({"flows.0.cc": cc})
    episodes = CcSettings(step="31 ms").episodes(native=cc)
    assert episodes.set(scenario().canonical) == 1
    episodes.reset(5)
    while not episodes.over[0]:
        episodes.step(np.array([0.7]))
    finished = episodes.finish()
    assert finished is not None and str(run.run(5).summary["fingerprint"][0]) in finished


@pytest.mark.parametrize("action", sorted(STILL))
def test_the_same_actions_give_the_same_run(action: str) -> None:
    first, second = (episode(CcEnv(scenario(), action=action), STILL[action]) for _ in range(2))
    assert (first[0] == second[0]).all() and first[1] == second[1]


@pytest.mark.parametrize("action", ["cwnd-scale", "cwnd-choice"])
def test_without_actions_a_run_does_not_depend_on_the_steps(action: str) -> None:
    envs = [CcEnv(scenario(), action=action, step=step) for step in ("7 ms", "40 ms", "1 s", "rtt")]
    assert len({episode(env, 0)[1][-1]["fingerprint"] for env in envs}) == 1


def test_the_set_window_is_in_flight() -> None:
    env = CcEnv(scenario(text=ALONE), action="cwnd", raw=True, observe=["inflight", "loss"], stack=1)
    seen, reported = episode(env, [log(17.0)])
    late = [info["raw"] for info in reported[50:]]
    assert {raw["cwnd"] for raw in late} == {17} and max(raw["in_flight"] for raw in late) <= 17
    # 17 segments of 1448 B in 37 ms of propagation, less than the link: Little's law.
    rate = np.mean([raw["rate_bps"] for raw in late])
    rtt = np.mean([raw["rtt_s"] for raw in late])
    assert rate == pytest.approx(17 * 1448 * 8 / rtt, rel=0.02) and 0.037 < rtt < 0.045
    assert (seen[50:, 1] == 0).all()


def test_the_set_rate_is_delivered() -> None:
    env = CcEnv(scenario(text=ALONE), action="rate", raw=True, reward="aurora")
    _, reported = episode(env, [log(3.7)])
    late = reported[60:]
    rates = [info["raw"]["rate_bps"] for info in late]
    assert np.mean(rates) == pytest.approx(3.7e6, rel=0.02)
    for info in late:
        raw = info["raw"]
        expected = (10 * raw["delivered"] / raw["span_s"] - 1e3 * raw["rtt_s"] - 2e3 * raw["loss"]) / 1e3
        assert info["reward"] == pytest.approx(expected, rel=1e-12)
    # Above the link's rate the queue is full, and packets are lost.
    _, reported = episode(CcEnv(scenario(text=ALONE), action="rate", raw=True), [log(14.1)])
    late = [info["raw"] for info in reported[60:]]
    assert sum(raw["lost"] for raw in late) > 100
    assert np.mean([raw["rate_bps"] for raw in late]) == pytest.approx(9e6 * 1448 / 1500, rel=0.03)


def test_actions_are_limited_to_ten_times_the_observed_maximum() -> None:
    env = CcEnv(scenario({"link.limit": "5000 packets"}, ALONE), action="cwnd", raw=True)
    _, reported = episode(env, [log(10_000.0)])
    rate = rtt = 0.0
    for info in reported[1:]:
        raw = info["raw"]
        rate, rtt = max(rate, raw["rate_bps"]), max(rtt, raw["rtt_s"])
        # The maximum RTT of a step is above its mean.
        assert raw["cwnd"] <= max(10, 10 * rate * 1.3 * rtt / (8 * 1448))
    assert reported[-1]["raw"]["cwnd"] > 100
    assert reported[1]["raw"]["cwnd"] == 10, "nothing is known before the first acknowledgment of data"
    low = CcEnv(scenario(text=ALONE), action="cwnd-choice", raw=True)
    assert {info["raw"]["cwnd"] for info in episode(low, 1)[1][20:]} == {2}


def test_an_action_is_late_by_the_delay() -> None:
    def seen(delay: str) -> list[int]:
        env = CcEnv(scenario(text=ALONE), action="cwnd", raw=True, delay=delay, step="100 ms")
        return [info["raw"]["cwnd"] for info in episode(env, lambda i: [log(13.0 if i < 11 else 19.0)])[1]]

    now, later = seen("0 s"), seen("250 ms")
    first = now.index(19)
    assert later.index(19) == first + 2 and 13 in now and 13 in later


def test_a_time_out_collapses_the_window_unless_the_policy_has_it() -> None:
    # An outage: the retransmission timeout expires.
    rate = {"link.rate": "9 Mbit/s@0s,0 bit/s@1500ms,9 Mbit/s@2700ms"}
    windows = {}
    for rto in ("collapse", "policy"):
        env = CcEnv(scenario(rate, ALONE), action="cwnd", raw=True, rto=rto)
        _, reported = episode(env, [log(25.0)])
        windows[rto] = [info["raw"]["cwnd"] for info in reported[1:] if info["time"] > 1.0]
        assert reported[-1]["summary"]["flows"][0]["timeouts"] > 0
    assert min(windows["collapse"]) < 25 and windows["collapse"][-1] == 25
    assert set(windows["policy"]) == {25}


def test_observations_have_no_future_data() -> None:
    observe = [name for name, _ in cc_names()["observations"]]
    first, second = (
        episode(CcEnv(scenario({"link.rate": f"9 Mbit/s@0s,{late} Mbit/s@2s"}, ALONE), observe=observe, stack=1), [0.1])
        for late in (1, 3)
    )
    at = next(i for i, info in enumerate(first[1]) if info["time"] > 2.0)
    assert (first[0][:at] == second[0][:at]).all() and (first[0][at:] != second[0][at:]).any()


def test_an_episode_ends_with_the_flow() -> None:
    env = CcEnv(scenario({"flows.0.stop": "1713 ms"}))
    assert episode(env, [0.0])[1][-1]["time"] == 1.72
    steps = np.diff([info["time"] for info in episode(CcEnv(scenario(text=ALONE), step="rtt", raw=True), [0.0])[1]])
    assert steps[:-1].min() >= 0.037 and steps.max() > 0.08, "a round trip with the queue"


@pytest.mark.parametrize(
    ("wrong", "sets", "text"),
    [
        ({"step": "0.5 ms"}, {}, "step: "),
        ({"action": "windw"}, {}, "action: "),
        ({"observe": ["losss"]}, {}, "observe: "),
        ({"stack": 0}, {}, "stack: "),
        ({"reward": "pwer"}, {}, "reward: "),
        ({"delay": "2 s"}, {}, "delay: "),
        ({"gain": 0.0}, {}, "gain: "),
        ({"rto": "never"}, {}, "rto"),
        ({"group": 2}, {}, "group: there is no group 2"),
        ({"group": 0}, {"flows.0.kind": "cbr"}, "group: its flows are not TCP"),
        ({}, {"flows.0.cc": "bbr"}, "action: bbr sets its window itself"),
        ({}, {"flows.0.stack": "linux-2.6.29"}, "stack: "),
    ],
)
def test_errors_have_their_place(wrong: dict[str, Any], sets: dict[str, Any], text: str) -> None:
    cbr = "flows.0.kind" in sets
    document = ALONE.replace('kind = "tcp"\ncc = "cubic"', 'kind = "cbr"\nrate = "1 Mbit/s"') if cbr else TWO_GROUPS
    with pytest.raises(sj.InputError, match="^" + text):
        CcEnv(scenario({} if cbr else sets, document), **wrong).reset(seed=1)


def test_controls_and_policies_are_judged_on_the_same_episodes() -> None:
    settings = CcSettings(action="cwnd")
    found = evaluate(
        {"cubic": "cubic", "bbr": "bbr", "reno": "reno", "23": Constant(log(23.0))},
        scenario(text=ALONE),
        episodes=2,
        settings=settings,
    ).table()
    rewards = dict(zip(found["candidate"], found["reward"], strict=True))
    assert found["candidate"].to_list() == ["cubic", "bbr", "reno", "23"]
    # A window below the BDP, and BBR, build little queue; CUBIC fills the buffer.
    assert min(rewards["23"], rewards["bbr"]) > rewards["cubic"] + 0.3
    same = evaluate("cubic", scenario(text=ALONE), episodes=2, settings=CcSettings()).of("cubic")
    still = evaluate({"still": Constant(0.0)}, scenario(text=ALONE), episodes=2, settings=CcSettings()).of("still")
    assert same == still


def test_no_number_is_infinite_under_random_actions() -> None:
    assert soak_connections(30) == (30, [])


def test_the_documentation_names_all_entries() -> None:
    text = (Path(__file__).parents[2] / "docs" / "gym.md").read_text(encoding="utf-8")
    section = text[text.index("## Congestion control") : text.index("## Policies that run")]
    named = set(re.findall(r"^\| `([a-z_-]+)`", section, re.MULTILINE))
    starred = set(re.findall(r"^\| `([a-z_]+)` \*", section, re.MULTILINE))
    entries = {name for name, _ in cc_names()["observations"]}
    # The headings of the tables of actions and rewards are in code as well.
    assert named - {"action", "reward"} == (entries | set(cc_names()["actions"]) | set(cc_names()["rewards"])) - {
        "action"
    }
    assert starred == set(cc_names()["default"])


def parallel(**settings: Any) -> Any:
    pytest.importorskip("pettingzoo", reason="PettingZoo is not installed")
    from sojourn.apps.gym import cc_parallel_env

    return cc_parallel_env(**settings)


def test_the_test_of_pettingzoo_is_content() -> None:
    env = parallel(
        scenario=scenario(
            {
                "flows.0.count": 3,
                "duration": "900 ms",
                "warmup": "0 s",
                "flows.0.stagger": "100 ms",
                "flows.0.stop": "513 ms",
            }
        )
    )
    from pettingzoo.test import parallel_api_test

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env, num_cycles=200)
    assert env.agents == []


def test_agents_that_never_scale_are_the_scenario_as_it_is() -> None:
    run = scenario({"flows.0.count": 3, "flows.0.spread": "200 ms"})
    env = parallel(scenario=run, reward="fair", raw=True)
    observations, _ = env.reset(seed=7)
    assert list(observations) == env.agents == ["flow0", "flow1", "flow2"]
    while env.agents:
        observations, rewards, _, truncations, infos = env.step(dict.fromkeys(env.agents, 0.0))
    assert all(truncations.values()) and len({info["raw"]["jain"] for info in infos.values()}) == 1
    assert infos["flow1"]["fingerprint"] == run.run(7).summary["fingerprint"][0]
    assert len(set(rewards.values())) > 1, "each has a delay and losses of its own"


def test_an_agent_alone_is_the_same_in_both() -> None:
    env = parallel(scenario=scenario())
    observation, info = env.reset(seed=3)
    seen = [observation["flow0"]]
    while env.agents:
        observation, *_ = env.step({"flow0": np.array([0.05])})
        seen.append(observation["flow0"])
    assert (np.array(seen) == episode(CcEnv(scenario()), [0.05])[0]).all() and info["flow0"]["seed"] == 3


def test_agents_act_in_round_trips_of_their_own() -> None:
    run = scenario({"flows.0.count": 2, "flows.0.rtt_stagger": "61 ms"}, ALONE)
    env = parallel(scenario=run, step="rtt")
    env.reset(seed=1)
    dues = dict.fromkeys(env.agents, 0)
    while env.agents:
        *_, infos = env.step(dict.fromkeys(env.agents, 0.0))
        for agent, info in infos.items():
            dues[agent] += info["due"]
    assert dues["flow0"] > 1.3 * dues["flow1"] > 20
    assert infos["flow0"]["fingerprint"] == run.run(1).summary["fingerprint"][0]
    with pytest.raises(sj.InputError, match="flow1"):
        env.reset(seed=1)
        env.step({"flow0": [0.0]})
