"""The main job: the same traffic through several queue managers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.frames import to_pandas
from sojourn.figures.api import ComparisonPlots
from sojourn.io.flent.measured import measured
from sojourn.model.analysis.labels import Name, shortened
from sojourn.model.analysis.metrics import SEARCHED, aggregate, in_html
from sojourn.model.analysis.pairs import NO_PAIRS, paired, same_aqm
from sojourn.model.analysis.replicate import Reached, replicate
from sojourn.model.analysis.warmup import AUTO, aligned, not_settled, refuse_unsettled
from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.spelling import aqm_text, split_list
from sojourn.model.results.result import Result
from sojourn.model.scenarios.advice import advice
from sojourn.studies.comparison_setup import ComparisonSetup
from sojourn.studies.idle import Trial, idle_axes
from sojourn.studies.loads import label, shared
from sojourn.studies.runs.order import remember

if TYPE_CHECKING:
    import pandas as pd


Compared = Aqm | type[Aqm] | str
Options = ParamSpec("Options")


@dataclass(frozen=True)
class Comparison:
    """Results of several queue managers on the same traffic."""

    aqms: list[str]
    results: list[Result]
    """Load after load, in each of them queue manager after queue manager, seed by seed."""
    loads: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    """What the loads differ in, of `rate`, `rtt` and `flows`; one empty entry if there is one load."""
    reached: Reached | None = None
    """How precise they are, where `until` asked for it."""
    named_twice: tuple[str, ...] = ()
    """A sentence on each queue manager that was named twice."""
    test: str | None = None
    """Which of Flent's tests the traffic is, if it is one."""

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per load, queue manager and seed, named as the caller named loads and queue managers.

        With a warm-up that was found, those of a load are summarised from the same instant on.
        """
        runs = aligned(self.results)
        rows = [run.summary.row(0, named=True) | name for run, name in zip(runs, self._names_of_runs, strict=True)]
        if self.test is not None:
            rows = [row | measured(run, self.test) for row, run in zip(rows, runs, strict=True)]
        return pl.DataFrame(rows, schema_overrides=SEARCHED, infer_schema_length=None)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per load and queue manager: means over the seeds, half widths of their 95 % confidence intervals.

        Columns besides those of `runs` as `metrics.aggregate` says.
        """
        return aggregate(self.runs, [*self.loads[0], "aqm"])

    def paired(self, baseline: str | None = None) -> pl.DataFrame:
        """Differences of each queue manager to `baseline` (the first), seed by seed: columns as `pairs.paired` says."""
        if not self.has_pairs:
            raise InputError(NO_PAIRS)
        return paired(self.runs, "aqm", same_aqm(self.aqms, baseline), list(self.loads[0]))

    @property
    def has_pairs(self) -> bool:
        """Whether there are several queue managers to compare seed by seed, and several seeds."""
        return len(self.aqms) > 1 and len(self.results) > len(self._names)

    @property
    def _names(self) -> list[dict[str, Any]]:
        """What varies of the load, and the queue manager, of each row of the table."""
        return [{**load, "aqm": aqm} for load in self.loads for aqm in self.aqms]

    @property
    def _names_of_runs(self) -> list[dict[str, Any]]:
        """The same of every run."""
        each = len(self.results) // len(self._names)
        return [name for name in self._names for _ in range(each)]

    @cached_property
    def notes(self) -> list[str]:
        """What has to be known of the numbers: names given twice, runs that are the same, and what has not settled."""
        names = [str(name) for name in self.names]
        trials = [
            Trial(values, result.seed, result.scenario, result.fingerprint)
            for values, result in zip(self._names_of_runs, self.results, strict=True)
        ]
        idle = idle_axes(trials, [(path,) for path in (*self.loads[0], "aqm")])
        return [*self.named_twice, *idle, *repeated(self.table), *not_settled(self.results, names)]

    @property
    def advice(self) -> list[str]:
        """Sentences about what the set-up asks for in vain; empty in most cases."""
        return advice(result.scenario for result in self.results)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame."""
        return to_pandas(self.table)

    @cached_property
    def setup(self) -> dict[str, Any]:
        """What all runs share, every default written out; differences between loads are side by side, "4 | 64"."""
        per_load = len(self.results) // len(self.loads)
        scenario = dict(shared([result.scenario.document for result in self.results[::per_load]]))
        for place in ("link",) if self.test is None else ("link", "reverse"):
            scenario[place] = {key: value for key, value in scenario[place].items() if key != "aqm"}
        return {
            key: scenario[key] for key in ("duration", "warmup", "link", "reverse", "links", "flows") if key in scenario
        }

    @property
    def plot(self) -> ComparisonPlots:
        """Figures, a method for each kind such as `plot.cdf()`; `plot(path)` writes that of `sojourn compare`."""
        return ComparisonPlots(lambda: (self.results, self.names))

    @property
    def names(self) -> list[Name]:
        """What each result is called: its queue manager as the caller named it, if a title has room, and its load."""
        names = [Name(aqm, label(load)) for load in self.loads for aqm in shortened(self.aqms)]
        return [name for name in names for _ in range(len(self.results) // len(names))]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.aqms)}>"

    def _repr_html_(self) -> str:
        return in_html(self.table, [*self.loads[0], "aqm"], self.notes)


def _with_options_of(
    setup: Callable[Options, ComparisonSetup],
) -> Callable[
    [Callable[[Compared | Sequence[Compared], ComparisonSetup], Comparison]],
    Callable[Concatenate[Compared | Sequence[Compared], Options], Comparison],
]:
    """Let a function that takes a set-up take the set-up's fields, which are its signature for editors, too."""

    def decorate(
        function: Callable[[Compared | Sequence[Compared], ComparisonSetup], Comparison],
    ) -> Callable[Concatenate[Compared | Sequence[Compared], Options], Comparison]:
        def taking(aqms: Compared | Sequence[Compared], *args: Options.args, **options: Options.kwargs) -> Comparison:
            return function(aqms, setup(*args, **options))

        update_wrapper(taking, function)
        own, fields = signature(function), signature(setup)
        first = next(iter(own.parameters.values()))
        vars(taking)["__signature__"] = own.replace(parameters=[first, *fields.parameters.values()])
        return taking  # type: ignore[return-value]  # `aqms` by name works too, but Concatenate cannot say so

    return decorate


@_with_options_of(ComparisonSetup)
def compare(aqms: Aqm | type[Aqm] | str | Sequence[Aqm | type[Aqm] | str], setup: ComparisonSetup) -> Comparison:
    """Send `flows` saturated TCP flows through each of `aqms`; with equal seeds the traffic is the same for all.

    `aqms` is one or several: classes, instances, or texts as in scenarios, "codel,pie" for two. `rate`, `rtt` and
    `flows` take lists, such as `flows=[4, 64]`; every combination of their values is run. With `ecn` the flows
    negotiate ECN; queue managers mark only if they are told to ("codel ecn"). The reverse path has `reverse_rate`;
    `framing` is the link layer, e.g. "docsis".
    `cc` and `stack` are those of scenarios where they are not given: CUBIC of the newest Linux. The link has a `rate`
    (10 Mbit/s if neither is given) or follows a `trace`; the reverse path is the trace's sibling .up or has the same
    rate, with tail drop at 1000 packets. `warmup` is left out of the statistics; without it, the latest is left out
    that any queue manager and seed of a load needs, found from the backlogs, or half of `duration` where one does not
    settle; "auto" refuses such runs.
    With `until` there are as many seeds as that precision takes, from 1 on. `packets` records every packet of the first
    seed, for figures. With `out`, results are stored there and finished ones read instead of computed.

    `test` sends what one of Flent's tests sends, such as "rrul"; both directions then have the queue manager, and the
    numbers are about the reverse one where only that is loaded. `flows` is how many of each kind a test with any number
    of flows has; `rtt` has the round-trip time to each host of a test with several.

    `sets` sets other keys of the scenario by dotted path, such as `{"probes.queue": "10 ms"}`.
    """
    names, named_twice = once([aqm_text(aqm) for aqm in listed(aqms)])
    if not names:
        raise InputError('no AQM given; write e.g. "codel,pie"')
    bases, varied = setup.loads(names[0])
    seeds = seed_list(setup.seeds)
    runner = setup.runner()

    def run(seeds: list[int]) -> Comparison:
        results = runner(setup.runs(bases, names, seeds))
        remember(results)
        if setup.warmup == AUTO:
            refuse_unsettled(results)
        if setup.shown is not None:
            results = [result.at(setup.shown) for result in results]
        return Comparison(names, results, varied, named_twice=named_twice, test=setup.test)

    if setup.until is None:
        return run(seeds)
    found, reached = replicate(setup.until, len(seeds), run, lambda found: found.table)
    return replace(found, reached=reached)


def listed(aqms: Compared | Sequence[Compared]) -> list[Compared]:
    """Queue managers given as one, as several, or as a text with commas."""
    if isinstance(aqms, str):
        return [*split_list(aqms)]
    return [aqms] if isinstance(aqms, Aqm | type) else list(aqms)


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Seeds 1 to `seeds`, or the given ones."""
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise InputError("seeds: none given; write e.g. 20 (seeds 1 to 20) or [1, 2, 3]")
    return chosen


def once(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The names in their order, each once, and a sentence on each that is there more often."""
    distinct = list(dict.fromkeys(names))
    return distinct, tuple(f"{name}: named twice, run once" for name in distinct if names.count(name) > 1)


def repeated(table: pl.DataFrame) -> list[str]:
    """A sentence on seeds that give the same run; `table` as `metrics.aggregate` makes it."""
    fewer = table.filter(pl.col("distinct") < pl.col("seeds"))
    if fewer.is_empty():
        return []
    seeds, distinct = fewer.sort("distinct").select("seeds", "distinct").row(0)
    where = "" if fewer.height == table.height else f" in {fewer.height} of {table.height} rows"
    runs = "1 distinct run" if distinct == 1 else f"{distinct} distinct runs"
    why = "nothing varies with the seed; set `spread`" if distinct == 1 else "those with equal fingerprints count once"
    return [f"{seeds} seeds, {runs}{where}: {why}"]
