"""`Sojourn/Aqm-v0`: the queue of a bottleneck, controlled in steps of fixed length."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.ending import ending
from sojourn.apps.gym.privileged import privileged
from sojourn.apps.gym.render import Pictures, line
from sojourn.apps.gym.settings import Options, Settings
from sojourn.apps.gym.source import EpisodeSequence
from sojourn.apps.gym.suites import Suite
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from typing_extensions import Unpack

Observation = NDArray[np.float32]


class AqmEnv(gymnasium.Env[Observation, Any]):
    """Controls the queue of a scenario's bottleneck; an episode is a run and ends with the scenario's `duration`.

    `scenario`: the path of a TOML file, which may have `[draw]`, a `Scenario`, or a suite. `options` are those of
    `Settings`: `step`, `action`, `observe`, `stack`, `reward` and `start`. `raw` and `privileged` add to `info` the
    counters of the step, and data that no queue manager can have. Without `copy` every observation is the same array,
    overwritten in each step.

    `terminated` is always False and `truncated` true at the end of the scenario: the problem does not end there, so a
    value function must bootstrap from the last observation. Invalid settings raise InputError.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        scenario: str | Path | Scenario | Suite,
        *,
        raw: bool = False,
        privileged: bool = False,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f'render_mode: "{render_mode}" is not one of {", ".join(self.metadata["render_modes"])}')
        self._settings = Settings(**options)
        self._episodes = self._settings.episodes()
        self.action_space = self._settings.action_space()
        self.observation_space = self._settings.observation_space()
        self.render_mode = render_mode
        self._turns = EpisodeSequence(scenario)
        self._judge = self._settings.judge
        self._raw, self._privileged, self._copy = raw, privileged, copy
        self._seen: Observation = self._episodes.observations[0]
        self._pictures = Pictures() if render_mode == "rgb_array" else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: with `seed` the run of `sojourn run --seed`, else one of the training episodes.

        `options={"scenario": …}` replaces the scenario from now on.
        """
        super().reset(seed=seed)
        seed = self._turns.next(seed, self.np_random, options, partial(self._episodes.set, 0))
        self._episodes.reset([0], [seed])
        if self._pictures is not None:
            self._pictures.clear()
        info = self._info()
        info["seed"] = seed
        return self._observation(), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act for a step."""
        value = float(action[0] if np.ndim(action) else action)
        reward, truncated = self._episodes.step_one(value)
        info = self._info()
        if self._judge is not None:
            reward = float(self._judge(self._episodes.raw(0)))
        if self._pictures is not None:
            self._pictures.add(self._episodes.time_s(0), self._episodes.raw(0))
        if truncated:
            info |= ending(self._episodes.finish(0))
        return self._observation(), reward, False, truncated, info

    def render(self) -> Any:
        """Return a line about the last step, or a picture of the last ten seconds."""
        if self.render_mode == "ansi":
            return line(self._episodes.time_s(0), self._episodes.raw(0))
        return None if self._pictures is None else self._pictures.draw()

    @property
    def scenario(self) -> Scenario | None:
        """Scenario of the current episode, with the drawn values filled in."""
        return self._turns.scenario

    def _observation(self) -> Observation:
        return self._seen.copy() if self._copy else self._seen

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"time": self._episodes.time_s(0)}
        if self._raw:
            info["raw"] = self._episodes.raw(0)
        if self._privileged and (scenario := self.scenario) is not None:
            info["privileged"] = privileged(scenario)
        return info
