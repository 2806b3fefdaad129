"""`sojourn ns2`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("ns2", cls=Group)
def command() -> None:
    """Write scenarios as scripts for ns-2, and build our queue managers for it."""


@command.command("script")
@click.argument("scenario", type=options.PATH)
@options.sets
@options.seed
@click.option("--plugin", is_flag=True, help="With the queues of Sojourn (sojourn ns2 build) instead of ns-2's own.")
@click.option("-o", "--output", "out", type=options.NEW_FILE, metavar="FILE", help="File to write [standard output].")
@options.as_json
def script_command(
    scenario: Path, sets: tuple[str, ...], seed: int | None, plugin: bool, out: Path | None, as_json: bool
) -> None:
    """Translate SCENARIO, a TOML file, into Tcl; `ns FILE` runs it. ns-2 itself is not needed."""
    from sojourn.apps.cli import output
    from sojourn.base.files import write_file
    from sojourn.engines.ns2.script import script
    from sojourn.model.scenarios.scenario import Scenario

    parsed = Scenario.load(scenario, options.changes(sets))
    made = script(parsed, parsed.seed if seed is None else seed, plugin=plugin)
    if out is not None:
        write_file(out, lambda file: file.write(made.text.encode()))
    if as_json:
        output.print_json({"script": None if out else made.text, "file": str(out) if out else None})
    elif out is None:
        echo(made.text.rstrip("\n"))
    else:
        echo(f"{out}: run it with ns {out}")


@command.command("build")
@click.option(
    "--library",
    type=options.PATH,
    default=Path("out"),
    show_default=True,
    metavar="DIR",
    help="Folder into which make capi installed libsojourn_aqm.",
)
@click.option("--source", type=options.PATH, metavar="PATH", help="ns-2.35's source, a folder or an archive [apt-get].")
@click.option("--cache", type=options.PATH, metavar="DIR", help="Folder for the plugin [the user's cache].")
@options.as_json
def build_command(library: Path, source: Path | None, cache: Path | None, as_json: bool) -> None:
    """Build the queue managers of Sojourn as a plugin for Debian's ns-2, which is not modified.

    Headers of ns-2 come from the distribution's source package. Root is not needed. For all commands, $SOJOURN_NS2
    replaces the cache folder.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import steps
    from sojourn.engines.ns2.build import build

    with steps() as report:
        plugin = build(library, cache, source, report)
    if as_json:
        output.print_json({"file": str(plugin.file), "digest": plugin.digest})
    else:
        echo(f"Plugin for ns-2, build {plugin.digest}: {plugin.file}")
