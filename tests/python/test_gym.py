"""`Sojourn/Aqm-v0`: episodes are runs of the simulator, observed and steered in steps."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sojourn as sj
from sojourn.apps.gym import AqmEnv, seed_of, suites
from sojourn.apps.gym.settings import names

FOUR_FLOWS = """
duration = "6 s"
warmup = "1 s"
[link]
rate = "10 Mbit/s"
aqm = "droptail"
limit = "100 packets"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "40 ms"
count = 4
"""


EXAMPLES = Path(__file__).parents[2] / "examples"


def scenario(sets: dict[str, object] | None = None, text: str = FOUR_FLOWS) -> sj.Scenario:
    return sj.Scenario.parse(text, sets)


def episode(env: AqmEnv, action: Any, seed: int = 1) -> tuple[np.ndarray[Any, Any], list[float], dict[str, Any]]:
    """Observations and rewards of an episode with a constant action, and the final info."""
    seen, rewards = [env.reset(seed=seed)[0]], []
    while True:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        rewards.append(reward)
        assert not terminated
        if truncated:
            return np.array(seen), rewards, info


def fingerprint(run: sj.Scenario, seed: int = 1) -> str:
    return str(run.run(seed).summary["fingerprint"][0])


@pytest.mark.filterwarnings("ignore:.*A Box observation space maximum value is infinity.*")
def test_the_checker_of_gymnasium_is_content(tmp_path: Path) -> None:
    env = gymnasium.make("Sojourn/Aqm-v0", scenario=scenario(), render_mode="ansi")
    check_env(env.unwrapped)


@pytest.mark.parametrize("step", ["1 ms", "10 ms", "1 s"])
def test_an_agent_that_never_acts_is_tail_drop_to_the_last_record(step: str) -> None:
    env = AqmEnv(scenario(), start=None, step=step)
    _, _, info = episode(env, [0.0], seed=5)
    summary = scenario().run(5).summary
    assert info["fingerprint"] == summary["fingerprint"][0]
    assert info["summary"]["goodput_bps"] == summary["goodput_bps"][0]


@pytest.mark.parametrize(
    "aqm", ["codel", "pie", "red", "choke", "droptail", "drophead", "sfb", "pi2", "dualpi2", "dualpi2@linux target 9ms"]
)
@pytest.mark.parametrize("step", ["3 ms", "1 s"])
def test_a_queue_manager_that_is_judged_in_steps_runs_as_ever(aqm: str, step: str) -> None:
    from sojourn.apps.gym.settings import Settings

    run = scenario({"link.aqm": aqm})
    episodes = Settings(step=step, start=aqm, native=True).episodes()
    episodes.set(0, run.canonical)
    episodes.reset([0], [7])
    while not episodes.step_one(0.5)[1]:
        pass
    finished = episodes.finish(0)
    assert finished is not None and fingerprint(run, 7) in finished


@pytest.mark.parametrize("ecn", [False, True])
def test_constant_marking_drops_packets_without_ecn(ecn: bool) -> None:
    # SYNs are not ECN-capable: connections must be established before.
    env = AqmEnv(scenario({"flows.0.ecn": ecn}), start="droptail" if ecn else None)
    _, rewards, info = episode(env, [1.0])
    forward = info["summary"]["links"]["forward"]
    if ecn:
        assert forward["marked"] > 500 and forward["packets"] == pytest.approx(forward["marked"], abs=100)
    else:
        assert info["summary"]["goodput_bps"] == 0 and max(rewards) <= 0
        assert forward["dropped"] > 0


def test_drawn_keys_depend_on_the_seed_as_on_the_command_line() -> None:
    env = AqmEnv("wired", start=None)
    env.reset(seed=3)
    first = env.scenario
    env.reset(seed=4)
    assert first is not None and env.scenario != first
    env.reset(seed=3)
    assert env.scenario == first and first == sj.Scenario.load(suites.FOLDER / "wired.toml", seed=3)


def test_the_same_seed_gives_the_same_arrays_and_no_seed_goes_on() -> None:
    arrays = []
    for _ in range(2):
        env = AqmEnv(scenario({"duration": "2 s", "flows.0.spread": "100 ms"}))
        seeded, unseeded = episode(env, [0.01], seed=11), env.reset()
        assert unseeded[1]["seed"] != env.reset()[1]["seed"]
        arrays.append((seeded[0], seeded[1], unseeded[0], unseeded[1]["seed"]))
    assert (arrays[0][0] == arrays[1][0]).all() and arrays[0][1] == arrays[1][1]
    assert (arrays[0][2] == arrays[1][2]).all() and arrays[0][3] == arrays[1][3]


def test_observations_have_no_future_data() -> None:
    steps = {"link.rate": "10 Mbit/s@0s,1 Mbit/s@3s", "flows.0.stop": "5 s"}
    changed = {**steps, "link.rate": "10 Mbit/s@0s,2 Mbit/s@3s", "flows.0.stop": "4 s"}
    observe = [name for name, _ in names()["observations"]]
    first, second = (
        episode(AqmEnv(scenario(sets), observe=observe, start=None), [0.001])[0] for sets in (steps, changed)
    )
    assert (first[:301] == second[:301]).all(), "observation 300 is at 3 s, up to which the scenarios are the same"
    assert (first[301:] != second[301:]).any()


def test_steps_add_up_to_the_summary() -> None:
    env = AqmEnv(scenario({"warmup": "0 s"}), start=None, raw=True)
    env.reset(seed=2)
    sums: dict[str, float] = {}
    while True:
        *_, truncated, info = env.step([0.02])
        for key in ("arrived", "departed", "dropped", "sojourn_s", "departed_bytes"):
            sums[key] = sums.get(key, 0) + info["raw"][key]
        sums["used_s"] = sums.get("used_s", 0) + info["raw"]["utilisation"] * info["raw"]["span_s"]
        if truncated:
            break
    forward = info["summary"]["links"]["forward"]
    assert sums["arrived"] == forward["arrived"] and sums["dropped"] == forward["dropped"]
    assert sums["sojourn_s"] / sums["departed"] == pytest.approx(forward["sojourn_ms"]["mean"] / 1e3, rel=1e-9)
    assert sums["used_s"] / 6.0 == pytest.approx(forward["utilisation"], rel=1e-9)


@pytest.mark.parametrize("reward", names()["rewards"])
def test_no_constant_at_either_end_is_the_best(reward: str) -> None:
    env = AqmEnv(scenario({"duration": "10 s"}), reward=reward)
    mean = {p: float(np.mean(episode(env, [p])[1])) for p in (0.0, 0.003, 0.01, 0.03, 1.0)}
    best = max(mean, key=lambda p: mean[p])
    assert 0.0 < best < 1.0, mean


def test_a_custom_reward_gets_the_counters() -> None:
    env = AqmEnv(scenario(), reward=lambda raw: -raw["longest_s"] - raw["flows"].shape[0])
    _, rewards, _ = episode(env, [0.0])
    assert min(rewards) < -4.0 and max(rewards) <= -4.0


@pytest.mark.parametrize("action", list(names()["actions"]))
def test_every_action_and_entry_is_finite(action: str) -> None:
    observe = [name for name, _ in names()["observations"]]
    env = AqmEnv(scenario({"duration": "2 s", "warmup": "500 ms"}), action=action, observe=observe, stack=3)
    env.action_space.seed(1)
    env.reset(seed=1)
    truncated = False
    while not truncated:
        observation, reward, _, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation) and np.isfinite(observation).all() and np.isfinite(reward)


def test_drawn_episodes_are_finite() -> None:
    """A sample; `python -m sojourn.gym.soak` runs ten thousand or more."""
    from sojourn.apps.gym.soak import soak

    assert soak(12) == (12, [])


def test_a_stack_is_the_last_steps() -> None:
    one, three = (episode(AqmEnv(scenario(), stack=stack), [0.01])[0] for stack in (1, 3))
    assert (three[5] == np.concatenate([one[3], one[4], one[5]])).all()
    # The first observation includes data from before the first step.
    assert (three[0][-8:] == one[0]).all() and not three[0][:16].any()


def test_an_observation_is_a_copy_unless_it_is_not_wanted() -> None:
    kept, shared = AqmEnv(scenario()), AqmEnv(scenario(), copy=False)
    for env, same in ((kept, False), (shared, True)):
        first, _ = env.reset(seed=1)
        second, *_ = env.step([0.1])
        assert (first is second or (first.base is not None and first.base is second.base)) is same


def test_pictures_and_lines() -> None:
    env = AqmEnv(scenario(), render_mode="rgb_array")
    env.reset(seed=1)
    for _ in range(20):
        env.step([0.01])
    picture = env.render()
    assert picture.shape == (420, 700, 3) and picture.dtype == np.uint8 and picture.std() > 1
    env = AqmEnv(scenario(), render_mode="ansi")
    env.reset(seed=1)
    env.step([0.01])
    assert "p 0.0100" in env.render() and "sojourn" in env.render()


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"action": "probabilty"}, "unknown action"),
        ({"action": "coupled", "start": "codel"}, "start: does not have the two queues"),
        ({"action": "weights"}, "weights needs classes"),
        ({"observe": ["sojourn", "rtt"]}, 'unknown entry "rtt"'),
        ({"observe": ["sojourn", "sojourn"]}, "is listed twice"),
        ({"observe": "all"}, "observe"),
        ({"reward": "qos"}, "unknown reward"),
        ({"step": "2 s"}, "step: 2 s is out of range; from 1 ms to 1 s"),
        ({"step": "10"}, "step: "),
        ({"stack": 0}, "stack: 0 is out of range"),
        ({"start": "fq_codel"}, "start: does not manage a single queue"),
        ({"start": "coddle"}, "start: unknown AQM"),
        ({"render_mode": "human"}, "render_mode"),
        ({"scenario": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_errors_name_the_place(setting: dict[str, Any], text: str) -> None:
    with pytest.raises((sj.InputError, OSError), match=re.escape(text)):
        AqmEnv(**{"scenario": scenario(), **setting})


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ({"warmup": "auto"}, "warmup: is known only after a run"),
        ({"reverse.aqm": f"{EXAMPLES}/python-aqm/my_codel.py:MyCodel"}, "must be built in"),
    ],
)
def test_scenarios_that_cannot_be_steered_are_refused(sets: dict[str, object], text: str) -> None:
    with pytest.raises((sj.InputError, sj.AqmError), match=text):
        AqmEnv(scenario(sets)).reset(seed=1)


def test_without_gymnasium_one_line_names_the_package() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import sojourn\n"
        "try:\n    import sojourn.apps.gym\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1 and "pip install 'sojourn[gym]'" in done.stdout


def test_training_and_test_seeds_are_disjoint() -> None:
    train, held_out = ({seed_of(split, i) for i in range(20_000)} for split in ("train", "held-out"))  # type: ignore[arg-type]
    assert len(train) == len(held_out) == 20_000 and not train & held_out
    assert seed_of("train", 0) == 6_489_720_108_248_976


def test_the_document_has_a_line_for_each_name() -> None:
    text = (Path(__file__).parents[2] / "docs" / "gym.md").read_text(encoding="utf-8")
    text = text.replace(text[text.index("## Congestion control") : text.index("## Policies that run")], "")
    listed = {name for line in text.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}
    known = {*names()["actions"], *names()["rewards"], *suites.names(), *(name for name, _ in names()["observations"])}
    assert known <= listed
    starred = re.findall(r"`(\w+)` \*", text)
    assert starred == list(names()["default"])


def test_another_scenario_is_taken_on_request_and_privileged_facts_too() -> None:
    env = AqmEnv(scenario(), privileged=True)
    assert env.reset(seed=1)[1]["privileged"]["link"]["rate"] == "10 Mbit/s"
    other = scenario({"link.rate": "20 Mbit/s", "duration": "2 s"})
    _, info = env.reset(seed=1, options={"scenario": other})
    assert info["privileged"]["link"]["rate"] == "20 Mbit/s" and info["privileged"]["flows"][0]["count"] == 4
    assert "aqm" not in info["privileged"]["link"] and env.scenario == other
