"""UDP sockets of a net: addresses, names of ends, and the socket that a datagram is for.

A host is an IP address, and several ends may share it: the clients of one group, or a server that all of them reach. A
datagram leaves through the end whose peer is its destination.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from sojourn._core import End
from sojourn.base.errors import InputError

if TYPE_CHECKING:
    from sojourn.apps.net.network import Net
    from sojourn.apps.net.transport import NetTransport

Address: TypeAlias = "tuple[str, int] | tuple[str, int, int, int]"

EPHEMERAL = 49_152
"""First port of sockets that ask for none."""
PORTS = 65_536
MAPPED = "::ffff:"
"""Beginning of an IPv4 address as a dual-stack socket shows it (RFC 4291 §2.5.5.2)."""

_END: ContextVar[End | str | None] = ContextVar("net_end", default=None)


@contextmanager
def at(end: End | str) -> Iterator[None]:
    """Open sockets without a local address at `end` in the block, and in the tasks that start there.

    `end` is one of the net's, or its name: `call.sink`.
    """
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


class Sockets:
    """The sockets bound at the hosts of a net."""

    def __init__(self, net: Net, source: End | str | None) -> None:
        self.names = {end.name: end for end in net.ends}
        self.peers = {end: self.names[_peer(end.name)] for end in net.ends}
        self.hosts: dict[str, list[End]] = {}
        for end in net.ends:
            self.hosts.setdefault(end.address[0], []).append(end)
        self.own_ports = {end.address[:2] for end in net.ends}
        self.bound: dict[Address, NetTransport] = {}
        self.default = net.ends[0] if source is None else self.end(source)

    def end(self, end: End | str) -> End:
        """The end with a name."""
        name = end if isinstance(end, str) else end.name
        found = self.names.get(name)
        if found is None:
            raise InputError(f"end: {name!r} is not an end of this net; choose from {self._some()}")
        return found

    def here(self) -> End:
        """The end of the current context."""
        end = _END.get()
        return self.default if end is None else self.end(end)

    def local(self, host: str | None, port: int, wants_ipv6: bool) -> tuple[End, Address, bool]:
        """End, address, and whether it is dual-stack, of a socket that binds to `host` and `port`.

        No host, or the unspecified address, is the end of the context. Port 0 is a free one.
        """
        is_open = host in (None, "", "0.0.0.0", "::")
        address = self.here().address[0] if is_open else self.resolve(str(host))
        ends = self.hosts.get(address)
        if not ends:
            text = f"{address} is not the address of a host of this net; its ends are {self._some()}"
            raise OSError(errno.EADDRNOTAVAIL, text)
        end = self.here() if is_open else self._end_of(ends, port)
        is_ipv4 = ":" not in address
        local = _address(address, port or self._free_port(end))
        if local in self.bound:
            raise OSError(errno.EADDRINUSE, f"{os.strerror(errno.EADDRINUSE)}: {local[0]} port {local[1]}")
        return end, local, is_ipv4 and (wants_ipv6 or host == "::")

    def resolve(self, host: str) -> str:
        """IP address of a host: of an end's name, or the address itself; others are refused."""
        end = self.names.get(host)
        if end is not None:
            return end.address[0]
        try:
            found = ipaddress.ip_address(host)
        except ValueError:
            text = f"{host!r}: a net knows the names of its ends, {self._some()}, and IP addresses; give one of them"
            raise socket.gaierror(socket.EAI_NONAME, text) from None
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return str(mapped or found)

    def infos(self, host: str | None, port: object, family: int, flags: int) -> list[tuple[Any, ...]]:
        """`getaddrinfo` for UDP."""
        address = self.here().address[0] if host is None else self.resolve(host)
        if not (port is None or (isinstance(port, int | str) and str(port).isascii() and str(port).isdigit())):
            raise socket.gaierror(socket.EAI_SERVICE, f"port: {port!r} is not a number; write e.g. 443")
        own = socket.AF_INET6 if ":" in address else socket.AF_INET
        if family == socket.AF_INET6 and own == socket.AF_INET and flags & socket.AI_V4MAPPED:
            own, address = socket.AF_INET6, MAPPED + address
        if family not in (socket.AF_UNSPEC, own):
            text = f"{host!r} has the address {address}, which is of the other family; ask for that or for any"
            raise socket.gaierror(socket.EAI_NONAME, text)
        return [(own, socket.SOCK_DGRAM, socket.IPPROTO_UDP, "", _address(address, int(str(port or 0))))]

    def name(self, address: Address) -> str:
        """Name of the first end at an address, or the address."""
        ends = self.hosts.get(self.resolve(address[0]))
        return ends[0].name if ends else address[0]

    def plain(self, address: Address) -> Address:
        """The address as the net has it: an end's name resolved, an IPv4-mapped one as IPv4."""
        return _address(self.resolve(address[0]), address[1])

    def towards(self, end: End, remote: Address) -> End:
        """The end of the same host that a datagram to `remote` leaves through: the one whose peer has the address."""
        ends = self.hosts[end.address[0]]
        if len(ends) == 1:
            return end
        peers = [(self.peers[one].address, one) for one in (end, *ends)]
        exact = (one for address, one in peers if address == remote)
        same_host = (one for address, one in peers if address[0] == remote[0])
        return next(exact, None) or next(same_host, end)

    def _end_of(self, ends: list[End], port: int) -> End:
        """The end at a host that has the port, or the one of the context if it is there, or the first."""
        exact = next((end for end in ends if end.address[1] == port), None)
        return exact or (self.here() if self.here() in ends else ends[0])

    def _free_port(self, end: End) -> int:
        own = end.address[1]
        if own >= EPHEMERAL and _address(end.address[0], own) not in self.bound:
            return own
        for port in range(EPHEMERAL, PORTS):
            local = _address(end.address[0], port)
            if local not in self.bound and local[:2] not in self.own_ports:
                return port
        raise OSError(errno.EADDRINUSE, f"{end.name}: all ports from {EPHEMERAL} are in use; close sockets")

    def _some(self) -> str:
        return ", ".join([*list(self.names)[:8], *(["…"] if len(self.names) > 8 else [])])


def mapped(address: Address) -> Address:
    """An IPv4 address as a dual-stack socket shows it."""
    return (MAPPED + address[0], address[1], 0, 0)


def _address(host: str, port: int) -> Address:
    return (host, port, 0, 0) if ":" in host else (host, port)


def _peer(name: str) -> str:
    group, _, side = name.rpartition(".")
    return f"{group}.{'sink' if side == 'source' else 'source'}"
