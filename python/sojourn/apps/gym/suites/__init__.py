"""Distributions of scenarios by name, to learn in and to judge by.

Each is a file with `[draw]` beside this module. Episodes to learn with and those to judge with have seeds of their own:
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
        """Refuse a name that is not known."""
        if not is_suite(self.name):
            raise unknown("suite", self.name, names())

    @property
    def path(self) -> Path:
        """Its file."""
        return FOLDER / f"{self.name}.toml"
