"""Expectations: sentences that must be true of runs with several seeds, in all of them or `in N`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any

from sojourn.base.errors import InputError
from sojourn.model.results.result import Result
from sojourn.studies.sentences import Comparison, Run, Sentence, Vocabulary, parse

PLACE = "--expect"
"""Option that errors name."""


@dataclass(frozen=True)
class Expectation:
    """A sentence, and the number of seeds in which it must be true."""

    text: str
    sentence: Sentence
    needed: int | None
    """None for all."""


@dataclass(frozen=True)
class Judgement:
    """An expectation, judged on the runs of one load."""

    expectation: Expectation
    load: str
    """Name of the load; empty for a single one."""
    seeds: Sequence[int]
    margins: Sequence[float]
    """Margin of each seed; positive if the sentence is true."""
    sides: Sequence[Sequence[tuple[float, float]]]
    """Both sides of each comparison, for each seed; NaN if a run lacks the number."""

    @property
    def holds(self) -> int:
        """Number of seeds with which the sentence is true."""
        return sum(margin > 0 for margin in self.margins)

    @property
    def is_met(self) -> bool:
        """Whether the sentence is true with as many seeds as expected."""
        return self.holds >= (len(self.seeds) if self.expectation.needed is None else self.expectation.needed)

    @property
    def worst(self) -> int:
        """Place of the seed with the least margin."""
        return min(range(len(self.seeds)), key=lambda place: self.margins[place])

    @property
    def record(self) -> dict[str, Any]:
        """Its content for JSON: sides are lists over the seeds."""
        comparisons = [
            {
                "text": one.text,
                "unit": one.unit,
                "left": {"text": one.left, "values": [_finite(sides[place][0]) for sides in self.sides]},
                "right": {"text": one.right, "values": [_finite(sides[place][1]) for sides in self.sides]},
            }
            for place, one in enumerate(self.expectation.sentence.comparisons)
        ]
        return {
            "sentence": self.expectation.sentence.text,
            "load": self.load,
            "seeds": list(self.seeds),
            "holds": self.holds,
            "needed": len(self.seeds) if self.expectation.needed is None else self.expectation.needed,
            "met": self.is_met,
            "worst_seed": self.seeds[self.worst],
            "comparisons": comparisons,
        }

    @property
    def lines(self) -> list[str]:
        """Verdict, and the numbers of the worst seed."""
        where = f" with {self.load}" if self.load else ""
        several = len(self.seeds) > 1
        count = f": true with {self.holds} of {len(self.seeds)} seeds" if several else ""
        head = f"{'met   ' if self.is_met else 'missed'}  {self.expectation.text}{where}{count}"
        seed = f" (seed {self.seeds[self.worst]}, the worst)" if several else ""
        shown = [
            f"        {side_text(one, sides)}{seed}"
            for one, sides in zip(self.expectation.sentence.comparisons, self.sides[self.worst], strict=True)
        ]
        return [head, *shown]


def side_text(comparison: Comparison, sides: tuple[float, float]) -> str:
    """Both sides of a comparison with their numbers; a side that is a number is not repeated."""
    texts = zip((comparison.left, comparison.right), sides, strict=True)
    parts = [f"{text} = {_number(value, comparison.unit)}" for text, value in texts if not _CONSTANT.fullmatch(text)]
    return ", ".join(parts) or comparison.text


def read(texts: Sequence[str], words: Vocabulary, seeds: int | None) -> list[Expectation]:
    """Parse expectations, before anything runs; `seeds` is the number of seeds, None if it is not known yet.

    Raises `InputError` for a wrong sentence, or for more seeds than there are.
    """
    return [_read(text, words, seeds) for text in texts]


def _read(text: str, words: Vocabulary, seeds: int | None) -> Expectation:
    match = _IN.fullmatch(text)
    needed = int(match[2]) if match else None
    if needed is not None and (needed == 0 or (seeds is not None and needed > seeds)):
        raise InputError(f'{PLACE}: "in {needed}" is not a number of these seeds; write 1 to {seeds or "their number"}')
    return Expectation(text.strip(), parse(match[1] if match else text, PLACE, words), needed)


def judge(expectation: Expectation, seeds: Sequence[int], runs: Sequence[Sequence[Run]], load: str = "") -> Judgement:
    """Judge an expectation on the runs of each seed, one per queue manager."""
    sentence = expectation.sentence
    margins = [sentence.margin(pair) for pair in runs]
    return Judgement(expectation, load, seeds, margins, [sentence.sides(pair) for pair in runs])


def judge_run(expectations: Sequence[Expectation], result: Result) -> list[Judgement]:
    """Judge expectations on one run."""
    return [judge(one, [result.seed], [[result]]) for one in expectations]


def _number(value: float, unit: str) -> str:
    return "–" if isnan(value) else f"{value:.4g} {unit}".rstrip()


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


_CONSTANT = re.compile(r"[\d.]+( [\w/%]+)?")
_IN = re.compile(r"(.*\S)\s+in\s+(\d{1,9})\s*", re.DOTALL)
