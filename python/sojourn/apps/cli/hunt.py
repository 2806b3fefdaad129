"""`sojourn hunt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import options

if TYPE_CHECKING:
    from sojourn.studies.hunting.space import Space


@click.command("hunt")
@click.argument("space", type=options.PATH)
@click.option(
    "--where",
    required=True,
    metavar="CONDITION",
    help='Condition to satisfy, e.g. "p99(sojourn) > 10 * target", "jain(flows.0) < 0.5", "goodput(B) < 0.8 * '
    'goodput(A)" with the queue managers A, B, … of --aqm.',
)
@click.option(
    "--aqm",
    "aqm",
    default="",
    metavar="A[,B…]",
    help="Queue managers of the first link, which receive the same traffic [those of the file].",
)
@options.sets
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Maximum number of points to try.",
)
@click.option(
    "--shrink",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    metavar="N",
    help="Maximum number of simpler points to try once one is found.",
)
@click.option("--random", "at_random", is_flag=True, help="Search at random only.")
@options.dask
@options.seed
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    space: Path,
    where: str,
    aqm: str,
    sets: tuple[str, ...],
    evaluations: int,
    shrink: int,
    at_random: bool,
    dask: str | None,
    seed: int | None,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Search SPACE, a scenario with a table [draw], for a scenario that satisfies a condition.

    The scenario found is simplified (fewer flows, rounder values, a shorter run), proven with 20 other seeds, and
    written as a scenario file with a figure. Finished runs are kept. The exit code is 1 if nothing is found, or if the
    condition is not true with most seeds.
    """
    from sojourn.apps.cli import output
    from sojourn.apps.cli.running import opened
    from sojourn.base.progress import progress
    from sojourn.studies.hunting import report
    from sojourn.studies.hunting.hunt import hunt
    from sojourn.studies.hunting.search import Search
    from sojourn.studies.hunting.space import Space, words_of
    from sojourn.studies.hunting.trials import Trials
    from sojourn.studies.sentences import parse

    place = Space.load(space, options.queue_managers(aqm) if aqm else [], options.changes(sets))
    condition = parse(where, "--where", words_of(place))
    options.warn(report.warnings(place))
    with progress("evaluations") as tell, opened(out, jobs, dask=dask, progress=False) as runner:
        search = Search(Trials(place, condition, runner), seed or 1, evaluations, local=not at_random)

        def step() -> None:
            tell(min(1.0, search.evaluations / evaluations), search.evaluations, evaluations)

        search.trials.tell = step
        hunted = hunt(search, condition, shrink=shrink)
        about = report.record_of(hunted, search, where) | {"idle": report.idle(search, hunted)}
        files = {"record": report.write_record(about, out / f"{space.stem}.hunt.json")}
        if hunted:
            line = options.command_line()
            files |= {
                f"scenario {name}".rstrip(): file
                for name, file in zip(place.aqms, report.write_scenarios(hunted, place, where, line, out), strict=True)
            }
            files["figure"] = report.draw(hunted, search.trials, out / f"{space.stem}.found.svg")
    if as_json:
        output.print_json(about | {"files": {name: str(file) for name, file in files.items()}})
    else:
        _print(about, place, files)
        for idle in about["idle"]:
            output.print_note(idle)
    ctx.exit(0 if hunted and hunted.proof.is_proof else 1)


def _print(about: Mapping[str, Any], space: Space, files: Mapping[str, Path]) -> None:
    from sojourn.apps.cli import output
    from sojourn.studies.hunting.report import side_texts

    tried = f"{about['evaluations']} evaluations in a space of {about['free']} drawn values, {about['runs']} runs"
    if about["refused"]:
        tried += f"; {about['refused']} points cannot run"
    if not about["found"]:
        output.print_note(f"Nothing found: {about['where']}")
        if about["best"]:
            keys = ", ".join(f"{path} {value}" for path, value in about["best"]["keys"].items())
            output.print_note(f"Nearest: {keys}, seed {about['best']['seed']}")
        output.print_note(f"{tried}; continue with more --evaluations, or with another --seed")
        output.print_note(f"Record: {files['record']}")
        return
    output.print_text_table(["key", "found", "simplest"], _rows(about))
    proof = about["proof"]
    low, high = proof["share_ci95"]
    for one in proof["comparisons"]:
        output.print_note(f"{one['text']}: " + ", ".join(side_texts(one)))
    output.print_note(
        f"True with {proof['holds']} of {proof['distinct']} other seeds, 95 % interval {low:.0%} to {high:.0%}"
        + ("" if proof["is_proof"] else "; not certain for most seeds")
    )
    if proof["distinct"] == 1:
        output.print_note("Nothing varies with the seed; set `spread`")
    how = "at random" if about["found_by"] == "random" else "by the local search"
    shrink = about["shrink"]
    output.print_note(
        f"Found {how} at evaluation {about['found_at']}; {tried}. Simplified in {shrink['kept']} of "
        f"{shrink['tried']} steps" + ("" if shrink["done"] else ", stopped at the maximum of steps")
    )
    for name, file in files.items():
        output.print_note(f"{name}: {file}")


def _rows(about: Mapping[str, Any]) -> list[list[str]]:
    found, left = about["found_keys"], about["keys"]
    return [
        [path, str(found.get(path, "as in the file")), str(left.get(path, "–"))]
        for path in dict.fromkeys((*found, *left))
    ]
