"""Report of a search over a paper's unstated assumptions: as data, and as a section of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from sojourn.base.markdown import table
from sojourn.model.analysis.stats import mean_ci
from sojourn.papers.effects import effects_of
from sojourn.papers.judge import VERDICTS
from sojourn.papers.search import Half, JudgedSetup, SearchResult, changes
from sojourn.papers.setup import spelled

Report = dict[str, Any]
"""A search as plain data; see `report`."""


def report(found: SearchResult, *, seeds: Sequence[int], other_seeds: Sequence[int] = ()) -> Report:
    """A search as data: tried set-ups, every half, the best set-up, and the effects of every assumption."""
    everything = found.claims
    return {
        "paper": found.paper.id,
        "figures": list(found.figures),
        "claims": len(everything),
        "seeds": list(seeds),
        "possible": found.possible,
        "tried": len(found.tried),
        "at_random": len(found.at_random),
        "climbing": len(found.climbs),
        "usual": _set_up(found, found.usual),
        "best": _set_up(found, found.best) | {"claims": _changed_claims(found.usual, found.best)},
        "random": _summary([one.score(everything) for one in found.at_random]),
        "chance": {"seeds": list(other_seeds), "scores": [one.score(everything) for one in found.others]},
        "splits": [
            {
                "figures": list(split.figures),
                "claims_seen": sorted(split.seen),
                "changes": changes(split.best.setup, found.usual.setup),
                "steps": split.climbed,
                "seen": _beside(found, split.best, split.seen),
                "unseen": _beside(found, split.best, split.unseen),
            }
            for split in found.splits
        ],
        "assumptions": assumptions(found),
    }


def assumptions(found: SearchResult) -> list[dict[str, Any]]:
    """For every assumption and value: its mean effect, the best score with it, and how many halves chose it.

    The effect is relative to the package's own value, over random set-ups: coefficients of a linear model of the score
    with a term for every value of every assumption (least squares), with 95 % intervals by Student's t. An assumption
    is `determined` if one value beats every other one by more than the interval of their difference.
    """
    everything = found.claims
    effects = effects_of(found.space, found.at_random, found.claims)
    rows = []
    for name, values in found.space.items():
        value_rows = []
        for value in values:
            having = [one.score(everything) for one in found.tried if one.setup[name] == value]
            effect, half = effects.of(name, value)
            taken = sum(split.best.setup[name] == value for split in found.splits)
            value_rows.append(
                {
                    "value": value,
                    "usual": value == values[0],
                    "effect": effect,
                    "ci95": half,
                    "best": max(having, default=None),
                    "halves": taken,
                }
            )
        rows.append({"name": name, "determined": effects.determined(name), "values": value_rows})
    return rows


def _set_up(found: SearchResult, one: JudgedSetup) -> dict[str, Any]:
    counts = Counter(one.verdicts.values())
    return {
        "changes": changes(one.setup, found.usual.setup),
        "setup": dict(one.setup),
        "score": one.score(found.claims),
        "verdicts": {name: counts[name] for name in VERDICTS if counts[name]},
    }


def _changed_claims(before: JudgedSetup, after: JudgedSetup) -> list[dict[str, str]]:
    """Claims with another verdict."""
    return [
        {"claim": name, "usual": verdict, "best": after.verdicts[name]}
        for name, verdict in before.verdicts.items()
        if after.verdicts[name] != verdict
    ]


def _beside(found: SearchResult, best: JudgedSetup, claims: Half) -> dict[str, Any]:
    """Score of a set-up on some claims, with the package's own and the random ones."""
    at_random = [one.score(claims) for one in found.at_random]
    own = best.score(claims)
    above = sum(score > own for score in at_random) / len(at_random)
    usual = found.usual.score(claims)
    return {"best": own, "usual": usual, "random_above": above, **_summary(at_random)}


def _summary(scores: Sequence[float]) -> dict[str, Any]:
    mean, _ = mean_ci(scores)
    spread = sqrt(sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1))
    return {"random_mean": mean, "random_sd": spread, "random_best": max(scores)}


def section(one: Report) -> list[str]:
    """Lines of Markdown: tried set-ups, the halves, the best set-up, the assumptions."""
    random, chance = one["random"], one["chance"]
    seeds = f"seed {one['seeds'][0]}" if len(one["seeds"]) == 1 else f"{len(one['seeds'])} seeds"
    lines = [
        f"{one['tried']} of {one['possible']:,} set-ups were tried, {one['at_random']} at random and "
        f"{one['climbing']} by climbing, with {seeds} and {one['claims']} claims of {', '.join(one['figures'])}. "
        f"Scores: today's set-up {one['usual']['score']:.3f}, random set-ups {random['random_mean']:.3f} on average "
        f"(standard deviation {random['random_sd']:.3f}, maximum {random['random_best']:.3f}), the best of all "
        f"{one['best']['score']:.3f}.",
    ]
    if chance["scores"]:
        scores = ", ".join(f"{score:.3f}" for score in chance["scores"])
        lines[0] += f" Today's set-up with seeds {', '.join(map(str, chance['seeds']))}, by chance: {scores}."
    lines += ["", *table(SPLIT_HEADINGS, [_split_row(number, split) for number, split in enumerate(one["splits"], 1)])]
    lines += ["", _gain(one["splits"]), ""]
    lines += [
        f"The best of all: {_code(one['best']['changes'])}. Its verdicts: {_counts(one['best'])}; today's: "
        f"{_counts(one['usual'])}. No claims are left to check it.",
        "",
    ]
    if one["best"]["claims"]:
        rows = [[moved["claim"], moved["usual"], moved["best"]] for moved in one["best"]["claims"]]
        lines += [*table(("claim", "today", "best set-up overall"), rows), ""]
    rows = [_value_row(about, value) for about in one["assumptions"] for value in about["values"]]
    return [*lines, *table(VALUE_HEADINGS, rows)]


SPLIT_HEADINGS = (
    "seen",
    "set-up found",
    "its score there",
    "today's",
    "at random",
    "score on the other half",
    "today's",
    "at random",
    "better than at random",
)
VALUE_HEADINGS = ("assumption", "value", "change of the score", "best with it", "halves that selected it", "determined")


def _split_row(number: int, split: Mapping[str, Any]) -> list[str]:
    of = ", ".join(split["figures"]) or f"{len(split['claims_seen'])} claims"
    seen, unseen = split["seen"], split["unseen"]
    return [
        f"{number}: {of}",
        _code(split["changes"]),
        *(f"{seen[key]:.3f}" for key in ("best", "usual", "random_mean")),
        *(f"{unseen[key]:.3f}" for key in ("best", "usual", "random_mean")),
        f"{unseen['random_above']:.0%}",
    ]


def _gain(splits: Sequence[Mapping[str, Any]]) -> str:
    """Gain of the halves where they were searched, and where not."""
    seen, unseen = ([split[half]["best"] - split[half]["usual"] for split in splits] for half in ("seen", "unseen"))
    texts = []
    for gains in (seen, unseen):
        mean, half = mean_ci(gains)
        texts.append(f"{mean:+.3f}" + (f" ± {half:.3f}" if half is not None else ""))
    return (
        f"Over today's set-up the searches gain {texts[0]} on the half that they see and {texts[1]} on the other half "
        f"(means over {len(splits)} overlapping halves; 95 % intervals as if they were independent)."
    )


def _value_row(about: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    value = spelled(row["value"]) if row["value"] is not None else "none"
    best = "–" if row["best"] is None else f"{row['best']:.3f}"
    is_best = about["determined"] is not None and about["determined"] == spelled(row["value"])
    name = about["name"] if row["usual"] else ""
    return [name, value, _change(row), best, str(row["halves"]), "yes" if is_best else ""]


def _change(row: Mapping[str, Any]) -> str:
    """Effect of a value, in words."""
    if row["effect"] is None:
        return "–"
    return "today's" if row["usual"] else f"{row['effect']:+.3f} ± {row['ci95']:.3f}"


def _counts(one: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in one["verdicts"].items())


def _code(text: str) -> str:
    return f"`{text}`" if text else "today's"
