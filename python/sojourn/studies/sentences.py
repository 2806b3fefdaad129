"""Sentences: conditions about runs, `p99(sojourn) > 10 * target`, and numbers alone, `p99(delay, call)`.

The core parses and judges them (docs/sentences.md); this module hands it scenarios and results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.late import np
from sojourn.model.aqms.registry import parameters
from sojourn.model.aqms.spelling import references, spelled_aqm
from sojourn.model.results.payload import bulk_groups
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

Document = Mapping[str, Any]
"""A canonical scenario as a dictionary."""
Run = Result | _core.Evidence
"""A result, or the record of a run (`evidence_of_record`)."""


@dataclass(frozen=True)
class Vocabulary:
    """Scenarios that give a sentence its names: a sentence calls their queue managers A, B, … or by spelling."""

    scenarios: Sequence[Scenario | Document]
    """One per queue manager."""
    points: Sequence[Scenario] = ()
    """Further scenarios: a key need not be in every one."""
    names: Sequence[str] = ()
    """Names of the scenarios instead of their queue managers' spellings."""
    link: str = ""
    """Link that words without one are about; default: the first."""


@dataclass(frozen=True)
class Comparison:
    """A comparison in a sentence, with the texts of both sides."""

    text: str
    left: str
    right: str
    unit: str
    """Unit of both sides: ms, Mbit/s, %, B, packets, or none."""


class Sentence:
    """A condition about runs."""

    def __init__(self, core: _core.Sentence) -> None:
        """Wrap a sentence of the core; users call `parse`."""
        self._core = core
        self.text = core.text
        self.comparisons = tuple(Comparison(*one) for one in core.comparisons)
        self.groups = frozenset(core.groups)
        """Numbers of the flow groups that it names."""

    def margin(self, runs: Sequence[Run]) -> float:
        """Margin by which it is true for a run of each queue manager, in their order; positive if it is.

        That is the logarithm of the ratio of both sides, if these are positive; minus infinity if a run lacks a number.
        """
        return self._core.margin(self._evidence(runs))

    def holds(self, runs: Sequence[Run]) -> bool:
        """Whether it is true for a run of each queue manager."""
        return self.margin(runs) > 0

    def sides(self, runs: Sequence[Run]) -> list[tuple[float, float]]:
        """Both sides of each comparison; NaN if a run lacks the number."""
        return self._core.sides(self._evidence(runs))

    def _evidence(self, runs: Sequence[Run]) -> list[_core.Evidence]:
        return [evidence(run, histogram=self._core.needs_histogram) for run in runs]


class Expression:
    """A number about a run."""

    def __init__(self, core: _core.Expression) -> None:
        """Wrap an expression of the core; users call `expression`."""
        self._core = core
        self.text = core.text
        self.unit = core.unit
        """ms, Mbit/s, %, B, packets, or none."""

    def value(self, run: Run) -> float:
        """The number for a run; NaN if the run lacks it."""
        return self._core.value([evidence(run, histogram=self._core.needs_histogram)])


def parse(text: str, place: str, words: Vocabulary | Sequence[Scenario | Document]) -> Sentence:
    """Parse a sentence about runs of these scenarios, one per queue manager.

    Raises `InputError` that begins with `place` (`--where`) if it is wrong.
    """
    vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words)
    return Sentence(_core.Sentence(text, _names(text, place, vocabulary)))


def expression(text: str, place: str, scenario: Scenario | Document) -> Expression:
    """Parse a number about a run of a scenario. Raises `InputError` that begins with `place` if it is wrong."""
    return Expression(_core.Expression(text, _names(text, place, Vocabulary([scenario]))))


def evidence(run: Run, *, histogram: bool = True) -> _core.Evidence:
    """A run of any engine as sentences see it; without `histogram` it has no quantiles of sojourn times."""
    if isinstance(run, _core.Evidence):
        return run
    own = any(references(table) for table in run.scenario.aqm_tables.values())
    return _core.Evidence(
        run.scenario.canonical,
        json.dumps(run.totals_from_start),
        json.dumps(run.aqm_parameters if own else {}, default=str),
        _columns(run.bin_columns) if histogram else None,
    )


def evidence_of_record(scenario: Document, summary: Mapping[str, Any], histogram: Any = None) -> _core.Evidence:
    """The record of a run: its canonical scenario, its summary, and its table `sojourn_histogram`.

    The table is a frame, or a dictionary of lists: `link`, `lower_ns`, `upper_ns` and `count`. Raises `InputError` if
    a column is missing or is not of integers.
    """
    columns = None if histogram is None else _columns(histogram)
    return _core.Evidence(json.dumps(scenario), json.dumps(summary), "{}", columns)


def _columns(table: pl.DataFrame | Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {name: np.ascontiguousarray(table[name], dtype=dtype) for name, dtype in _COLUMNS.items()}
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"histogram: {error}; write lists of integers: {', '.join(_COLUMNS)}") from None


_COLUMNS = {"link": "uint16", "lower_ns": "uint64", "upper_ns": "uint64", "count": "uint64"}


def letter(place: int) -> str:
    """Letter of a queue manager in a sentence: A, B, …."""
    return chr(ord("A") + place)


def _names(text: str, place: str, words: Vocabulary) -> _core.Vocabulary:
    managers = [_manager(scenario) for scenario in words.scenarios]
    if words.names:
        managers = [(name, *about[1:]) for name, about in zip(words.names, managers, strict=True)]
    has_jain = "jain" not in text or any(map(_has_one_bulk_group, (*words.scenarios, *words.points)))
    return _core.Vocabulary(place, managers, [one.canonical for one in words.points], has_jain, words.link)


def _manager(scenario: Scenario | Document) -> tuple[str, str, str]:
    """Spelling of the queue manager, canonical scenario, and parameters of managers that are not registered."""
    if not isinstance(scenario, Scenario):
        scenario = Scenario(json.dumps(scenario))
    own = {path: parameters(table) for path, table in scenario.aqm_tables.items() if references(table)}
    found = {f"{path}.{name}": value for path, values in own.items() for name, value in values.items()}
    return spelled_aqm(scenario.bottleneck["aqm"]), scenario.canonical, json.dumps(found, default=str)


def _has_one_bulk_group(scenario: Scenario | Document) -> bool:
    """Whether a summary's `jain` has a value: with bulk flows in exactly one forward group; assumed of a record."""
    if not isinstance(scenario, Scenario):
        return True
    forward = [flow["direction"] == "forward" for flow in scenario.document["flows"]]
    return sum(both == (True, True) for both in zip(forward, bulk_groups(scenario), strict=True)) == 1
