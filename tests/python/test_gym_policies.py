"""Policies in files: a policy acts the same in an environment and as a standalone queue manager."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import _core
from sojourn.apps.gym import AqmEnv
from sojourn.apps.gym.baselines import Constant, PiStep
from sojourn.apps.gym.evaluation import evaluate
from sojourn.apps.gym.policies import Layer, Network, export
from sojourn.apps.gym.settings import Settings
from sojourn.studies.runs.store import run_hash

SCENARIO = """
duration = "5 s"
[link]
rate = "10 Mbit/s"
limit = "200 packets"
[[flows]]
kind = "tcp"
cc = "cubic"
rtt = "40 ms"
count = 4
spread = "500 ms"
"""


def network(action: str = "probability", **settings: Any) -> Network:
    """A two-layer network with arbitrary weights that acts often enough."""
    chosen = Settings(action=action, **settings)
    random = np.random.default_rng(4)
    width = len(chosen.entries) * chosen.stack
    outputs = 5 if action == "delta" else 1
    first = Layer(random.normal(0, 0.5, (8, width)), random.normal(0, 0.5, 8), "tanh")
    bias = {"probability": 0.01, "probability-log": -6.0, "target": 1.0}.get(action, 0.0)
    scale = 0.01 if action == "probability" else 1.0
    second = Layer(random.normal(0, scale, (outputs, 8)), np.full(outputs, bias))
    return Network([first, second], chosen)


@pytest.mark.parametrize(
    ("action", "settings"),
    [
        ("probability", {}),
        ("probability-log", {"step": "7 ms", "stack": 2}),
        ("delta", {"observe": ["sojourn_now", "flows", "idle", "capacity"]}),
        ("target", {"step": "100 ms"}),
    ],
)
def test_a_standalone_policy_acts_as_in_its_environment(tmp_path: Path, action: str, settings: dict[str, Any]) -> None:
    policy = network(action, **settings)
    path = policy.save(tmp_path / "my.json")
    # The name of the scenario's own queue manager does not matter either.
    scenario = sj.Scenario.parse(SCENARIO)
    steered = policy.settings
    env = AqmEnv(
        scenario, step=steered.step, action=action, observe=steered.observe, stack=steered.stack, start=None, raw=True
    )
    observation, _ = env.reset(seed=3)
    actions, truncated = set(), False
    while not truncated:
        chosen = policy(observation)
        observation, _, _, truncated, info = env.step(chosen)
        actions.add((info["raw"]["probability"], info["raw"]["target_s"]))
    assert len(actions) > 10, "it does not do the same in each step"
    alone = sj.Scenario.parse(SCENARIO, {"link.aqm": f"policy:{path}"}).run(3)
    assert alone.summary["fingerprint"][0] == info["fingerprint"]


def test_the_file_is_part_of_the_hash_and_its_place_is_not(tmp_path: Path) -> None:
    path, other = network().save(tmp_path / "a.json"), tmp_path / "folder of others"
    other.mkdir()
    moved = shutil.copy(path, other / "b.json").rename(other / "c.json")
    scenarios = [
        sj.Scenario.parse(SCENARIO, {"link.aqm": f"policy:{str(file).replace(' ', '%20')}"}) for file in (path, moved)
    ]
    first, second = (run_hash(scenario, 1) for scenario in scenarios)
    assert first == second
    network("probability-log").save(path)
    assert run_hash(scenarios[0], 1) != second


def test_it_is_a_queue_manager_wherever_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    network().save("my.json")
    assert json.loads(_core.check_aqm("policy:my.json", 20_000, 1))["violation"] is None
    assert json.loads(_core.check_aqm("fq(policy:my.json)", 20_000, 1))["violation"] is None
    scenario = sj.Scenario.parse(SCENARIO, {"link.aqm": "policy:my.json"})
    assert scenario.aqm == "policy:my.json" and scenario.run().summary["fingerprint"][0]
    compared = sj.compare(["policy:my.json", "codel"], rate="10 Mbit/s", duration="2 s", seeds=1)
    assert "policy:my.json" in str(compared)
    queue = sj.Queue("policy:my.json")
    assert queue.push(0, 1500) == "queued"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sojourn_policy": 2}, "sojourn_policy: unknown version 2; write 1"),
        ({"step": "5 s"}, "step: 5 s is out of range"),
        ({"action": "weights"}, "action: weights needs classes"),
        ({"observe": ["sojourn"]}, "layers[0].weights: 8 numbers; expected 1"),
        ({"layers": []}, "layers: 0 is out of range; from 1 to 3"),
        ({"weights": []}, "is not a policy: unknown field `weights`"),
        ({"action": "delta"}, "the last layer has 1 outputs; the action needs 5"),
    ],
)
def test_errors_in_a_file_name_the_place(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    path = tmp_path / "my.json"
    path.write_text(json.dumps(json.loads(network().text) | change))
    for read in (lambda: Network.load(path), lambda: sj.Scenario.parse(SCENARIO, {"link.aqm": f"policy:{path}"})):
        with pytest.raises(sj.InputError) as refused:
            read()
        assert text in str(refused.value)
    with pytest.raises(sj.InputError, match="no such file"):
        sj.Scenario.parse(SCENARIO, {"link.aqm": "policy:nowhere.json"})
    with pytest.raises(sj.InputError, match="unknown parameter"):
        network().save(path)
        sj.Scenario.parse(SCENARIO, {"link.aqm": f"policy:{path} target 5ms"})


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    policy = network(stack=2)
    again = Network.load(policy.save(tmp_path / "a.json"))
    assert again.text == policy.text
    seen = np.linspace(0, 2, 16, dtype=np.float32)
    assert again(seen) == policy(seen)
    assert export(policy, tmp_path / "b.json", policy.settings).read_text() == policy.text


def test_modules_of_torch_are_exported_by_their_layers(tmp_path: Path) -> None:
    """A stub replaces torch, which the tests do not need."""

    class Tensor:
        def __init__(self, values: Any) -> None:
            self.values = np.array(values, np.float32)

        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def numpy(self) -> Any:
            return self.values

    class Linear:
        def __init__(self, weights: Any, bias: Any) -> None:
            self.weight, self.bias = Tensor(weights), None if bias is None else Tensor(bias)

    class Tanh:
        pass

    class Dropout:
        pass

    class Sequential:
        def __init__(self, *layers: Any) -> None:
            self.layers = layers

        def children(self) -> Any:
            return iter(self.layers)

    settings = {"observe": ["sojourn", "drops"], "step": "20 ms"}
    module = Sequential(Linear([[1, 2], [3, 4]], [0.5, 0.25]), Tanh(), Linear([[1, -1]], None))
    found = Network.load(export(module, tmp_path / "a.json", settings))
    assert found.settings.step == "20 ms"
    seen = np.array([0.1, 0.2], np.float32)
    assert found(seen)[0] == pytest.approx(np.tanh(1.0) - np.tanh(1.35), abs=1e-6)
    for wrong, text in ((Sequential(Dropout()), "Dropout is not a layer"), (object(), "neither a Network nor")):
        with pytest.raises(sj.InputError, match=text):
            export(wrong, tmp_path / "b.json", settings)


def test_candidates_are_judged_on_the_same_episodes() -> None:
    scenario = sj.Scenario.parse(SCENARIO)
    settings = Settings(action="probability-log", start=None)
    found = evaluate(
        {"tail": "droptail", "none": Constant(-14.0), "pie": "pie", "steps": PiStep(settings)},
        scenario,
        episodes=3,
        settings=settings,
        baseline="none",
    )
    table = {row["candidate"]: row for row in found.table().to_dicts()}
    assert table["tail"]["reward"] == table["none"]["reward"] and table["tail"]["difference"] == 0
    assert table["pie"]["difference"] > 2 * table["pie"]["difference_ci95"] > 0
    assert table["steps"]["difference"] > 0
    again = evaluate("pie", scenario, episodes=3)
    assert again.table()["reward"][0] == pytest.approx(table["pie"]["reward"])
    with pytest.raises(sj.InputError, match="baseline"):
        evaluate("pie", scenario, baseline="codel")
    with pytest.raises(sj.InputError, match="start: does not manage a single queue"):
        evaluate("fq_codel", scenario)


def test_a_search_learns() -> None:
    """Two short rounds; docs/gym.md has the result of a full search."""
    from sojourn.apps.gym.learning import SearchConfig, learn

    settings = Settings(action="probability-log", step="100 ms")
    scenario = sj.Scenario.parse(SCENARIO, {"warmup": "500 ms"})
    search = SearchConfig(candidates=8, best=2, episodes=1, rounds=2)
    first, second = (learn(scenario, settings, first=-8.0, search=search, seed=2) for _ in range(2))
    assert first.network.text == second.network.text and first.rounds == second.rounds and len(first.rounds) == 2
    nothing = evaluate(Constant(-14.0), scenario, episodes=1, settings=settings).table()["reward"][0]
    assert first.rounds[-1] > nothing


def test_the_example_learns_judges_and_writes_its_policy(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "gym" / "cross_entropy.py"
    small = ["--cpu-s", "0.1", "--episodes", "3", "--constants", "3", "--suite", "short", "-o", "learned.json"]
    done = subprocess.run([sys.executable, example, *small], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "best constant" in done.stdout and "% of the way to PIE" in done.stdout
    assert Network.load(tmp_path / "learned.json").settings.observe == ["sojourn_now"]
