"""Results of a fit as plain data: best values with intervals, undetermined keys, residuals, held-out numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.model.analysis.stats import sample_ci
from sojourn.studies.fitting.data import Data
from sojourn.studies.fitting.fit import FitResult
from sojourn.studies.fitting.likelihood import IN_ALL, TIED, Profile, probability
from sojourn.studies.fitting.search import Simulate

CHECKED = 10
"""Check runs at the best values."""
CHECK_SEEDS = 500_000
"""First seed of the check runs, which the fit never used."""
DOUBT = 0.05
"""Minimum p at which the numbers count as explained."""
NONE, BELOW, ABOVE, BOTH = "not determined", "bounded below", "bounded above", "determined"


def report(data: Data, fits: Sequence[FitResult], simulate: Simulate) -> dict[str, Any]:
    """Report on the best of the fits, one for each combination of choices, and a comparison with the others."""
    best = min(fits, key=lambda one: one.least)
    sets = {**best.choices, **data.space.sets(best.point)}
    [runs] = simulate([(sets, range(CHECK_SEEDS, CHECK_SEEDS + CHECKED))])
    chance = probability_of(data, best)
    document: dict[str, Any] = {
        "best": sets,
        "keys": [_key(data, best, key) for key in range(len(data.space.ranges))],
        "tied": tied(data, best),
        "choices": _choices(fits, best),
        "numbers": numbers(data, best, runs),
        "sum_of_squares": best.least,
        "degrees_of_freedom": len(data.seen) - _parameters(best),
        "p": chance,
        "explained": chance is None or chance >= DOUBT,
        "closed": best.closed,
        "points": sum(one.tried for one in fits),
    }
    if data.held_out:
        document["hold_out"] = _held_out(data, best, document["explained"])
    return document


def numbers(data: Data, best: FitResult, runs: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """Every number with its check runs at the best values, and its residual in standard deviations.

    A residual is simulated minus measured, divided by the standard deviation of both: of the number and of the mean of
    the runs. For a held-out number the uncertainty of the best values is included.
    """
    spread = _predicted(best)
    rows = []
    for place, number in enumerate(data.numbers):
        mean, half = sample_ci(runs[:, place].tolist())
        error = float(np.var(runs[:, place], ddof=1)) / len(runs)
        held_out = place in data.held_out
        variance = best.noise[place, place] + error + (spread[place, place] if held_out else 0.0)
        rows.append(
            {
                "number": number.name,
                "unit": number.unit,
                "measured": number.value,
                "sd": float(np.sqrt(best.noise[place, place])),
                "simulated": mean,
                "simulated_ci95": half,
                "residual": (mean - number.value) / float(np.sqrt(variance)),
                "held_out": held_out,
            }
        )
    return rows


def tied(data: Data, best: FitResult) -> list[list[str]]:
    """Groups of keys that the numbers cannot distinguish: each is determined only if the others are known."""
    found: list[list[str]] = []
    paths = [one.path for one in data.space.ranges]
    for key, profile in enumerate(best.profiles):
        partners = set(profile.partners)
        if _is_tied(profile):
            partners |= {
                other
                for other, moved in enumerate(profile.moved)
                if other != key and moved > best.profiles[other].alone and _is_tied(best.profiles[other])
            }
        together = sorted(paths[one] for one in {key, *partners})
        if partners and together not in found:
            found.append(together)
    return found


def state(profile: Profile) -> str:
    """Whether the data bound a key: an interval that ends at the limit of the range is not bounded there."""
    if profile.low_open and profile.high_open:
        return NONE
    return BELOW if profile.high_open else ABOVE if profile.low_open else BOTH


def probability_of(data: Data, best: FitResult) -> float | None:
    """Probability that numbers explained by the scenario have a larger sum of squares than this fit."""
    return probability(best.least, len(data.seen) - _parameters(best), best.free)


def _parameters(best: FitResult) -> int:
    """Number of parameters that the data determine: tied keys count once, keys without effect not at all."""
    values = np.linalg.svd(best.likelihood.slopes(best.likelihood.best), compute_uv=False)
    return int(np.sum(values > np.sqrt(IN_ALL)))


def _is_tied(profile: Profile) -> bool:
    return profile.width > TIED * profile.alone


def _key(data: Data, best: FitResult, key: int) -> dict[str, Any]:
    about, profile = data.space.ranges[key], best.profiles[key]
    return {
        "key": about.path,
        "unit": about.unit,
        "value": best.point[key],
        "low": about.at(profile.low),
        "high": about.at(profile.high),
        "from": about.low,
        "to": about.high,
        "state": state(profile),
        "profile": [[about.at(place), grown] for place, grown in profile.curve],
        "threshold": best.likelihood.threshold,
    }


def _choices(fits: Sequence[FitResult], best: FitResult) -> list[dict[str, Any]]:
    """Combinations of choices, and how far the sum of squares of each is above the best one's."""
    if not best.choices:
        return []
    rows = [
        {
            "choices": dict(one.choices),
            "above_best": one.least - best.least,
            "excluded": one.least - best.least > best.likelihood.threshold,
        }
        for one in fits
    ]
    return sorted(rows, key=lambda row: float(row["above_best"]))


def _predicted(best: FitResult) -> np.ndarray[Any, Any]:
    """Covariance of the predicted numbers due to the uncertainty of the best values."""
    slopes = best.likelihood.surfaces.slopes(best.likelihood.best)
    return np.asarray(slopes @ best.likelihood.covariance() @ slopes.T)


def _held_out(data: Data, best: FitResult, explained: bool) -> dict[str, Any]:
    """Whether the best values explain the held-out numbers."""
    likelihood, places = best.likelihood, sorted(data.held_out)
    left = (likelihood.surfaces.at(likelihood.best) - likelihood.measured)[places]
    covariance = best.noise + likelihood.surfaces.error(likelihood.best) + _predicted(best)
    total = float(left @ np.linalg.solve(covariance[np.ix_(places, places)], left))
    chance = probability(total, len(places), best.free)
    assert chance is not None
    return {
        "numbers": len(places),
        "sum_of_squares": total,
        "p": chance,
        "explained": chance >= DOUBT,
        "overfitted": explained and chance < DOUBT,
    }


def sentences(document: Mapping[str, Any]) -> list[str]:
    """Sentences about a fit in addition to its tables."""
    found = []
    for group in document["tied"]:
        found.append(f"{' and '.join(group)} cannot be told apart: the numbers determine only a combination of them")
    for key in document["keys"]:
        ends = f"{key['from']:g} to {key['to']:g} {key['unit']}".strip()
        if key["state"] == NONE:
            found.append(f"{key['key']} is not determined: the numbers allow all of {ends}")
        elif key["state"] != BOTH:
            found.append(f"{key['key']} is {key['state']} only: the numbers allow it up to an end of {ends}")
    if document["p"] is None:
        found.append("as many keys as numbers: nothing is left to see whether the scenario explains them")
    elif not document["explained"]:
        found.append(
            f"the scenario does not explain the numbers (p = {document['p']:.2g}): the intervals are too narrow, and "
            "the best values only the closest ones"
        )
    if not document["closed"]:
        found.append("the search did not converge: give narrower ranges, or longer runs")
    if held := document.get("hold_out"):
        count = "1 number" if held["numbers"] == 1 else f"{held['numbers']} numbers"
        verdict = "explained as well" if held["explained"] else "not explained"
        over = ", although the fitted ones are: the fit is overfitted and does not predict other numbers"
        found.append(f"held out: {count}, {verdict} (p = {held['p']:.2g}){over if held['overfitted'] else ''}")
    return found
