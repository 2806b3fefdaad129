"""`sojourn gate`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo

NOT_DETERMINISTIC = 3
"""Exit code if two runs of one world and seed differ."""


@click.command("gate")
@click.argument("file", type=options.PATH)
@click.option("--update", is_flag=True, help="Write the baseline from this state, instead of comparing with it.")
@click.option("--strict", is_flag=True, help="Fail also if a comparison stays unclear.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, e.g. for a step summary.")
@options.as_json
@options.no_code
@options.jobs
@options.out
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    update: bool,
    strict: bool,
    as_markdown: bool,
    as_json: bool,
    jobs: int | None,
    out: Path,
) -> None:
    """Judge the gate FILE, a TOML file: budgets over fixed seeds, and changes against a baseline.

    The tested program runs in worlds of the file, or the worlds are simulated. The exit code is 0 if every budget holds
    and nothing became worse, 1 if not or if the tested program fails, 2 for a mistake in a file, and 3 if two runs with
    one seed differ.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.gating.figure import draw_broken
    from sojourn.studies.gating.file import GateFile
    from sojourn.studies.gating.gate import judge
    from sojourn.studies.gating.program import FailedError
    from sojourn.studies.gating.report import as_json as json_of
    from sojourn.studies.gating.report import markdown_lines, text_lines
    from sojourn.studies.gating.sources import NotDeterministicError, opened
    from sojourn.studies.runs.runner import Runner

    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown exclude each other; choose one")
    gate = GateFile.load(file)
    try:
        with progress("runs") as tell:
            runner = Runner(out, jobs, command=options.command_line(), progress=False)
            with opened(gate, runner, tell) as source:
                report = judge(gate, source, update=update)
                others = source.other_names
    except NotDeterministicError as error:
        echo(f"Error: not deterministic: {error}", err=True)
        ctx.exit(NOT_DETERMINISTIC)
    except FailedError as error:
        echo(f"Error: {error}", err=True)
        ctx.exit(1)
    figures = draw_broken(report, out / "gate")
    if others:
        options.warn([f"networks that `worlds` does not list are not judged: {', '.join(others[:6])}"])
    if as_json:
        output.print_json(json_of(report, figures, strict=strict))
    else:
        for line in (markdown_lines if as_markdown else text_lines)(report, figures, strict=strict):
            echo(line)
    ctx.exit(0 if report.passed(strict=strict) else 1)
