"""`Sojourn/Cc-v0`: the congestion control of a connection, controlled in steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.cc_settings import CcOptions, CcSettings
from sojourn.apps.gym.ending import ending
from sojourn.apps.gym.privileged import privileged
from sojourn.apps.gym.source import EpisodeSequence
from sojourn.apps.gym.suites import Suite
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from typing_extensions import Unpack

Observation = NDArray[np.float32]


class CcEnv(gymnasium.Env[Observation, Any]):
    """Controls the first flow of a TCP flow group; the other flows keep the scenario's congestion control.

    `scenario`: the path of a TOML file, which may have `[draw]`, a `Scenario`, or a suite. `options` are those of
    `CcSettings`. `raw` and `privileged` add to `info` the counters of the step, and data that no sender can have.
    Without `copy` every observation is the same array, overwritten in each step.

    The first step starts when the connection is open. `terminated` is always False; `truncated` is true at the end of
    the scenario, or when the flow's application stops. An action takes effect with the next acknowledgment. Invalid
    settings raise InputError.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        scenario: str | Path | Scenario | Suite,
        *,
        raw: bool = False,
        privileged: bool = False,
        copy: bool = True,
        **options: Unpack[CcOptions],
    ) -> None:
        self._settings = CcSettings(**options)
        self._episodes = self._settings.episodes()
        self.action_space = self._settings.action_space()
        self.observation_space = self._settings.observation_space()
        self._turns = EpisodeSequence(scenario)
        self._raw, self._privileged, self._copy = raw, privileged, copy
        self._seen: Observation = self._episodes.observations[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: with `seed` the run of `sojourn run --seed`, else one of the training episodes.

        `options={"scenario": …}` replaces the scenario from now on.
        """
        super().reset(seed=seed)
        seed = self._turns.next(seed, self.np_random, options, self._episodes.set)
        self._episodes.reset(seed)
        return self._observation(), {**self._info(), "seed": seed}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act for a step."""
        self._episodes.step(np.array([action[0] if np.ndim(action) else action], np.float64))
        judge = self._settings.judge
        reward = float(self._episodes.rewards[0] if judge is None else judge(self._episodes.raw(0)))
        truncated, info = bool(self._episodes.over[0]), self._info()
        if truncated:
            info |= ending(self._episodes.finish())
        return self._observation(), reward, False, truncated, info

    @property
    def scenario(self) -> Scenario | None:
        """Scenario of the current episode, with the drawn values filled in."""
        return self._turns.scenario

    def _observation(self) -> Observation:
        return self._seen.copy() if self._copy else self._seen

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"time": self._episodes.time_s()}
        if self._raw:
            info["raw"] = self._episodes.raw(0)
        if self._privileged and (scenario := self.scenario) is not None:
            info["privileged"] = privileged(scenario)
        return info
