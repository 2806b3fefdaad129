"""`sojourn flent`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("flent", cls=Group)
def command() -> None:
    """Write data files of Flent from results, and show their contents; `sojourn fit` explains them."""


@command.command("export")
@click.argument("result", type=options.PATH)
@click.option(
    "-o", "--output", "target", required=True, type=options.NEW_FILE, metavar="FILE.flent.gz", help="File to write."
)
@click.option("--test", metavar="NAME", help="Name of Flent's test [the one that the flows are like].")
@click.option("--title", metavar="TEXT", help="Title, by which Flent names its curves [queue manager and seed].")
@options.as_json
def export_command(result: Path, target: Path, test: str | None, title: str | None, as_json: bool) -> None:
    """Write goodput and pings of a result as Flent's data of a test, for its figures.

    The run needs probes.flows, e.g. 200 ms, which is the step of the data. Pings are the requests of a flow group of
    the kind request, for which the run needs probes.transfers.
    """
    from sojourn.apps.cli import output
    from sojourn.io.flent.export import export
    from sojourn.io.flent.files import save_flent
    from sojourn.studies.runs.store import load

    data = export(load(result), test=test, title=title)
    save_flent(data, target)
    pings = [name for name in data.results if name.startswith("Ping")]
    if as_json:
        output.print_json({"file": str(target), "test": data.name, "series": list(data.results)})
        return
    if not pings:
        options.warn(["no pings: add flows of kind request to the scenario"])
    echo(f"Data: {target}, test {data.name}, {len(data.results)} series of {len(data.x_values)} steps")


@command.command("show")
@click.argument("file", type=options.PATH)
@options.tables
@options.as_json
def show_command(file: Path, as_json: bool) -> None:
    """Print the series of a data file or a measured log: mean and quantiles of the samples during the test's traffic.

    Averages and sums that Flent has computed are those of its steps.
    """
    from sojourn.apps.cli import output
    from sojourn.io.flent.summary import summary
    from sojourn.io.measured.files import load_measured

    data, notes = load_measured(file)
    options.warn([f"{file}: {note}" for note in notes])
    rows = summary(data)
    about = {"test": data.name, "title": str(data.metadata.get("TITLE") or ""), "traffic_s": list(data.traffic_s)}
    if as_json:
        output.print_json({"file": str(file), **about, "series": rows})
        return
    names = ("mean", "p10", "p50", "p90", "max")
    table = [
        [
            row["series"],
            row["unit"],
            str(row["samples"]),
            *("–" if row[name] is None else f"{row[name]:.3f}" for name in names),
        ]
        for row in rows
    ]
    title = f"{data.name}: {about['title']}" if about["title"] else data.name
    output.print_table(("series", "unit", "samples", *names), table, left=2, title=title)
