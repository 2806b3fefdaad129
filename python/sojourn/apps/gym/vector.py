"""Vectorised `Sojourn/Aqm-v0`: stepped in the core; results do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from sojourn.apps.gym.ending import ending
from sojourn.apps.gym.seeds import draw_seed
from sojourn.apps.gym.settings import Options, Settings
from sojourn.apps.gym.source import Source
from sojourn.apps.gym.suites import Suite
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from typing_extensions import Unpack

Observations = NDArray[np.float32]
Infos = dict[str, Any]


class AqmVectorEnv(VectorEnv[Observations, Any, NDArray[Any]]):
    """Several environments `Sojourn/Aqm-v0`; each gives the results of a single one with its seed.

    `threads`: number of threads that step them; no result depends on it. `autoreset_mode`: Gymnasium's "NextStep",
    "SameStep" or "Disabled". `options` are those of `Settings`; `info` has no raw or privileged entries.
    """

    def __init__(
        self,
        num_envs: int,
        scenario: str | Path | Scenario | Suite,
        *,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Unpack[Options],
    ) -> None:
        if num_envs < 1:
            raise InputError(f"num_envs: {num_envs} is too few; give at least 1")
        if threads < 1:
            raise InputError(f"threads: {threads} is too few; give at least 1")
        settings = Settings(**options)
        self._episodes = settings.episodes(num_envs, threads)
        self.num_envs = num_envs
        self.single_action_space = settings.action_space()
        self.single_observation_space = settings.observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self._judge = settings.judge
        self._copy = copy
        self._sources = [Source(scenario)] * num_envs
        self._known: list[Source | None] = [None] * num_envs
        self._randoms: list[np.random.Generator | None] = [None] * num_envs
        self._over = np.zeros(num_envs, np.bool_)
        self._never = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start an episode in each environment, or in those of `options={"reset_mask": …}`.

        An integer is the first environment's seed; the others count up from it.
        """
        seeds = [None] * self.num_envs if seed is None else seed
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else list(seeds)  # type: ignore[arg-type]
        if len(seeds) != self.num_envs:
            raise InputError(f"seed: {len(seeds)} seeds for {self.num_envs} environments; give one for each")
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise InputError(f"reset_mask: not an array of {self.num_envs} booleans")
        if options and "scenario" in options:
            self._sources = [Source(options["scenario"])] * self.num_envs
        drawn = self._begin([i for i in range(self.num_envs) if mask[i]], seeds)
        infos: Infos = {}
        for i, of in drawn.items():
            infos = self._add_info(infos, {"time": self._episodes.time_s(i), "seed": of}, i)
        return self._observations(), infos

    def step(
        self, actions: Any
    ) -> tuple[Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Act for a step in each environment."""
        values = np.ascontiguousarray(np.asarray(actions, np.float64).reshape(self.num_envs))
        is_next = self.autoreset_mode is AutoresetMode.NEXT_STEP
        resets = [i for i in range(self.num_envs) if self._over[i]] if is_next else []
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            raise InputError("an episode is over: reset it, options={'reset_mask': …}, or take another autoreset_mode")
        self._episodes.step(values, ~self._over)
        rewards, truncations = self._episodes.rewards.copy(), self._episodes.over & ~self._over
        if self._judge is not None:
            for place in np.flatnonzero(~self._over).tolist():
                rewards[place] = self._judge(self._episodes.raw(place))
        rewards[self._over] = 0.0
        infos: Infos = {}
        ended = {place: self._end(place) for place in np.flatnonzero(truncations).tolist()}
        if resets:
            for i, of in self._begin(resets).items():
                infos = self._add_info(infos, {"seed": of}, i)
        self._over = truncations.copy()
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended:
            final = self._episodes.observations.copy()
            drawn = self._begin(list(ended))
            for i, info in ended.items():
                infos = self._add_info(infos, {"final_obs": final[i], "final_info": info, "seed": drawn[i]}, i)
            self._over[:] = False
        else:
            for i, info in ended.items():
                infos = self._add_info(infos, {key: info[key] for key in ("summary", "fingerprint")}, i)
        infos["time"] = np.array([self._episodes.time_s(i) for i in range(self.num_envs)])
        infos["_time"] = np.ones(self.num_envs, np.bool_)
        return self._observations(), rewards, self._never.copy(), truncations, infos

    def _begin(self, places: list[int], seeds: Sequence[int | None] = ()) -> dict[int, int]:
        """Start episodes; returns the seed of each."""
        chosen = {i: self._seed(i, seeds[i] if seeds else None) for i in places}
        for i, seed in chosen.items():
            source = self._sources[i]
            if self._known[i] is not source or source.is_drawn:
                source.give(seed, partial(self._episodes.set, i))
                self._known[i] = source
        self._episodes.reset(places, list(chosen.values()))
        self._over[places] = False
        return chosen

    def _seed(self, i: int, seed: int | None) -> int:
        """Seed of an episode, as in a single environment."""
        random = self._randoms[i]
        if seed is not None or random is None:
            random = self._randoms[i] = seeding.np_random(seed)[0]
        return draw_seed(random) if seed is None else seed

    def _end(self, i: int) -> dict[str, Any]:
        """Entries of `info` for a finished episode."""
        return {"time": self._episodes.time_s(i), **ending(self._episodes.finish(i))}

    def _observations(self) -> Observations:
        return self._episodes.observations.copy() if self._copy else self._episodes.observations
