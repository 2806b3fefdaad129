"""A scenario that replays a capture: which of its hosts are the home, and a group of flows for each direction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
)
from pathlib import Path
from typing import TypeAlias

import polars as pl
import tomlkit

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text
from sojourn.io.pcap.capture import load_capture
from sojourn.io.pcap.goodput import new_bytes
from sojourn.model.scenarios.scenario import Scenario

Address: TypeAlias = IPv4Address | IPv6Address

PACKETS, TRANSFERS = "packets", "transfers"


@dataclass(frozen=True)
class Wanted:
    """What the capture does not say."""

    send: str = PACKETS
    """Packets at their instants, or the bytes of TCP connections as transfers with UDP's packets beside them."""
    home: str | None = None
    """Addresses or networks of the home, with commas between them; found out, where it is not said."""
    rate: str = "100 Mbit/s"
    """Of both links, where there is no scenario to add to."""
    rtt: str = "40 ms"
    """Of the transfers, without queues."""
    into: Path | None = None
    """Scenario that the flows are added to."""


@dataclass(frozen=True)
class Replayed:
    """A scenario with a capture in it."""

    text: str
    """In TOML."""
    understood: tuple[str, ...]
    """What was taken for what."""


def replayed(file: Path, folder: Path, wanted: Wanted) -> Replayed:
    """Make a scenario in `folder` that replays the capture `file`.

    Raises `InputError` where the capture cannot be replayed, with the key that repairs it.
    """
    capture = load_capture(file)
    home, why = _home(capture.packets, wanted.home)
    there = os.path.relpath(file.resolve(), folder.resolve())
    groups = list(_groups(capture.packets, home, there, wanted))
    document = _document(file, capture.packets, wanted)
    document.add(tomlkit.nl())
    flows = document.setdefault("flows", tomlkit.aot())
    for group in groups:
        table = tomlkit.table()
        table.update(group)
        flows.append(table)
    text = tomlkit.dumps(document)
    Scenario.parse(text, base=folder)
    told = [*([capture.warning] if capture.warning else []), why]
    ways = {"forward": "to the home", "reverse": "from the home"}
    told += [f"{ways[one['direction']]}: {one['send']}{_of(one)}" for one in groups]
    return Replayed(text, tuple(told))


def _of(group: Mapping[str, str]) -> str:
    return f" of {group['protocol'].upper()}" if "protocol" in group else ""


def _document(file: Path, packets: pl.DataFrame, wanted: Wanted) -> tomlkit.TOMLDocument:
    """The scenario to add to, or a new one that lasts as long as the capture."""
    if wanted.into is not None:
        return tomlkit.parse(read_text(wanted.into, "scenario"))
    span = (int(packets["time_ns"].max()) - int(packets["time_ns"].min())) / 1e9  # type: ignore[arg-type]
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Replays {file.name}; made by `sojourn import pcap`."))
    document["name"] = file.name
    document["duration"] = f"{int(span) + 2} s"
    for link in ("link", "reverse"):
        document[link] = {"rate": wanted.rate}
    return document


def _groups(packets: pl.DataFrame, home: str, file: str, wanted: Wanted) -> Iterable[dict[str, str]]:
    """Groups of flows: to the home (forward) and from it, of the protocols that are there."""
    nets = [ip_network(net) for net in home.split(", ")]
    is_home = {name: _is_in(name, nets) for name in packets["source"].unique()}
    table = packets.with_columns(home=pl.col("source").replace_strict(is_home, return_dtype=pl.Boolean))
    for direction, source, from_home in (("forward", f"not {home}", False), ("reverse", home, True)):
        own = table.filter(pl.col("home") == from_home)
        base = {"kind": "pcap", "file": file, "source": source, "direction": direction}
        if wanted.send == PACKETS:
            if own.height:
                yield base | {"send": PACKETS}
            continue
        if own.filter(pl.col("protocol") == "tcp")["payload"].sum():
            yield base | {"send": TRANSFERS, "rtt": wanted.rtt}
        if (own["protocol"] == "udp").any():
            yield base | {"send": PACKETS, "protocol": "udp"}


def _home(packets: pl.DataFrame, given: str | None) -> tuple[str, str]:
    """The home's networks, and why they are these."""
    if given is not None:
        try:
            nets = [str(ip_network(net.strip())) for net in given.split(",")]
        except ValueError as error:
            raise InputError(f"--home: {error}; write e.g. 192.168.1.0/24") from None
        return ", ".join(nets), f"the home is {', '.join(nets)}, as given"
    names = set(packets["source"]) | set(packets["destination"])
    hosts = [ip_address(name) for name in names]
    private = [host for host in hosts if host.is_private]
    if private and len(private) < len(hosts):
        nets = _networks(private)
        return ", ".join(nets), f"the home is {', '.join(nets)}: these addresses are private, the others are not"
    table = packets.with_columns(new=pl.Series(new_bytes(packets), dtype=pl.Int64))
    received = (
        table.group_by("destination").agg(pl.col("new").sum()).sort("new", "destination", descending=[True, False])
    )
    name = str(ip_network(received["destination"][0]))
    return name, f"the home is {received['destination'][0]}: it receives most; --home says otherwise"


def _networks(hosts: Iterable[Address]) -> list[str]:
    """Networks of these hosts, each of /24 or /64."""
    four = [IPv4Network(f"{host}/24", strict=False) for host in hosts if isinstance(host, IPv4Address)]
    six = [IPv6Network(f"{host}/64", strict=False) for host in hosts if isinstance(host, IPv6Address)]
    return [*map(str, collapse_addresses(four)), *map(str, collapse_addresses(six))]


def _is_in(name: str, nets: Iterable[IPv4Network | IPv6Network]) -> bool:
    host = ip_address(name)
    return any(host in net for net in nets)
