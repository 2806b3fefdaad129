"""Comparison of several queue managers on the same traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from sojourn.base.errors import InputError
from sojourn.base.frames import to_pandas
from sojourn.base.late import pl
from sojourn.figures.api import ComparisonPlots
from sojourn.io.flent.key_metrics import key_metrics
from sojourn.model.analysis.labels import Name, shortened
from sojourn.model.analysis.metrics import aggregate_rows, in_html, table_of_runs
from sojourn.model.analysis.pairs import NO_PAIRS, paired, same_aqm
from sojourn.model.analysis.replicate import AchievedPrecision, replicate
from sojourn.model.analysis.warmup import AUTO, aligned, not_settled, refuse_unsettled
from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.spelling import aqm_text, split_list
from sojourn.model.results.result import Result
from sojourn.model.scenarios.advice import advice
from sojourn.studies.comparison_setup import ComparisonSetup
from sojourn.studies.expectations import Expectation, Judgement, judge, read
from sojourn.studies.idle import Trial, idle_axes
from sojourn.studies.loads import label, merged_values
from sojourn.studies.rivals import Rivals, parted
from sojourn.studies.runs.order import remember
from sojourn.studies.sentences import Vocabulary

if TYPE_CHECKING:
    import pandas as pd


AqmLike = Aqm | type[Aqm] | str
Options = ParamSpec("Options")


@dataclass(frozen=True)
class Comparison:
    """Results of several queue managers on the same traffic."""

    aqms: list[str]
    results: list[Result]
    """Ordered by load, then queue manager, then seed."""
    loads: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    """Values of `rate`, `rtt`, `flows` and `cc` that vary between loads; one empty entry for a single load."""
    reached: AchievedPrecision | None = None
    """Achieved precision, if `until` was given."""
    named_twice: tuple[str, ...] = ()
    """A sentence for each queue manager that was named twice."""
    test: str | None = None
    """Flent test whose traffic this is, if any."""
    expectations: Sequence[Expectation] = ()

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per load, queue manager and seed, under the caller's names of loads and queue managers.

        If the warm-up was searched, the runs of a load are summarised from the same instant on.
        """
        return table_of_runs(self.rows_of_runs)

    @cached_property
    def rows_of_runs(self) -> list[dict[str, Any]]:
        """Rows of `runs`."""
        runs = aligned(self.results)
        rows = [run.summary_rows[0] | name for run, name in zip(runs, self._names_of_runs, strict=True)]
        if self.test is not None:
            rows = [row | key_metrics(run, self.test) for row, run in zip(rows, runs, strict=True)]
        return rows

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per load and queue manager: means over the seeds, half widths of their 95 % confidence intervals.

        For the columns beyond those of `runs` see `metrics.aggregate_rows`.
        """
        return pl.DataFrame(self.rows, infer_schema_length=None)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of `table`."""
        return aggregate_rows(self.rows_of_runs, [*self.loads[0], "aqm"])

    def paired(self, baseline: str | None = None) -> pl.DataFrame:
        """Paired differences of each queue manager to `baseline` (default: the first); columns: see `pairs.paired`."""
        if not self.has_pairs:
            raise InputError(NO_PAIRS)
        return paired(self.runs, "aqm", same_aqm(self.aqms, baseline), list(self.loads[0]))

    @cached_property
    def judgements(self) -> list[Judgement]:
        """Each expectation of `expect`, judged on the runs of each load."""
        if not self.expectations:
            return []
        each = len(self.results) // len(self._names)
        cells = parted(aligned(self.results), each)
        rivals = Rivals.of(self.aqms, self.loads)
        return [
            judge(one, [run.seed for run in runs[0]], list(zip(*runs, strict=True)), load)
            for load, runs in rivals.cells(cells)
            for one in self.expectations
        ]

    @property
    def has_pairs(self) -> bool:
        """Whether there are several queue managers and several seeds, as a paired comparison needs."""
        return len(self.aqms) > 1 and len(self.results) > len(self._names)

    @property
    def _names(self) -> list[dict[str, Any]]:
        """Varying values of the load, and the queue manager, of each row of the table."""
        return [{**load, "aqm": aqm} for load in self.loads for aqm in self.aqms]

    @property
    def _names_of_runs(self) -> list[dict[str, Any]]:
        """Varying values of the load, and the queue manager, of each run."""
        each = len(self.results) // len(self._names)
        return [name for name in self._names for _ in range(each)]

    @cached_property
    def notes(self) -> list[str]:
        """Notes about the numbers: duplicate names, identical runs, and runs that have not settled."""
        names = [str(name) for name in self.names]
        trials = [
            Trial(values, result.seed, result.scenario, result.fingerprint)
            for values, result in zip(self._names_of_runs, self.results, strict=True)
        ]
        idle = idle_axes(trials, [(path,) for path in (*self.loads[0], "aqm")])
        return [*self.named_twice, *idle, *repeated(self.rows), *not_settled(self.results, names)]

    @property
    def advice(self) -> list[str]:
        """Sentences about settings without effect; usually empty."""
        return advice(result.scenario for result in self.results)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame."""
        return to_pandas(self.table)

    @cached_property
    def setup(self) -> dict[str, Any]:
        """Settings common to all runs, with explicit defaults; differences between loads are listed as "4 | 64"."""
        per_load = len(self.results) // len(self.loads)
        scenario = dict(merged_values([result.scenario.document for result in self.results[::per_load]]))
        for place in ("link",) if self.test is None else ("link", "reverse"):
            scenario[place] = {key: value for key, value in scenario[place].items() if key != "aqm"}
        return {
            key: scenario[key] for key in ("duration", "warmup", "link", "reverse", "links", "flows") if key in scenario
        }

    @property
    def plot(self) -> ComparisonPlots:
        """Figures, a method for each kind such as `plot.cdf()`; `plot(path)` writes the figure of `sojourn compare`."""
        return ComparisonPlots(lambda: (self.results, self.names))

    @property
    def names(self) -> list[Name]:
        """Name of each result: the queue manager as named by the caller, shortened for titles, and the load."""
        names = [Name(aqm, label(load)) for load in self.loads for aqm in shortened(self.aqms)]
        return [name for name in names for _ in range(len(self.results) // len(names))]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.aqms)}>"

    def _repr_html_(self) -> str:
        return in_html(self.table, [*self.loads[0], "aqm"], self.notes)


def _with_options_of(
    setup: Callable[Options, ComparisonSetup],
) -> Callable[
    [Callable[[AqmLike | Sequence[AqmLike], ComparisonSetup], Comparison]],
    Callable[Concatenate[AqmLike | Sequence[AqmLike], Options], Comparison],
]:
    """Give a function the set-up's fields as parameters, also in its signature for editors."""

    def decorate(
        function: Callable[[AqmLike | Sequence[AqmLike], ComparisonSetup], Comparison],
    ) -> Callable[Concatenate[AqmLike | Sequence[AqmLike], Options], Comparison]:
        def taking(aqms: AqmLike | Sequence[AqmLike], *args: Options.args, **options: Options.kwargs) -> Comparison:
            return function(aqms, setup(*args, **options))

        update_wrapper(taking, function)
        own, fields = signature(function), signature(setup)
        first = next(iter(own.parameters.values()))
        vars(taking)["__signature__"] = own.replace(parameters=[first, *fields.parameters.values()])
        return taking  # type: ignore[return-value]  # `aqms` by name works, but Concatenate cannot express it

    return decorate


@_with_options_of(ComparisonSetup)
def compare(aqms: Aqm | type[Aqm] | str | Sequence[Aqm | type[Aqm] | str], setup: ComparisonSetup) -> Comparison:
    """Send `flows` saturated TCP flows through each of `aqms`; with equal seeds the traffic is the same for all.

    `aqms` is one or several: classes, instances, or texts as in scenarios, "codel,pie" for two. `rate`, `rtt`,
    `flows` and `cc` accept lists, such as `flows=[4, 64]`; every combination of their values is run. With `ecn` the
    flows negotiate ECN; queue managers mark only if configured to ("codel ecn"). The reverse path has
    `reverse_rate`; `framing` is the link layer, e.g. "docsis".
    `cc` is a text or a class; `cc` and `stack` default to those of scenarios: CUBIC of the newest Linux. The link has
    a `rate` (10 Mbit/s if neither is given) or follows a `trace`; the reverse path is the trace's sibling .up
    or has the same rate, with tail drop at 1000 packets. `warmup` is left out of the statistics; by default it is found
    from the backlogs: the maximum that any queue manager and seed of a load needs, or half of `duration` if one does
    not settle; "auto" raises `InputError` for such runs.
    With `until` seeds are added from 1 on until that precision is reached. `packets` records every packet of the first
    seed, for figures. With `out`, results are stored there, and finished ones are read instead of computed.

    `test` sends the traffic of one of Flent's tests, such as "rrul"; both directions then have the queue manager, and
    the numbers are about the reverse direction if only that is loaded. `flows` is then the number of flows of each
    kind, for tests that take any number; `rtt` is a list with the round-trip time to each host, for tests with several
    hosts.

    `expect` has sentences that must be true of every load with all seeds (docs/sentences.md), or "… in 18" with 18 of
    them; `judgements` of the result has the verdicts. A, B, … are the queue managers, or the controls if there is one
    queue manager.

    `sets` sets other keys of the scenario by dotted path, such as `{"probes.queue": "10 ms"}`.
    """
    names, named_twice = deduplicate([aqm_text(aqm) for aqm in aqm_list(aqms)])
    if not names:
        raise InputError('no AQM given; write e.g. "codel,pie"')
    bases, varied = setup.loads(names[0])
    seeds = seed_list(setup.seeds)
    runner = setup.runner()
    rivals = Rivals.of(names, varied)
    scenarios = [run.scenario for run in setup.runs(bases, names, seeds[:1])]
    words = Vocabulary(*rivals.scenarios(scenarios), rivals.names, setup.shown or "")
    expected = read(setup.expect, words, len(seeds) if setup.until is None else None)

    def run(seeds: list[int]) -> Comparison:
        results = runner(setup.runs(bases, names, seeds))
        remember(results)
        if setup.warmup == AUTO:
            refuse_unsettled(results)
        if setup.shown is not None:
            results = [result.at(setup.shown) for result in results]
        return Comparison(names, results, varied, named_twice=named_twice, test=setup.test, expectations=expected)

    if setup.until is None:
        return run(seeds)
    found, reached = replicate(setup.until, len(seeds), run, lambda found: found.table)
    return replace(found, reached=reached)


def aqm_list(aqms: AqmLike | Sequence[AqmLike]) -> list[AqmLike]:
    """Queue managers as a list, from one, several, or a text with commas."""
    if isinstance(aqms, str):
        return [*split_list(aqms)]
    return [aqms] if isinstance(aqms, Aqm | type) else list(aqms)


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Seeds 1 to `seeds`, or the given ones."""
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise InputError("seeds: none given; write e.g. 20 (seeds 1 to 20) or [1, 2, 3]")
    return chosen


def deduplicate(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The distinct names in order, and a sentence for each duplicate."""
    distinct = list(dict.fromkeys(names))
    return distinct, tuple(f"{name}: listed twice, run once" for name in distinct if names.count(name) > 1)


def repeated(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A note if several seeds give the same run; `rows` is the output of `metrics.aggregate_rows`."""
    fewer = [row for row in rows if row["distinct"] < row["seeds"]]
    if not fewer:
        return []
    least = min(fewer, key=lambda row: int(row["distinct"]))
    seeds, distinct = least["seeds"], least["distinct"]
    where = "" if len(fewer) == len(rows) else f" in {len(fewer)} of {len(rows)} rows"
    runs = "1 distinct run" if distinct == 1 else f"{distinct} distinct runs"
    reason = (
        "nothing varies with the seed; set `spread`" if distinct == 1 else "those with equal fingerprints count once"
    )
    return [f"{seeds} seeds, {runs}{where}: {reason}"]
