"""Environments to learn queue management in, over the simulator: `pip install 'sojourn[gym]'`.

Importing this registers them with Gymnasium: `gymnasium.make("Sojourn/Aqm-v0", scenario="train.toml")`.
"""

from __future__ import annotations

try:
    import gymnasium
except ModuleNotFoundError as missing:
    if missing.name != "gymnasium":
        raise
    text = "sojourn.gym needs Gymnasium, which is not installed; run: pip install 'sojourn[gym]'"
    raise ModuleNotFoundError(text, name="gymnasium") from None

from sojourn.gym.aqm import AqmEnv
from sojourn.gym.packet import AqmPacketEnv
from sojourn.gym.seeds import seed_of
from sojourn.gym.vector import AqmVectorEnv

__all__ = ["AqmEnv", "AqmPacketEnv", "AqmVectorEnv", "seed_of"]

gymnasium.register(
    "Sojourn/Aqm-v0",
    entry_point="sojourn.gym.aqm:AqmEnv",
    vector_entry_point="sojourn.gym.vector:AqmVectorEnv",
    disable_env_checker=True,  # it looks at every step; `gymnasium.utils.env_checker.check_env` looks once
)
gymnasium.register("Sojourn/AqmPacket-v0", entry_point="sojourn.gym.packet:AqmPacketEnv", disable_env_checker=True)
