"""Datagram transports of a net: asyncio's interface above its sockets."""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from sojourn.apps.net.sockets import mapped

if TYPE_CHECKING:
    from sojourn._core import End, Event
    from sojourn.apps.net.loop import NetLoop
    from sojourn.apps.net.sockets import Address


HIGH_WATER = 64 * 1024
"""Bytes waiting for room above which a protocol is paused, as asyncio has it; it resumes at a quarter."""


class NetTransport(asyncio.DatagramTransport):
    """A UDP socket at a host of a net.

    Attributes: `ecn` ("not-ect", "ect0", "ect1" or "ce") and `tag` (one of the group's, or None) of the datagrams sent
    from then on; `received_ecn`, the ECN field of the datagram that is being received.
    """

    def __init__(self, loop: NetLoop, protocol: asyncio.DatagramProtocol, place: tuple[End, Address, bool]) -> None:
        self.end, self.local, self._is_dual = place
        shown = mapped(self.local) if self._is_dual else self.local
        super().__init__()
        self._infos: dict[str, Any] = {"sockname": shown, "peername": None}
        self.ecn = "not-ect"
        self.tag: str | None = None
        self.received_ecn = "not-ect"
        self._net_loop = loop
        self._protocol = protocol
        self._remote: Address | None = None
        self._context = copy_context()
        self._pending: deque[tuple[bytes, Address]] = deque()
        self._pending_bytes = 0
        self._limits = (HIGH_WATER // 4, HIGH_WATER)
        self._is_paused = False
        self._is_closing = False
        self._is_lost = False
        # By address as the program writes it: the net's, and the end that leads there.
        self._routes: dict[Any, tuple[Address, End]] = {}
        # By address of the net: as the program sees it, if the socket is dual-stack.
        self._shown: dict[Address, Address] = {}

    def connect(self, remote: Address) -> None:
        """Send to `remote` by default, and receive from there only."""
        self._remote = remote
        self._infos["peername"] = mapped(remote) if self._is_dual else remote

    def receive(self, event: Event) -> None:
        """Pass a datagram to the protocol, in the context that opened the socket."""
        remote = event.remote
        assert remote is not None, "a datagram has a source"
        if self._remote is not None and remote != self._remote:
            return
        if self._net_loop.shares_host(self.end) and remote not in self._routes:
            self._routes[remote] = (remote, event.end)
        if self._is_dual:
            shown = self._shown.get(remote)
            if shown is None:
                shown = self._shown[remote] = mapped(remote)
                self._routes.setdefault(shown, self._routes.get(remote) or self._route(remote))
            remote = shown
        self._net_loop.call_soon(self._pass_on, event, remote, context=self._context)

    def _pass_on(self, event: Event, remote: Address) -> None:
        if not self._is_lost:
            self.received_ecn = event.ecn or "not-ect"
            self._protocol.datagram_received(event.data or b"", remote)

    def refuse(self, event: Event) -> None:
        """Tell the protocol that a packet was too big."""
        text = f"a packet to {event.remote} was too big; the path's MTU is {event.mtu} B"
        if not self._is_lost:
            self._net_loop.call_soon(
                self._protocol.error_received, OSError(errno.EMSGSIZE, text), context=self._context
            )

    def sendto(self, data: bytes | bytearray | memoryview, addr: Any = None) -> None:
        """Send a datagram, now; it waits here while the host has no room."""
        if self._is_lost:
            return
        if self._remote is not None:
            if addr is not None and self._net_loop.sockets.plain(addr) != self._remote:
                raise ValueError(f"Invalid address: must be None or {self._remote}")
            addr = self._remote
        elif addr is None:
            raise ValueError("sendto: no address; give one, or connect the endpoint with remote_addr")
        if self._pending or not self._send(data, addr):
            # A buffer may be changed by its owner before there is room.
            self._pending.append((bytes(data), addr))
            self._pending_bytes += len(data)
            self._net_loop.wait_for_room(self)
            self._control_flow()

    def _send(self, data: bytes | bytearray | memoryview, addr: Any) -> bool:
        """Whether the host has accepted a datagram."""
        route = self._routes.get(addr)
        if route is None:
            route = self._routes[addr] = self._route(self._net_loop.sockets.plain(addr))
        remote, end = route
        try:
            self._net_loop.net.send(end, data, remote, local=self.local, ecn=self.ecn, tag=self.tag)
        except BlockingIOError:
            return False
        return True

    def _route(self, remote: Address) -> tuple[Address, End]:
        return remote, self._net_loop.sockets.towards(self.end, remote)

    def flush(self) -> bool:
        """Send what waits for room; whether nothing waits any more."""
        while self._pending and self._send(*self._pending[0]):
            self._pending_bytes -= len(self._pending.popleft()[0])
        self._control_flow()
        if self._pending:
            return False
        if self._is_closing:
            self._lose()
        return True

    def _control_flow(self) -> None:
        """Pause the protocol, or let it resume."""
        low, high = self._limits
        if not self._is_paused and self._pending_bytes > high:
            self._is_paused = True
            self._protocol.pause_writing()
        elif self._is_paused and self._pending_bytes <= low:
            self._is_paused = False
            self._protocol.resume_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits in bytes: the protocol is paused above `high` and resumes at `low`."""
        high = (HIGH_WATER if low is None else 4 * low) if high is None else high
        low = high // 4 if low is None else low
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._limits = (low, high)
        self._control_flow()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """The lower and the upper limit in bytes."""
        return self._limits

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`sockname`, `peername`; there is no socket of the machine."""
        return self._infos.get(name, default)

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for room."""
        return self._pending_bytes

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set another protocol."""
        assert isinstance(protocol, asyncio.DatagramProtocol), "a datagram transport has a datagram protocol"
        self._protocol = protocol

    def get_protocol(self) -> asyncio.DatagramProtocol:
        """The protocol."""
        return self._protocol

    def is_closing(self) -> bool:
        """Whether the socket is closed, or will be once all is sent."""
        return self._is_closing

    def close(self) -> None:
        """Close the socket once all is sent."""
        if not self._is_closing:
            self._is_closing = True
            self._net_loop.sockets.bound.pop(self.local, None)
            if not self._pending:
                self._lose()

    def abort(self) -> None:
        """Close the socket now."""
        self._pending.clear()
        self._pending_bytes = 0
        self.close()

    def _lose(self) -> None:
        if not self._is_lost:
            self._net_loop.call_soon(self._finish, context=self._context)

    def _finish(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._protocol.connection_lost(None)
