"""`sojourn aqm`."""

from __future__ import annotations

from typing import Any

import click

from sojourn.cli import options


@click.group("aqm")
def command() -> None:
    """List the queue managers, show their parameters."""


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
