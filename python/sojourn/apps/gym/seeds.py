"""Seeds of training and held-out episodes, which are disjoint."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

import numpy as np

Split = Literal["train", "held-out"]
"""Purpose of an episode."""


def seed_of(split: Split, number: int) -> int:
    """Seed of an episode for training or evaluation; `number` counts from 0.

    An environment that is reset without a seed draws from "train", `evaluate` uses those of "held-out". Both share a
    seed only by a collision of 53-bit hashes.
    """
    digest = hashlib.sha256(json.dumps(["gym", split, int(number)]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def draw_seed(random: np.random.Generator) -> int:
    """Draw the seed of a training episode."""
    return seed_of("train", int(random.integers(NUMBERS)))


NUMBERS = 1 << 53
"""Number of episodes that an environment draws from."""
