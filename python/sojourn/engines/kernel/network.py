"""A scenario's network in the guest: who sits where, and how the links are made.

Sources and sinks of each group of flows have a network namespace of their own. Those of forward data sit behind the
routers L and R:

    s0 ──access──┐                        ┌── k0        group 0, forward
                 L ══ bottleneck (f) ══ R
    k1 ──────────┘                        └──access── s1   group 1, reverse

Each flow has an address at either end, and links of its own where access has a rate or its host's card joins segments.
Several bottlenecks lie between more routers (routers.py), which know the next one of every address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.engines.kernel.offload import OFFLOADS, Offloads
from sojourn.engines.kernel.qdisc import Queue, queue
from sojourn.engines.kernel.refuse import refuse, refuse_links
from sojourn.engines.kernel.routers import Direction, Path, directions, paths
from sojourn.engines.values import bits, nanoseconds, octets, steps

START_NS = _core.UPTIME_NS
"""When the scenario begins on the guest's clock, as the simulator's queues have it: just after a tick, at which the
kernel's own work would come between; timers expire at the simulator's instants, 100 ns earlier."""
MADE_NS = START_NS - 50
"""When the queues are made: timers of PIE and RED and tokens of shapers count from then on. The tick is over."""
NOT_TRACED = 255
LATCHED, CARRIES, BELOW_PACKETS = 1, 2, 4
"""Flags of a link, as sojourn-kernel's sojourn.h has them."""
ROOT_OF_PARENTS = "f000:"
MOST_ACCESS_LINKS = 1000
MOST_FLOWS = 65_000
TCP_PAGES = "100000 150000 200000"
"""Memory of all connections, in pages: fine, under pressure, and most. By Linux's own share of the guest's, 64 MB,
windows shrink where much is in flight."""


@dataclass(frozen=True)
class Ends:
    """Where the two ends of a source of traffic are."""

    group: int
    source: str
    """Namespace of the data's source."""
    sink: str
    source_address: str
    sink_address: str


@dataclass
class Network:
    """What the guest does to make the network."""

    ends: list[Ends] = field(default_factory=list)
    """One for each source of traffic, in the order of their numbers."""
    traced: tuple[str, str] = ("", "")
    """Namespace and name of a device that is traced."""
    queues: list[Queue] = field(default_factory=list)
    """Of each link, by its number."""
    files: dict[str, str] = field(default_factory=dict)
    job: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    """Files with what tc changes while the run goes on."""
    replacements: list[tuple[int, int]] = field(default_factory=list)
    """When another discipline takes the place of a link's, on the guest's clock, and the link's number."""


def lay_out(document: Mapping[str, Any]) -> Network:
    """Make the network of a canonical scenario; what the kernel cannot express is refused."""
    listed = {f"links[{index}].": hop for index, hop in enumerate(document.get("links", []))}
    for place, keys in {"": document, **listed}.items():
        if keys.get("wlan"):
            refuse(f"{place}wlan", "has no wireless LAN", "simulate it")
    network, links = Network(), directions(document)
    network.queues = [queue(link.place, link.keys) for link in links]
    network.traced = (links[0].router, links[0].device)
    crossed = paths(document, links)
    offloads = Offloads(document, links, crossed)
    routers = list(dict.fromkeys(link.router for link in links))
    lines: dict[str, list[str]] = {"": [], **{router: ["link set lo up"] for router in routers}}
    lines[""] += [f"netns add {router}" for router in routers]
    for link in links[::2]:
        lines[""] += _pair(link.device, link.router, link.next, link.device)
    for link in links:
        mtu = octets(f"{link.place}.mtu", link.keys["mtu"]) + _accounted(link)
        lines[link.router] += [f"link set {link.device} mtu {mtu}", f"link set {link.device} up"]
    if len(links) == 2:
        # Either router has one other, so that two prefixes lead there.
        for link, nets in zip(links, ((2, 3), (1, 4)), strict=True):
            lines[link.router] += [f"route add 10.{net}.0.0/16 dev {link.device}" for net in nets]
    configure = [_bottleneck(link, offloads.flags(link)) for link in links]
    configure += [[f"at {link.next}", *offloads.ingress(link), "at -"] for link in links if offloads.ingress(link)]
    for group, (flow, path) in enumerate(zip(document["flows"], crossed, strict=True)):
        configure += list(_add_group(group, flow, path, network, lines, offloads, routed=len(links) > 2))
    network.files = {f"{name or 'machine'}.ip": "\n".join([*text, ""]) for name, text in lines.items()}
    network.files |= {
        f"{router}.tc": "".join(
            _tc(link, made, _named(document, network.ends))
            for link, made in zip(links, network.queues, strict=True)
            if link.router == router
        )
        for router in routers
    }
    network.job = [
        "write /proc/sys/net/core/netdev_max_backlog 1000000",
        "write /proc/sys/net/ipv4/tcp_max_orphans 65536",
        f"write /proc/sys/net/ipv4/tcp_mem {TCP_PAGES}",
        "exec ip -batch machine.ip",
        *(f"exec ip -n {name} -batch {name}.ip" for name in lines if name),
    ]
    network.job += [line for block in configure for line in block]
    network.job.append(f"until {MADE_NS}")
    for router in routers:
        network.job += [f"at {router}", "write /proc/sys/net/ipv4/ip_forward 1", f"exec tc -batch {router}.tc", "at -"]
    return network


def _add_group(
    group: int,
    flow: Mapping[str, Any],
    path: Path,
    network: Network,
    lines: dict[str, list[str]],
    offloads: Offloads,
    *,
    routed: bool,
) -> Iterator[list[str]]:
    """Add the two namespaces of a group, and yield what configures its links and its TCP.

    `routed`: the routers on the path learn the next one for each address.
    """
    place, forward = f"flows[{group}]", flow["direction"] == "forward"
    near, far = path.data[0].router, path.acks[0].router
    here, there = (1, 2) if forward else (3, 4)
    source, sink = f"s{group}", f"k{group}"
    first, count = len(network.ends), int(flow["count"])
    if first + count > MOST_FLOWS:
        refuse(f"{place}.count", f"has room for {MOST_FLOWS} flows", "lower it")
    rate = flow.get("access_rate")
    own = {"access_rate": rate, "gro": "gro" in flow}
    for key in own:
        if own[key] and count > MOST_ACCESS_LINKS:
            refuse(f"{place}.count", f"has at most {MOST_ACCESS_LINKS} access links in a group", f"leave out {key}")
    mtu = octets(f"{path.data[0].place}.mtu", path.data[0].keys["mtu"])
    lines[""] += [f"netns add {source}", f"netns add {sink}"]
    lines[source], lines[sink] = ["link set lo up"], ["link set lo up"]
    window = f" initcwnd {flow['initial_window']}" if flow.get("initial_window") else ""
    devices, ports = ([f"{end}{group}_{number}" for number in range(count)] for end in "ab")
    if not rate and not offloads.joins_at_source(flow):
        devices = [f"a{group}"]
    if not own["gro"]:
        ports = [f"b{group}"]
    delay = nanoseconds(f"{place}.access_delay", flow["access_delay"])
    serving = f" 0 {bits(f'{place}.access_rate', rate)}" if rate else ""
    pairs = [(device, source, near) for device in devices] + [(port, sink, far) for port in ports]
    for device, host, router in pairs:
        lines[""] += _pair(device, host, router)
        lines[host] += [f"link set {device} mtu {mtu}", f"link set {device} up"]
        lines[router] += [f"link set {device}.p mtu {mtu}", f"link set {device}.p up"]
    for number in range(count):
        index = first + number
        addresses = [f"10.{net}.{index >> 8}.{index & 255}" for net in (here, there)]
        device, port = devices[number % len(devices)], ports[number % len(ports)]
        lines[source] += [
            f"addr add {addresses[0]}/32 dev {device}",
            f"route add {addresses[1]}/32 dev {device}{window}",
        ]
        lines[near].append(f"route add {addresses[0]}/32 dev {device}.p")
        lines[sink].append(f"addr add {addresses[1]}/32 dev {port}")
        if len(ports) > 1:
            lines[sink].append(f"route add {addresses[0]}/32 dev {port}")
        lines[far].append(f"route add {addresses[1]}/32 dev {port}.p")
        for crossed, address in ((path.acks, addresses[0]), (path.data, addresses[1])) if routed else ():
            for link in crossed:
                lines[link.router].append(f"route add {address}/32 dev {link.device}")
        network.ends.append(Ends(group, source, sink, *addresses))
    if len(ports) == 1:
        lines[sink].append(f"route add 10.{here}.0.0/16 dev {ports[0]}")
    access = f"{delay} 0 0 0 0 {{}} {NOT_TRACED}{serving}"
    sends = access.format(CARRIES | OFFLOADS * bool(flow.get("gso")))
    yield [f"at {source}", *(f"link {device} {sends}" for device in devices), *_queues(devices, rate), *_tcp(flow)]
    yield offloads.of_hosts(flow, devices) if offloads.joins_at_source(flow) else []
    yield [f"at {near}", *(f"link {device}.p {sends}" for device in devices)]
    yield [*(_queues([f"{device}.p" for device in devices], rate)), *offloads.of_link(path.data[0], devices)]
    # A device without scatter-gather would copy each segment of a super-packet into a page of its own, and a receiver,
    # which counts memory, would raise its window to an eighth of the limit only (`__tcp_grow_window`).
    plain = f"0 0 0 0 0 {CARRIES | OFFLOADS} {NOT_TRACED}"
    yield [f"at {far}", *(f"link {port}.p {plain}" for port in ports if flow.get("gso"))]
    yield [*offloads.of_link(path.acks[0], ports), f"at {sink}", *_tcp(flow)]
    yield [f"link {port} {plain}" for port in ports] if flow.get("gso") else []
    yield [*offloads.of_hosts(flow, ports), "at -"]


def _pair(device: str, namespace: str, other: str, renamed: str = "") -> list[str]:
    """Both ends of a link, each in its namespace."""
    name = f" name {renamed}" if renamed else ""
    return [
        f"link add {device} type sojourn",
        f"link set {device} netns {namespace}",
        f"link set {device}.p netns {other}{name}",
    ]


def _queues(devices: Sequence[str], rate: str | None) -> list[str]:
    """Queues in front of access links with a rate, which nobody else uses: they never drop."""
    return [f"exec tc qdisc add dev {device} root pfifo limit 1000000" for device in devices] if rate else []


def _tcp(flow: Mapping[str, Any]) -> list[str]:
    """Settings of a namespace's TCP."""
    if "cc" not in flow:
        return []
    settings = {
        "tcp_ecn": int(flow["ecn"]),
        "tcp_sack": int(flow["sack"]),
        "tcp_no_metrics_save": 1,
        "tcp_rmem": "4096 131072 67108864",
        "tcp_wmem": f"4096 16384 {_send_buffer(flow)}",
    }
    return [f"write /proc/sys/net/ipv4/{name} {value}" for name, value in settings.items()]


def _send_buffer(flow: Mapping[str, Any]) -> int:
    """Most memory of a send buffer; without the key more than any flow needs."""
    return octets("send_buffer", flow["send_buffer"]) if flow.get("send_buffer") else 67_108_864


def _bottleneck(direction: Direction, offloads: int) -> list[str]:
    place, link = direction.place, direction.keys
    lacks = {
        "loss": "loses no packets behind the queue",
        "reorder": "keeps the order of packets",
        "tick": "delays by the nanosecond",
    }
    refuse_links(place, link, lacks)
    if "@" in link["delay"]:
        refuse(f"{place}.delay", "has constant delays", 'write e.g. "20 ms"')
    if link.get("change") == "opportunity":
        refuse(f"{place}.change", "has no opportunities", "choose fluid or latch")
    if link["framing"] != "ethernet":
        refuse(f"{place}.framing", f"does not know {link['framing']}", "choose ethernet, with an overhead")
    stop, wake, flags = _below(place, link)
    flags |= LATCHED * (link.get("change") == "latch") | CARRIES | offloads
    delay = nanoseconds(f"{place}.delay", link["delay"])
    overhead, mpu = (octets(f"{place}.{key}", link[key]) for key in ("overhead", "mpu"))
    scheduled = ((at, bits(f"{place}.rate", rate)) for at, rate in steps(f"{place}.rate", link["rate"]))
    rates = " ".join(f"{at + START_NS if at else 0} {rate}" for at, rate in scheduled)
    config = f"link {direction.device} {delay} {overhead} {mpu} {stop} {wake} {flags} {direction.number} {rates}"
    return [f"at {direction.router}", config, "at -"]


def _below(place: str, link: Mapping[str, Any]) -> tuple[int, int, int]:
    """Where the buffer below the queue stops and wakes, and its flag; without one nothing waits there."""
    if not link.get("below"):
        return 0, 0, 0
    if "bql" in link["below"]:
        refuse(f"{place}.below", "has fixed limits below the queue", 'write bytes or packets, e.g. "1514 B"')
    stop, _, wake = link["below"].partition(" wake ")
    if "packet" in stop:
        return int(stop.split()[0]), int(wake.split()[0]), BELOW_PACKETS
    return octets(f"{place}.below", stop), octets(f"{place}.below", wake), 0


def _accounted(link: Direction) -> int:
    """Bytes of framing that the queue counts."""
    adjusted = link.keys["account"] == "adjusted"
    return octets(f"{link.place}.overhead", link.keys["overhead"]) if adjusted else 0


def _named(document: Mapping[str, Any], ends: Sequence[Ends]) -> dict[str, list[str]]:
    """By the class that flow groups name: the addresses of their hosts, at either end."""
    named: dict[str, list[str]] = {}
    for end in ends:
        if class_id := document["flows"][end.group].get("class"):
            named.setdefault(class_id, []).extend((end.source_address, end.sink_address))
    return named


def _tc(direction: Direction, made: Queue, named: Mapping[str, Sequence[str]]) -> str:
    """The queue of a bottleneck.

    It is the only class of a root that is never passed by: a packet that finds an AQM at the root empty while the link
    is busy would wait outside of it.
    """
    place, link, dev = direction.place, direction.keys, direction.device
    size, mpu = _accounted(direction), octets(f"{place}.mpu", link["mpu"])
    counted = link["account"] == "adjusted" and (size or mpu)
    table = f" mpu {mpu} mtu 2048 tsize 2048" if mpu else ""
    stab = f" stab overhead {size}{table} linklayer ethernet" if counted else ""
    # The handle of what holds others is in the scenario.
    root, handle = (ROOT_OF_PARENTS, made.parent.handle) if made.parent else ("1:", "10:")
    lines = [
        f"qdisc add dev {dev} root handle {root}{stab} prio bands 2 priomap {' '.join('0' * 16)}",
        f"qdisc add dev {dev} parent {root}1 handle {handle} {made.line}",
    ]
    if made.parent:
        filters = [line for name, addresses in named.items() for line in made.parent.filters(name, addresses)]
        lines += [line.format(dev=dev) for line in (*made.parent.more, *filters)]
    if made.inner:
        lines.append(f"qdisc add dev {dev} parent 10:1 handle 20: {made.inner}")
    return "\n".join([*lines, ""])
