"""`sojourn cc`."""

from __future__ import annotations

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.cc_check import check_command, diff_command
from sojourn.apps.cli.cc_new import new_command
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("cc", cls=Group)
def command() -> None:
    """List congestion controls, show, write, check one, and compare two call by call."""


for one in (new_command, check_command, diff_command):
    command.add_command(one)


@command.command("list")
@options.as_json
def list_command(as_json: bool) -> None:
    """List the congestion controls: name, source, stacks, bytes of state."""
    from sojourn.apps.cli import output
    from sojourn.model.aqms.controls import heading, stacks_text
    from sojourn.model.aqms.registry import registry

    entries = registry()["ccs"]
    if as_json:
        output.print_json(entries)
        return
    for entry in entries:
        echo(f"{heading(entry)}: {entry['summary']}")
        echo(f"    {entry['source']}")
        echo(f"    {stacks_text(entry)} {entry['state_bytes']} bytes of state per connection")


@command.command("show")
@click.argument("name", shell_complete=names.CONTROLS)
@options.tables
@options.as_json
def show_command(name: str, as_json: bool) -> None:
    """Show NAME (e.g. vegas): sources, stacks, bytes of state, parameters, constants."""
    from sojourn.apps.cli import output
    from sojourn.apps.cli.aqm import parameter_rows
    from sojourn.model.aqms.controls import constant_text, find, heading, stacks_text

    entry = find(name)
    if as_json:
        output.print_json(entry)
        return
    output.print_note(f"{heading(entry)}: {entry['summary']}")
    output.print_note(f"Source: {entry['source']}")
    output.print_note(f"State: {entry['state_bytes']} bytes per connection beside the window")
    output.print_note(stacks_text(entry))
    if entry["params"]:
        output.print_text_table(["parameter", "meaning", "default", "from", "to"], parameter_rows(entry))
    else:
        output.print_note("No parameters.")
    if output.one_table() and entry["params"]:
        return
    if entry["constants"]:
        rows = [[c["name"], constant_text(c), c["meaning"]] for c in entry["constants"]]
        output.print_text_table(["constant", "value", "meaning"], rows)
    else:
        output.print_note("No constants of its own.")
