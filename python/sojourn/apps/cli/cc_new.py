"""`sojourn cc new`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo


@click.command("new")
@click.argument("name")
@click.argument("folder", type=options.NEW_FILE, required=False)
@click.option(
    "--lang",
    type=click.Choice(["c", "rust", "python"]),
    default="c",
    show_default=True,
    help="Language of the control.",
)
@click.option("--linux", type=options.PATH, metavar="FILE", help="Take a control of Linux, like net/ipv4/tcp_cubic.c.")
@click.option("--sources", type=options.PATH, metavar="DIR", help="Rust: sources of Sojourn [the running checkout].")
def new_command(name: str, folder: Path | None, lang: str, linux: Path | None, sources: Path | None) -> None:
    """Create a folder for your own congestion control in FOLDER [NAME]: Reno to start from, or a file of Linux.

    With --linux the file compiles unchanged; the resulting library is under the file's licence, the GPL.
    """
    from sojourn.model.ccs.new import write_control

    made, build, spelling = write_control(name, folder or Path(name), lang, linux, sources)
    echo(f"Control: {made}")
    if build:
        echo(f"Next:    {build}")
    echo(f"{'' if build else 'Next:':8} sojourn run SCENARIO --set flows.0.cc={spelling}")
