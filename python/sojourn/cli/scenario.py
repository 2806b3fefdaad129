"""`sojourn scenario`."""

from __future__ import annotations

import click

from sojourn.cli import options


@click.group("scenario")
def command() -> None:
    """Tools for scenario files."""


@command.command("schema")
@options.as_json
def schema_command(as_json: bool) -> None:
    """Print the JSON Schema of scenario files (always JSON), for editors and validators."""
    import json

    from sojourn import _core
    from sojourn.cli import output

    output.print_json(json.loads(_core.scenario_schema()))
