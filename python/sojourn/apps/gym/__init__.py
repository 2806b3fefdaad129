"""Environments for learning queue management and congestion control, on the simulator: `pip install 'sojourn[gym]'`.

Importing this registers them with Gymnasium: `gymnasium.make("Sojourn/Aqm-v0", scenario="train.toml")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import gymnasium
except ModuleNotFoundError as missing:
    if missing.name != "gymnasium":
        raise
    text = "sojourn.gym needs Gymnasium, which is not installed; run: pip install 'sojourn[gym]'"
    raise ModuleNotFoundError(text, name="gymnasium") from None

from sojourn.apps.gym.aqm import AqmEnv
from sojourn.apps.gym.cc import CcEnv
from sojourn.apps.gym.packet import AqmPacketEnv
from sojourn.apps.gym.seeds import seed_of
from sojourn.apps.gym.vector import AqmVectorEnv

if TYPE_CHECKING:
    from sojourn.apps.gym.cc_parallel import cc_parallel_env

__all__ = ["AqmEnv", "AqmPacketEnv", "AqmVectorEnv", "CcEnv", "cc_parallel_env", "seed_of"]

gymnasium.register(
    "Sojourn/Aqm-v0",
    entry_point="sojourn.apps.gym.aqm:AqmEnv",
    vector_entry_point="sojourn.apps.gym.vector:AqmVectorEnv",
    disable_env_checker=True,  # it checks every step; `gymnasium.utils.env_checker.check_env` checks once
)
gymnasium.register("Sojourn/AqmPacket-v0", entry_point="sojourn.apps.gym.packet:AqmPacketEnv", disable_env_checker=True)
gymnasium.register("Sojourn/Cc-v0", entry_point="sojourn.apps.gym.cc:CcEnv", disable_env_checker=True)


def __getattr__(name: str) -> Any:
    """Import what needs PettingZoo on first use."""
    if name == "cc_parallel_env":
        from sojourn.apps.gym.cc_parallel import cc_parallel_env

        return cc_parallel_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
