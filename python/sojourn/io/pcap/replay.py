"""Scenario that replays a capture: detection of the home network, and a flow group per direction."""

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
class ReplayOptions:
    """Options that the capture does not determine."""

    send: str = PACKETS
    """`packets` at their recorded times, or `transfers` of the TCP connections' bytes beside UDP packets."""
    home: str | None = None
    """Comma-separated addresses or networks of the home; detected by default."""
    rate: str = "100 Mbit/s"
    """Rate of both links of a new scenario."""
    rtt: str = "40 ms"
    """Base RTT of the transfers."""
    into: Path | None = None
    """Existing scenario to add the flows to."""


@dataclass(frozen=True)
class ReplayScenario:
    """Scenario that replays a capture."""

    text: str
    """Scenario as TOML."""
    understood: tuple[str, ...]
    """Sentences about the interpretation of the capture."""


def make_replay(file: Path, folder: Path, options: ReplayOptions) -> ReplayScenario:
    """Make a scenario, to be stored in `folder`, that replays the capture `file`.

    Raises `InputError`, with the key that would fix it, if the capture cannot be replayed.
    """
    capture = load_capture(file)
    home, reason = _home(capture.packets, options.home)
    relative = os.path.relpath(file.resolve(), folder.resolve())
    groups = list(_groups(capture.packets, home, relative, options))
    document = _document(file, capture.packets, options)
    document.add(tomlkit.nl())
    flows = document.setdefault("flows", tomlkit.aot())
    for group in groups:
        table = tomlkit.table()
        table.update(group)
        flows.append(table)
    text = tomlkit.dumps(document)
    Scenario.parse(text, base=folder)
    notes = [*([capture.warning] if capture.warning else []), reason]
    directions = {"forward": "to the home", "reverse": "from the home"}
    notes += [f"{directions[one['direction']]}: {one['send']}{_protocol_text(one)}" for one in groups]
    return ReplayScenario(text, tuple(notes))


def _protocol_text(group: Mapping[str, str]) -> str:
    return f" of {group['protocol'].upper()}" if "protocol" in group else ""


def _document(file: Path, packets: pl.DataFrame, options: ReplayOptions) -> tomlkit.TOMLDocument:
    """The existing scenario, or a new one with the capture's duration."""
    if options.into is not None:
        return tomlkit.parse(read_text(options.into, "scenario"))
    span = (int(packets["time_ns"].max()) - int(packets["time_ns"].min())) / 1e9  # type: ignore[arg-type]
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Replays {file.name}; made by `sojourn import pcap`."))
    document["name"] = file.name
    document["duration"] = f"{int(span) + 2} s"
    for link in ("link", "reverse"):
        document[link] = {"rate": options.rate}
    return document


def _groups(packets: pl.DataFrame, home: str, file: str, options: ReplayOptions) -> Iterable[dict[str, str]]:
    """Yield flow groups to the home (forward) and from it, for the protocols in the capture."""
    nets = [ip_network(net) for net in home.split(", ")]
    is_home = {name: _is_in(name, nets) for name in packets["source"].unique()}
    table = packets.with_columns(home=pl.col("source").replace_strict(is_home, return_dtype=pl.Boolean))
    for direction, source, from_home in (("forward", f"not {home}", False), ("reverse", home, True)):
        one_way = table.filter(pl.col("home") == from_home)
        base = {"kind": "pcap", "file": file, "source": source, "direction": direction}
        if options.send == PACKETS:
            if one_way.height:
                yield base | {"send": PACKETS}
            continue
        if one_way.filter(pl.col("protocol") == "tcp")["payload"].sum():
            yield base | {"send": TRANSFERS, "rtt": options.rtt}
        if (one_way["protocol"] == "udp").any():
            yield base | {"send": PACKETS, "protocol": "udp"}


def _home(packets: pl.DataFrame, home: str | None) -> tuple[str, str]:
    """Networks of the home, and a sentence with the reason."""
    if home is not None:
        try:
            nets = [str(ip_network(net.strip())) for net in home.split(",")]
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
    return name, f"the home is {received['destination'][0]}: it receives most; --home overrides this"


def _networks(hosts: Iterable[Address]) -> list[str]:
    """Networks of hosts, as /24 or /64."""
    four = [IPv4Network(f"{host}/24", strict=False) for host in hosts if isinstance(host, IPv4Address)]
    six = [IPv6Network(f"{host}/64", strict=False) for host in hosts if isinstance(host, IPv6Address)]
    return [*map(str, collapse_addresses(four)), *map(str, collapse_addresses(six))]


def _is_in(name: str, nets: Iterable[IPv4Network | IPv6Network]) -> bool:
    host = ip_address(name)
    return any(host in net for net in nets)
