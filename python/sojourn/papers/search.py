"""A search over the answers to what a paper leaves unsaid, scored on half of its figures and checked on the other half.

`reproduce --assume all` varies one assumption at a time. This looks at combinations: first at set-ups drawn at random
from all of them; then, for each of some random halves of the figures, at the one that a linear model of that half's
scores takes for the best; and from the best of all these along changes of one assumption that raise the score of that
half. What a search gains on the half that it sees is worth as much as stays of
it on the half that it does not see; set-ups drawn at random show what luck alone gives.

Only answers that the paper's text allows are tried: an assumption that it states keeps its value. Nothing here looks
at a single claim, and nothing has a value between the alternatives.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, prod
from typing import Any

from sojourn.base.errors import InputError
from sojourn.papers import Paper
from sojourn.papers.effects import effects_of
from sojourn.papers.judge import Verdict
from sojourn.papers.setup import spelled

Setup = Mapping[str, Any]
"""A value for every assumption that is searched, by name."""
Space = Mapping[str, Sequence[Any]]
"""The values of every assumption that is searched, what the package takes first."""
Half = frozenset[str]
"""Claims, by id."""

SPLITS = 5
AT_RANDOM = 0.75
"""Share of the set-ups that are drawn at random: from these the effect of each value is known, and what luck gives."""
LIKE = 4
"""With fewer figures than these, claims are divided and not figures."""


@dataclass(frozen=True)
class Judged:
    """A set-up and what comes of it."""

    setup: Setup
    scores: Mapping[str, float]
    """Score of every claim by its id, 0 to 1 (see `score`)."""
    verdicts: Mapping[str, str]
    """Verdict on every claim, by its id."""

    def score(self, claims: Half) -> float:
        """Mean score of some claims."""
        return sum(self.scores[name] for name in claims) / len(claims)


Judge = Callable[[Setup], Judged]
"""Runs what a set-up needs, or finds it among what was run."""


@dataclass(frozen=True)
class Split:
    """One division of the figures: what was found by one half, and what it is worth on the other."""

    seen: Half
    unseen: Half
    figures: tuple[str, ...]
    """The figures of the half that was seen; empty where claims are divided."""
    best: Judged
    climbed: int
    """Changes of one assumption that led to it."""


@dataclass(frozen=True)
class Found:
    """What a search found."""

    paper: Paper
    space: Space
    figures: tuple[str, ...]
    usual: Judged
    """The set-up as the package has it."""
    at_random: Sequence[Judged]
    climbs: Sequence[Judged]
    """Every set-up that a model proposed or that was tried on the way up, each once, without those at random."""
    splits: Sequence[Split]
    others: Sequence[Judged] = field(default=())
    """The usual set-up with other seeds: by how much a score varies by chance."""

    @cached_property
    def claims(self) -> Half:
        """Every claim that is scored."""
        return frozenset(self.usual.scores)

    @property
    def tried(self) -> Sequence[Judged]:
        """Every set-up that was tried, each once."""
        return list({_key(one.setup): one for one in (self.usual, *self.at_random, *self.climbs)}.values())

    @property
    def possible(self) -> int:
        """Set-ups that there are."""
        return prod(len(values) for values in self.space.values())

    @cached_property
    def best(self) -> Judged:
        """What does best on all claims; nothing is left to check it."""
        return max(self.tried, key=lambda one: one.score(self.claims))


def space(paper: Paper, figures: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """What the text of a paper leaves open about some figures, and the answers that its package names."""
    return {
        name: (about.chosen, *about.alternatives)
        for name, about in paper.assumptions.items()
        if about.alternatives and not about.stated and any(about.concerns(figure_id) for figure_id in figures)
    }


def score(verdict: Verdict) -> float:
    """Score of a claim, 0 to 1.

    A value has 1 inside the tight band, 1/2 at the edge of the loose one, between them what lies on a line, and beyond
    it 1/2 over its distance from the published value in widths of the loose band. A relation has 1 if it is true of
    the means, else 0.
    """
    measured: float | bool | None = verdict["measured"]
    if measured is None or isnan(measured):
        return 0.0
    if verdict["kind"] == "relation":
        return float(measured)
    expected: float = verdict["expected"]
    side = 1 if measured > expected else 0
    ends = (measured, float(verdict["tight"][side]), float(verdict["loose"][side]))
    away, tight, loose = (abs(one - expected) for one in ends)
    if away <= tight:
        return 1.0
    if away <= loose:
        return 1.0 - 0.5 * (away - tight) / (loose - tight)
    return 0.5 * loose / away


def search(
    paper: Paper,
    figures: Sequence[str],
    number: int,
    judge: Judge,
    *,
    claims: Mapping[str, Sequence[str]],
    seed: int = 1,
    others: Sequence[Judge] = (),
) -> Found:
    """Try so many set-ups of a paper, beside the usual one.

    `claims` has the ids of those that are scored, by figure. `others` judge as `judge` does, with other seeds.
    """
    open_to = space(paper, figures)
    if not open_to:
        raise InputError(f"--search: {paper.id} leaves nothing open about {', '.join(figures)} that has alternatives")
    first = max(1, round(AT_RANDOM * number))
    usual = judge({name: values[0] for name, values in open_to.items()})
    drawn = [judge(setup) for setup in draws(open_to, first, seed)]
    noise = [one(usual.setup) for one in others]
    climbs = _Climbs(open_to, judge, {_key(one.setup): one for one in (usual, *drawn)}, number - len(drawn))
    halves = list(divided(claims, seed))
    splits = []
    for place, (figures_seen, seen, unseen) in enumerate(halves):
        start = max(
            (usual, *drawn, *climbs.predicted(drawn, seen, len(halves) - place)), key=lambda one: one.score(seen)
        )
        best, steps = climbs.climb(start, seen, len(halves) - place, seed + place)
        splits.append(Split(seen, unseen, figures_seen, best, steps))
    return Found(paper, open_to, tuple(figures), usual, drawn, climbs.tried, splits, noise)


def draws(open_to: Space, number: int, seed: int) -> Iterator[dict[str, Any]]:
    """So many different set-ups at random, none of them the usual one; every value of an assumption is as likely.

    All of them if there are no more.
    """
    generator = random.Random(f"set-ups {seed}")
    number = min(number, prod(len(values) for values in open_to.values()) - 1)
    seen = {_key({name: values[0] for name, values in open_to.items()})}
    while number:
        setup = {name: generator.choice(values) for name, values in open_to.items()}
        if _key(setup) not in seen:
            seen.add(_key(setup))
            number -= 1
            yield setup


def divided(claims: Mapping[str, Sequence[str]], seed: int) -> Iterator[tuple[tuple[str, ...], Half, Half]]:
    """Random halves of the figures with the claims of both halves; with few figures, halves of the claims."""
    generator = random.Random(f"halves {seed}")
    by_figure = len(claims) >= LIKE
    units = list(claims) if by_figure else sorted(name for names in claims.values() for name in names)
    if len(units) < 2:
        raise InputError("--search: a single claim cannot be divided; search over more figures")
    for _ in range(SPLITS):
        chosen = set(generator.sample(units, (len(units) + 1) // 2))
        parts = ([unit for unit in units if (unit in chosen) == half] for half in (True, False))
        seen, unseen = (
            frozenset(name for unit in part for name in (claims[unit] if by_figure else (unit,))) for part in parts
        )
        yield tuple(unit for unit in units if unit in chosen) if by_figure else (), seen, unseen


def changes(setup: Setup, other: Setup) -> str:
    """Where a set-up differs from another one, as `--assume` takes it."""
    return ", ".join(f"{name}={spelled(value)}" for name, value in setup.items() if value != other[name])


class _Climbs:
    """Climbs that share what they tried, and a number of set-ups."""

    def __init__(self, open_to: Space, judge: Judge, known: dict[str, Judged], left: int) -> None:
        self.space = open_to
        self.judge = judge
        self.known = known
        self.left = left
        self.tried: list[Judged] = []

    def climb(self, start: Judged, seen: Half, climbers: int, seed: int) -> tuple[Judged, int]:
        """From a set-up upwards: assumption after assumption takes the value that is best for one half of the claims.

        It ends after a round that changes nothing, or with its share of what is left, of so many climbers with itself.
        """
        until = self._until(climbers)
        names = list(self.space)
        random.Random(f"climb {seed}").shuffle(names)
        best, steps, still = start, 0, 0
        while still < len(names):
            name = names[0]
            names = [*names[1:], name]
            near = [self._judged({**best.setup, name: value}, until) for value in self.space[name]]
            highest = max((one for one in near if one), key=lambda one: one.score(seen))
            still += 1
            if highest.score(seen) > best.score(seen):
                best, steps, still = highest, steps + 1, 0
        return best, steps

    def predicted(self, drawn: Sequence[Judged], seen: Half, climbers: int) -> list[Judged]:
        """What a linear model of the scores on one half takes for the best set-up, judged; none where none is left."""
        found = self._judged(effects_of(self.space, drawn, seen).best(), self._until(climbers))
        return [found] if found else []

    def _until(self, climbers: int) -> int:
        """How many set-ups are to be left by one of so many climbers with the same share."""
        return self.left - self.left // climbers

    def _judged(self, setup: Setup, until: int) -> Judged | None:
        """What comes of a set-up; None if it is not known and there is none left to try."""
        key = _key(setup)
        if key not in self.known and self.left > until:
            self.known[key] = self.judge(setup)
            self.tried.append(self.known[key])
            self.left -= 1
        return self.known.get(key)


def _key(setup: Setup) -> str:
    return ", ".join(f"{name}={spelled(value)}" for name, value in setup.items())
