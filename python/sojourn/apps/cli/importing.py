"""`sojourn import`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("import", cls=Group)
def command() -> None:
    """Make scenarios from the output and commands of tc, programs that configure it, and captures."""


@command.command("tc")
@click.argument("file", type=options.PATH)
@click.option(
    "-o", "--output", "target", type=options.NEW_FILE, metavar="FILE.toml", help="File to write [standard output]."
)
@click.option("--rate", metavar="RATE", help="Line rate; required if nothing shapes [1 Gbit/s behind shapers].")
@click.option("--download", metavar="DEV", help="Device that sends to the home [from ifb devices and filters].")
@click.option("--upload", metavar="DEV", help="Device that sends to the Internet.")
@click.option(
    "--class",
    "class_id",
    metavar="ID",
    help="Class of htb that carries the traffic, e.g. 1:11; subscriber of LibreQoS.",
)
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

    FILE has the output of tc -s -d qdisc show (also of tc class show, tc filter show and ip route, one after another,
    as text or JSON), or commands of tc, or is the configuration of a program that runs them: sqm-scripts, qosify,
    QoSmate, LibreQoS (--class names the subscriber), cake-autorate or dnctl; - is standard input. The scenario has the
    two directions of the home's link and typical concurrent traffic of a home. Understood parts, guesses and
    unsupported parts are listed by line.
    """
    from sojourn.io.tc.scenario import ImportOptions, load, load_stream

    wanted = ImportOptions(download, upload, rate, class_id)
    found = load_stream(sys.stdin.buffer, wanted) if str(file) == "-" else load(file, wanted)
    notes = {"understood": found.understood, "assumed": found.assumed, "not_understood": found.notes}
    _write(found.text, target, notes, as_json)


@command.command("pcap")
@click.argument("file", type=options.PATH)
@click.option(
    "-o", "--output", "target", type=options.NEW_FILE, metavar="FILE.toml", help="File to write [standard output]."
)
@click.option("--into", type=options.PATH, metavar="SCENARIO", help="Scenario to add the flows to [a new one].")
@click.option(
    "--send",
    type=options.Word(["packets", "transfers"]),
    default="packets",
    show_default=True,
    help="Replay every packet at its time, or each TCP connection as a transfer, with the UDP packets beside it.",
)
@click.option(
    "--home",
    metavar="NET,…",
    help="Addresses or networks of the home [private ones, or the address that receives most].",
)
@click.option("--rate", default="100 Mbit/s", show_default=True, metavar="RATE", help="Rate of a new scenario's links.")
@click.option("--rtt", default="40 ms", show_default=True, metavar="TIME", help="Round-trip time of the transfers.")
@options.as_json
def pcap_command(
    file: Path,
    target: Path | None,
    into: Path | None,
    send: str,
    home: str | None,
    rate: str,
    rtt: str,
    as_json: bool,
) -> None:
    """Make a scenario that replays a capture, or add it to one: traffic to the home is forward, the rest reverse."""
    from sojourn.io.pcap.replay import ReplayOptions, make_replay

    found = make_replay(file, target.parent if target else Path(), ReplayOptions(send, home, rate, rtt, into))
    _write(found.text, target, {"understood": found.understood}, as_json)


def _write(text: str, target: Path | None, notes: Mapping[str, Sequence[str]], as_json: bool) -> None:
    """Write or print a scenario, and list on stderr the understood and unsupported parts of its source."""
    from sojourn.apps.cli import output
    from sojourn.base.files import write_file

    if target:
        write_file(target, lambda out: out.write(text.encode()))
    if as_json:
        about = {"file": str(target) if target else None, "scenario": None if target else text}
        output.print_json(about | {key: list(sentences) for key, sentences in notes.items()})
        return
    if target is None:
        echo(text.rstrip("\n"))
    for key, begin in (
        ("understood", "Understood, "),
        ("assumed", "Assumed: "),
        ("not_understood", "Not understood: "),
    ):
        for sentence in notes.get(key, ()):
            echo(begin + sentence, err=True)
    if target:
        echo(f"Scenario: {target}")
