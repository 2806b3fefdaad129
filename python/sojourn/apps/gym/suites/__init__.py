"""Distributions of scenarios by name, for training and evaluation.

Each is a file with `[draw]` beside this module. Training and held-out episodes have different seeds:
`sojourn.gym.seed_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sojourn.base.errors import unknown

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of the suites."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def is_suite(name: str) -> bool:
    """Whether a text is the name of a suite."""
    return name in names()


@dataclass(frozen=True)
class Suite:
    """A distribution of scenarios."""

    name: str

    def __post_init__(self) -> None:
        """Raise `InputError` for an unknown name."""
        if not is_suite(self.name):
            raise unknown("suite", self.name, names())

    @property
    def path(self) -> Path:
        """Path of its file."""
        return FOLDER / f"{self.name}.toml"
