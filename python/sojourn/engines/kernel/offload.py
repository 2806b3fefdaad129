"""GSO and GRO in the guest: devices that accept super-packets, and cards that merge segments.

A card is a NAPI instance that is polled a fixed time after its first packet. Each link with `gro` has one for all
packets to its queue, and so has each host of a flow with `gro`. A card receives all packets of its devices, so the
packets of a link must all go to one card or to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sojourn.engines.kernel.qdisc import like
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.kernel.routers import Direction, Path
from sojourn.engines.values import nanoseconds, signed_octets
from sojourn.model.aqms.spelling import FORCED

OFFLOADS, SPLITS = 16, 32
"""Link flags of sojourn-kernel (sojourn.h)."""


class Offloads:
    """Offloads of a canonical scenario; raises `InputError` for what the kernel cannot express."""

    def __init__(self, document: Mapping[str, Any], links: Sequence[Direction], paths: Sequence[Path]) -> None:
        self._is_used = any(flow.get("gso") for flow in document["flows"]) or any("gro" in link.keys for link in links)
        self._hosts = len(links)
        self._next = _next_cards(links, paths)
        if self._is_used:
            for link in links:
                _refuse_size_table(link)

    def flags(self, link: Direction) -> int:
        """Link flags of a bottleneck."""
        return (OFFLOADS | SPLITS * splits(link.keys)) if self._is_used else 0

    def ingress(self, link: Direction) -> list[str]:
        """Lines that attach the far end of a link to the card of the next link, if that has one."""
        found = self._next.get(link.number)
        return [_card(link.device, found.number, found)] if found else []

    def link_cards(self, link: Direction, devices: Sequence[str]) -> list[str]:
        """Lines that attach the hosts' links at the first router to the card of the link, if it has one."""
        return [_card(f"{device}.p", link.number, link) for device in devices] if "gro" in link.keys else []

    def host_cards(self, flow: Mapping[str, Any], devices: Sequence[str]) -> list[str]:
        """Lines for the cards of hosts, one each; none if the flow has no `gro`."""
        if "gro" not in flow:
            return []
        first, self._hosts = self._hosts, self._hosts + len(devices)
        wait = nanoseconds("gro", flow["gro"])
        return [f"card {device} {first + number} {wait}" for number, device in enumerate(devices)]

    @staticmethod
    def merges_at_source(flow: Mapping[str, Any]) -> bool:
        """Whether the data source has a card, too: only if both ends send data."""
        return "gro" in flow and flow["kind"] != "tcp"


def splits(link: Mapping[str, Any]) -> bool:
    """Whether a link's queue discipline segments super-packets at enqueue."""
    return like(link["aqm"]) in ("cake", f"{FORCED}cake") and bool(link["aqm"]["split_gso"])


def _card(device: str, number: int, link: Direction) -> str:
    return f"card {device} {number} {nanoseconds(f'{link.place}.gro', link.keys['gro'])}"


def _next_cards(links: Sequence[Direction], paths: Sequence[Path]) -> dict[int, Direction]:
    """Next link with a card, by number of the link before it."""
    followers: dict[int, set[int]] = {}
    for one, other in (pair for path in paths for pair in (*_pairs(path.data), *_pairs(path.acks))):
        followers.setdefault(one, set()).add(other)
    found = {}
    for number, following in followers.items():
        cards = [links[after] for after in sorted(following) if after >= 0 and "gro" in links[after].keys]
        if cards and len(following) > 1:
            reason = f"polls all packets from {links[number].place} alike, but some of them take another route"
            refuse(f"{cards[0].place}.gro", reason, "leave it out")
        if cards:
            found[number] = cards[0]
    return found


def _pairs(crossed: Sequence[Direction]) -> Iterator[tuple[int, int]]:
    """Pairs of each link with the next, -1 after the last."""
    numbers = [link.number for link in crossed]
    return pairwise([*numbers, -1])


def _refuse_size_table(link: Direction) -> None:
    """Refuse a size table: tc would count the framing of a super-packet once instead of per segment."""
    keys, place = link.keys, link.place
    added = any(signed_octets(f"{place}.{key}", keys[key]) for key in ("overhead", "mpu"))
    if added and keys["account"] == "adjusted":
        refuse(f"{place}.account", "counts a super-packet as one frame", 'write account = "ip" beside gso or gro')
