"""A scenario's network in the guest: namespaces, addresses, routes and links.

Sources and sinks of each flow group have their own network namespaces, attached to the routers L and R:

    s0 ──access──┐                        ┌── k0        group 0, forward
                 L ══ bottleneck (f) ══ R
    k1 ──────────┘                        └──access── s1   group 1, reverse

Each flow has an address at each end, and its own links if its access link has a rate or its host uses GRO. Queues see
the addresses of its hosts (hosts.py). Several
bottlenecks lie between further routers (routers.py), which have a route for each address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.engines.kernel.hosts import HostTable
from sojourn.engines.kernel.offload import OFFLOADS, Offloads
from sojourn.engines.kernel.qdisc import Queue, queue
from sojourn.engines.kernel.refuse import refuse, refuse_links
from sojourn.engines.kernel.routers import Direction, Path, directions, paths
from sojourn.engines.values import bits, nanoseconds, octets, signed_octets, steps

START_NS = _core.UPTIME_NS
"""Start of the scenario on the guest's clock, as in the simulator's queues: just after a tick, so that the kernel's
work at ticks does not interfere; timers expire at the simulator's times, 100 ns earlier."""
CREATION_NS = START_NS - 50
"""Creation of the queues, from which PIE's and RED's timers and shapers' tokens count; after the tick."""
NOT_TRACED = 255
STEP_LATCHED, CARRY_OVER, BELOW_PACKETS = 1, 2, 4
"""Link flags of sojourn-kernel (sojourn.h)."""
ROOT_OF_PARENTS = "f000:"
MAX_ACCESS_LINKS = 1000
MAX_FLOWS = 65_000
MAX_QUEUES = 256
"""The log numbers queues in one byte."""
TCP_PAGES = "100000 150000 200000"
"""`tcp_mem` in pages. With Linux's default, 64 MB of the guest's memory, windows shrink when much data is in flight."""


@dataclass(frozen=True)
class FlowEndpoints:
    """Namespaces and addresses of a flow's endpoints."""

    group: int
    source: str
    """Namespace of the data sender."""
    sink: str
    source_address: str
    sink_address: str
    in_queues: tuple[str, str]
    """Both addresses in traced queues: those of the hosts."""


@dataclass
class Network:
    """Commands and files that make the network in the guest."""

    hosts: HostTable
    ends: list[FlowEndpoints] = field(default_factory=list)
    """Endpoints of each source, in order of their numbers."""
    traced: tuple[str, str] = ("", "")
    """Namespace and name of the traced device."""
    queues: list[Queue] = field(default_factory=list)
    """Queues by link number."""
    files: dict[str, str] = field(default_factory=dict)
    job: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    """tc batch files of changes during the run."""
    replacements: list[tuple[int, int]] = field(default_factory=list)
    """Time on the guest's clock and link number of each replacement of a discipline."""


def lay_out(document: Mapping[str, Any]) -> Network:
    """Make the network of a canonical scenario; raises `InputError` for what the kernel cannot express."""
    listed = {f"links[{index}].": hop for index, hop in enumerate(document.get("links", []))}
    for place, keys in {"": document, **listed}.items():
        if keys.get("wlan"):
            refuse(f"{place}wlan", "has no wireless LAN", "simulate it")
    network, links = Network(HostTable.of(document)), directions(document)
    if len(links) > MAX_QUEUES:
        refuse("links", f"numbers at most {MAX_QUEUES} queues, not {len(links)}", "simulate it")
    for link in links:
        _check_link(link)
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
        mtu = octets(f"{link.place}.mtu", link.keys["mtu"]) + _accounted_bytes(link)
        lines[link.router] += [f"link set {link.device} mtu {mtu}", f"link set {link.device} up"]
    if len(links) == 2:
        # Each router has one neighbour, so two prefixes suffice.
        for link, nets in zip(links, ((2, 3), (1, 4)), strict=True):
            lines[link.router] += [f"route add 10.{net}.0.0/16 dev {link.device}" for net in nets]
    configure = [_bottleneck(link, offloads.flags(link)) for link in links]
    configure += [[f"at {link.next}", *offloads.ingress(link), "at -"] for link in links if offloads.ingress(link)]
    for group, (flow, path) in enumerate(zip(document["flows"], crossed, strict=True)):
        configure += list(_add_group(group, flow, path, network, lines, offloads, routed=len(links) > 2))
    network.files = {f"{name or 'machine'}.ip": "\n".join([*text, ""]) for name, text in lines.items()}
    network.files |= {
        f"{router}.tc": "".join(
            _tc(link, qdisc, _class_addresses(document, network.ends))
            for link, qdisc in zip(links, network.queues, strict=True)
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
    network.job.append(f"until {CREATION_NS}")
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
    """Add the two namespaces of a group, and yield the lines that configure its links and its TCP.

    `routed`: add a route for each address to the routers on the path.
    """
    place, forward = f"flows[{group}]", flow["direction"] == "forward"
    near, far = path.data[0].router, path.acks[0].router
    source_net, sink_net = (1, 2) if forward else (3, 4)
    source, sink = f"s{group}", f"k{group}"
    first, count = len(network.ends), int(flow["count"])
    if first + count > MAX_FLOWS:
        refuse(f"{place}.count", f"supports at most {MAX_FLOWS} flows", "lower it")
    rate = flow.get("access_rate")
    per_flow = {"access_rate": rate, "gro": "gro" in flow}
    for key in per_flow:
        if per_flow[key] and count > MAX_ACCESS_LINKS:
            refuse(f"{place}.count", f"supports at most {MAX_ACCESS_LINKS} access links in a group", f"leave out {key}")
    mtu = octets(f"{path.data[0].place}.mtu", path.data[0].keys["mtu"])
    lines[""] += [f"netns add {source}", f"netns add {sink}"]
    lines[source], lines[sink] = ["link set lo up"], ["link set lo up"]
    window = f" initcwnd {flow['initial_window']}" if flow.get("initial_window") else ""
    devices, ports = ([f"{end}{group}_{number}" for number in range(count)] for end in "ab")
    if not rate and not offloads.merges_at_source(flow):
        devices = [f"a{group}"]
    if not per_flow["gro"]:
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
        near_address, far_address = (f"10.{net}.{index >> 8}.{index & 255}" for net in (source_net, sink_net))
        addresses = (near_address, far_address)
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
        in_queues = network.hosts.addresses(index, addresses)
        network.ends.append(FlowEndpoints(group, source, sink, near_address, far_address, in_queues))
    if len(ports) == 1:
        lines[sink].append(f"route add 10.{source_net}.0.0/16 dev {ports[0]}")
    access = f"{delay} 0 0 0 0 {{}} {NOT_TRACED}{serving}"
    sends = access.format(CARRY_OVER | OFFLOADS * bool(flow.get("gso")))
    yield [f"at {source}", *(f"link {device} {sends}" for device in devices), *_queues(devices, rate), *_tcp(flow)]
    yield offloads.host_cards(flow, devices) if offloads.merges_at_source(flow) else []
    yield [f"at {near}", *(f"link {device}.p {sends}" for device in devices)]
    yield [*(_queues([f"{device}.p" for device in devices], rate)), *offloads.link_cards(path.data[0], devices)]
    # Without scatter-gather a device would copy each segment of a super-packet to its own page, and the receiver,
    # which counts truesize, would grow its window to an eighth of the limit only (`__tcp_grow_window`).
    plain = f"0 0 0 0 0 {CARRY_OVER | OFFLOADS} {NOT_TRACED}"
    yield [f"at {far}", *(f"link {port}.p {plain}" for port in ports if flow.get("gso"))]
    yield [*offloads.link_cards(path.acks[0], ports), f"at {sink}", *_tcp(flow)]
    yield [f"link {port} {plain}" for port in ports] if flow.get("gso") else []
    yield [*offloads.host_cards(flow, ports), "at -"]


def _pair(device: str, namespace: str, other: str, renamed: str = "") -> list[str]:
    """Create a link with each end in its namespace."""
    name = f" name {renamed}" if renamed else ""
    return [
        f"link add {device} type sojourn",
        f"link set {device} netns {namespace}",
        f"link set {device}.p netns {other}{name}",
    ]


def _queues(devices: Sequence[str], rate: str | None) -> list[str]:
    """Queues of access links with a rate, which never drop."""
    return [f"exec tc qdisc add dev {device} root pfifo limit 1000000" for device in devices] if rate else []


def _tcp(flow: Mapping[str, Any]) -> list[str]:
    """TCP sysctls of a namespace."""
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
    """Maximum send buffer in bytes; by default more than any flow needs."""
    return octets("send_buffer", flow["send_buffer"]) if flow.get("send_buffer") else 67_108_864


def _check_link(direction: Direction) -> None:
    """Refuse links that the device lacks; a queue is translated by the link's rate."""
    place, link = direction.place, direction.keys
    reasons = {
        "loss": "does not support loss behind the queue",
        "reorder": "never reorders packets",
        "tick": "delays without a clock",
    }
    refuse_links(place, link, reasons)
    if "@" in link["delay"]:
        refuse(f"{place}.delay", "supports constant delays only", 'write e.g. "20 ms"')
    if link.get("change") == "opportunity":
        refuse(f"{place}.change", "does not support opportunities", "choose fluid or latch")
    if link["framing"] != "ethernet":
        refuse(f"{place}.framing", f"does not know {link['framing']}", "choose ethernet, with an overhead")


def _bottleneck(direction: Direction, offloads: int) -> list[str]:
    place, link = direction.place, direction.keys
    stop, wake, flags = _below(place, link)
    flags |= STEP_LATCHED * (link.get("change") == "latch") | CARRY_OVER | offloads
    delay = nanoseconds(f"{place}.delay", link["delay"])
    overhead, mpu = (signed_octets(f"{place}.{key}", link[key]) for key in ("overhead", "mpu"))
    scheduled = ((at, bits(f"{place}.rate", rate)) for at, rate in steps(f"{place}.rate", link["rate"]))
    rates = " ".join(f"{at + START_NS if at else 0} {rate}" for at, rate in scheduled)
    config = f"link {direction.device} {delay} {overhead} {mpu} {stop} {wake} {flags} {direction.number} {rates}"
    return [f"at {direction.router}", config, "at -"]


def _below(place: str, link: Mapping[str, Any]) -> tuple[int, int, int]:
    """Stop and wake thresholds of the buffer below the queue (BQL, NIC ring) and its flag; zeros without a buffer."""
    if not link.get("below"):
        return 0, 0, 0
    if "bql" in link["below"]:
        refuse(f"{place}.below", "needs fixed limits below the queue", 'write bytes or packets, e.g. "1514 B"')
    stop, _, wake = link["below"].partition(" wake ")
    if "packet" in stop:
        return int(stop.split()[0]), int(wake.split()[0]), BELOW_PACKETS
    return octets(f"{place}.below", stop), octets(f"{place}.below", wake), 0


def _accounted_bytes(link: Direction) -> int:
    """Framing bytes that the queue accounts for."""
    adjusted = link.keys["account"] == "adjusted"
    return signed_octets(f"{link.place}.overhead", link.keys["overhead"]) if adjusted else 0


def _class_addresses(document: Mapping[str, Any], ends: Sequence[FlowEndpoints]) -> dict[str, list[str]]:
    """Addresses of the hosts, at both ends, of the flow groups that set `class`, by class."""
    by_class: dict[str, list[str]] = {}
    classes: dict[str, str | None] = {}
    for end in ends:
        class_id = document["flows"][end.group].get("class")
        if {classes.setdefault(address, class_id) for address in end.in_queues} != {class_id}:
            place = f"flows[{end.group}].class"
            refuse(place, "chooses a class by address, one for each host", "name other hosts")
        if class_id:
            by_class.setdefault(class_id, []).extend(end.in_queues)
    return {class_id: list(dict.fromkeys(addresses)) for class_id, addresses in by_class.items()}


def _tc(direction: Direction, qdisc: Queue, by_class: Mapping[str, Sequence[str]]) -> str:
    """Batch of tc for the queue of a bottleneck.

    It is the only class of a `prio` root: an empty AQM at the root would be bypassed (`TCQ_F_CAN_BYPASS`), and the
    packet would wait outside of it while the link is busy.
    """
    place, link, dev = direction.place, direction.keys, direction.device
    size, mpu = _accounted_bytes(direction), octets(f"{place}.mpu", link["mpu"])
    counted = link["account"] == "adjusted" and (size or mpu)
    table = f" mpu {mpu} mtu 2048 tsize 2048" if mpu else ""
    stab = f" stab overhead {size}{table} linklayer ethernet" if counted else ""
    # The scenario sets the handle of a parent.
    root, handle = (ROOT_OF_PARENTS, qdisc.parent.handle) if qdisc.parent else ("1:", "10:")
    lines = [
        f"qdisc add dev {dev} root handle {root}{stab} prio bands 2 priomap {' '.join('0' * 16)}",
        f"qdisc add dev {dev} parent {root}1 handle {handle} {qdisc.line}",
    ]
    if qdisc.parent:
        filters = [line for name, addresses in by_class.items() for line in qdisc.parent.filters(name, addresses)]
        lines += [line.format(dev=dev) for line in (*qdisc.parent.more, *filters)]
    if qdisc.inner:
        lines.append(f"qdisc add dev {dev} parent 10:1 handle 20: {qdisc.inner}")
    return "\n".join([*lines, ""])
