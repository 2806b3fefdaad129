"""Links on which queue managers are scored: a row's study, written for `home-20M`, is scaled to the requested one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sojourn.base.dotted import value_at
from sojourn.base.errors import known_name
from sojourn.base.units import bits_per_second, rates, read_quantity, seconds
from sojourn.studies.score import Row
from sojourn.studies.study import set_path

HEADERS_B = 52
"""Header bytes of a segment: IP, TCP, timestamps."""
RTT_S = 0.1
"""Base round-trip time of all rows that do not vary it: typical after RFC 7928."""


@dataclass(frozen=True)
class Profile:
    """A link."""

    name: str
    rate_bps: int
    mtu: int = 1500
    """Bytes of a full-sized packet."""
    buffer: int | None = None
    """Buffer in packets, for all rows; by default the bandwidth-delay product of the row's longest RTT."""
    access: str | None = None
    """Rate of each sender's own link."""
    aggressive: str | None = None
    """Congestion control in place of CUBIC for rows that request it."""
    about: str = ""

    def slowness(self, rate_bps: float | None = None) -> float:
        """Factor by which the bands of delays widen at a rate (default: its own): five full packets fit into 15 ms."""
        return max(1.0, 5 * 8 * self.mtu / (rate_bps or self.rate_bps) / 0.015)


PROFILES = {
    one.name: one
    for one in (
        Profile(
            *("rfc7928-1M", 1_000_000, 750, 45, "10 Mbit/s", "bic"),
            about="as in the ns-3 suite: 1 Mbit/s, packets of 750 B, senders at 10 Mbit/s, BIC in place of CUBIC",
        ),
        Profile("home-20M", 20_000_000, about="20 Mbit/s"),
        Profile("home-100M", 100_000_000, about="100 Mbit/s"),
        Profile("fibre-1G", 1_000_000_000, about="1 Gbit/s"),
    )
}
OWN = PROFILES["home-20M"]
"""Profile that the study files are written for."""


def profile(name: str) -> Profile:
    """Profile by its name; raises `InputError` with the list of profiles if there is none."""
    return PROFILES[known_name("--profile", name, PROFILES)]


def fit_to_profile(document: dict[str, Any], row: Row, link: Profile) -> dict[str, Any]:
    """Scale the document of a row's study to a profile's link."""
    document = deepcopy(document)
    if link is OWN or row.large or row.fixed:
        return document
    before = size_in_packets(document)
    factor = link.rate_bps / OWN.rate_bps
    for one in _links(document):
        if "rate" in one:
            one["rate"] = _scaled_rate(one["rate"], factor)
        if link.mtu != OWN.mtu:
            one["mtu"] = f"{link.mtu} B"
    forward = [document["link"], *document.get("links", [])]
    back = [document["reverse"]] if document["reverse"]["limit"] != UNSCALED else []
    for one in (*forward, *back):
        product = round(_packets(one["limit"]) * factor * OWN.mtu / link.mtu)
        one["limit"] = f"{link.buffer or product} packets"
    for path in row.scaled:
        found = value_at(document, path)
        scaled = (
            [_scaled_rate(one, factor) for one in found] if isinstance(found, list) else _scaled_rate(found, factor)
        )
        set_path(document, path, scaled, path)
    for flow in document["flows"]:
        _fit_flow(flow, link)
        if row.counted:
            flow["count"] = max(1, round(flow["count"] * size_in_packets(document) / before))
    return document


def size_in_packets(document: dict[str, Any]) -> float:
    """Bandwidth-delay product at the base round-trip time, plus buffer, in full packets."""
    link = document["link"]
    mtu = int(read_quantity("link.mtu", link.get("mtu", "1500 B"))[0])
    return rates(link["rate"])[0] * RTT_S / 8 / mtu + _packets(link["limit"])


def shorten(document: dict[str, Any], share: int) -> dict[str, Any]:
    """Shorten the time and long lists of values by the factor `share`, without flows that would start after the end."""
    document = deepcopy(document)
    duration = round(seconds(_spaced(document["duration"])) / share)
    document["duration"] = f"{duration} s"
    if "warmup" in document:
        document["warmup"] = f"{seconds(_spaced(document['warmup'])) / share:g} s"
    document["flows"] = [flow for flow in document["flows"] if seconds(_spaced(flow.get("start", "0 s"))) < duration]
    sweep = document.get("sweep", {})
    for path, values in sweep.items():
        if "aqm" not in path and isinstance(values, list) and len(values) > LONG_LIST:
            sweep[path] = values[1::share]
    return document


OVER_TCP = ("tcp", "web", "browser", "video", "rpm", "request", "packmime")
UNSCALED = "1000 packets"
"""Limit of a reverse path that is no bottleneck."""
LONG_LIST = 5
"""Maximum length of a list that `--quick` does not shorten."""


def _fit_flow(flow: dict[str, Any], link: Profile) -> None:
    if "cc" in flow or flow["kind"] in OVER_TCP:
        if link.mtu != OWN.mtu:
            flow.setdefault("mss", f"{link.mtu - HEADERS_B} B")
    elif link.mtu != OWN.mtu and flow["kind"] == "cbr":
        flow.setdefault("size", f"{link.mtu} B")
    if link.aggressive and flow.get("cc") == "cubic":
        flow["cc"] = link.aggressive
    if link.access:
        flow.setdefault("access_rate", link.access)


def _links(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in (document.get("link"), document.get("reverse"), *document.get("links", [])):
        if one is not None:
            yield one
            if "reverse" in one:
                yield one["reverse"]


def _scaled_rate(text: str, factor: float) -> str:
    """A rate, or a schedule of rates, times a factor."""

    def scaled(found: re.Match[str]) -> str:
        return f"{round(bits_per_second(f'{found[1]} {found[2]}') * factor)} bit/s"

    return re.sub(r"([\d.]+) ([kMG]?bit/s)", scaled, text)


def _packets(text: str) -> int:
    return int(read_quantity("link.limit", text)[0])


def _spaced(text: str) -> str:
    number, unit = read_quantity("duration", text)
    return f"{number} {unit}"
