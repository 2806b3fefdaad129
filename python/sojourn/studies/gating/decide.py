"""Decision about changes against a baseline: regression, better, small, unclear.

A change is a *regression* if the whole interval of the median difference is worse than its margin, and if so many
differences are worse that there is an effect. The latter is tested for all changes together: by Holm's method the error
of a look is divided by the number of changes that are not rejected yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan

from sojourn.studies.gating.statistics import Look, confidence, interval, looks, median, rank

REGRESSION, BETTER, SMALL, UNCLEAR, UNCHANGED = "regression", "better", "small", "unclear", "unchanged"


@dataclass(eq=False)
class Change:
    """Differences of a watch in one world, whose decisions differ from the baseline's."""

    margin: float
    """Largest difference that does not matter, in the unit of the watch."""
    verdict: str = ""
    """Empty until it is decided."""
    low: float = -inf
    """Bounds of the interval of the median difference; a positive difference is worse."""
    high: float = inf
    middle: float = 0.0
    """Median difference."""
    seeds: int = 0
    """Number of seeds at the last look."""
    confidence: float = 0.0
    """Confidence of the interval, 0 to 1."""


def difference(before: float, now: float, sign: int) -> float:
    """Difference of a seed, positive if worse; a value that is missing now is worse than any, a new one better."""
    if isnan(before) or isnan(now):
        return inf * (isnan(now) - isnan(before)) if isnan(before) != isnan(now) else 0.0
    return sign * (now - before)


def compare(changes: Sequence[Change], seeds: int, differences: Callable[[Change, int], Sequence[float]]) -> None:
    """Decide about all changes of a comparison, with more seeds for those that fewer do not decide.

    `differences` returns those of a change for so many seeds.
    """
    for look in looks(seeds):
        _decide(changes, {one: differences(one, look.seeds) for one in changes if not one.verdict}, look)
    for change in changes:
        change.verdict = change.verdict or UNCLEAR


def _decide(changes: Sequence[Change], differences: Mapping[Change, Sequence[float]], look: Look) -> None:
    """Look at the differences of the changes that are not decided yet; the others count for Holm's method."""
    for change, own in differences.items():
        change.seeds, change.middle = look.seeds, median(own)
        change.low, change.high = interval(own, look.interval) or (-inf, inf)
        change.confidence = confidence(look.seeds, look.interval)
    found = [change for change in differences if change.low > change.margin]
    while rejected := [change for change in found if _has_effect(differences[change], _error(changes, look))]:
        for change in rejected:
            change.verdict = REGRESSION
            found.remove(change)
    for change, own in differences.items():
        if not change.verdict and change.high < -change.margin:
            improved = [-one for one in own]
            change.verdict = BETTER if _has_effect(improved, _error(changes, look)) else ""
        elif not change.verdict and -change.margin <= change.low and change.high <= change.margin:
            change.verdict = SMALL


def _error(changes: Sequence[Change], look: Look) -> float:
    """Error of the look per change that is not rejected."""
    return look.error / max(1, sum(change.verdict != REGRESSION for change in changes))


def _has_effect(differences: Sequence[float], error: float) -> bool:
    """Whether more differences are positive than chance explains."""
    needed = rank(len(differences), error)
    return needed is not None and sum(one > 0 for one in differences) >= needed
