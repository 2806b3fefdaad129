"""`sojourn log`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("log", cls=Group)
def command() -> None:
    """Convert logs of packets between results, Mahimahi (.log) and ns-2 (.tr), and repair those of shells.

    `sojourn plot` draws them all.
    """


@command.command("convert")
@click.argument("source", type=options.PATH, metavar="IN")
@click.argument("target", type=options.NEW_FILE, metavar="OUT")
@click.option("--link", metavar="LINK", help="Link to write [.log: forward, of a shell down; .tr: both directions].")
@click.option("--nodes", metavar="FROM-TO", help="Link to read, if a trace of ns-2 holds several.")
@options.as_json
def convert_command(source: Path, target: Path, link: str | None, nodes: str | None, as_json: bool) -> None:
    """Convert the packets of IN to OUT, in the format of the suffix of OUT.

    IN is a log, or a result with the probe packets. .log is Mahimahi's log of one direction, in whole milliseconds.
    .tr is ns-2's trace.
    """
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.io.logs import load_log, write_log
    from sojourn.studies.runs.store import load

    if nodes and source.is_dir():
        raise InputError(f"--nodes: {source} is a result; choose its link with --link")
    result = load(source) if source.is_dir() else load_log(source, _pair(nodes))
    write_log(result, target, link)
    packets = result.table("packets").height
    if as_json:
        output.print_json({"file": str(target), "packets": packets})
    else:
        suffix = f", {link or result.link}" if result.is_shell and target.suffix == ".log" else ""
        echo(f"Log: {target}{suffix}")


@command.command("repair")
@click.argument("folder", type=options.PATH, metavar="FOLDER")
@options.as_json
def repair_command(folder: Path, as_json: bool) -> None:
    """Make a result of the log of a link whose shell was killed, or whose disk was full.

    FOLDER is the argument of `sojourn link --log`. The result has every record that reached the disk; its manifest
    states that the end is missing.
    """
    from sojourn.apps.cli import output
    from sojourn.engines.emulated.logs import repair

    result = repair(folder)
    packets = result.table("packets").height
    if as_json:
        output.print_json({"folder": str(folder), "packets": packets, "duration_s": result.duration_s})
    else:
        echo(f"{folder}: {packets} packets in {result.duration_s:.3f} s")


def _pair(text: str | None) -> tuple[int, int] | None:
    from sojourn.base.errors import InputError

    if text is None:
        return None
    first, _, second = text.partition("-")
    if not (first.isdigit() and second.isdigit()):
        raise InputError(f'--nodes: "{text}" is not a link; write e.g. 2-3')
    return int(first), int(second)
