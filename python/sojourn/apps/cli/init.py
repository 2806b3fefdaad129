"""`sojourn init`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.terminal import echo


@click.command("init")
@click.argument("file", type=options.NEW_FILE, default=Path("scenario.toml"))
@click.option("--rate", default="20 Mbit/s", show_default=True, metavar="RATE", help="Rate of the bottleneck.")
@click.option("--rtt", default="40 ms", show_default=True, metavar="TIME", help="Round-trip time without queues.")
@click.option("--flows", type=click.IntRange(min=1), default=2, show_default=True, metavar="N", help="TCP downloads.")
@click.option(
    "--aqm", default="fq_codel", show_default=True, metavar="AQM", help="Queue manager.", shell_complete=names.AQMS
)
@options.no_code
def command(file: Path, rate: str, rtt: str, flows: int, aqm: str) -> None:
    """Write a first scenario to FILE [scenario.toml]: downloads and a call over one link, with explanations."""
    from sojourn.base.files import write_file
    from sojourn.model.scenarios.examples import refuse_existing
    from sojourn.model.scenarios.first import first_scenario

    text = first_scenario(rate=rate, rtt=rtt, flows=flows, aqm=aqm)
    refuse_existing(file)
    write_file(file, lambda out: out.write(text.encode()))
    echo(f"Scenario: {file}")
    echo(f"Next:     sojourn run {file} -o out")
    echo("          sojourn plot timeseries out")
