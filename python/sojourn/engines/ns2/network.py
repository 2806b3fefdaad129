"""A scenario's network in ns-2: routers in series, a link in each direction between neighbours, and the endpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.engines.ns2.queues import Queue, Traffic
from sojourn.engines.ns2.refuse import refuse, refuse_links
from sojourn.engines.values import bits, nanoseconds, octets, steps
from sojourn.model.scenarios.paths import paths

MakeQueue = Callable[[str, Mapping[str, Any], Traffic], Queue]
MAX_HOSTS = 1000
"""Maximum number of access links, because ns-2's routing table grows with the square of the nodes."""
HEADERS, DATAGRAMS = 40, ("cbr", "poisson", "streaming", "voice")


@dataclass(frozen=True)
class Link:
    """One direction of a bottleneck, between the nodes `near` and `far`."""

    place: str
    near: str
    far: str
    keys: Mapping[str, Any]
    queue: Queue


@dataclass(frozen=True)
class Group:
    """Location of a flow group's endpoints."""

    near: str
    """Router of the sources."""
    far: str
    """Router of the sinks."""
    rate: str
    delay: str
    """Rate and delay of the access link; both empty if the source is at the router."""
    sink_is_host: bool
    links: tuple[int, ...]
    """Numbers of the links on the data path, in order."""


@dataclass
class Network:
    """The network and its Tcl lines."""

    links: list[Link] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    """Nodes in order of creation, which gives their numbers in the trace."""
    lines: list[str] = field(default_factory=list)

    def number(self, link: Link) -> tuple[int, int]:
        """Node numbers of a link's ends."""
        return self.nodes.index(link.near), self.nodes.index(link.far)


def lay_out(document: Mapping[str, Any], make_queue: MakeQueue) -> Network:
    """Make the network of a canonical scenario; raises `InputError` for what ns-2 cannot express."""
    if document.get("wlan"):
        refuse("wlan", "has no wireless LAN", "simulate it")
    if "nodes" in document:
        refuse("nodes", "supports only a dumbbell or a row of links", "write link and links")
    network, routes = Network(), paths(document)
    listed = document.get("links", [])
    routers = [f"r{number}" for number in range(len(listed) + 2)] if listed else ["left", "right"]
    hops = [("link", "reverse", document["link"], document["reverse"])]
    hops += [(f"links[{i}]", f"links[{i}].reverse", hop, hop["reverse"]) for i, hop in enumerate(listed)]
    for hop, (forward, backward, link, reverse) in enumerate(hops):
        ends = routers[hop], routers[hop + 1]
        for place, keys, near, far in ((forward, link, *ends), (backward, reverse, *ends[::-1])):
            sizes = _traffic(document, routes, len(network.links))
            network.links.append(Link(place, near, far, keys, make_queue(place, keys, sizes)))
    by_host = any(link.queue.by_host for link in network.links)
    for number, (flow, (data, _)) in enumerate(zip(document["flows"], routes, strict=True)):
        network.groups.append(_group(number, flow, network.links, data, by_host=by_host))
    hosts = [f"host({number})" for number in range(2 * len(network.groups))] if by_host else []
    network.nodes = hosts + routers
    network.lines = [f"set {node} [$ns node]" for node in network.nodes]
    for number, one in enumerate(network.links):
        network.lines += ["", *_link(number, one)]
    for number, group in enumerate(network.groups if by_host else []):
        network.lines.append(f"$ns duplex-link ${group.far} $host({2 * number + 1}) {INFINITE_RATE} 0 DropTail")
    return network


def seconds(ns: int) -> str:
    """Nanoseconds as exact decimal seconds."""
    whole, rest = divmod(ns, 10**9)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def packet_sizes(flow: Mapping[str, Any]) -> tuple[set[int], set[int]]:
    """Packet sizes of a flow in the data direction and in the reverse direction."""
    if flow["kind"] in DATAGRAMS:
        return {octets("flows.size", flow["size"])}, set()
    full = octets("flows.mss", flow.get("mss", "0 B")) + HEADERS
    return ({full} if flow["kind"] == "tcp" else {full, HEADERS}), {HEADERS}


def _traffic(document: Mapping[str, Any], routes: Sequence[tuple[list[int], list[int]]], link: int) -> Traffic:
    sizes: set[int] = set()
    for flow, crossed in zip(document["flows"], routes, strict=True):
        for links, direction_sizes in zip(crossed, packet_sizes(flow), strict=True):
            sizes |= direction_sizes if link in links else set()
    return Traffic(frozenset(sizes))


def _group(number: int, flow: Mapping[str, Any], links: Sequence[Link], data: Sequence[int], *, by_host: bool) -> Group:
    place = f"flows[{number}]"
    for key in ("dscp", "class", "middlebox"):
        if flow.get(key):
            refuse(f"{place}.{key}", "does not classify packets", "leave it out")
    if flow.get("rtt_stagger"):
        refuse(f"{place}.rtt_stagger", "has a single delay for all flows of a group", "write a group for each flow")
    for key in ("host", "peer_host", "hosts"):
        if key in flow:
            refuse(f"{place}.{key}", "has two hosts of its own for each group", "leave it out")
    if by_host and flow["count"] > 1:
        refuse(f"{place}.count", "has a single host for each group under this queue", "write a group for each flow")
    delay = nanoseconds(f"{place}.access_delay", flow["access_delay"])
    rate = str(bits(f"{place}.access_rate", flow["access_rate"])) if flow.get("access_rate") else ""
    if (rate or delay) and flow["count"] > MAX_HOSTS:
        refuse(
            f"{place}.count", f"supports at most {MAX_HOSTS} access links in a group", "leave out access_rate and rtt"
        )
    has_host = bool(rate or delay or by_host)
    return Group(
        links[data[0]].near,
        links[data[-1]].far,
        rate or INFINITE_RATE if has_host else "",
        seconds(delay) if has_host else "",
        by_host,
        tuple(data),
    )


def _link(number: int, link: Link) -> list[str]:
    place, keys, queue = link.place, link.keys, link.queue
    _refuse_keys(place, keys)
    rates = [(at, bits(f"{place}.rate", text)) for at, text in steps(f"{place}.rate", keys["rate"])]
    delays = [(at, nanoseconds(f"{place}.delay", text)) for at, text in steps(f"{place}.delay", keys["delay"])]
    if len(rates) > 1 and keys.get("change") != "latch":
        refuse(f"{place}.change", "ends a transmission as planned when the rate changes", 'write change = "latch"')
    if any(rate == 0 for _, rate in rates):
        refuse(f"{place}.rate", "does not support a rate of 0", "write a low rate")
    lines = [f"# {place}"]
    lines += [f"Queue/{queue.kind} set {name} {value}" for name, value in queue.settings.items()]
    near, far = f"${link.near}", f"${link.far}"
    lines.append(f"$ns simplex-link {near} {far} {rates[0][1]} {seconds(delays[0][1])} {queue.kind}")
    if queue.manage:
        lines.append(f"[[$ns link {near} {far}] queue] {queue.manage} {number}")
    lines.append(f"$ns trace-queue {near} {far} $trace")
    delay_link = f"[[$ns link {near} {far}] link]"
    if len(delays) > 1 and not keys["reorder"]:
        lines.append(f"{delay_link} set avoidReordering_ true")
    lines += [f'$ns at {seconds(at)} "{delay_link} set bandwidth_ {rate}"' for at, rate in rates[1:]]
    return lines + [f'$ns at {seconds(at)} "{delay_link} set delay_ {seconds(delay)}"' for at, delay in delays[1:]]


def _refuse_keys(place: str, keys: Mapping[str, Any]) -> None:
    reasons = {
        "loss": "does not support loss behind the queue",
        "below": "has no buffer below the queue",
        "tick": "delays without a clock",
        "gro": "has no super-packets",
    }
    refuse_links(place, keys, reasons)
    framed = [key for key in ("overhead", "mpu") if octets(f"{place}.{key}", keys[key].removeprefix("-"))]
    if keys["framing"] != "ethernet":
        framed.append("framing")
    if framed:
        refuse(f"{place}.{framed[0]}", "adds no framing", "leave it out")


INFINITE_RATE = "1e18"
"""Rate in bit/s of an access link without serialisation delay."""
