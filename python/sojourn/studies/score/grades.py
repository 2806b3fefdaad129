"""Grades: fixed bands, the same for every queue manager, never relative to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LETTERS = "ABCDF"


@dataclass(frozen=True)
class Band:
    """Maximum (or minimum) of a number for each of the grades A, B, C and D; beyond is F."""

    limits: tuple[float, float, float, float]
    unit: str = ""
    least: bool = False
    """Whether the limits are minimums."""
    widens: bool = False
    """Whether the limits widen on slow links (`Profile.slowness`)."""

    def scaled(self, slowness: float) -> tuple[float, ...]:
        """The limits on a link."""
        return tuple(limit * slowness if self.widens else limit for limit in self.limits)

    def texts(self, slowness: float = 1.0) -> list[str]:
        """The limits on a link in words."""
        sign, unit = "≥" if self.least else "≤", f" {self.unit}" if self.unit else ""
        return [f"{sign} {limit:g}{unit}" for limit in self.scaled(slowness)]

    def grade(self, value: float, slowness: float = 1.0) -> str:
        """Grade of a value."""
        for letter, limit in zip(LETTERS, self.scaled(slowness), strict=False):
            if value >= limit if self.least else value <= limit:
                return letter
        return LETTERS[-1]


BANDS: Mapping[str, Band] = {
    "delay": Band((15.0, 30.0, 60.0, 120.0), "ms", widens=True),
    "utilisation": Band((0.98, 0.95, 0.90, 0.80), least=True),
    "rtt": Band((1.25, 1.6, 2.5, 4.0), "×"),
    "frames": Band((0.005, 0.02, 0.05, 0.15)),
    "call": Band((25.0, 50.0, 100.0, 200.0), "ms"),
    "fair": Band((0.90, 0.80, 0.65, 0.50), least=True),
    "page": Band((1.5, 2.0, 3.0, 5.0), "×"),
}


def worst(letters: Sequence[str]) -> str | None:
    """The worst of some grades; None if there are none."""
    return max(letters, key=LETTERS.index) if letters else None


def overall(letters: Sequence[str]) -> str | None:
    """Overall grade of several rows: their mean, with A = 4 and F = 0, rounded to the nearest (down at .5)."""
    if not letters:
        return None
    points = sum(LETTERS.index(letter) for letter in letters) / len(letters)
    return LETTERS[min(len(LETTERS) - 1, int(points + 0.5))]
