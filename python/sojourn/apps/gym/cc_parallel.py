"""The congestion control of several connections, each with an agent: a PettingZoo environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from sojourn.apps.gym.cc_settings import CcOptions, CcSettings
from sojourn.apps.gym.ending import ending
from sojourn.apps.gym.source import EpisodeSequence
from sojourn.apps.gym.suites import Suite
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario

try:
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as missing:
    if missing.name != "pettingzoo":
        raise
    text = "sojourn.gym.cc_parallel needs PettingZoo, which is not installed; run: pip install 'sojourn[gym]'"
    raise ModuleNotFoundError(text, name="pettingzoo") from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

Observation = NDArray[np.float32]
Info = dict[str, Any]


class CcParallelEnv(ParallelEnv[str, Observation, Any]):  # type: ignore[misc]  # PettingZoo has no types
    """Controls every flow of a TCP flow group by agents `flow0`, `flow1`, …; other groups keep their own control.

    `flows`: the maximum number of agents, required if the scenario has `[draw]`; default: the group's `count`.
    `options` are those of `CcSettings`. With `raw` each agent's `info` has the counters of its step.

    All agents exist from the start: one whose connection is not open yet sees zeros, and its actions are ignored. An
    agent is truncated when its flow's application stops, or at the end of the scenario; the end of the scenario is
    reported to the last agents (`summary`, `fingerprint`).

    With `step="rtt"` agents act at different instants: `step` runs until the next step of one ends, and `due` in each
    agent's `info` is whether its own step has ended. An agent that is not due sees its previous observation, with a
    reward of zero, and its action is ignored.
    """

    metadata = {"name": "sojourn_cc_v0", "render_modes": []}  # noqa: RUF012 (PettingZoo's own form)
    render_mode = None

    def __init__(
        self,
        scenario: str | Path | Scenario | Suite,
        *,
        flows: int | None = None,
        raw: bool = False,
        **options: Unpack[CcOptions],
    ) -> None:
        self._settings, self._turns, self._raw = CcSettings(**options), EpisodeSequence(scenario), raw
        source = self._turns.source
        if flows is None and source.is_drawn:
            raise InputError("flows: a drawn scenario may have any number of flows; give the maximum number of agents")
        if flows is None:
            flows = int(self._group(source.scenario(0)).get("count", 1))
        if flows < 1:
            raise InputError(f"flows: {flows} leaves no agent; give at least 1")
        self._episodes = self._settings.episodes(flows)
        self.possible_agents = [f"flow{i}" for i in range(flows)]
        self.agents: list[str] = []
        self._places = {agent: i for i, agent in enumerate(self.possible_agents)}
        self.action_spaces = {agent: self._settings.action_space() for agent in self.possible_agents}
        self.observation_spaces = {agent: self._settings.observation_space() for agent in self.possible_agents}
        self._count = 0
        self._random: np.random.Generator | None = None

    def reset(self, seed: int | None = None, options: Info | None = None) -> tuple[dict[str, Observation], Info]:
        """Start an episode, like `CcEnv.reset`."""
        if seed is not None or self._random is None:
            self._random = seeding.np_random(seed)[0]
        seed = self._turns.next(seed, self._random, options, self._take)
        self._episodes.reset(seed)
        self.agents = self.possible_agents[: self._count]
        return self._observations(), {agent: {**info, "seed": seed} for agent, info in self._infos().items()}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Info]:
        """Act for a step, with an action for each of `agents`."""
        values = np.full(len(self.possible_agents), np.nan)
        for agent, action in actions.items():
            values[self._places[agent]] = action[0] if np.ndim(action) else action
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise InputError(f"actions: {', '.join(missing)} are missing; give one for each of `agents`")
        self._episodes.step(values)
        judge, places = self._settings.judge, {agent: self._places[agent] for agent in self.agents}
        rewards = {
            agent: float(self._episodes.rewards[i])
            if judge is None
            else float(judge(self._episodes.raw(i)))
            if self._episodes.due[i]
            else 0.0
            for agent, i in places.items()
        }
        truncations = {agent: bool(self._episodes.over[i]) for agent, i in places.items()}
        observations, infos = self._observations(), self._infos()
        if all(truncations.values()):
            summary = ending(self._episodes.finish())
            infos = {agent: {**info, **summary} for agent, info in infos.items()}
        terminations = dict.fromkeys(self.agents, False)
        self.agents = [agent for agent in self.agents if not truncations[agent]]
        return observations, rewards, terminations, truncations, infos

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Action space of an agent."""
        return self.action_spaces[agent]

    @property
    def scenario(self) -> Scenario | None:
        """Scenario of the current episode, with the drawn values filled in."""
        return self._turns.scenario

    def _group(self, scenario: Scenario) -> dict[str, Any]:
        groups: list[dict[str, Any]] = scenario.document["flows"]
        if self._settings.group >= len(groups):
            raise InputError(f"group: there is no group {self._settings.group}; the scenario has {len(groups)} groups")
        return groups[self._settings.group]

    def _take(self, text: str, sets: list[tuple[str, str]], base: str) -> None:
        self._count = self._episodes.set(text, sets, base)

    def _observations(self) -> dict[str, Observation]:
        return {agent: self._episodes.observations[self._places[agent]].copy() for agent in self.agents}

    def _infos(self) -> Info:
        time, due = self._episodes.time_s(), self._episodes.due
        infos: Info = {agent: {"time": time, "due": bool(due[self._places[agent]])} for agent in self.agents}
        if self._raw:
            for agent, info in infos.items():
                info["raw"] = self._episodes.raw(self._places[agent])
        return infos


def cc_parallel_env(scenario: str | Path | Scenario | Suite, **settings: Any) -> CcParallelEnv:
    """A PettingZoo environment; `settings` are those of `CcParallelEnv`."""
    return CcParallelEnv(scenario, **settings)
