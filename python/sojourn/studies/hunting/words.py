"""Vocabulary of a condition: metrics of tables, parameters of queue managers, keys of scenarios."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError, unknown
from sojourn.base.units import factor_between, quantity, rates, read_quantity
from sojourn.model.analysis.metrics import BY_COLUMN
from sojourn.model.aqms.registry import parameters
from sojourn.model.results.payload import bulk_groups
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.hunting.space import Space

Runs = Sequence[Result]
"""A run of each queue manager, in their order."""
NAN = float("nan")


@dataclass(frozen=True)
class Term:
    """A number in a condition."""

    text: str
    unit: str
    """ms, Mbit/s, %, B, packets, or none."""
    value: Callable[[Runs], float]
    """The number; NaN if a run has none."""


@dataclass(frozen=True)
class Selector:
    """Selection made by the arguments in brackets."""

    aqm: int = 0
    link: str | None = None
    group: int | None = None
    subject: str = ""
    """Quantity of a quantile or an extreme."""


@dataclass(frozen=True)
class Vocabulary:
    """Names that a condition may use for these queue managers."""

    aqms: tuple[str, ...]
    """Spellings; a condition names them A, B, … or by spelling."""
    examples: tuple[Scenario, ...]
    """One scenario per queue manager."""
    points: tuple[Scenario, ...] = ()
    """Scenarios from all over the space: a key need not be in every one."""

    def plain(self, word: str) -> Term:
        """Resolve a name without brackets: a metric, or a parameter of the first queue manager."""
        return self.about(word, word, [])

    def about(self, text: str, word: str, arguments: Sequence[str]) -> Term:
        """Resolve a name with arguments in brackets."""
        chosen = self._chosen(text, arguments)
        if word in OF_RUN:
            return self._of_run(text, OF_RUN[word], chosen)
        if word in OF_GROUP:
            return _of_group(text, OF_GROUP[word], chosen)
        if (which := statistic_named(word)) is not None:
            return _statistic(text, which, chosen)
        return self._parameter(text, word, chosen)

    def key(self, path: str) -> Term:
        """Resolve a key of the scenario, by its dotted path."""
        found = next((one for one in map(_quantity_at(path), self._all) if one is not None), None)
        if found is None:
            raise InputError(f'--where: "{path}" is not a numeric key; name one of the scenario, e.g. flows.0.count')
        look = _quantity_at(path)

        def value(runs: Runs) -> float:
            about = look(runs[0].scenario)
            return NAN if about is None else about[0] * UNITS[about[1]][1]

        return Term(path, UNITS[found[1]][0], value)

    def quantity(self, text: str) -> tuple[str, float]:
        """Unit and number of a quantity with its unit."""
        number, written = read_quantity("--where", text.replace("%", ""))
        if text.endswith("%"):
            return "%", float(number)
        unit = {"packet": "packets"}.get(written, written)
        for own in ("ms", "Mbit/s", "packets"):
            if (factor := factor_between(unit, own)) is not None:
                return own, float(number) * factor
        return "B", float(_core.size_bytes(text))

    def _chosen(self, text: str, arguments: Sequence[str]) -> Selector:
        found: dict[str, Any] = {}
        for word in arguments:
            key, value = self._argument(text, word)
            if key in found:
                raise InputError(f'--where: "{text}" names two of the same kind; leave one out')
            found[key] = value
        return Selector(**found)

    def _argument(self, text: str, word: str) -> tuple[str, Any]:
        if word in SUBJECTS:
            return "subject", word
        if match := re.fullmatch(r"flows\.(\d+)", word):
            if int(match[1]) >= len(self.examples[0].document["flows"]):
                raise InputError(f'--where: "{text}": no {word}; number the groups from 0')
            return "group", int(match[1])
        letters = [letter(place) for place in range(len(self.aqms))]
        for names in (letters, self.aqms):
            if word in names:
                return "aqm", list(names).index(word)
        if word in self.examples[0].links:
            return "link", word
        known = [*letters, *self.aqms, *SUBJECTS, *self.examples[0].links]
        raise unknown(f'--where: "{text}"', word, known)

    @property
    def _all(self) -> tuple[Scenario, ...]:
        return (*self.examples, *self.points)

    def _of_run(self, text: str, column: str, chosen: Selector) -> Term:
        """A metric of the summary; goodput and fairness also of a flow group."""
        metric = BY_COLUMN[column]
        _refuse(text, chosen, subject=True, group=column not in GROUPED)
        if column == "jain" and chosen.group is None and not any(map(_has_one_bulk_group, self._all)):
            raise InputError(
                f'--where: "{text}": needs one group of bulk flows, but there are none or several; name one, e.g. '
                "jain(flows.0)"
            )
        if chosen.group is not None:
            flows = FlowSelection(chosen)
            fair = column == "jain"
            return Term(text, metric.unit, lambda runs: flows.jain(runs) if fair else flows.goodput(runs))

        def value(runs: Runs) -> float:
            found = _at(runs, chosen).number(column)
            return NAN if found is None else found * metric.scale

        return Term(text, metric.unit, value)

    def _parameter(self, text: str, name: str, chosen: Selector) -> Term:
        _refuse(text, chosen, subject=True, group=True, link=True)
        found = self._parameters[chosen.aqm]
        if name not in found:
            known = [*OF_RUN, *OF_GROUP, *EXTREMES, "p99", *(name for one in self._parameters for name in one)]
            raise unknown(
                f'--where: "{text}": neither a metric nor a parameter of {self.aqms[chosen.aqm]}', name, known
            )
        about = quantity(found[name])
        if about is None:
            raise InputError(f'--where: "{text}": {name} of {self.aqms[chosen.aqm]} is not a number: {found[name]}')
        path = f"{self.examples[chosen.aqm].aqm_path}.{name}"
        return Term(text, UNITS[about[1]][0], lambda runs: _number(runs[chosen.aqm].aqm_parameters.get(path)))

    @cached_property
    def _parameters(self) -> list[dict[str, Any]]:
        """Parameters of each queue manager."""
        return [parameters(scenario.bottleneck["aqm"]) for scenario in self.examples]


def _has_one_bulk_group(scenario: Scenario) -> bool:
    """Whether a summary's `jain` has a value: with bulk flows in exactly one forward group."""
    flows = scenario.document["flows"]
    forward = [flow["direction"] == "forward" for flow in flows]
    return sum(both == (True, True) for both in zip(forward, bulk_groups(scenario), strict=True)) == 1


def letter(place: int) -> str:
    """Letter of a queue manager in a condition: A, B, …."""
    return chr(ord("A") + place)


def words_of(space: Space) -> Vocabulary:
    """Vocabulary of a space, from points that can run, because not all have every key.

    Raises `InputError` if none of the first points can run.
    """
    points, reason = [], None
    for seed in range(1, SAMPLED_POINTS + 1):
        try:
            points.append([space.scenario(space.drawn(seed), aqm) for aqm in range(len(space.aqms))])
        except InputError as error:
            reason = reason or error
    if not points:
        raise InputError(f"{space.path}: {reason}")
    examples = points[0]
    return Vocabulary(tuple(one.aqm for one in examples), tuple(examples), tuple(scenario for scenario, *_ in points))


SAMPLED_POINTS = 24
"""Points inspected before anything runs."""


@dataclass(frozen=True)
class FlowSelection:
    """The long-lived forward flows of a run, all or those of a group."""

    chosen: Selector

    def rates(self, runs: Runs) -> list[float]:
        """Goodput of each flow in Mbit/s."""
        result = _at(runs, self.chosen)
        frame = result.flow_totals
        if frame.is_empty():
            return []
        if self.chosen.group is not None:
            frame = frame.filter(group=self.chosen.group)
        return [rate * 1e-6 for rate in frame.filter(pl.col("direction") == "forward")["goodput_bps"].to_list()]

    def goodput(self, runs: Runs) -> float:
        """Goodput of a group in Mbit/s, including its short-lived connections."""
        return float(self._group(runs)["goodput_bps"]) * 1e-6

    def jain(self, runs: Runs) -> float:
        """Jain's index of a group, as in the summary; NaN unless it has several bulk flows."""
        found = self._group(runs).get("jain")
        return NAN if found is None else float(found)

    def _group(self, runs: Runs) -> Mapping[str, Any]:
        assert self.chosen.group is not None
        return _at(runs, self.chosen).group_totals[self.chosen.group]


def statistic_named(word: str) -> float | str | None:
    """A quantile in percent (`p99`, `p99_9`), an extreme or `mean`; None for any other name."""
    if word in EXTREMES:
        return EXTREMES[word]
    match = re.fullmatch(r"p(\d{1,2})(?:_(\d+))?", word)
    return float(f"{match[1]}.{match[2] or 0}") if match and float(match[1]) > 0 else None


def _statistic(text: str, which: float | str, chosen: Selector) -> Term:
    if not chosen.subject:
        raise InputError(
            f'--where: "{text}" needs a metric; write e.g. p99(sojourn), min(goodput) or p95(completion, flows.0)'
        )
    if chosen.subject == "goodput":
        _refuse(text, chosen, link=True)
        flows = FlowSelection(chosen)
        return Term(text, "Mbit/s", lambda runs: _over(flows.rates(runs), which))
    if chosen.subject == "completion":
        return _completion(text, which, chosen)
    _refuse(text, chosen, group=True)
    if which == "min":
        raise InputError(
            f'--where: "{text}": the minimum sojourn time is that of an empty queue; write e.g. p10(sojourn)'
        )

    def value(runs: Runs) -> float:
        result = _at(runs, chosen)
        found = result.sojourn_ms(which / 100) if isinstance(which, float) else result.number(f"sojourn_{which}_ms")
        return NAN if found is None else found

    return Term(text, "ms", value)


def _completion(text: str, which: float | str, chosen: Selector) -> Term:
    """Completion time of a group's transfers; the summary has some quantiles only."""
    name = f"p{which:g}" if isinstance(which, float) else which
    if name not in COMPLETIONS:
        raise InputError(f'--where: "{text}": completion times support only {", ".join(COMPLETIONS)}')
    group = _needed_group(text, chosen)

    def value(runs: Runs) -> float:
        found = _at(runs, chosen).group_totals[group]["completion_ms"][name]
        return NAN if found is None else float(found)

    return Term(text, "ms", value)


def _of_group(text: str, about: tuple[str, str, float], chosen: Selector) -> Term:
    column, unit, scale = about
    _refuse(text, chosen, subject=True, link=True)
    group = _needed_group(text, chosen)

    def value(runs: Runs) -> float:
        found = _at(runs, chosen).group_totals[group].get(column)
        return NAN if found is None else float(found) * scale

    return Term(text, unit, value)


def _needed_group(text: str, chosen: Selector) -> int:
    if chosen.group is None:
        raise InputError(f'--where: "{text}" needs a flow group; name one, e.g. flows.0')
    return chosen.group


def _refuse(text: str, chosen: Selector, *, subject: bool = False, group: bool = False, link: bool = False) -> None:
    """Raise `InputError` if a selected property is not available here."""
    wrong = [
        word
        for word, refused, given in (
            (chosen.subject, subject, bool(chosen.subject)),
            (f"flows.{chosen.group}", group, chosen.group is not None),
            (chosen.link or "", link, chosen.link is not None),
        )
        if refused and given
    ]
    if wrong:
        raise InputError(f'--where: "{text}": {wrong[0]} has no effect there; leave it out')


def _at(runs: Runs, chosen: Selector) -> Result:
    result = runs[chosen.aqm]
    return result.at(chosen.link) if chosen.link else result


def _over(numbers: Sequence[float], which: float | str) -> float:
    if not numbers:
        return NAN
    if isinstance(which, float):
        return float(np.quantile(numbers, which / 100))
    return {"min": min(numbers), "max": max(numbers), "mean": sum(numbers) / len(numbers)}[which]


def _quantity_at(path: str) -> Callable[[Scenario], tuple[float, str] | None]:
    """Function that looks up a key: its number and base unit (of a rate schedule the maximum); None without it."""
    rtt_of = re.fullmatch(r"flows\.(\d+)\.rtt", path)

    def look(scenario: Scenario) -> tuple[float, str] | None:
        if rtt_of and int(rtt_of[1]) < len(scenario.routes):
            return scenario.base_rtt_s(int(rtt_of[1])), "s"
        try:
            value = scenario.at(path)
        except KeyError:
            return None
        is_schedule = isinstance(value, str) and "@" in value and "bit/s" in value
        return (max(rates(value)), "bit/s") if is_schedule else quantity(value)

    return look


def _number(value: Any) -> float:
    """A canonical value in the unit of our tables."""
    found = quantity(value)
    return NAN if found is None else found[0] * UNITS[found[1]][1]


OF_RUN: Mapping[str, str] = {
    "utilisation": "utilisation",
    "goodput": "goodput_bps",
    "delivered": "delivered_bps",
    "drops": "drop_rate",
    "marks": "mark_rate",
    "jain": "jain",
    "packets": "packets",
}
"""Names of whole-run or link metrics, and the column of the summary."""
GROUPED = ("goodput_bps", "jain")
"""Metrics that a flow group has too."""
OF_GROUP: Mapping[str, tuple[str, str, float]] = {
    "mos": ("mos", "", 1.0),
    "lost": ("loss_rate", "%", 100.0),
    "delay": ("delay_ms", "ms", 1.0),
    "timeouts": ("timeouts", "", 1.0),
    "retransmissions": ("retransmissions", "", 1.0),
}
"""Names of flow group metrics: the key of its summary, unit and scale."""
SUBJECTS = ("sojourn", "goodput", "completion")
EXTREMES = {"min": "min", "mean": "mean", "max": "max", "peak": "max"}
COMPLETIONS = ("mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max")
UNITS: Mapping[str, tuple[str, float]] = {
    "": ("", 1.0),
    "s": ("ms", 1e3),
    "bit/s": ("Mbit/s", 1e-6),
    "B": ("B", 1.0),
    "packets": ("packets", 1.0),
}
"""By base unit of a canonical value: the unit in a condition, and the factor to it."""
