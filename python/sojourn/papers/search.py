"""Search over a paper's unstated assumptions, scored on half of its figures and checked on the other half.

`reproduce --assume all` varies one assumption at a time. This searches combinations: first random set-ups; then, for
each of some random halves of the figures, the best set-up by a linear model of that half's scores; and then a hill
climb from the best of all these, along changes of one assumption that raise the score of that half. The gain on the
searched half is worth as much as remains on the other half; random set-ups show the effect of luck alone.

Only values that the paper's text allows are tried: an assumption that it states keeps its value. No single claim is
targeted, and only the listed alternatives are used.
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
"""A value for every searched assumption, by name."""
Space = Mapping[str, Sequence[Any]]
"""The values of every searched assumption, the package's own first."""
Half = frozenset[str]
"""Claims, by id."""

SPLITS = 5
AT_RANDOM = 0.75
"""Share of the set-ups that are random: they determine the effect of each value, and the effect of luck."""
LIKE = 4
"""With fewer figures than these, claims are divided instead of figures."""


@dataclass(frozen=True)
class JudgedSetup:
    """A set-up with its scores and verdicts."""

    setup: Setup
    scores: Mapping[str, float]
    """Score of every claim by its id, 0 to 1 (see `score`)."""
    verdicts: Mapping[str, str]
    """Verdict on every claim, by its id."""

    def score(self, claims: Half) -> float:
        """Mean score of some claims."""
        return sum(self.scores[name] for name in claims) / len(claims)


Judge = Callable[[Setup], JudgedSetup]
"""Runs and judges a set-up, or finds an earlier judgement."""


@dataclass(frozen=True)
class Split:
    """One division of the figures: the best set-up of one half, and its value on the other."""

    seen: Half
    unseen: Half
    figures: tuple[str, ...]
    """The figures of the searched half; empty if claims are divided."""
    best: JudgedSetup
    climbed: int
    """Changes of one assumption that led to it."""


@dataclass(frozen=True)
class SearchResult:
    """Result of a search."""

    paper: Paper
    space: Space
    figures: tuple[str, ...]
    usual: JudgedSetup
    """The package's own set-up."""
    at_random: Sequence[JudgedSetup]
    climbs: Sequence[JudgedSetup]
    """Every set-up proposed by a model or tried by a climb, each once, without the random ones."""
    splits: Sequence[Split]
    others: Sequence[JudgedSetup] = field(default=())
    """The package's set-up with other seeds: the variation of a score by chance."""

    @cached_property
    def claims(self) -> Half:
        """Every claim that is scored."""
        return frozenset(self.usual.scores)

    @property
    def tried(self) -> Sequence[JudgedSetup]:
        """Every tried set-up, each once."""
        return list({_key(one.setup): one for one in (self.usual, *self.at_random, *self.climbs)}.values())

    @property
    def possible(self) -> int:
        """Number of possible set-ups."""
        return prod(len(values) for values in self.space.values())

    @cached_property
    def best(self) -> JudgedSetup:
        """Best set-up on all claims; no claims are left to check it."""
        return max(self.tried, key=lambda one: one.score(self.claims))


def space(paper: Paper, figures: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The open assumptions of a paper for some figures, with the values that its package lists."""
    return {
        name: (about.chosen, *about.alternatives)
        for name, about in paper.assumptions.items()
        if about.alternatives and not about.stated and any(about.concerns(figure_id) for figure_id in figures)
    }


def score(verdict: Verdict) -> float:
    """Score of a claim, 0 to 1.

    A value scores 1 inside the tight band, 1/2 at the edge of the loose one, linear in between, and beyond it 1/2
    divided by its distance from the published value in widths of the loose band. A relation scores 1 if it is true of
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
) -> SearchResult:
    """Try `number` set-ups of a paper, in addition to the package's own.

    `claims` has the ids of the scored claims, by figure. `others` judge like `judge`, with other seeds.
    """
    open_to = space(paper, figures)
    if not open_to:
        raise InputError(f"--search: {paper.id} has no open assumption with alternatives for {', '.join(figures)}")
    first = max(1, round(AT_RANDOM * number))
    usual = judge({name: values[0] for name, values in open_to.items()})
    drawn = [judge(setup) for setup in draws(open_to, first, seed)]
    noise = [one(usual.setup) for one in others]
    climbs = _HillClimbing(open_to, judge, {_key(one.setup): one for one in (usual, *drawn)}, number - len(drawn))
    halves = list(divided(claims, seed))
    splits = []
    for place, (figures_seen, seen, unseen) in enumerate(halves):
        start = max(
            (usual, *drawn, *climbs.predicted(drawn, seen, len(halves) - place)), key=lambda one: one.score(seen)
        )
        best, steps = climbs.climb(start, seen, len(halves) - place, seed + place)
        splits.append(Split(seen, unseen, figures_seen, best, steps))
    return SearchResult(paper, open_to, tuple(figures), usual, drawn, climbs.tried, splits, noise)


def draws(open_to: Space, number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield `number` distinct random set-ups, without the package's own; values are equiprobable.

    All set-ups if there are no more.
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
        raise InputError("--search: a single claim cannot be split; search over more figures")
    for _ in range(SPLITS):
        chosen = set(generator.sample(units, (len(units) + 1) // 2))
        parts = ([unit for unit in units if (unit in chosen) == half] for half in (True, False))
        seen, unseen = (
            frozenset(name for unit in part for name in (claims[unit] if by_figure else (unit,))) for part in parts
        )
        yield tuple(unit for unit in units if unit in chosen) if by_figure else (), seen, unseen


def changes(setup: Setup, other: Setup) -> str:
    """Differences of a set-up from another one, as arguments of `--assume`."""
    return ", ".join(f"{name}={spelled(value)}" for name, value in setup.items() if value != other[name])


class _HillClimbing:
    """Hill climbs with a common cache and a common budget of set-ups."""

    def __init__(self, open_to: Space, judge: Judge, known: dict[str, JudgedSetup], left: int) -> None:
        self.space = open_to
        self.judge = judge
        self.known = known
        self.left = left
        self.tried: list[JudgedSetup] = []

    def climb(self, start: JudgedSetup, seen: Half, climbers: int, seed: int) -> tuple[JudgedSetup, int]:
        """Climb from a set-up: each assumption in turn takes the value that is best for one half of the claims.

        Ends after a round without change, or when its share of the remaining budget, divided among `climbers`, is used
        up.
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

    def predicted(self, drawn: Sequence[JudgedSetup], seen: Half, climbers: int) -> list[JudgedSetup]:
        """Judge the best set-up by a linear model of the scores on one half; empty if the budget is used up."""
        found = self._judged(effects_of(self.space, drawn, seen).best(), self._until(climbers))
        return [found] if found else []

    def _until(self, climbers: int) -> int:
        """Number of set-ups that one of `climbers` with equal shares must leave."""
        return self.left - self.left // climbers

    def _judged(self, setup: Setup, until: int) -> JudgedSetup | None:
        """Judge a set-up; None if it is unknown and the budget is used up."""
        key = _key(setup)
        if key not in self.known and self.left > until:
            self.known[key] = self.judge(setup)
            self.tried.append(self.known[key])
            self.left -= 1
        return self.known.get(key)


def _key(setup: Setup) -> str:
    return ", ".join(f"{name}={spelled(value)}" for name, value in setup.items())
