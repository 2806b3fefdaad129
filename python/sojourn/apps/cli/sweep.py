"""`sojourn sweep`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import options

if TYPE_CHECKING:
    import polars as pl

    from sojourn.model.analysis.replicate import AchievedPrecision, Precision
    from sojourn.studies.runs.runner import Runner
    from sojourn.studies.study import Study, StudyResult


@click.command("sweep")
@click.argument("study", type=options.PATH)
@click.option("--shard", metavar="I/N", help="Run only part I of N, e.g. 1/4. Join the parts with --merge.")
@click.option(
    "--merge",
    type=options.PATH,
    multiple=True,
    metavar="DIR",
    help="Copy finished runs from DIR instead of running them. May be repeated.",
)
@options.dask
@options.engine
@options.paired
@options.sets
@click.option("--duration", metavar="TIME", help="Simulated time [the file's].")
@options.warmup
@options.until
@options.metric
@options.max_seeds
@click.option("--yes", is_flag=True, help="Accept more than 100,000 runs.")
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    study: Path,
    shard: str | None,
    merge: tuple[Path, ...],
    dask: str | None,
    engine: str,
    paired: str | None,
    sets: tuple[str, ...],
    duration: str | None,
    warmup: str | None,
    until: Precision | None,
    yes: bool,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Run STUDY, a scenario with a table [sweep] of lists and seeds, on all cores.

    Finished runs are kept, so an interrupted study continues where it stopped. A table of differences compares the
    queue managers seed by seed. The exit code is 1 if --until was not reached.
    """
    from sojourn.apps.cli import output
    from sojourn.apps.cli.running import opened
    from sojourn.base.errors import MACHINE, InputError
    from sojourn.base.progress import progress
    from sojourn.engines import check
    from sojourn.model.analysis.warmup import AUTO
    from sojourn.studies.study import Study

    if shard and (until or warmup == AUTO or paired):
        raise click.UsageError(
            "--shard runs only part of the study; use --until, --warmup auto and --paired without it"
        )
    fixed = options.changes(sets)
    loaded = replace(Study.load(study, many=yes, sets=fixed), engine=engine)
    if clash := next((path for path in fixed if path in loaded.swept), None):
        raise InputError(f"--set: {clash} is also in [sweep]; leave it out in one place")
    options.warn(loaded.advice)
    changed = {key: value for key, value in (("duration", duration), ("warmup", warmup)) if value}
    loaded = loaded.replace(changed) if changed else loaded
    for point in loaded.points:
        check(engine, point.scenario)
    output.check_summary(loaded.swept or ["link.aqm"])
    with progress() as report, opened(out, jobs, merge, dask, report) as runner:
        if shard:
            _run_shard(loaded, shard, runner, as_json)
            return
        if until:
            result, reached = loaded.run_until(until, runner, settled=warmup == AUTO)
        else:
            runner.keeps_going = True
            result, reached = loaded.run_by(runner, settled=warmup == AUTO), None
    _print(result, reached, paired, runner, as_json)
    if result.lost:
        ctx.exit(MACHINE)
    ctx.exit(1 if reached and not reached.reached else 0)


def _run_shard(study: Study, shard: str, runner: Runner, as_json: bool) -> None:
    from sojourn.apps.cli import output

    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not match:
        raise click.BadParameter(f'"{shard}" is not a shard; write e.g. 1/4', param_hint="--shard")
    runs = study.shard(int(match[1]), int(match[2]))
    study.check_merge(runner.merge)
    results = runner(runs)
    if as_json:
        folders = [str(one.folder) for one in results]
        output.print_json(
            {"shard": shard, "of_runs": len(study.runs), "folders": folders, "warnings": study.advice} | _counts(runner)
        )
        return
    output.print_note(f"{study.name}, shard {shard}: {len(runs)} of {len(study.runs)} runs{_counts_text(runner)}")
    output.print_note(f"Results: {runner.root}; join the shards with --merge DIR for each")


def _print(
    result: StudyResult, reached: AchievedPrecision | None, baseline: str | None, runner: Runner, as_json: bool
) -> None:
    from sojourn.apps.cli import output
    from sojourn.base.files import write_if_changed
    from sojourn.model.analysis.metrics import aggregate
    from sojourn.model.analysis.warmup import warmup_text

    study, runs = result.study, result.runs
    differences = _differences(result, baseline)
    assert runner.root is not None
    summaries = write_if_changed(runner.root / f"{study.name}.parquet", lambda file: runs.write_parquet(file))
    by = study.swept or ["link.aqm"]
    table = aggregate(runs if study.swept else _with_aqm(runs, study), by)
    warmups = [point.scenario.document["warmup"] for point in study.points]
    if as_json:
        document: dict[str, Any] = {"table": table.to_dicts(), "seeds": study.seeds, "warmup": warmups}
        document |= {"paired": differences.to_dicts() if differences is not None else [], "notes": result.notes}
        document |= {"until": output.until_json(reached) if reached else None, "warnings": study.advice}
        document |= {
            "lost": result.losses,
            "folders": [str(one.folder) for one in result.results],
            "runs": str(summaries),
        }
        output.print_json(document | _counts(runner))
        return
    title = f"{study.name}: {len(study.points)} points, {len(study.seeds)} seeds"
    if not (baseline and output.one_table()):
        output.summary_table(table.to_dicts(), by, title=title)
    if differences is not None and (baseline or not output.one_table()):
        output.paired_table(differences, [*study.beside_the_aqm, "link.aqm"])
    for sentence in [*result.notes, *([output.until_sentence(reached)] if reached else [])]:
        output.print_note(sentence)
    for sentence in result.losses:
        output.print_note(sentence)
    if study.drawn:
        output.print_note(f"Drawn by each seed: {', '.join(study.drawn)}")
    shown = [warmup_text(runs.to_dicts(), warmup) for warmup in dict.fromkeys(warmups)]
    output.print_note(f"Runs: {len(runs)}{_counts_text(runner)}; warm-up {', '.join(shown)}")
    output.print_note(f"Results: {runner.root}, one row per run in {summaries}")


def _differences(result: StudyResult, baseline: str | None) -> pl.DataFrame | None:
    """Paired differences if there are several queue managers and seeds; a requested baseline requires them."""
    if baseline is None and not result.has_pairs:
        return None
    return result.paired(baseline)


def _counts(runner: Runner) -> dict[str, int]:
    return {"computed": len(runner.computed), "adopted": len(runner.adopted)}


def _counts_text(runner: Runner) -> str:
    adopted = f", {len(runner.adopted)} copied" if runner.merge else ""
    return f", {len(runner.computed)} computed{adopted}"


def _with_aqm(runs: pl.DataFrame, study: Study) -> pl.DataFrame:
    import polars as pl

    return runs.with_columns(pl.lit(study.points[0].scenario.aqm).alias("link.aqm"))
