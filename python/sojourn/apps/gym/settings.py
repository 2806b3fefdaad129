"""Settings of environments of one queue: observations, actions, and rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from sojourn import _core
from sojourn.base.errors import unknown

Raw = dict[str, Any]
"""Counters of a step by name, see `Episodes.raw` of the core."""
Reward = str | Callable[[Raw], float]
"""A reward by name, or a function of the step's counters."""


@cache
def names() -> dict[str, Any]:
    """Actions, entries of observations, and rewards by name."""
    return _core.gym_names()


class Options(TypedDict, total=False):
    """Options of an environment, with the meanings and defaults of `Settings`."""

    step: str
    action: str
    observe: str | Sequence[str]
    stack: int
    reward: Reward
    start: str | None


class BaseSettings:
    """Common base of the settings of all kinds of environments."""

    action: str
    observe: str | Sequence[str]
    reward: Reward

    @property
    def known(self) -> dict[str, Any]:
        """Actions, entries of observations, and rewards of the core, by name."""
        raise NotImplementedError

    @property
    def judge(self) -> Callable[[Raw], float] | None:
        """The reward, if it is a function."""
        return self.reward if callable(self.reward) else None

    @property
    def entries(self) -> list[str]:
        """Entries of an observation, in order."""
        if isinstance(self.observe, str):
            if self.observe != "default":
                raise unknown("observe: set of entries", self.observe, ["default"])
            return list(self.known["default"])
        return list(self.observe)

    def action_space(self) -> spaces.Space[Any]:
        """One number, or one of several choices; call after `episodes`, which validates the names."""
        low, high, choices = self.known["actions"][self.action]
        return spaces.Discrete(int(high) + 1) if choices else spaces.Box(low, high, (1,), np.float32)


@dataclass(frozen=True)
class Settings(BaseSettings):
    """Observations, actions and rewards of an agent of a queue."""

    step: str = "10 ms"
    """Length of a step, from 1 ms to 1 s."""
    action: str = "probability"
    """"probability", "probability-log", "delta", "target" or "coupled"."""
    observe: str | Sequence[str] = "default"
    """Entries by name."""
    stack: int = 1
    """Number of steps in an observation."""
    reward: Reward = "delay-goodput"
    """A name, or a function of the step's counters."""
    start: str | None = "default"
    """The queue manager during the scenario's warm-up, after which the first step starts; None: steps start at 0.

    The default is "codel", with two coupled queues "dualpi2".
    """
    native: bool = False
    """Whether `start` stays in force to the end: a queue manager that is evaluated like a policy."""

    @property
    def known(self) -> dict[str, Any]:
        """Names for environments of one queue."""
        return names()

    def episodes(self, count: int = 1, threads: int = 1) -> _core.Episodes:
        """Create `count` episodes."""
        reward = "" if callable(self.reward) else self.reward
        start = self.start or ""
        if start == "default":
            start = "dualpi2" if self.action == "coupled" else "codel"
        return _core.Episodes(
            self.step, self.action, self.entries, self.stack, reward, start, self.native, count, threads
        )

    def observation_space(self) -> spaces.Space[Any]:
        """Entries of the last steps, the oldest step first; of order one, but unbounded."""
        return spaces.Box(0.0, np.inf, (len(self.entries) * self.stack,), np.float32)
