"""`Sojourn/AqmPacket-v0`: a verdict on each packet that arrives at the bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sojourn import _core
from sojourn.apps.gym.ending import ending
from sojourn.apps.gym.settings import Settings
from sojourn.apps.gym.source import EpisodeSequence
from sojourn.apps.gym.suites import Suite
from sojourn.model.scenarios.scenario import Scenario

Observation = NDArray[np.float32]
OF_PACKET = 3
"""Numbers of an observation after the entries: the packet's bytes relative to the largest packet, whether it is
ECN-capable, and whether it carries ECT(1).
"""


class AqmPacketEnv(gymnasium.Env[Observation, Any]):
    """Judges each packet: 0 accepts it, 1 marks it, or drops it if it is not ECN-capable, 2 drops it.

    `scenario`, `copy`, seeds and the end of an episode are those of `AqmEnv`. `observe`: entries of the last `stack`
    packets, each over the time since the previous packet; three numbers of the packet to be judged follow. Several
    packets may arrive at one instant.

    An accepted packet is worth 1. Each packet costs half of the delay of the queue's first packet divided by 20 ms (at
    most 10), and each dropped packet, including drops by the limit, costs another half. The first packet is the first
    of the run: there is no warm-up.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        scenario: str | Path | Scenario | Suite,
        *,
        observe: str | Sequence[str] = "default",
        stack: int = 1,
        copy: bool = True,
    ) -> None:
        entries = Settings(observe=observe, stack=stack).entries
        self._episodes = _core.PacketEpisodes(entries, stack)
        self._seen: Observation = self._episodes.observation
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(0.0, np.inf, (len(entries) * stack + OF_PACKET,), np.float32)
        self._turns, self._copy = EpisodeSequence(scenario), copy

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode, like `AqmEnv.reset`, with the first packet that arrives."""
        super().reset(seed=seed)
        seed = self._turns.next(seed, self.np_random, options, self._episodes.set)
        self._episodes.reset(seed)
        return self._observation(), {"time": self._episodes.time_s(), "seed": seed}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Judge the packet that has arrived."""
        reward, truncated = self._episodes.step(float(action))
        info: dict[str, Any] = {"time": self._episodes.time_s()}
        if truncated:
            info |= ending(self._episodes.finish())
        return self._observation(), reward, False, truncated, info

    def _observation(self) -> Observation:
        return self._seen.copy() if self._copy else self._seen
