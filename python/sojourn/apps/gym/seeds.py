"""Seeds of episodes: those to learn with and those to judge with, which are never the same."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

import numpy as np

Split = Literal["train", "held-out"]
"""What an episode is for."""


def seed_of(split: Split, number: int) -> int:
    """Seed of an episode of one of the two kinds; `number` counts from 0.

    An environment that is reset without a seed draws from "train", `evaluate` takes those of "held-out". The two have
    no seed in common but by a coincidence of hashes, of 53 bits.
    """
    digest = hashlib.sha256(json.dumps(["gym", split, int(number)]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def draw_seed(random: np.random.Generator) -> int:
    """Draw the seed of an episode to learn with."""
    return seed_of("train", int(random.integers(NUMBERS)))


NUMBERS = 1 << 53
"""Episodes that an environment draws from."""
