"""Studies: a scenario with a `[sweep]` table of values to run, each with several seeds."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.frames import to_pandas
from sojourn.base.inputs import parse_toml, read_text
from sojourn.base.inputs import tomllib as tomllib
from sojourn.base.progress import Progress
from sojourn.engines import SIMULATE
from sojourn.figures.api import Plots
from sojourn.model.analysis.labels import names_of
from sojourn.model.analysis.metrics import aggregate, in_html, table_of_runs
from sojourn.model.analysis.pairs import NO_PAIRS, paired, same_aqm
from sojourn.model.analysis.replicate import AchievedPrecision, Precision, replicate
from sojourn.model.analysis.warmup import AUTO, not_settled, refuse_unsettled, summaries
from sojourn.model.results.result import Result
from sojourn.model.scenarios.advice import advice
from sojourn.model.scenarios.draw import Draw, seed_of
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.comparison import repeated, seed_list
from sojourn.studies.expand import axes_of, combinations, count_of, distinct_values
from sojourn.studies.idle import Trial, idle_axes
from sojourn.studies.runs import store
from sojourn.studies.runs.order import remember
from sojourn.studies.runs.runner import Run, Runner

if TYPE_CHECKING:
    import pandas as pd


AQM_PARAMETER = re.compile(r"(^|\.)aqm\.")
"""Matches the path of a queue manager's parameter: link.aqm.target."""
SPREAD = "1 s"
"""Default interval in which a study's flows start at random: otherwise nothing might vary with the seed."""
MANY_RUNS = 100_000
"""Maximum number of runs; more are taken for a mistake."""


@dataclass(frozen=True)
class Point:
    """One combination of swept values."""

    values: dict[str, Any]
    scenario: Scenario
    """With the values drawn by the first seed, if keys are drawn."""
    drawn: DrawnScenario | None = None

    def at(self, seed: int) -> Scenario:
        """The scenario of a seed."""
        return self.drawn.scenario(seed) if self.drawn else self.scenario

    def replace(self, sets: Mapping[str, object]) -> Point:
        """Return the point with some keys of its scenarios changed."""
        drawn = self.drawn and replace(self.drawn, changes={**self.drawn.changes, **sets})
        return replace(self, scenario=self.scenario.replace(sets), drawn=drawn)


@dataclass(frozen=True)
class DrawnScenario:
    """A scenario with keys that the seed draws."""

    draw: Draw
    document: dict[str, Any]
    sets: Mapping[str, Any]
    """Keys set for all points, and the swept ones of this point."""
    base: Path
    changes: Mapping[str, object] = field(default_factory=dict)
    """Later changes to the scenario."""

    def values(self, seed: int) -> dict[str, Any]:
        """Values drawn by a seed, without keys that are set, by dotted path."""
        return {
            path: value for path, value in self.draw.values(seed).items() if path not in {*self.sets, *self.changes}
        }

    def scenario(self, seed: int) -> Scenario:
        """The scenario of a seed."""
        made = _scenario(self.document, {"draw": self.values(seed), "sweep": self.sets}, self.base)
        return made.replace(self.changes) if self.changes else made


@dataclass(frozen=True)
class StudyResult:
    """All runs of a study, point by point and seed by seed."""

    study: Study
    results: list[Result]
    """Without the lost runs."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """Runs that ran out of memory and how, by index among all runs of the study."""

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: swept values by their dotted path, seed and summary.

        If the warm-up was searched, runs that differ only in the queue manager and the seed are summarised from the
        same instant on.
        """
        rows = []
        for (values, _), row in zip(self.with_values(), summaries(self.results), strict=True):
            del row["aqm"]
            rows.append({key: _cell(value) for key, value in values.items()} | row)
        return table_of_runs(rows)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per point: means over the seeds, see `metrics.aggregate`."""
        return aggregate(self.runs, self.study.swept)

    @property
    def notes(self) -> list[str]:
        """Notes about the numbers: identical runs or queue managers, and runs that have not settled."""
        names = [" ".join(str(value) for value in values.values()) for values, _ in self.with_values()]
        listed = [*self.study.listed_twice, *self._same_points(), *self.idle]
        return [*listed, *repeated(self.table.to_dicts()), *not_settled(self.results, names)]

    @cached_property
    def idle(self) -> list[str]:
        """A sentence for each swept key that changes no run."""
        return self.idle_of(self.study.axes)

    def idle_of(self, axes: Sequence[Sequence[str]]) -> list[str]:
        """A sentence for each of `axes` that changes no run."""
        trials = [
            Trial({path: values[path] for path in self.study.swept}, result.seed, result.scenario, result.fingerprint)
            for values, result in self.with_values()
        ]
        return idle_axes(trials, axes)

    def _same_points(self) -> list[str]:
        """A sentence for each set of values that are spelled differently but mean the same scenario."""
        by_scenario: dict[str, list[dict[str, Any]]] = {}
        for point in self.study.points:
            by_scenario.setdefault(json.dumps(point.scenario.document, sort_keys=True), []).append(point.values)
        sentences = []
        for first, *others in by_scenario.values():
            if others:
                paths = [path for path in first if any(values[path] != first[path] for values in others)]
                names = [" ".join(str(values[path]) for path in paths) for values in (first, *others)]
                sentences.append(f"{', '.join(paths)}: {' and '.join(names)} are the same, and so are their runs")
        return list(dict.fromkeys(sentences))

    def to_pandas(self) -> pd.DataFrame:
        """The runs as a pandas frame."""
        return to_pandas(self.runs)

    def with_values(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Swept values of every run, by dotted path, with its result."""
        count = len(self.study.seeds)
        kept = (index for index in range(len(self.study.points) * count) if index not in self.lost)
        for index, result in zip(kept, self.results, strict=True):
            yield self._values_of(index), result

    def _values_of(self, index: int) -> dict[str, Any]:
        """Swept and drawn values of a run by its index among all."""
        point, seed = self.study.points[index // len(self.study.seeds)], self.study.seeds[index % len(self.study.seeds)]
        return point.values | (point.drawn.values(seed) if point.drawn else {})

    @property
    def losses(self) -> list[str]:
        """A sentence for each run that ran out of memory."""
        count = len(self.study.seeds)
        sentences = []
        for index, how in self.lost.items():
            values = self._values_of(index)
            settings = ", ".join(
                [*(f"{path} {value}" for path, value in values.items()), f"seed {self.study.seeds[index % count]}"]
            )
            sentences.append(f"Lost for lack of memory: {settings}: {how}")
        return sentences

    @property
    def plot(self) -> Plots:
        """Figures of all runs, a method for each kind, such as `plot.utilisation()`."""
        return Plots(lambda: (self.results, names_of(self.results)))

    def __repr__(self) -> str:
        return f"<StudyResult of {self.study.name}: {len(self.results)} runs>"

    def _repr_html_(self) -> str:
        return in_html(self.table, self.study.swept, self.notes)

    @property
    def has_pairs(self) -> bool:
        """Whether there are several queue managers and several seeds, as a paired comparison needs."""
        if self.lost or "link.aqm" not in self.study.swept or len(self.study.seeds) < 2:
            return False
        return self.runs["link.aqm"].n_unique() > 1

    def paired(self, baseline: str | None = None) -> pl.DataFrame:
        """Paired differences of each queue manager to `baseline` (default: the first); columns: see `pairs.paired`."""
        if not self.has_pairs:
            raise InputError(NO_PAIRS)
        first = same_aqm(self.runs["link.aqm"].unique(maintain_order=True).to_list(), baseline)
        return paired(self.runs, "link.aqm", first, self.study.beside_the_aqm)


@dataclass(frozen=True)
class Study:
    """A study that can run: every point has been parsed."""

    name: str
    points: list[Point]
    seeds: list[int]
    axes: tuple[tuple[str, ...], ...] = ()
    """Swept paths; those that change together are in one tuple."""
    engine: str = SIMULATE
    """Engine that runs it."""
    own_seeds: int = 0
    """Number of seeds in its file; 0 without a file."""
    listed_twice: tuple[str, ...] = ()
    """A sentence for each value that was listed twice."""

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        seeds: int | Sequence[int] | None = None,
        most_seeds: int | None = None,
        sets: Mapping[str, Any] | None = None,
        many: bool = False,
    ) -> Study:
        """Read a study file.

        `seeds` replaces the file's seeds, which `most_seeds` limits in number; `sets` sets keys of the scenario by
        dotted path, `many` accepts any number of runs. Without a `warmup` it is found from each run; flows without a
        `spread` get one of 1 s, so that runs differ.
        """
        path = Path(path)
        try:
            document = read_document(path)
            return cls.of(document, path.stem, path.parent, seeds=seeds, most_seeds=most_seeds, sets=sets, many=many)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def of(
        cls,
        document: Mapping[str, Any],
        name: str,
        base: Path,
        *,
        seeds: int | Sequence[int] | None = None,
        most_seeds: int | None = None,
        sets: Mapping[str, Any] | None = None,
        many: bool = False,
    ) -> Study:
        """Create a study from the content of a study file; paths are relative to `base`."""
        whole = copy.deepcopy(dict(document))
        if "seeds" in whole:
            raise InputError("seeds: belongs into the table [sweep]; move it there")
        sweep = whole.pop("sweep", {})
        if not isinstance(sweep, dict):
            raise InputError('sweep: not a table; write e.g. [sweep] and "link.aqm" = ["codel", "pie"] below it')
        file_seeds = sweep.pop("seeds", None)
        chosen = seeds if seeds is not None else _at_most(file_seeds, most_seeds)
        axes, twice = distinct_values(axes_of(sweep))
        _check_number(count_of(axes) * _count_of_seeds(chosen), many)
        draw = Draw.take(whole, base)
        given = [] if chosen is None else seed_list(chosen)
        first = given[0] if given else seed_of(whole, sets)
        points = [_point(whole, sets or {}, values, base, draw, first) for values in combinations(axes)]
        paths = tuple(tuple(axis[0]) for axis in axes)
        own_seeds = _count_of_seeds(file_seeds)
        taken = given or [points[0].scenario.seed]
        return cls(name, points, taken, paths, own_seeds=own_seeds, listed_twice=twice)

    @property
    def swept(self) -> list[str]:
        """Dotted paths that are swept."""
        return list(self.points[0].values)

    @property
    def drawn(self) -> list[str]:
        """Dotted paths that each seed draws."""
        first = self.points[0].drawn
        return list(first.values(self.seeds[0])) if first else []

    @property
    def advice(self) -> list[str]:
        """Sentences about settings without effect; usually empty."""
        return advice(point.scenario for point in self.points)

    @property
    def beside_the_aqm(self) -> list[str]:
        """Swept paths that do not change together with the queue manager."""
        return [path for axis in self.beside_the_aqm_axes for path in axis]

    @property
    def beside_the_aqm_axes(self) -> list[tuple[str, ...]]:
        """Axes that do not include the queue manager; paths that change together are in one tuple."""
        return [axis for axis in self.axes if "link.aqm" not in axis]

    @property
    def runs(self) -> list[Run]:
        """Every run, ordered by point, then seed."""
        return [Run(point.at(seed), seed, self.engine) for point in self.points for seed in self.seeds]

    def run(
        self,
        root: Path | None = None,
        *,
        jobs: int | None = None,
        executor: Executor | None = None,
        merge: Sequence[Path] = (),
        command: Sequence[str] = (),
        progress: Progress | bool | None = None,
    ) -> StudyResult:
        """Do every run that `root` does not have yet; the result does not depend on where the runs are done.

        `jobs` runs are done concurrently in this process, or all by an `executor` of `concurrent.futures`. Runs that
        the folders `merge` have are copied to `root` instead.
        """
        return self.run_by(Runner(root, jobs, executor, merge, command, progress))

    def run_by(self, runner: Runner, *, settled: bool = False) -> StudyResult:
        """Do every run that `runner` does not have yet; with `settled`, raise `InputError` for unsettled runs."""
        self.check_merge(runner.merge)
        runs = self.runs
        results = runner(runs)
        remember(results)
        if settled:
            refuse_unsettled(results)
        return StudyResult(self, results, {i: runner.lost[run] for i, run in enumerate(runs) if run in runner.lost})

    def run_until(
        self, goal: Precision, runner: Runner, *, settled: bool = False
    ) -> tuple[StudyResult, AchievedPrecision]:
        """Run with seeds 1, 2, 3, … until every point is as precise as requested; at least the study's seed count."""
        return replicate(
            goal,
            len(self.seeds),
            lambda seeds: replace(self, seeds=seeds).run_by(runner, settled=settled),
            lambda result: result.table,
        )

    def check_merge(self, folders: Sequence[Path]) -> None:
        """Raise `InputError` for folders to merge that contain none of the runs."""
        names = [store.run_hash(run.scenario, run.seed, run.identity) for run in self.runs] if folders else []
        for folder in folders:
            store.check_source(folder, names)

    def shard(self, number: int, of: int) -> list[Run]:
        """Every `of`-th run, starting with number `number` (from 1): the shards partition all runs."""
        runs = self.runs
        if not 1 <= number <= of <= len(runs):
            raise InputError(f"shard: there is no {number}/{of} of {len(runs)} runs; write e.g. 1/2 for the first half")
        return runs[number - 1 :: of]

    def replace(self, sets: Mapping[str, object]) -> Study:
        """Return this study with some keys of all its scenarios changed."""
        return replace(self, points=[one.replace(sets) for one in self.points])


def read_document(path: Path, extended: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a study file, merged over the file that it extends, if any."""
    text = read_text(path)
    if path.resolve() in extended:
        raise InputError(f'extends: "{path.name}" extends itself; leave it out in one of the files')
    document = parse_toml(text)
    base = document.pop("extends", None)
    if base is None:
        return document
    if not isinstance(base, str):
        raise InputError('extends: not the name of a file; write e.g. extends = "setup.toml"')
    return _merged(read_document(path.parent / base, (*extended, path.resolve())), document)


def sources(path: Path) -> dict[str, str]:
    """Text of a study file and of those that it extends, by name; base files come first."""
    text = read_text(path)
    base = parse_toml(text).get("extends")
    return (sources(path.parent / base) if base else {}) | {path.name: text}


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Merge the tables of `changes` over those of `base`; any other value replaces the base's."""
    both = base | changes
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            both[key] = _merged(base[key], value)
    return both


def _point(
    document: dict[str, Any], sets: Mapping[str, Any], values: dict[str, Any], base: Path, draw: Draw | None, seed: int
) -> Point:
    """Point of some swept values on top of keys that are set for all."""
    if draw is None:
        return Point(values, _scenario(document, {"sweep": {**sets, **values}}, base))
    if clash := next((path for path in draw.paths if path in values), None):
        raise InputError(f"draw.{clash}: is swept as well; leave it out in one of the tables")
    drawn = DrawnScenario(draw, document, {**sets, **values}, base)
    return Point(values, drawn.scenario(seed), drawn)


def _scenario(document: dict[str, Any], tables: Mapping[str, Mapping[str, Any]], base: Path) -> Scenario:
    """Scenario of a document with the keys in `tables` set; the core sets parameters of AQMs."""
    changed, params = json.loads(json.dumps(document, default=str)), {}  # a fifth of the time of deepcopy
    for table, sets in tables.items():
        for path, value in sets.items():
            if AQM_PARAMETER.search(path):
                params[path] = value
            else:
                set_path(changed, path, value, f"{table}.{path}")
    fill(changed)
    return Scenario.parse(json.dumps(changed, default=str), params, base=base)


def fill(document: dict[str, Any]) -> None:
    """Set the defaults of a study that differ from those of a single scenario: its warm-up, and the flows' spread."""
    document.setdefault("warmup", AUTO)
    flows = document.get("flows")
    for flow in flows if isinstance(flows, list) else []:
        # With a spread, a flow that stops might have to start later than that.
        if isinstance(flow, dict) and "stop" not in flow:
            flow.setdefault("spread", SPREAD)


def set_path(document: Any, path: str, value: Any, place: str) -> None:
    """Set a dotted path of a document; `place` names it in errors; the core validates the value."""
    *parents, last = path.split(".")
    here = document
    for step in parents:
        here = _element(here, step, place) if isinstance(here, list) else here.setdefault(step, {})
        if not isinstance(here, dict | list):
            break
    if not isinstance(here, dict):
        raise InputError(f"{place}: no such key; name one of the scenario, e.g. link.aqm")
    here[last] = value


def _element(items: list[Any], step: str, place: str) -> Any:
    if not step.isdigit() or int(step) >= len(items):
        raise InputError(f'{place}: "{step}" is not an index from 0 to {len(items) - 1}; number the entries from 0')
    return items[int(step)]


def _at_most(seeds: Any, most: int | None) -> Any:
    """The first seeds of a file, at most `most`."""
    if most is None or _count_of_seeds(seeds) <= most:
        return seeds
    return seeds[:most] if isinstance(seeds, list) else most


def _count_of_seeds(seeds: Any) -> int:
    """Number of seeds; None means the scenario's."""
    if seeds is None:
        return 1
    if isinstance(seeds, list) and seeds and all(_is_whole(seed) for seed in seeds):
        if len(set(seeds)) < len(seeds):
            raise InputError(
                f"sweep.seeds: {seeds} names a seed twice, which would count its runs twice; leave one out"
            )
        return len(seeds)
    if not _is_whole(seeds) or seeds < 1:
        raise InputError(f"sweep.seeds: {seeds} is neither a number of seeds nor a list of them; write e.g. 20")
    return int(seeds)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_number(runs: int, many: bool) -> None:
    if runs > MANY_RUNS and not many:
        raise InputError(f"sweep: {runs} runs; shorten a list, or say --yes (in Python many=True) if all are meant")


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
