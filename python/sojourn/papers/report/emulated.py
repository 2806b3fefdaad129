"""Figures that real programs can make: ``python -m sojourn.report.emulated --results DIR -o DIR``.

These are the figures with claims about emulated runs, and those with a study of their own for real programs. Every run
takes real time, so the command first prints the total time. The machine's load during a run is in its manifest
(`emulation`: `load`, `cpu_waiting`, `cpu_steal`, `programs_late`) and in `load.csv`. A run that reports itself as not
faithful is rejected: it is named, not kept, and repeated, up to twice the number of requested runs. A figure that still
lacks a run is not made.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import polars as pl

from sojourn.base.files import write_file
from sojourn.base.units import seconds
from sojourn.engines.emulated import engine
from sojourn.model.results.result import Result
from sojourn.papers import PAPERS, Paper, paper
from sojourn.papers.engine import on_engine, study_of
from sojourn.papers.judge import Verdict, claims_of, measured_text, published_text
from sojourn.papers.report import folder_of, write_figure
from sojourn.papers.reproduction import Reproduction, reproduce
from sojourn.studies.runs import store
from sojourn.studies.runs.runner import Run

SEEDS = 3
BESIDE_S = 3.0
"""Overhead of a run beside its own time: programs start, and the log becomes a result."""


@dataclass
class Attempts:
    """Emulated runs, each repeated until it is faithful."""

    root: Path
    """Folder of results; faithful runs in it are not repeated."""
    do: Callable[[Run], Result] = lambda run: run.scenario.run(run.seed, engine=run.engine)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Every attempt: the run, the machine's load, and its faults."""

    def missing(self, runs: Sequence[Run]) -> list[Run]:
        """Runs that are missing or not faithful; each once."""
        return [run for run in dict.fromkeys(runs) if (found := self._stored(run)) is None or _faults(found)]

    def __call__(self, runs: Sequence[Run], at_once: int) -> list[Run]:
        """Try all runs, unfaithful ones once more after all others; return those that never were faithful."""
        left = self.missing(runs)
        for _ in range(2):
            waits = [length_s(run) * place / at_once for place, run in enumerate(left[:at_once])]
            waits += [0.0] * (len(left) - len(waits))
            with ThreadPoolExecutor(at_once) as pool:
                good = list(pool.map(self._try, left, waits))
            left = [run for run, faithful in zip(left, good, strict=True) if not faithful]
        return left

    def _try(self, run: Run, wait_s: float) -> bool:
        """Run once; return whether the run is faithful and was kept. The first ones wait, to be out of step."""
        time.sleep(wait_s)
        result = self.do(run)
        result.engine = run.identity
        self.rows.append(row_of(run, result))
        if faults := _faults(result):
            load = result.totals["emulation"]["load"]
            busy = f"load {load['mean']:.1f} on {load['cpus']} CPUs"
            click.echo(f"refused, not faithful: {name_of(run)}: {faults[0]}; {busy}", err=True)
            return False
        folder = self.root / store.run_hash(run.scenario, run.seed, run.identity)
        if folder.exists():  # of a run that `reproduce` kept although it was not faithful
            shutil.rmtree(folder)
        store.save(result, self.root, ["python", "-m", "sojourn.report.emulated"])
        return True

    def _stored(self, run: Run) -> Result | None:
        return store.find(run.scenario, run.seed, self.root, run.identity)


def figures() -> Iterator[tuple[Paper, str]]:
    """Figures that real programs can make, paper by paper."""
    for paper_id in PAPERS:
        one = paper(paper_id)
        for figure_id in one.figures:
            about = {claim.get("engine") for claim in claims_of(paper_id, figure_id)}
            if "emulate" in about or hasattr(one.figure(figure_id), "EMULATED"):
                yield one, figure_id


def runs_of(one: Paper, figure_id: str, seeds: int) -> list[Run]:
    """The runs of a figure, seed by seed, so that an interrupted figure has complete replications."""
    study, _ = on_engine(one, study_of(one, figure_id, "emulate", seeds=seeds), "emulate")
    return [Run(point.scenario, seed, "emulate") for seed in study.seeds for point in study.points]


def length_s(run: Run) -> float:
    """Length of a run."""
    return seconds(run.scenario.document["duration"])


def name_of(run: Run) -> str:
    """A run in words."""
    link = run.scenario.document["link"]
    return f"{run.scenario.name}, {run.scenario.aqm}, {link['limit']}, seed {run.seed}"


def row_of(run: Run, result: Result) -> dict[str, Any]:
    """Line of `load.csv` for an attempt."""
    emulation = result.totals["emulation"]
    shares = {key: emulation[key] for key in ("cpu_waiting", "cpu_steal", "programs_late")}
    load = {"load_mean": emulation["load"]["mean"], "load_most": emulation["load"]["most"]}
    late = {"stalls_s": emulation["stalls"]["total_ns"] / 1e9, "late_packets": emulation["stalls"]["late_packets"]}
    return {"run": name_of(run), **load, **shares, **late, "fault": "; ".join(_faults(result))}


def duration_text(runs: Sequence[Run], at_once: int, found: int) -> str:
    """Estimated duration."""
    of_one = [length_s(run) + BESIDE_S for run in runs]
    minutes = sum(of_one) / min(at_once, max(1, len(runs))) / 60
    return f"{len(runs)} runs in real time, {at_once} at a time: {minutes:.0f} min; {found} are there already"


def table(done: Sequence[Reproduction]) -> str:
    """Published and measured values, as Markdown."""
    lines = ["| claim | published | emulated | verdict |", "|---|---|---|---|"]
    for verdict in (verdict for one in done for verdict in one.verdicts):
        measured = emulated_text(verdict)
        lines.append(f"| {verdict['id']} | {published_text(verdict)} | {measured} | {verdict['verdict']} |")
    return "\n".join(lines)


def emulated_text(verdict: Verdict) -> str:
    """Measurement by real programs; for a claim about simulations, which they do not judge, the mean only."""
    value = verdict.get("emulated")
    if value is None:
        return measured_text(verdict)
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}"


def _faults(result: Result) -> list[str]:
    return list(result.totals["emulation"]["faults"])


@click.command()
@click.option(
    "--results", type=click.Path(path_type=Path), default="results", show_default=True, help="folder of the runs"
)
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    default="reproduction",
    show_default=True,
    help="folder of the figures",
)
@click.option("--paper", "papers", multiple=True, type=click.Choice(list(PAPERS)), help="only these papers")
@click.option("--figure", "only", multiple=True, help="only these figures")
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True, help="replications")
@click.option("--at-once", type=click.IntRange(1), help="runs at a time; default: half as many as CPUs")
@click.option("--dry-run", is_flag=True, help="only print the estimated time")
def main(
    results: Path,
    out: Path,
    papers: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int,
    at_once: int | None,
    dry_run: bool,
) -> None:
    """Run and judge the figures that can be made with real programs."""
    chosen = [one for one in figures() if (not papers or one[0].id in papers) and (not only or one[1] in only)]
    if not chosen:
        raise click.UsageError(
            f"no such figure; expected one of {', '.join(f'{one.id} {name}' for one, name in figures())}"
        )
    at_once = at_once or engine.AT_ONCE
    attempts = Attempts(results)
    runs = list(dict.fromkeys(run for one, figure_id in chosen for run in runs_of(one, figure_id, seeds)))
    missing = attempts.missing(runs)
    click.echo(duration_text(missing, at_once, len(runs) - len(missing)), err=True)
    if dry_run:
        return
    engine.set_concurrency(at_once)
    refused = set(attempts(runs, at_once))
    write_load(attempts.rows, out)
    done = []
    for one, figure_id in chosen:
        if refused.isdisjoint(runs_of(one, figure_id, seeds)):
            done.append(reproduce(one.id, figure_id, seeds=seeds, engine="emulate", root=results))
            write_figure(done[-1], folder_of(out, one.id, {}, done[-1]))
    click.echo(table(done))
    if refused:
        named = "; ".join(name_of(run) for run in refused)
        raise click.ClickException(f"not faithful, twice: {named}; try again when the machine is less busy")


def write_load(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Append every attempt to the table of the machine's load."""
    if not rows:
        return
    path = out / "load.csv"
    out.mkdir(parents=True, exist_ok=True)
    new = pl.DataFrame(rows, infer_schema_length=None)
    whole = pl.concat([pl.read_csv(path), new], how="vertical_relaxed") if path.exists() else new
    write_file(path, lambda file: whole.write_csv(file, float_precision=4))


if __name__ == "__main__":
    main()
