"""`sojourn example`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.terminal import echo


@click.command("example")
@click.argument("name", required=False, shell_complete=names.EXAMPLES)
@click.option("-o", "--output", "target", type=options.NEW_FILE, metavar="FILE.toml", help="File to write [NAME.toml].")
@click.option("--print", "only_print", is_flag=True, help="Print the file instead.")
@click.option("--all", "every", is_flag=True, help="List examples in subfolders, too.")
@options.as_json
def command(name: str | None, target: Path | None, only_print: bool, every: bool, as_json: bool) -> None:
    """Copy the scenario or study NAME, with the files that it reads. Without NAME, list the examples."""
    from collections import Counter

    from sojourn.apps.cli import output
    from sojourn.model.scenarios.examples import examples, named, text_of, write_example

    if name is None:
        if target is not None or only_print:
            raise click.UsageError("-o and --print need the NAME of an example; sojourn example lists them")
        found = examples()
        if as_json:
            output.print_json([asdict(one) for one in found])
            return
        shown = [one for one in found if every or "/" not in one.name]
        output.print_text_table(["example", "what it shows"], [[one.name, one.about] for one in shown])
        folders = Counter(one.name.partition("/")[0] for one in found if one not in shown)
        if folders:
            listing = " and ".join(f"{count} in {folder}/" for folder, count in folders.items())
            output.print_note(f"… and {listing}: sojourn example --all")
        return
    example = named(name)
    if only_print:
        echo(text_of(example).rstrip("\n"))
        return
    written = write_example(example, target or Path(f"{Path(example.name).name}.toml"))
    if as_json:
        output.print_json(asdict(example) | {"files": [str(file) for file in written]})
        return
    for file in written:
        echo(f"File: {file}")
    echo(f"Next: sojourn {example.command} {written[0]} -o out")
