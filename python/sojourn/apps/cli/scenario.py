"""`sojourn scenario`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.groups import Group

if TYPE_CHECKING:
    from sojourn.model.scenarios.graphs import Load


@click.group("scenario", cls=Group)
def command() -> None:
    """Tools for scenario files."""


@command.command("schema")
@options.as_json
def schema_command(as_json: bool) -> None:
    """Print the JSON Schema of scenario files (always JSON), for editors and validators."""
    import json

    from sojourn import _core
    from sojourn.apps.cli import output

    output.print_json(json.loads(_core.scenario_schema()))


@command.command("draw")
@click.argument("file", type=options.PATH)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the draws [the file's].")
@options.no_code
def draw_command(file: Path, seed: int | None) -> None:
    """Print FILE, a scenario or a study with a table [draw], with the values drawn by a seed filled in.

    The output is an ordinary file: the same run as `sojourn run FILE --seed N`.
    """
    from sojourn.apps.cli import output
    from sojourn.studies.drawn import drawn_text

    output.print_note(drawn_text(file, seed).rstrip("\n"))


def _generator(function: Callable[..., str]) -> Callable[..., None]:
    """A command that prints the scenario of a graph, with the options of its links and flows."""

    @click.option(
        "--rate", default=("100 Mbit/s",), show_default=True, multiple=True, metavar="RATE", help="Rate of the links."
    )
    @click.option("--delay", default="1 ms", show_default=True, metavar="TIME", help="Delay of each link.")
    @click.option(
        "--aqm", default="codel", show_default=True, metavar="AQM", help="Queue manager.", shell_complete=names.AQMS
    )
    @click.option("--flows", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="TCP flows.")
    @click.option("--duration", default="10 s", show_default=True, metavar="TIME", help="Length of the run.")
    @click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Of all draws.")
    @wraps(function)
    def command(*, rate: tuple[str, ...], **values: Any) -> None:
        from sojourn.apps.cli import output
        from sojourn.model.scenarios.graphs import Load

        of_load = {key: values.pop(key) for key in ("delay", "aqm", "flows", "duration", "seed")}
        output.print_note(function(**values, load=Load(rates=rate, **of_load)).rstrip("\n"))

    return command


@command.command("row")
@click.argument("links", type=int)
@_generator
def row_command(links: int, load: Load) -> str:
    """Print a scenario of LINKS links in a row, with flows between any of its nodes."""
    from sojourn.model.scenarios.graphs import row

    return row(links, load)


@command.command("mesh")
@click.argument("nodes", type=int)
@click.option("--degree", type=float, default=3.0, show_default=True, metavar="X", help="Links per node on average.")
@_generator
def mesh_command(nodes: int, degree: float, load: Load) -> str:
    """Print a scenario of NODES nodes that are connected at random, with flows between any of them."""
    from sojourn.model.scenarios.graphs import mesh

    return mesh(nodes, degree, load)


@command.command("tree")
@click.argument("fan_outs", metavar="FAN-OUT...", type=int, nargs=-1, required=True)
@_generator
def tree_command(fan_outs: tuple[int, ...], load: Load) -> str:
    """Print a scenario of a provider's tree: downloads from its core to its leaves.

    Each FAN-OUT is the number of nodes below every node of a level, from the core down. --rate is one for all links,
    or given once per level.
    """
    from sojourn.model.scenarios.graphs import tree

    return tree(fan_outs, load)


@command.command("fat-tree")
@click.argument("ports", type=int)
@_generator
def fat_tree_command(ports: int, load: Load) -> str:
    """Print a scenario of a fat tree of switches with PORTS ports, an even number, with flows between any hosts.

    Every flow takes one of the equally short paths, by lot, as under equal-cost multipath routing.
    """
    from sojourn.model.scenarios.graphs import fat_tree

    return fat_tree(ports, load)
