"""`sojourn aqm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sojourn.cli import options


@click.group("aqm")
def command() -> None:
    """List the queue managers, show their parameters, compare two packet by packet."""


@command.command("list")
@options.as_json
def list_command(as_json: bool) -> None:
    """List what there is: name, profiles, source."""
    from sojourn.aqms import registry
    from sojourn.cli import output

    entries = registry()["aqms"]
    if as_json:
        output.print_json(entries)
        return
    for entry in entries:
        click.echo(f"{entry['name']}: {entry['summary']}")
        profiles = [profile["spelling"] for profile in entry["profiles"][1:]]
        if profiles:
            click.echo(f"    {', '.join(profiles)}")
        click.echo(f"    {entry['source']}")


@command.command("show")
@click.argument("name")
@options.as_json
def show_command(name: str, as_json: bool) -> None:
    """Show the parameters of NAME (e.g. codel or codel@act), their values per profile and the sources."""
    import json

    from sojourn import _core
    from sojourn.aqms import find
    from sojourn.cli import output

    chosen = json.loads(_core.parse_aqm(name))
    entry = find(chosen["name"])
    if as_json:
        output.print_json(entry | {"chosen": chosen})
        return
    click.echo(f"{entry['name']}: {entry['summary']}")
    click.echo(f"Source: {entry['source']}")
    click.echo(f"State: {entry['state_bytes']} bytes per {'flow' if entry['by_flow'] else 'queue'}")
    if entry["params"]:
        output.print_text_table(["parameter", "meaning", "default", "from", "to"], _parameters(entry))
    else:
        click.echo("No parameters.")
    if len(entry["profiles"]) > 1:
        output.print_text_table(["profile", "what it is", "differs in"], _profiles(entry))


@command.command("diff")
@click.argument("a")
@click.argument("b", required=False)
@click.option("--vector", type=click.Path(path_type=Path), metavar="FILE", help="Arrivals of a kernel vector.")
@click.option("--scenario", type=click.Path(path_type=Path), metavar="FILE", help="Arrivals of a run of it under A.")
@click.option("--log", type=click.Path(path_type=Path), metavar="RESULT", help="Arrivals of a run with probes.packets.")
@click.option("--rate", metavar="RATE", help="Rate of the link [10 Mbit/s].")
@click.option("--limit", metavar="LIMIT", help="Limit of the queues [the recorded one, or 1000 packets].")
@click.option("--packets", type=click.IntRange(min=1), metavar="N", help="Arrivals to make up [20000].")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of arrivals and queues [recorded, or 1].")
@options.as_json
@click.pass_context
def diff_command(
    ctx: click.Context,
    a: str,
    b: str | None,
    vector: Path | None,
    scenario: Path | None,
    log: Path | None,
    rate: str | None,
    limit: str | None,
    packets: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Play the same arrivals through A and B; show the first packet that they treat differently.

    A and B are queue managers such as codel@rfc8289 or "codel target 7ms". Without B, A is held against what a vector
    or a log recorded; a vector's parameters hold where A gives none. Without a source of arrivals they are made up:
    eight flows, Poisson, under a load that changes between 0.4 and 1.6. No sender reacts. The exit code is 0 if every
    packet has the same verdict at the same instant, else 1.
    """
    from sojourn.cli import output
    from sojourn.cli.progress import progress
    from sojourn.difference import diff

    with progress() as report:
        found = diff(
            a,
            b,
            vector=vector,
            scenario=scenario,
            log=log,
            rate=rate,
            limit=limit,
            packets=packets,
            seed=seed,
            progress=lambda share: report(share, 0, 1),
        )
    if as_json:
        output.print_json(found.to_dict())
    else:
        from sojourn.cli.difference import print_difference

        print_difference(found)
    ctx.exit(0 if found.first_difference is None else 1)


def _parameters(entry: dict[str, Any]) -> list[list[str]]:
    return [[p["name"], p["doc"], str(p["default"]), *_range(p)] for p in entry["params"]]


def _range(param: dict[str, Any]) -> list[str]:
    if param.get("choices"):
        return [" | ".join(param["choices"]), ""]
    return [
        str(param["min"] if param["min"] is not None else ""),
        str(param["max"] if param["max"] is not None else ""),
    ]


def _profiles(entry: dict[str, Any]) -> list[list[str]]:
    defaults = {param["name"]: param["default"] for param in entry["params"]}
    rows = []
    for profile in entry["profiles"]:
        values = profile["values"]
        differing = [f"{name} {value}" for name, value in values.items() if value != defaults.get(name)]
        rows.append([profile["spelling"], profile["summary"], ", ".join(differing)])
    return rows
