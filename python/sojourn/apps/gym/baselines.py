"""Baseline policies: constants, and the controllers of queue managers in steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.settings import Settings
from sojourn.base.errors import InputError

REFERENCE_S = 0.02
"""Delay in seconds that corresponds to 1 in an observation."""


@dataclass(frozen=True)
class Constant:
    """The same action in every step."""

    action: float

    def __call__(self, _: NDArray[np.float32]) -> Any:
        """The action."""
        return np.array([self.action], np.float32)


@dataclass
class PiStep:
    """A proportional-integral controller of the delay that acts once per step, like PIE, without PIE's scaling.

    `alpha` and `beta` are per second and update, for the deviation from `target_s` and for the delay's change; with
    `scaled` they are reduced at small probabilities, as in RFC 8033 (section 4.2). For the actions "probability" and
    "probability-log"; `sojourn_now` must be observed. For "coupled" it sets p', like DualPI2 (RFC 9332, Appendix A)
    with alpha 0.15, beta 3, without `scaled`, every 15 ms.
    """

    settings: Settings = field(default_factory=Settings)
    target_s: float = 0.015
    alpha: float = 0.125
    beta: float = 1.25
    scaled: bool = True

    def __post_init__(self) -> None:
        """Raise `InputError` for settings under which it cannot act."""
        if self.settings.action not in ("probability", "probability-log", "coupled"):
            raise InputError(f'action: a controller sets a probability, not "{self.settings.action}"')
        if "sojourn_now" not in self.settings.entries:
            raise InputError("observe: a controller needs sojourn_now; add it")
        width = len(self.settings.entries)
        self._place = width * (self.settings.stack - 1) + self.settings.entries.index("sojourn_now")
        self.reset()

    def reset(self) -> None:
        """Reset the controller's state."""
        self._p, self._before = 0.0, 0.0

    def __call__(self, observation: NDArray[np.float32]) -> Any:
        """The action for the observed delay."""
        delay = REFERENCE_S * float(observation[self._place])
        change = self.alpha * (delay - self.target_s) + self.beta * (delay - self._before)
        self._p = min(1.0, max(0.0, self._p + change * (_scale(self._p) if self.scaled else 1.0)))
        self._before = delay
        if self.settings.action != "probability-log":
            return np.array([self._p], np.float32)
        return np.array([log2(self._p) if self._p > 2.0**-14 else -14.0], np.float32)


def _scale(p: float) -> float:
    """RFC 8033, section 4.2: smaller changes of small probabilities."""
    for bound, factor in ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2)):
        if p < bound:
            return 1.0 / factor
    return 1.0
