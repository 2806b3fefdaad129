"""The judgement of a gate: budgets over its seeds, and watches against the baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from pathlib import Path
from typing import TypeVar

from sojourn.base.errors import InputError, unknown
from sojourn.base.units import factor_between, read_quantity
from sojourn.studies.gating.baseline import Baseline, Entry, WorldBaseline, read_baseline, rounded, write_baseline
from sojourn.studies.gating.decide import REGRESSION, UNCHANGED, UNCLEAR, Change, compare, difference
from sojourn.studies.gating.file import Budget, GateFile, Watch
from sojourn.studies.gating.sentences import Budgeted, Measured, budgeted, expression
from sojourn.studies.gating.sources import Source, WorldInfo
from sojourn.studies.gating.statistics import least_visible, looks, median
from sojourn.studies.sentences import Expression

Entries = TypeVar("Entries", Budget, Watch)
UPDATE = "update it in a commit of its own (--update)"


@dataclass(frozen=True)
class BudgetRow:
    """A budget in one world."""

    world: str
    budget: Budget
    seeds: dict[int, Measured]
    repetition: str
    """Command that repeats the worst seed."""

    @property
    def failing(self) -> list[int]:
        """Seeds that make the sentence false."""
        return [seed for seed, one in self.seeds.items() if not one.holds]

    @property
    def passed(self) -> bool:
        """Whether it is true in as many seeds as needed."""
        return len(self.seeds) - len(self.failing) >= self.budget.needed

    @property
    def worst(self) -> int:
        """Seed with the smallest margin."""
        return worst_of(self.seeds)


@dataclass(frozen=True)
class WatchRow:
    """A watch in one world."""

    world: str
    watch: Watch
    unit: str
    margin: float
    """`by` in this unit."""
    level: float | None
    """Median of the baseline if `by` is a share of it."""
    least: float
    """Least change that the gate can see."""
    before: float
    now: float
    """Medians over the seeds of the last look."""
    changed: int
    """Number of seeds, of those of the gate, whose decisions differ from the baseline's."""
    change: Change | None

    @property
    def verdict(self) -> str:
        """Verdict in one word."""
        return UNCHANGED if self.change is None else self.change.verdict


@dataclass(frozen=True)
class GateReport:
    """Outcome of a gate."""

    gate: GateFile
    worlds: tuple[str, ...]
    budgets: tuple[BudgetRow, ...]
    watches: tuple[WatchRow, ...]
    written: Path | None = None
    """The baseline, if it was written."""

    @property
    def regressions(self) -> list[WatchRow]:
        """Watches that became worse."""
        return [row for row in self.watches if row.verdict == REGRESSION]

    @property
    def unclear(self) -> list[WatchRow]:
        """Watches without a decision."""
        return [row for row in self.watches if row.verdict == UNCLEAR]

    def passed(self, *, strict: bool) -> bool:
        """Whether every budget holds and nothing became worse; if strict, nothing may be unclear."""
        return all(row.passed for row in self.budgets) and not self.regressions and not (strict and self.unclear)


def judge(gate: GateFile, source: Source, *, update: bool = False) -> GateReport:
    """Judge a gate, or write its baseline.

    Raises `InputError` for a mistake in a file, `NotDeterministicError`, and `FailedError` if the tested program fails.
    """
    return _Judgement(gate, source).report(update=update)


@dataclass
class _Judgement:
    gate: GateFile
    source: Source
    infos: dict[str, WorldInfo] = field(default_factory=dict)
    sentences: dict[str, list[tuple[Budget, Budgeted]]] = field(default_factory=dict)
    expressions: dict[str, list[tuple[Watch, Expression]]] = field(default_factory=dict)
    measured: dict[str, dict[int, list[Measured]]] = field(default_factory=dict)
    """Budgets by world and seed."""
    entries: dict[str, dict[int, Entry]] = field(default_factory=dict)
    """Decisions and watches by world and seed."""

    def report(self, *, update: bool) -> GateReport:
        gate = self.gate
        if update and gate.baseline is None:
            raise InputError(f"{gate.path}: baseline: missing; name its file, or leave out --update")
        baseline = {} if update or gate.baseline is None else read_baseline(gate.baseline)
        self._read_worlds()
        if baseline:
            self._check(baseline)
        self.source.check_determinism()
        self._run(range(1, gate.seeds + 1), self.infos)
        if update:
            watched = [name for name, entries in self.expressions.items() if entries]
            self._run(range(gate.seeds + 1, looks(gate.seeds)[-1].seeds + 1), watched)
            baseline = self._baseline()
            self._check(baseline)
        watches = tuple(self._compare(baseline)) if baseline else ()
        written = write_baseline(gate.baseline, baseline) if update and gate.baseline else None
        return GateReport(gate, tuple(self.infos), tuple(self._budgets()), watches, written)

    def _read_worlds(self) -> None:
        """Know the worlds, and parse all sentences for each of them."""
        self.infos = {info.name: info for info in self.source.worlds()}
        gate = self.gate
        entries: list[Budget | Watch] = [*gate.budgets, *gate.watches]
        for entry in entries:
            for name in entry.worlds:
                if name not in self.infos:
                    raise unknown(f"{gate.path}: {entry.place}.worlds: world", name, list(self.infos))
        for name, info in self.infos.items():
            self.sentences[name] = [
                (one, budgeted(one.say, f"{gate.path}: {one.place}.say", info.scenario))
                for one in _of_world(gate.budgets, name)
            ]
            self.expressions[name] = [
                (one, expression(one.what, f"{gate.path}: {one.place}.what", info.scenario))
                for one in _of_world(gate.watches, name)
            ]
            self.measured[name], self.entries[name] = {}, {}

    def _run(self, seeds: Sequence[int], names: Collection[str]) -> None:
        """Run worlds, and keep the numbers only: runs are large."""
        if not seeds or not names:
            return
        for run in self.source.runs(seeds, list(names)):
            name = run.info.name
            values = tuple(rounded(one.value(run.evidence)) for _, one in self.expressions[name])
            self.entries[name][run.seed] = Entry(run.decisions, values)
            if run.seed <= self.gate.seeds:
                self.measured[name][run.seed] = [one.measure(run.evidence) for _, one in self.sentences[name]]

    def _budgets(self) -> Iterable[BudgetRow]:
        for name, budgets in self.sentences.items():
            for place, (budget, _) in enumerate(budgets):
                seeds = {seed: row[place] for seed, row in sorted(self.measured[name].items())}
                yield BudgetRow(name, budget, seeds, self.source.repetition(name, worst_of(seeds)))

    def _baseline(self) -> Baseline:
        return {
            name: WorldBaseline(
                info.world, info.engine, tuple(watch.what for watch, _ in self.expressions[name]), self.entries[name]
            )
            for name, info in self.infos.items()
            if self.expressions[name]
        }

    def _check(self, baseline: Baseline) -> None:
        """Raise `InputError` unless the baseline is of these worlds, with margins that it can see."""
        for name, info in self.infos.items():
            if not self.expressions[name]:
                continue
            place = f"{self.gate.baseline}: {name}"
            known = baseline.get(name)
            if known is None:
                raise InputError(f"{place}: not in the baseline; {UPDATE}")
            if known.world != info.world:
                raise InputError(f"{place}: of another world ({known.world}, now {info.world}); {UPDATE}")
            if known.engine != info.engine:
                raise InputError(f"{place}: by sojourn {known.engine}, this is {info.engine}; {UPDATE}")
            if lacking := [watch.what for watch, _ in self.expressions[name] if watch.what not in known.watches]:
                raise InputError(f'{place}: has no value of "{lacking[0]}"; {UPDATE}')
            needed = looks(self.gate.seeds)[-1].seeds
            if lacks := [seed for seed in range(1, needed + 1) if seed not in known.seeds]:
                raise InputError(f"{place}: has no seed {lacks[0]}, of the {needed} of the last look; {UPDATE}")
            for watch, about in self.expressions[name]:
                self._margin(name, watch, about, known)

    def _margin(
        self, name: str, watch: Watch, about: Expression, known: WorldBaseline
    ) -> tuple[float, float | None, float]:
        """`by` in the watch's unit, the median if it is a share of it, and the least visible change."""
        place = f"{self.gate.path}: {watch.place}.by"
        values = list(known.values(watch.what).values())
        if any(map(isnan, values)):
            raise InputError(
                f'{self.gate.path}: {watch.place}.what: "{watch.what}" has no value in {sum(map(isnan, values))} of '
                f"{len(values)} runs of {name}; leave that world out (worlds), or watch another number"
            )
        middle = median(values)
        margin, is_share = _by(place, watch.by, about, middle)
        least = least_visible(values, self.gate.seeds)
        level = middle if is_share else None
        if margin < least:
            raise InputError(
                f"{place}: {watch.by} is below the least change that {self.gate.seeds} seeds can see in {name}, "
                f"{spelled(least, about.unit, level, up=True)}; raise it, or `seeds`"
            )
        return margin, level, least

    def _compare(self, baseline: Baseline) -> Iterable[WatchRow]:
        pairs = [(name, place) for name, entries in self.expressions.items() for place in range(len(entries))]
        changes: dict[tuple[str, int], Change] = {}
        for name, place in pairs:
            watch, about = self.expressions[name][place]
            self._refuse_other_build(name, place, baseline[name])
            if self._changed(name, baseline[name]):
                changes[name, place] = Change(self._margin(name, watch, about, baseline[name])[0])
        self._look(changes, baseline)
        for name, place in pairs:
            watch, about = self.expressions[name][place]
            margin, level, least = self._margin(name, watch, about, baseline[name])
            change = changes.get((name, place))
            seeds = range(1, (change.seeds if change else self.gate.seeds) + 1)
            before = baseline[name].values(watch.what)
            now = [self.entries[name][seed].values[place] for seed in seeds]
            yield WatchRow(
                name,
                watch,
                about.unit,
                margin,
                level,
                least,
                median([before[seed] for seed in seeds]),
                median([value for value in now if not isnan(value)] or now),
                self._changed(name, baseline[name]),
                change,
            )

    def _look(self, changes: dict[tuple[str, int], Change], baseline: Baseline) -> None:
        """Decide, with more seeds for what is not decided yet."""
        keys = {change: key for key, change in changes.items()}

        def differences(change: Change, seeds: int) -> list[float]:
            name, place = keys[change]
            if (done := max(self.entries[name])) < seeds:
                left = list(dict.fromkeys(keys[one][0] for one in keys if not one.verdict))
                self._run(range(done + 1, seeds + 1), left)
            return self._differences(name, place, baseline, seeds)

        compare(list(keys), self.gate.seeds, differences)

    def _differences(self, name: str, place: int, baseline: Baseline, seeds: int) -> list[float]:
        watch = self.expressions[name][place][0]
        before, now = baseline[name].values(watch.what), self.entries[name]
        return [difference(before[seed], now[seed].values[place], watch.sign) for seed in range(1, seeds + 1)]

    def _changed(self, name: str, known: WorldBaseline) -> int:
        """Number of the gate's seeds whose decisions differ."""
        own = self.entries[name]
        return sum(own[seed].decisions != known.seeds[seed].decisions for seed in range(1, self.gate.seeds + 1))

    def _refuse_other_build(self, name: str, place: int, known: WorldBaseline) -> None:
        """Equal decisions give equal values, unless another build of the engine has the same version."""
        watch = self.expressions[name][place][0]
        before, own = known.values(watch.what), self.entries[name]
        for seed in range(1, self.gate.seeds + 1):
            now = own[seed].values[place]
            is_same = now == before[seed] or (isnan(now) and isnan(before[seed]))
            if own[seed].decisions == known.seeds[seed].decisions and not is_same:
                raise InputError(
                    f'{self.gate.baseline}: {name}: seed {seed} has the same decisions, but "{watch.what}" is {now:g} '
                    f"for {before[seed]:g}: another build of Sojourn; {UPDATE}"
                )


def worst_of(seeds: dict[int, Measured]) -> int:
    """Seed with the smallest margin."""
    return min(seeds, key=lambda seed: (seeds[seed].margin, seed))


def spelled(value: float, unit: str, level: float | None, *, up: bool = False) -> str:
    """A change as text: as a share of `level` if that is given, else with its unit; `up` rounds up."""
    share = value if level is None else 100 * value / abs(level)
    text = f"{share:.{2 if abs(share) < 100 else 3}g}" if isfinite(share) else ("inf" if share > 0 else "-inf")
    if up and isfinite(share) and float(text) < share:
        step = 10 ** (len(text.partition(".")[2]) * -1)
        text = f"{float(text) + step:.3g}"
    return f"{text} {'%' if level is not None else unit}".rstrip()


def _by(place: str, text: str, about: Expression, middle: float) -> tuple[float, bool]:
    """Margin in the expression's unit, and whether it is a share of the baseline's median."""
    is_share = text.endswith("%")
    number, unit = read_quantity(place, text.removesuffix("%"))
    if float(number) <= 0 or (is_share and unit):
        raise InputError(f'{place}: "{text}" is not a change above zero; write e.g. "5 %"')
    if is_share:
        if middle == 0:
            raise InputError(f'{place}: the baseline\'s median is 0; write an amount, e.g. "2 {about.unit or "1"}"')
        return float(number) / 100 * abs(middle), True
    factor = factor_between(unit, about.unit)
    if factor is None:
        raise InputError(
            f'{place}: "{text}" is not in {about.unit or "a plain number"}, the unit of {about.text}; write e.g. "5 %"'
        )
    return float(number) * factor, False


def _of_world(entries: Sequence[Entries], name: str) -> list[Entries]:
    """Budgets or watches of a world."""
    return [one for one in entries if not one.worlds or name in one.worlds]
