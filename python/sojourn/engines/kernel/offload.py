"""Segmentation offload and receive offload in the guest: which devices take super-packets, and which join segments.

A card is polled a time after the first packet. Each link with `gro` has one, for all that comes to its queue, and so
has each host of a flow with `gro`. A card takes all that its devices receive, so packets that come by a link go on to
one card or to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.kernel.routers import Direction, Path
from sojourn.engines.values import nanoseconds, octets

OFFLOADS, SPLITS = 16, 32
"""Flags of a link, as sojourn-kernel's sojourn.h has them."""


class Offloads:
    """Those of a canonical scenario; what the kernel cannot express is refused."""

    def __init__(self, document: Mapping[str, Any], links: Sequence[Direction], paths: Sequence[Path]) -> None:
        self._are_used = any(flow.get("gso") for flow in document["flows"]) or any("gro" in link.keys for link in links)
        self._hosts = len(links)
        self._next = _next_cards(links, paths)
        if self._are_used:
            for link in links:
                _refuse_size_table(link)

    def flags(self, link: Direction) -> int:
        """Flags of a bottleneck."""
        return (OFFLOADS | SPLITS * splits(link.keys)) if self._are_used else 0

    def ingress(self, link: Direction) -> list[str]:
        """What makes the far end of a link receive by the card of the next one, if that has one."""
        found = self._next.get(link.number)
        return [_card(link.device, found.number, found)] if found else []

    def of_link(self, link: Direction, devices: Sequence[str]) -> list[str]:
        """The same of the hosts' links to the first router."""
        return [_card(f"{device}.p", link.number, link) for device in devices] if "gro" in link.keys else []

    def of_hosts(self, flow: Mapping[str, Any], devices: Sequence[str]) -> list[str]:
        """The cards of hosts that join segments, one each; none if the flow does not say so."""
        if "gro" not in flow:
            return []
        first, self._hosts = self._hosts, self._hosts + len(devices)
        wait = nanoseconds("gro", flow["gro"])
        return [f"card {device} {first + number} {wait}" for number, device in enumerate(devices)]

    @staticmethod
    def joins_at_source(flow: Mapping[str, Any]) -> bool:
        """Whether the data's source receives by a card, too: it does where both ends send data."""
        return "gro" in flow and flow["kind"] != "tcp"


def splits(link: Mapping[str, Any]) -> bool:
    """Whether a link's queue discipline cuts super-packets before it queues them."""
    return link["aqm"]["name"] == "cake" and bool(link["aqm"]["split_gso"])


def _card(device: str, number: int, link: Direction) -> str:
    return f"card {device} {number} {nanoseconds(f'{link.place}.gro', link.keys['gro'])}"


def _next_cards(links: Sequence[Direction], paths: Sequence[Path]) -> dict[int, Direction]:
    """For each link whose packets go on to a card that of the next link, by number."""
    goes_on: dict[int, set[int]] = {}
    for one, other in (pair for path in paths for pair in (*_pairs(path.data), *_pairs(path.acks))):
        goes_on.setdefault(one, set()).add(other)
    found = {}
    for number, following in goes_on.items():
        cards = [links[after] for after in sorted(following) if after >= 0 and "gro" in links[after].keys]
        if cards and len(following) > 1:
            why = f"polls all that comes by {links[number].place} alike, and some of it goes elsewhere"
            refuse(f"{cards[0].place}.gro", why, "leave it out")
        if cards:
            found[number] = cards[0]
    return found


def _pairs(crossed: Sequence[Direction]) -> Iterator[tuple[int, int]]:
    """Each link with the next one, and the last with none, which is -1."""
    numbers = [link.number for link in crossed]
    return pairwise([*numbers, -1])


def _refuse_size_table(link: Direction) -> None:
    """A size table of tc takes a super-packet for one frame: its headers and the framing would count once."""
    keys, place = link.keys, link.place
    added = any(octets(f"{place}.{key}", keys[key]) for key in ("overhead", "mpu"))
    if added and keys["account"] == "adjusted":
        refuse(f"{place}.account", "counts a super-packet as one frame", 'write account = "ip" beside gso or gro')
