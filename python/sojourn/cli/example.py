"""`sojourn example`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from sojourn.cli import names, options
from sojourn.cli.terminal import echo


@click.command("example")
@click.argument("name", required=False, shell_complete=names.EXAMPLES)
@click.option("-o", "--output", "target", type=options.NEW_FILE, metavar="FILE.toml", help="File to write [NAME.toml].")
@click.option("--print", "only_print", is_flag=True, help="Print the file instead.")
@options.as_json
def command(name: str | None, target: Path | None, only_print: bool, as_json: bool) -> None:
    """Copy the scenario or study NAME, with the files that it reads. Without NAME, list what there is."""
    from sojourn.cli import output
    from sojourn.scenarios.examples import examples, named, text_of, write_example

    if name is None:
        if target is not None or only_print:
            raise click.UsageError("-o and --print need the NAME of an example; sojourn example lists them")
        if as_json:
            output.print_json([asdict(one) for one in examples()])
        else:
            output.print_text_table(["example", "what it shows"], [[one.name, one.about] for one in examples()])
        return
    example = named(name)
    if only_print:
        echo(text_of(example).rstrip("\n"))
        return
    written = write_example(example, target or Path(f"{example.name}.toml"))
    if as_json:
        output.print_json(asdict(example) | {"files": [str(file) for file in written]})
        return
    for file in written:
        echo(f"File: {file}")
    file = next(file for file in written if file.suffix == ".toml")
    echo(f"Next: sojourn {example.command} {file} -o out")
