"""`sojourn score`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import names, options

if TYPE_CHECKING:
    from sojourn.studies.score.card import Scorecard
    from sojourn.studies.score.plan import ScoreSettings


@click.command("score")
@click.argument("aqms", metavar="AQM[,AQM…]", required=False, shell_complete=names.AQMS)
@click.option("--baseline", metavar="AQM", default="droptail", show_default=True, help="Baseline of the differences.")
@click.option(
    "--profile", "profile_name", metavar="NAME", default="home-20M", show_default=True, help="Profile of the link."
)
@click.option("--only", metavar="ROW,…", help="Rows by name or by section of RFC 7928, e.g. 5.2,8.")
@click.option(
    "--matrices", is_flag=True, help="Two-flow fairness as well: 648 runs of 178 s for each queue manager, minutes."
)
@click.option("--quick", is_flag=True, help="Three seeds, a third of the time, one in three of many values.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Exactly N seeds [as many as the confidence intervals need].",
)
@options.engine
@click.option("--rows", "list_rows", is_flag=True, help="List rows, profiles and bands, and run nothing.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scorecard.json, and run nothing.")
@click.option(
    "--verify", type=options.PATH, metavar="LOCK", help="Run a tenth of the runs of a score.lock again and compare."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Tenth that --verify runs [1].")
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    aqms: str | None,
    baseline: str,
    profile_name: str,
    only: str | None,
    matrices: bool,
    quick: bool,
    seeds: int | None,
    engine: str,
    list_rows: bool,
    schema: bool,
    verify: Path | None,
    seed: int | None,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Characterise queue managers by the tests of RFC 7928 and by adversarial traffic: values, grades, differences.

    Each row is a study (scenarios/score) with fixed bands from A to F. Writes scorecard.html, scorecard.json,
    score.lock, badges and every row's study to the folder of -o. A queue manager may be a class in a Python file or a
    shared library. The exit code is 1 if a mandatory number is graded F for a queue manager other than the baseline.
    """
    if schema:
        from sojourn.studies.score.schema import schema_text

        click.echo(schema_text(), nl=False)
        return
    if list_rows:
        _print_rows(as_json)
        return
    if (aqms is None) == (verify is None):
        raise click.UsageError("give queue managers to score, e.g. codel,pie, or --verify score.lock")
    if verify is not None:
        ctx.exit(_verify(verify, seed or 1, jobs, as_json))
    if quick and seeds is not None:
        raise click.UsageError("--quick uses three seeds; leave out one of them")
    if seed is not None:
        raise click.UsageError("--seed needs --verify; --seeds sets the number of seeds")
    assert aqms is not None
    from sojourn.base.progress import progress
    from sojourn.studies.runs.runner import Runner
    from sojourn.studies.score import chosen
    from sojourn.studies.score.card import score
    from sojourn.studies.score.written import write

    names, wanted = _wanted(aqms, baseline, profile_name, quick, seeds, engine)
    with progress("rows") as tell:
        line = options.command_line()
        card = score(
            chosen(only, matrices=matrices), wanted, Runner(out, jobs, command=line, progress=tell), names, line
        )

    written = write(card, out)
    _print(card, written, as_json)
    ctx.exit(1 if card.failed else 0)


def _wanted(
    aqms: str, baseline: str, profile_name: str, quick: bool, seeds: int | None, engine: str
) -> tuple[dict[str, str], ScoreSettings]:
    """Display names of the queue managers, and the settings common to all rows."""
    from sojourn.studies.score.plan import ScoreSettings
    from sojourn.studies.score.profiles import profile

    names = _names([*options.queue_managers(aqms), baseline])
    whole = next(iter(_names([baseline])))
    return names, ScoreSettings(tuple(names), whole, profile(profile_name), quick, seeds, engine)


def _names(aqms: list[str]) -> dict[str, str]:
    """Display name of each distinct queue manager, by its spelling with absolute paths."""
    from sojourn.model.aqms.spelling import spelled_aqm
    from sojourn.studies.score.versions import absolute

    return {text: spelled_aqm(text) for text in dict.fromkeys(absolute(aqm) for aqm in aqms)}


def _verify(path: Path, seed: int, jobs: int | None, as_json: bool) -> int:
    from sojourn import _core
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.runs.runner import Runner
    from sojourn.studies.score.lock import read_lock, verify, wanted_of

    lock = read_lock(path)
    aqms = list(_names(lock["aqms"]))
    wanted = wanted_of(lock, aqms, next(iter(_names([lock["baseline"]]))))
    with progress() as tell:
        checked = verify(lock, wanted, Runner(None, jobs, progress=tell), seed)
    others = [one for one in checked if not one.same]
    if as_json:
        rows = [{**vars(one), "same": one.same} for one in checked]
        output.print_json({"lock": str(path), "seed": seed, "runs": rows, "different": len(others)})
        return 1 if others else 0
    for one in others:
        found = one.now or "not run"
        output.print_note(f"Different: {one.row}, {one.what}, seed {one.seed}: locked {one.locked}, now {found}")
    if lock["sojourn"] != _core.version():
        output.print_note(f"Written by Sojourn {lock['sojourn']}, verified by {_core.version()}")
    total = sum(len(row["runs"]) for row in lock["rows"].values())
    output.print_note(
        f"Verified: {len(checked) - len(others)} of {len(checked)} runs are the same, of {total} in the lock"
    )
    return 1 if others else 0


def _print_rows(as_json: bool) -> None:
    from sojourn.apps.cli import output
    from sojourn.studies.score import ROWS
    from sojourn.studies.score.grades import BANDS
    from sojourn.studies.score.profiles import PROFILES

    if as_json:
        shown = ("section", "title", "numbers", "must")
        rows = {name: {key: getattr(one, key) for key in shown} for name, one in ROWS.items()}
        bands = {name: vars(one) for name, one in BANDS.items()}
        profiles = {name: vars(one) for name, one in PROFILES.items()}
        output.print_json({"rows": rows, "profiles": profiles, "bands": bands})
        return
    output.print_text_table(
        ["row", "section", "traffic"], [[name, one.section, one.title] for name, one in ROWS.items()]
    )
    output.print_text_table(["profile", "link"], [[name, one.about] for name, one in PROFILES.items()])


def _print(card: Scorecard, written: list[Path], as_json: bool) -> None:
    from sojourn.apps.cli import output

    document = card.document
    if as_json:
        idle = [f"{row_id}: {sentence}" for row_id, sentence in card.idle]
        output.print_json(document | {"failed": card.failed, "idle": idle, "files": [str(path) for path in written]})
        return
    _print_values(document)
    if not output.one_table():
        _print_differences(document)
    _print_not_run(document)
    for row_id, sentence in card.idle:
        output.print_note(f"{row_id}: {sentence}")
    if document["quick"]:
        output.print_note(
            "Quick: three seeds, a third of the time, one in three of many values; see the page for details"
        )
    for sentence in card.failed:
        output.print_note(f"Failed: {sentence}")
    page = next(path for path in written if path.suffix == ".html")
    output.print_note(f"Scorecard: {page}")
    options.warn_without_run(page)


def _print_values(document: Mapping[str, Any]) -> None:
    from sojourn.apps.cli import output

    aqms = document["aqms"]
    values = [
        [row["id"], _heading(name), *(_cell(name, row["columns"][aqm]) for aqm in aqms)]
        for row, name in _numbers(document)
    ]
    total = ["overall", "", *(document["totals"][aqm]["overall"] or "–" for aqm in aqms)]
    title = f"{document['profile']}: value ± half width of the 95 % confidence interval, graded A to F"
    output.print_table(("row", "number", *aqms), [*values, total], left=2, title=title)


def _print_differences(document: Mapping[str, Any]) -> None:
    """Print how graded numbers differ from those of the baseline, if any other queue manager was scored."""
    from sojourn.apps.cli import output
    from sojourn.studies.score.numbers import NUMBERS
    from sojourn.studies.score.page import difference_text

    others = [aqm for aqm in document["aqms"] if aqm != document["baseline"]]
    differences = [
        [row["id"], _heading(name), *(_difference(name, row["columns"][aqm], difference_text) for aqm in others)]
        for row, name in _numbers(document)
        if NUMBERS[name].band
    ]
    if others and differences:
        title = f"difference to {document['baseline']}, seed by seed; * p < 0.05"
        output.print_table(("row", "number", *others), differences, left=2, title=title)


def _print_not_run(document: Mapping[str, Any]) -> None:
    from sojourn.apps.cli import output

    for row in document["rows"]:
        if row["state"] != "run":
            output.print_note(f"Not run: {row['id']}: {row['why']}")
        for aqm, column in row["columns"].items():
            if column["state"] != "run":
                output.print_note(f"Not run: {row['id']}, {aqm}: {column['why']}")


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Rows that were run, with each of their numbers."""
    for row in document["rows"]:
        if row["state"] == "run":
            yield from ((row, name) for name in row["numbers"])


def _heading(name: str) -> str:
    from sojourn.studies.score.numbers import NUMBERS

    return NUMBERS[name].metric.axis_label


def _cell(name: str, column: Mapping[str, Any]) -> str:
    from sojourn.studies.score.numbers import NUMBERS

    if column["state"] != "run":
        return "–"
    number = column["numbers"][name]
    shown = NUMBERS[name].metric.show(number["value"], number["ci95"])
    return f"{number['grade']} {shown}" if number["grade"] else shown


def _difference(name: str, column: Mapping[str, Any], text: Any) -> str:
    return "–" if column["state"] != "run" else text(name, column["numbers"][name]) or "–"
