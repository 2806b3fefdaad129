"""What a fit found, as plain data: best values with intervals, what is not determined, residuals, numbers held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.model.analysis.stats import sample_ci
from sojourn.studies.fitting.data import Data
from sojourn.studies.fitting.fit import Fitted
from sojourn.studies.fitting.likelihood import IN_ALL, TIED, Profile, probability
from sojourn.studies.fitting.search import Simulate

CHECKED = 10
"""Runs at the best values."""
CHECK_SEEDS = 500_000
"""Their seeds begin here: none of them took part in the fit."""
DOUBT = 0.05
"""Least p with which numbers are taken for explained."""
NONE, BELOW, ABOVE, BOTH = "not determined", "bounded below", "bounded above", "determined"


def report(data: Data, fits: Sequence[Fitted], simulate: Simulate) -> dict[str, Any]:
    """Everything about the best of the fits, one for each combination of choices, and how the others compare."""
    best = min(fits, key=lambda one: one.least)
    sets = {**best.choices, **data.space.sets(best.point)}
    [runs] = simulate([(sets, range(CHECK_SEEDS, CHECK_SEEDS + CHECKED))])
    chance = probability_of(data, best)
    told: dict[str, Any] = {
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
        told["hold_out"] = _held_out(data, best, told["explained"])
    return told


def numbers(data: Data, best: Fitted, runs: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """Every number beside what the best values give in runs of their own, and its residual in standard deviations.

    A residual is simulated less measured, over the standard deviation of both: that of the number, and that of the
    mean of the runs. Of one held out the uncertainty of the best values counts as well.
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


def tied(data: Data, best: Fitted) -> list[list[str]]:
    """Keys that the numbers do not tell apart: each could be known if the others were, and they move together."""
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
    """What the data say of a key: its interval may end where the range does, and then they do not bound it there."""
    if profile.low_open and profile.high_open:
        return NONE
    return BELOW if profile.high_open else ABOVE if profile.low_open else BOTH


def probability_of(data: Data, best: Fitted) -> float | None:
    """How often numbers that the scenario explains have a larger sum than those of a fit."""
    return probability(best.least, len(data.seen) - _parameters(best), best.free)


def _parameters(best: Fitted) -> int:
    """Keys that the data determine: one of those that are tied, and none that changes nothing, takes up a number."""
    values = np.linalg.svd(best.likelihood.slopes(), compute_uv=False)
    return int(np.sum(values > np.sqrt(IN_ALL)))


def _is_tied(profile: Profile) -> bool:
    return profile.width > TIED * profile.alone


def _key(data: Data, best: Fitted, key: int) -> dict[str, Any]:
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


def _choices(fits: Sequence[Fitted], best: Fitted) -> list[dict[str, Any]]:
    """Combinations of choices, and by how much the sum of squares of each is above the best one's."""
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


def _predicted(best: Fitted) -> np.ndarray[Any, Any]:
    """Covariance of the numbers at the best values, as these are uncertain themselves."""
    slopes = best.likelihood.surfaces.slopes(best.likelihood.best)
    return np.asarray(slopes @ best.likelihood.covariance() @ slopes.T)


def _held_out(data: Data, best: Fitted, explained: bool) -> dict[str, Any]:
    """Whether the best values explain the numbers that they were not fitted to."""
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


def sentences(told: Mapping[str, Any]) -> list[str]:
    """What has to be said of a fit beside its tables."""
    found = []
    for group in told["tied"]:
        found.append(f"{' and '.join(group)} cannot be told apart: the numbers determine them together only")
    for key in told["keys"]:
        ends = f"{key['from']:g} to {key['to']:g} {key['unit']}".strip()
        if key["state"] == NONE:
            found.append(f"{key['key']} is not determined: the numbers allow all of {ends}")
        elif key["state"] != BOTH:
            found.append(f"{key['key']} is {key['state']} only: the numbers allow it up to an end of {ends}")
    if told["p"] is None:
        found.append("as many keys as numbers: nothing is left to see whether the scenario explains them")
    elif not told["explained"]:
        found.append(
            f"the scenario does not explain the numbers (p = {told['p']:.2g}): the intervals are too narrow, and the "
            "best values are the least wrong ones"
        )
    if not told["closed"]:
        found.append("the search did not close in on one place: take narrower ranges, or longer runs")
    if held := told.get("hold_out"):
        what = "1 number" if held["numbers"] == 1 else f"{held['numbers']} numbers"
        verdict = "explained as well" if held["explained"] else "not explained"
        over = ", though those that were fitted are: the fit follows its numbers and does not predict others"
        found.append(f"held out: {what}, {verdict} (p = {held['p']:.2g}){over if held['overfitted'] else ''}")
    return found
