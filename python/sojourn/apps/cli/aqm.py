"""`sojourn aqm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo


@click.group("aqm", cls=Group)
def command() -> None:
    """List the queue managers, show their parameters, compare two packet by packet."""


@command.command("list")
@options.as_json
def list_command(as_json: bool) -> None:
    """List the queue managers: name, profiles, source, bytes of state."""
    from sojourn.apps.cli import output
    from sojourn.model.aqms.registry import registry

    entries = registry()["aqms"]
    if as_json:
        output.print_json(entries)
        return
    for entry in entries:
        echo(f"{entry['name']}: {entry['summary']}")
        profiles = [profile["spelling"] for profile in entry["profiles"][1:]]
        if profiles:
            echo(f"    {', '.join(profiles)}")
        echo(f"    {entry['source']}")
        echo(f"    {entry['state_bytes']} bytes of state per {_owner(entry)}")


@command.command("new")
@click.argument("name")
@click.argument("folder", type=options.NEW_FILE, required=False)
@click.option("--sources", type=options.PATH, metavar="DIR", help="Sources of Sojourn [the running checkout].")
def new_command(name: str, folder: Path | None, sources: Path | None) -> None:
    """Create a crate for your own queue manager in Rust in FOLDER [NAME]; it builds a shared library."""
    from sojourn.model.aqms.crate import write_crate

    made = write_crate(name, folder or Path(name), sources)
    library = made / "target" / "release" / f"lib{name}_aqm.so"
    echo(f"Crate: {made}")
    echo(f"Next:  cargo build --release --manifest-path {made / 'Cargo.toml'}")
    echo(f"       sojourn compare --aqm codel,{library}")


@command.command("build-module")
@click.argument("line", shell_complete=names.AQMS)
@click.option("-o", "--output", type=options.NEW_FILE, metavar="DIR", required=True, help="The module's new folder.")
@click.option("--kernel", type=options.PATH, metavar="HEADERS", help="Compile it against prepared headers of a kernel.")
@click.option(
    "--crate", type=options.PATH, metavar="DIR", help="Crate of your own; LINE begins with its library's name."
)
def build_module_command(line: str, output: Path, kernel: Path | None, crate: Path | None) -> None:
    """Make LINE (e.g. "codel@act target 7ms") a module for Linux: C sources for Kbuild, DKMS and OpenWrt.

    The folder compiles on any machine with a kernel's headers. It needs cargo and Rust's target for WebAssembly here.
    """
    from sojourn.engines.kernel.module import build_module

    made = build_module(line, output, kernel, crate=crate)
    echo(f"Module: {made}")
    if kernel is None:
        echo(f"Next:   make -C {output} KERNEL=/lib/modules/$(uname -r)/build")
    echo("Distributed, it is a work under the GPL, version 2, your own queue manager in it included.")


@command.command("show")
@click.argument("name", shell_complete=names.AQMS)
@options.tables
@options.no_code
@options.as_json
def show_command(name: str, as_json: bool) -> None:
    """Show NAME (e.g. codel, codel@act or "fq(codel) flows 16"): sources, bytes of state, parameters, profiles.

    If NAME has a profile or parameters, their values are shown beside the defaults.
    """
    import json

    from sojourn import _core
    from sojourn.apps.cli import output

    chosen = json.loads(_core.parse_aqm(name))
    entry = chosen.pop("algorithm")
    if as_json:
        output.print_json(entry | {"chosen": chosen})
        return
    output.print_note(f"{entry['name']}: {entry['summary']}")
    output.print_note(f"Source: {entry['source']}")
    output.print_note(f"State: {_state(entry, chosen)}")
    plain = chosen["text"] == entry["name"]
    if entry["params"]:
        value = [] if plain else ["value"]
        rows = parameter_rows(entry, None if plain else chosen["params"])
        output.print_text_table(["parameter", "meaning", *value, "default", "from", "to"], rows)
    else:
        output.print_note("No parameters.")
    if len(entry["profiles"]) > 1 and not output.one_table():
        output.print_text_table(["profile", "what it is", "differs in"], _profiles(entry))


@command.command("diff")
@click.argument("a", required=False, shell_complete=names.AQMS)
@click.argument("b", required=False, shell_complete=names.AQMS)
@click.option("--vector", type=options.PATH, metavar="FILE", help="Take the arrivals from a kernel vector.")
@click.option(
    "--scenario", type=options.PATH, metavar="FILE", help="Take the arrivals from a run of this scenario with A."
)
@click.option(
    "--log",
    type=options.PATH,
    metavar="RESULT",
    help="Take the arrivals from a result with probes.packets, or from the log of a kernel module.",
)
@click.option("--link", metavar="NAME", help="Link of the log [each direction under A's name, or the busiest].")
@click.option("--rate", metavar="RATE", help="Rate of the link [10 Mbit/s].")
@click.option("--limit", metavar="LIMIT", help="Size limit of the queues [as recorded, or 1000 packets].")
@click.option("--packets", type=click.IntRange(min=1), metavar="N", help="Number of random arrivals [20000].")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of arrivals and queues [as recorded, or 1]."
)
@options.tables
@options.no_code
@options.as_json
@click.pass_context
def diff_command(
    ctx: click.Context,
    a: str | None,
    b: str | None,
    vector: Path | None,
    scenario: Path | None,
    log: Path | None,
    link: str | None,
    rate: str | None,
    limit: str | None,
    packets: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Play the same arrivals through A and B; show the first packet that they treat differently.

    A and B are queue managers such as codel@rfc8289 or "codel target 7ms". Without B, A is compared with the verdicts
    of a vector or a log; the log of a kernel module names its own A. Parameters that A does not give are taken from
    the vector. Without a source, arrivals are random: eight Poisson flows whose load varies between 0.4 and 1.6.
    Senders do not react. The exit code is 0 if every packet has the same verdict at the same instant, else 1.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.difference import diff

    with progress() as report:
        found = diff(
            a,
            b,
            vector=vector,
            scenario=scenario,
            log=log,
            link=link,
            rate=rate,
            limit=limit,
            packets=packets,
            seed=seed,
            progress=lambda share: report(share, 0, 1),
        )
    if as_json:
        output.print_json(found.to_dict())
    else:
        from sojourn.apps.cli.difference import print_difference

        print_difference(found)
    ctx.exit(0 if found.first_difference is None else 1)


@command.command("check")
@click.argument("name", shell_complete=names.AQMS)
@click.option(
    "--operations",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    metavar="N",
    help="Number of operations: arrivals, departures, waits and a few more.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the draws."
)
@options.no_code
@options.as_json
@click.pass_context
def check_command(ctx: click.Context, name: str, operations: int, seed: int, as_json: bool) -> None:
    """Run the conformance suite on NAME: invariants that every queue manager must keep, whatever its algorithm.

    NAME may be a registered one, a class in a Python file or a shared library: codel, my_aqm.py:MyAqm, "./blue.so ecn".
    Random operations under random limits and links: each packet is returned once and unchanged, in order, marked only
    if permitted; backlog and counters are correct; the limits hold; the same operations give the same results. The exit
    code is 1 if a rule is violated.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.model.aqms.conformance import check

    with progress() as report:
        found = check(name, operations, seed, lambda share: report(share, 0, 1))
    if as_json:
        output.print_json(found.to_dict())
    else:
        echo(found.text())
    ctx.exit(0 if found.violation is None else 1)


def _owner(entry: dict[str, Any]) -> str:
    return "flow" if entry["by_flow"] else "queue"


def _state(entry: dict[str, Any], chosen: dict[str, Any]) -> str:
    """Bytes of state, in words."""
    if not entry["queue_bytes"]:
        return "the library's own; plus packets"
    if not entry["by_flow"]:
        return f"{chosen['state_bytes']} bytes of the manager, {entry['queue_bytes']} of the whole queue; plus packets"
    buckets = chosen["params"].get("flows")
    table = f"4 for each of {buckets} hash buckets" if buckets else "the tables of its flows"
    return f"{chosen['state_bytes']} bytes per flow, {entry['queue_bytes']} per queue and {table}; plus packets"


def parameter_rows(entry: dict[str, Any], values: dict[str, str] | None = None) -> list[list[str]]:
    """Name, meaning, value if there are `values`, default and range of each parameter of a registry entry."""
    rows = []
    for param in entry["params"]:
        value = [] if values is None else [values[param["name"]]]
        rows.append([param["name"], param["doc"], *value, str(param["default"]), *_range(param)])
    return rows


def _range(param: dict[str, Any]) -> list[str]:
    if param["kind"] == "flag":
        return ["false | true", ""]
    if param["choices"]:
        return [" | ".join(param["choices"]), ""]
    if param["kind"] == "choice":  # free words, parsed by the library only
        return ["", ""]
    return [str(param["min"]), str(param["max"])]


def _profiles(entry: dict[str, Any]) -> list[list[str]]:
    defaults = {param["name"]: param["default"] for param in entry["params"]}
    rows = []
    for profile in entry["profiles"]:
        values = profile["values"]
        differing = [f"{name} {value}" for name, value in values.items() if value != defaults.get(name)]
        rows.append([profile["spelling"], profile["summary"], ", ".join(differing)])
    return rows
