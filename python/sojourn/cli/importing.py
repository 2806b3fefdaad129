"""`sojourn import`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.cli import options
from sojourn.cli.groups import Group
from sojourn.cli.terminal import echo


@click.group("import", cls=Group)
def command() -> None:
    """Make scenarios of what others wrote: tc's output and commands, OpenWrt's configuration of sqm-scripts."""


@command.command("tc")
@click.argument("file", type=options.PATH)
@click.option("-o", "--output", "target", type=options.NEW_FILE, metavar="FILE.toml", help="File to write [print it].")
@click.option("--rate", metavar="RATE", help="Rate of the line; needed where nothing shapes [1 Gbit/s behind shapers].")
@click.option("--download", metavar="DEV", help="Device that sends to the home [as ifb devices and filters tell].")
@click.option("--upload", metavar="DEV", help="Device that sends to the Internet.")
@click.option("--class", "class_id", metavar="ID", help="Class of htb that the traffic is in, e.g. 1:11.")
@options.as_json
def tc_command(
    file: Path,
    target: Path | None,
    rate: str | None,
    download: str | None,
    upload: str | None,
    class_id: str | None,
    as_json: bool,
) -> None:
    """Make a scenario of a router's queues.

    FILE has what tc -s qdisc show (and tc class show) prints, or commands of tc, or is OpenWrt's /etc/config/sqm. The
    scenario has the two directions of the home's link and what a home does at the same time. What was understood
    is said, and what was not, by line.
    """
    from sojourn.base.files import write_file
    from sojourn.cli import output
    from sojourn.tc.scenario import Wanted, load

    found = load(file, Wanted(download, upload, rate, class_id))
    if target:
        write_file(target, lambda out: out.write(found.text.encode()))
    if as_json:
        output.print_json(
            {
                "file": str(target) if target else None,
                "scenario": None if target else found.text,
                "understood": list(found.understood),
                "not_understood": list(found.notes),
            }
        )
        return
    if target is None:
        echo(found.text.rstrip("\n"))
    for sentence in found.understood:
        echo(f"Understood, {sentence}", err=True)
    for note in found.notes:
        echo(f"Not understood: {note}", err=True)
    if target:
        echo(f"Scenario: {target}")
