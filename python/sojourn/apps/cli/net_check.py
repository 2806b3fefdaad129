"""`sojourn net check`."""

from __future__ import annotations

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo

NOT_DETERMINISTIC = 3
"""Exit code if the runs differ."""


@click.command("check", context_settings={"ignore_unknown_options": True})
@click.option(
    "--runs", type=click.IntRange(min=2, max=100), default=2, show_default=True, metavar="N", help="Number of runs."
)
@options.as_json
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
@click.pass_context
def check_command(ctx: click.Context, runs: int, as_json: bool, words: tuple[str, ...]) -> None:
    """Run COMMAND several times, and compare what its simulated networks did, datagram by datagram.

    COMMAND runs networks of sojourn-net, e.g. tests. The later runs have another hash seed, another layout of memory
    and busy cores beside them. A decision is a datagram's end, size, ECN field and time; bytes
    are not compared, because encryption changes them. The exit code is 0 if all decisions are equal, 3 if not: the
    first difference is then shown, with its likely cause.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.gating.program import FailedError
    from sojourn.studies.gating.repeat import as_json as json_of
    from sojourn.studies.gating.repeat import repeat, text_lines

    try:
        with progress("networks") as report:
            outcome = repeat(words, runs, lambda count: report(0.0, count, max(count, 1)))
    except FailedError as error:
        echo(f"Error: {error}", err=True)
        ctx.exit(1)
    if as_json:
        output.print_json({"command": list(words)} | json_of(outcome))
    else:
        for line in text_lines(outcome):
            echo(line)
    ctx.exit(NOT_DETERMINISTIC if outcome.fault else 0)
