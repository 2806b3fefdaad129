"""`sojourn scenario`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group


@click.group("scenario", cls=Group)
def command() -> None:
    """Tools for scenario files."""


@command.command("schema")
@options.as_json
def schema_command(as_json: bool) -> None:
    """Print the JSON Schema of scenario files (always JSON), for editors and validators."""
    import json

    from sojourn import _core
    from sojourn.apps.cli import output

    output.print_json(json.loads(_core.scenario_schema()))


@command.command("draw")
@click.argument("file", type=options.PATH)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the draws [the file's].")
@options.no_code
def draw_command(file: Path, seed: int | None) -> None:
    """Print FILE, a scenario or a study with a table [draw], with the values drawn by a seed filled in.

    The output is an ordinary file: the same run as `sojourn run FILE --seed N`.
    """
    from sojourn.apps.cli import output
    from sojourn.studies.drawn import drawn_text

    output.print_note(drawn_text(file, seed).rstrip("\n"))
