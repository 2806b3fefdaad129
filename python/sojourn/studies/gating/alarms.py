"""Error rates of the gate: `python -m sojourn.studies.gating.alarms -o DIR`, about 15 minutes of CPU time.

It measures four things and writes two tables, `gate-alarms.csv` and `gate-found.csv`:

- An unchanged gate, idle and beside busy cores, must pass for every seed.
- Changes without effect must not be called regressions: new runs with other draws, and runs whose first flow
  starts a little later, which draw the same. Comparisons are drawn from a pool of runs.
- The same for synthetic values with heavy tails, skew and two modes.
- Real changes of about ten per cent must be found.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from math import sqrt
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from sojourn.base.children import child
from sojourn.base.files import temporary_folder, write_file
from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.base.progress import Progress, progress
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.gating.decide import REGRESSION, SMALL, UNCHANGED, UNCLEAR, Change, compare, difference
from sojourn.studies.gating.file import GateFile
from sojourn.studies.gating.gate import judge
from sojourn.studies.gating.repeat import BURN
from sojourn.studies.gating.sentences import expression
from sojourn.studies.gating.sources import opened
from sojourn.studies.gating.statistics import least_visible, looks, median
from sojourn.studies.runs.runner import Run, Runner, cores

Values = NDArray[np.float64]
SEEDS = 20
AQMS = ("codel", "fq_codel", "pie", "droptail")
WATCHED = (("p99(sojourn)", 1), ("goodput(flows.0)", -1))
"""Watched numbers in each world, with the sign of a change for the worse."""
ALSO_WATCHED = (("codel", "p50(sojourn)", 1), ("pie", "drops", 1))
LATER = "7 ms"
"""Start of the first flow in the worlds that are changed without effect."""
SLOWER: Mapping[str, tuple[str, str]] = {
    "codel": ("link.aqm.target", "8 ms"),
    "pie": ("link.aqm.target", "18 ms"),
    "droptail": ("link.limit", "110 packets"),
}
"""Real changes that raise the 99th percentile of the sojourn time by about ten per cent."""
SPREADS = (0.005, 0.012, 0.031, 0.038, 0.11, 0.36)
"""Relative spreads over seeds of the synthetic values."""
CHANGE = 0.1
"""Real change of the synthetic values."""
BY = 0.05
"""Margin in the search for real changes."""


@dataclass(frozen=True)
class Comparison:
    """Values of the watches of a comparison, a row per watch and a column per seed, before and now."""

    before: Values
    now: Values
    signs: Sequence[int]

    def verdicts(self, margins: Sequence[float]) -> list[tuple[str, int]]:
        """Verdict of each watch and the number of seeds that it needed."""
        changes = [Change(margin) for margin in margins]
        rows = [
            [difference(a, b, sign) for a, b in zip(before, now, strict=True)]
            for before, now, sign in zip(self.before.tolist(), self.now.tolist(), self.signs, strict=True)
        ]
        places = {change: place for place, change in enumerate(changes)}
        compare(changes, SEEDS, lambda change, seeds: rows[places[change]][:seeds])
        return [(change.verdict, change.seeds) for change in changes]

    def least(self) -> list[float]:
        """Least visible change of each watch."""
        return [least_visible(row, SEEDS) for row in self.before.tolist()]


@dataclass(frozen=True)
class Counts:
    """Outcomes of comparisons."""

    comparisons: int
    regressions: int
    """Comparisons with a regression in any watch."""
    unclear: float
    """Share of the watches without a decision."""
    small: float
    """Share of the watches called small."""

    @classmethod
    def of(cls, comparisons: Iterator[Comparison], margins: Callable[[Comparison], list[float]]) -> Counts:
        """Count over comparisons, each with the margins of its watches."""
        found = [[verdict for verdict, _ in one.verdicts(margins(one))] for one in comparisons]
        watches = sum(map(len, found))
        shares = [sum(row.count(verdict) for row in found) / watches for verdict in (UNCLEAR, SMALL)]
        return cls(len(found), sum(REGRESSION in row for row in found), *shares)


def _margins_least(one: Comparison) -> list[float]:
    return one.least()


def _margins_zero(one: Comparison) -> list[float]:
    return [0.0] * len(one.signs)


def _margins_of_file(one: Comparison) -> list[float]:
    """Margins of `BY`, or of the least change that the gate accepts."""
    return [max(least, BY * abs(median(own))) for least, own in zip(one.least(), one.before.tolist(), strict=True)]


MARGINS: Mapping[str, Callable[[Comparison], list[float]]] = {"least": _margins_least, "zero": _margins_zero}
"""Margins of a comparison: the least that the gate accepts, and none, which it refuses."""


def synthetic(kind: str, spread: float, shape: tuple[int, int], rng: np.random.Generator) -> Values:
    """Values around one with a relative standard deviation `spread`, of a distribution in `DISTRIBUTIONS`."""
    return 1 + spread * DISTRIBUTIONS[kind](rng, shape)


DISTRIBUTIONS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], Values]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: (np.exp(rng.standard_normal(shape)) - np.e**0.5) / np.sqrt((np.e - 1) * np.e),
    "pareto": lambda rng, shape: (rng.pareto(2.5, shape) - 1 / 1.5) / np.sqrt(2.5 / (1.5**2 * 0.5)),
    "t": lambda rng, shape: rng.standard_t(2.1, shape) / np.sqrt(2.1 / 0.1),
    "two modes": lambda rng, shape: np.where(rng.random(shape) < 0.1, 3.0, -1 / 3) + 0.1 * rng.standard_normal(shape),
}
"""Distributions of mean zero and variance one; those of pareto and t have no fourth moment."""


def synthetic_alarms(count: int, tell: Progress) -> Iterator[dict[str, Any]]:
    """Rows about synthetic values that do not change."""
    rng = np.random.default_rng(1)
    number = looks(SEEDS)[-1].seeds
    cases = [(kind, spread, watches) for kind in DISTRIBUTIONS for spread in SPREADS for watches in (1, 10)]
    for done, (kind, spread, watches) in enumerate(cases):
        tell(done / len(cases), done, len(cases))
        both = [
            Comparison(
                synthetic(kind, spread, (watches, number), rng),
                synthetic(kind, spread, (watches, number), rng),
                [1] * watches,
            )
            for _ in range(count)
        ]
        for by in MARGINS:
            yield _alarm_row(f"synthetic, {kind}", "drawn anew", f"{100 * spread:g}", by, both)


def synthetic_found(count: int, tell: Progress) -> Iterator[dict[str, Any]]:
    """Rows about synthetic values; those of the first watch become worse by `CHANGE`."""
    rng = np.random.default_rng(2)
    number = looks(SEEDS)[-1].seeds
    cases = [(kind, spread, watches) for kind in DISTRIBUTIONS for spread in SPREADS[:4] for watches in (1, 10)]
    for done, (kind, spread, watches) in enumerate(cases):
        tell(done / len(cases), done, len(cases))
        found = []
        for _ in range(count):
            before, now = (synthetic(kind, spread, (watches, number), rng) for _ in range(2))
            now[0] *= 1 + CHANGE
            found.append(Comparison(before, now, [1] * watches).verdicts([BY] * watches)[0])
        yield _found_row(f"synthetic, {kind}", f"{100 * spread:g}", f"{100 * CHANGE:g}", watches, found)


@dataclass(frozen=True)
class Pool:
    """Values of runs: a row per watch, a column per seed."""

    names: Sequence[str]
    """World and number of each row."""
    signs: Sequence[int]
    values: Mapping[str, Values]
    """By variant of the worlds: plain, later, slower."""

    def drawn(self, variant: str, count: int, rows: Sequence[int], rng: np.random.Generator) -> Iterator[Comparison]:
        """Comparisons of seeds drawn from the pool: of other runs for `plain`, of the same seeds for other variants."""
        number = looks(SEEDS)[-1].seeds
        for _ in range(count):
            places = rng.permutation(self.values["plain"].shape[1])
            new = places[number : 2 * number] if variant in ("plain", "slower") else places[:number]
            before = self.values["plain"][list(rows)][:, places[:number]]
            yield Comparison(before, self.values[variant][list(rows)][:, new], [self.signs[row] for row in rows])


def simulated(pool: int, tell: Progress, variants: Sequence[str] = ("plain", "later", "slower")) -> Pool:
    """Run every world and variant with the seeds of the pool."""
    watches = [*((aqm, what, sign) for aqm in AQMS for what, sign in WATCHED), *ALSO_WATCHED]
    values = {variant: np.empty((len(watches), pool)) for variant in variants}
    total = len(variants) * len(AQMS) * pool
    done = 0
    for variant in variants:
        for aqm in AQMS:
            scenario = world(aqm, variant)
            rows = [(row, expression(what, what, scenario)) for row, (own, what, _) in enumerate(watches) if own == aqm]
            for start in range(0, pool, BATCH):
                seeds = range(start + 1, min(pool, start + BATCH) + 1)
                for seed, result in zip(seeds, Runner()([Run(scenario, seed) for seed in seeds]), strict=True):
                    for row, about in rows:
                        values[variant][row, seed - 1] = about.value(result)
                done += len(seeds)
                tell(done / total, done, total)
    return Pool([f"{aqm}, {what}" for aqm, what, _ in watches], [sign for *_, sign in watches], values)


BATCH = 50
"""Runs at a time; their results are dropped afterwards."""


def world(aqm: str, variant: str = "plain") -> Scenario:
    """Four TCP flows and web pages over a link of 20 Mbit/s."""
    scenario = Scenario.build(_document(aqm, LATER if variant == "later" else "0 s"))
    return scenario.replace(dict([SLOWER[aqm]])) if variant == "slower" and aqm in SLOWER else scenario


def _document(aqm: str, start: str = "0 s") -> dict[str, Any]:
    return {
        "duration": "12 s",
        "warmup": "4 s",
        "link": {"rate": "20 Mbit/s", "aqm": aqm, "limit": "100 packets"},
        "flows": [
            {"kind": "tcp", "cc": "cubic", "rtt": "40 ms", "start": start},
            {"kind": "tcp", "cc": "cubic", "count": 3, "rtt": "40 ms", "spread": "1 s"},
            {"kind": "web", "interval": "500 ms", "size": "50 kB"},
        ],
    }


def simulated_alarms(pool: Pool, count: int) -> Iterator[dict[str, Any]]:
    """Rows about simulated worlds that are changed without effect."""
    rng = np.random.default_rng(3)
    for variant, how in (("plain", "drawn anew"), ("later", f"first flow starts {LATER} later")):
        if variant not in pool.values:
            continue
        for rows in ([0], list(range(len(pool.names)))):
            both = list(pool.drawn(variant, count, rows, rng))
            spread = f"{_spread(pool, 0):.2g}" if len(rows) == 1 else ""
            name = pool.names[0] if len(rows) == 1 else "four worlds"
            for by in MARGINS:
                yield _alarm_row(f"simulated, {name}", how, spread, by, both)


def simulated_found(pool: Pool, count: int) -> Iterator[dict[str, Any]]:
    """Rows about a real change of p99 in each world, alone and among all watches."""
    rng = np.random.default_rng(4)
    everything = list(range(len(pool.names)))
    for row, name in enumerate(pool.names):
        if not name.endswith("p99(sojourn)") or name.partition(",")[0] not in SLOWER:
            continue
        before, now = (float(np.median(pool.values[variant][row])) for variant in ("plain", "slower"))
        for rows in ([row], [row, *(other for other in everything if other != row)]):
            found = [one.verdicts(_margins_of_file(one))[0] for one in pool.drawn("slower", count, rows, rng)]
            change = f"{100 * (now / before - 1):.1f}"
            yield _found_row(f"simulated, {name}", f"{_spread(pool, row):.2g}", change, len(rows), found)


def _spread(pool: Pool, row: int) -> float:
    """Relative standard deviation over seeds in per cent."""
    values = pool.values["plain"][row]
    return round(float(100 * values.std() / values.mean()), 6)


def _alarm_row(case: str, change: str, spread: str, by: str, both: Sequence[Comparison]) -> dict[str, Any]:
    counts = Counts.of(iter(both), MARGINS[by])
    return {
        **_source_and_case(case),
        "change": change,
        "spread_percent": spread,
        "watches": len(both[0].signs),
        "by": by,
        "comparisons": counts.comparisons,
        "regressions": counts.regressions,
        "small_percent": f"{100 * counts.small:.1f}",
        "unclear_percent": f"{100 * counts.unclear:.1f}",
    }


def _found_row(case: str, spread: str, change: str, watches: int, found: Sequence[tuple[str, int]]) -> dict[str, Any]:
    row: dict[str, Any] = _source_and_case(case) | {"spread_percent": spread, "change_percent": change}
    row |= {"watches": watches, "comparisons": len(found)}
    for look in looks(SEEDS):
        share = sum(verdict == REGRESSION and needed <= look.seeds for verdict, needed in found) / len(found)
        row[f"found_with_{look.seeds}_percent"] = f"{100 * share:.1f}"
    return row


def _source_and_case(case: str) -> dict[str, Any]:
    """Columns of a case's name."""
    source, _, name = case.partition(", ")
    return {"source": source, "case": name}


def unchanged(seeds: int, *, busy: bool = False, tell: Progress | None = None) -> bool:
    """Whether a gate of so many seeds finds nothing to compare in the same code, run again after its baseline.

    If `busy`, cores are busy beside the second run.
    """
    with temporary_folder("sojourn-alarms-") as folder, ExitStack() as stack:
        for aqm in AQMS:
            write_file(folder / f"{aqm}.toml", lambda file, aqm=aqm: file.write(_toml(aqm).encode()))  # type: ignore[misc]
        path = write_file(folder / "gate.toml", lambda file: file.write(_gate_text(seeds).encode()))
        gate = GateFile.load(path)
        with opened(gate, Runner(progress=False), tell) as source:
            judge(gate, source, update=True)
        for _ in range(cores() if busy else 0):
            stack.enter_context(child([sys.executable, "-c", BURN], stdout=DEVNULL))
        with opened(gate, Runner(progress=False), tell) as source:
            report = judge(gate, source)
        return report.passed(strict=True) and all(row.verdict == UNCHANGED for row in report.watches)


def _toml(aqm: str) -> str:
    """Scenario file of a world."""
    import tomlkit

    return tomlkit.dumps(_document(aqm))


def _gate_text(seeds: int) -> str:
    worlds = ", ".join(f'"{aqm}.toml"' for aqm in AQMS)
    text = f'worlds = [{worlds}]\nseeds = {seeds}\n[baseline]\nfile = "gate.baseline.json"\n'
    for what, sign in WATCHED:
        worse = "up" if sign > 0 else "down"
        text += f'[[baseline.watch]]\nwhat = "{what}"\nworse = "{worse}"\nby = "100 %"\n'
    return text


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, lambda file: file.write(text.getvalue().encode()))
    click.echo(f"{path}: {len(rows)} rows")


@click.command()
@click.option(
    "--seeds", type=click.IntRange(6, 1000), default=1000, show_default=True, help="Seeds of the unchanged gate."
)
@click.option(
    "--pool", type=click.IntRange(min=160), default=3200, show_default=True, help="Seeds of the changed worlds."
)
@click.option("--comparisons", type=click.IntRange(min=1), default=1000, show_default=True, help="Comparisons per row.")
@click.option("-o", "--output", "out", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(seeds: int, pool: int, comparisons: int, out: Path) -> None:
    """Measure the gate's error rates; write two tables to the folder. The exit code is 1 if a demand is missed."""
    with progress("runs") as tell:
        same = [unchanged(seeds, busy=busy, tell=tell) for busy in (False, True)]
        found = simulated(pool, tell)
    with progress("cases") as tell:
        alarms = [*simulated_alarms(found, comparisons), *synthetic_alarms(comparisons, tell)]
        real = [*simulated_found(found, comparisons), *synthetic_found(comparisons, tell)]
    _write(out / "gate-alarms.csv", alarms)
    _write(out / "gate-found.csv", real)
    click.echo(f"unchanged, {seeds} seeds: {'passed' if all(same) else 'FAILED'}, idle and beside busy cores")
    worst = max(alarms, key=lambda row: float(row["regressions"]))
    click.echo(
        f"without effect: at most {worst['regressions']} regressions in {comparisons} comparisons, {worst['case']}"
    )
    sys.exit(0 if all(same) and all(_is_rare(row) for row in alarms) else 1)


def _is_rare(row: Mapping[str, Any]) -> bool:
    """Whether false regressions are at most 1 %, beyond what chance explains (three standard deviations)."""
    count = int(row["comparisons"])
    return float(row["regressions"]) <= 0.01 * count + 3 * sqrt(0.0099 * count)


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
