"""Settings of environments of connections: observations, actions, and rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, Literal, TypedDict

import numpy as np
from gymnasium import spaces

from sojourn import _core
from sojourn.apps.gym.settings import BaseSettings, Reward
from sojourn.base.errors import InputError, unknown


@cache
def cc_names() -> dict[str, Any]:
    """Actions, entries of observations, and rewards by name."""
    return _core.gym_cc_names()


class CcOptions(TypedDict, total=False):
    """Options of an environment, with the meanings and defaults of `CcSettings`."""

    step: str
    delay: str
    action: str
    gain: float
    rto: Literal["collapse", "policy"]
    observe: str | Sequence[str]
    stack: int
    reward: Reward
    group: int


@dataclass(frozen=True)
class CcSettings(BaseSettings):
    """Observations, actions and rewards of an agent of a connection."""

    step: str = "20 ms"
    """Length of a step, from 1 ms to 1 s, or "rtt": the smoothed round-trip time, at least 10 ms."""
    delay: str = "0 s"
    """Delay from the start of a step until its action takes effect, at most 1 s."""
    action: str = "cwnd-scale"
    """"cwnd-scale", "rate-scale", "cwnd", "rate" or "cwnd-choice"."""
    gain: float = 0.025
    """Maximum relative change of the rate by "rate-scale", above 0 and at most 1."""
    rto: Literal["collapse", "policy"] = "collapse"
    """Whether a timeout collapses the window or leaves it unchanged; under "cwnd-scale" the underlying control decides.
    """
    observe: str | Sequence[str] = "default"
    """Entries by name."""
    stack: int = 10
    """Number of steps in an observation."""
    reward: Reward = "power"
    """A name, or a function of the step's counters."""
    group: int = 0
    """The entry of `[[flows]]` whose flows have agents."""

    def __post_init__(self) -> None:
        """Raise `InputError` for values out of range."""
        if not 0 < self.gain <= 1:
            raise InputError(f"gain: {self.gain} is out of range; must be above 0 and at most 1")
        if self.rto not in ("collapse", "policy"):
            raise unknown("rto", self.rto, ["collapse", "policy"])
        if self.group < 0:
            raise InputError(f"group: {self.group} is out of range; the first one is 0")

    @property
    def known(self) -> dict[str, Any]:
        """Names for environments of connections."""
        return cc_names()

    def episodes(self, most: int = 1, native: str = "") -> _core.CcEpisodes:
        """Create episodes with at most `most` agents; with `native` that congestion control runs instead of agents."""
        return _core.CcEpisodes(
            self.step,
            self.delay,
            self.action,
            self.gain,
            self.rto == "policy",
            self.entries,
            self.stack,
            "" if callable(self.reward) else self.reward,
            self.group,
            most,
            native,
        )

    def observation_space(self) -> spaces.Space[Any]:
        """Entries of the last steps, the oldest step first; a gradient and an action may be negative."""
        return spaces.Box(-inf, inf, (len(self.entries) * self.stack,), np.float32)
