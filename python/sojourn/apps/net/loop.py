"""An asyncio event loop in the time of a net.

It has no selector: when nothing is ready, the net's clock moves to its next event, or to the loop's next timer. All
that a program does until then happens at one instant, in the order of its calls.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from sojourn.apps.net.clock import nanoseconds
from sojourn.apps.net.errors import RunEndedError
from sojourn.apps.net.sockets import Address, Sockets
from sojourn.apps.net.transport import NetTransport
from sojourn.apps.net.waiting import waiting_tasks

if TYPE_CHECKING:
    from sojourn._core import End, Event
    from sojourn.apps.net.network import Net

T = TypeVar("T")

MAX_TURNS = 1_000_000
"""Maximum iterations of the loop at one instant."""
GRACE = 3_600.0
"""Maximum seconds after the net's end until which timers fire, so that tasks can clean up."""
NEVER = 1e10
"""Minimum seconds of a deadline that means never."""

REFUSED = {
    **dict.fromkeys(
        ("create_connection", "create_server", "connect_accepted_socket", "start_tls", "sendfile"),
        "a net has UDP only; use create_datagram_endpoint",
    ),
    **dict.fromkeys(
        (
            *("sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendto"),
            *("sock_connect", "sock_accept", "sock_sendfile", "add_reader", "remove_reader"),
            *("add_writer", "remove_writer"),
        ),
        "a net has no file descriptors; use create_datagram_endpoint",
    ),
    **dict.fromkeys(
        ("create_unix_connection", "create_unix_server", "connect_read_pipe", "connect_write_pipe"),
        "a net has no pipes or Unix sockets; use create_datagram_endpoint",
    ),
    **dict.fromkeys(
        ("subprocess_exec", "subprocess_shell"),
        "a subprocess runs in real time; start it before the loop, or put the program behind `sojourn link`",
    ),
    **dict.fromkeys(
        ("add_signal_handler", "remove_signal_handler"),
        "signals arrive in real time; handle them outside of the loop",
    ),
}
"""Methods of asyncio's loops that a net does not have, and the reason."""


class _Numbered:
    """Hash by order of creation, so that sets of tasks have one order in every process."""

    number: int

    def __hash__(self) -> int:
        return self.number


class _Task(_Numbered, asyncio.Task[Any]):
    def __new__(cls, coro: Any, *, loop: NetLoop, **keywords: Any) -> _Task:
        task = super().__new__(cls)
        task.number = next(loop.numbers)
        return task


class _Future(_Numbered, asyncio.Future[Any]):
    def __new__(cls, *, loop: NetLoop) -> _Future:
        future = super().__new__(cls)
        future.number = next(loop.numbers)
        return future


class _AsyncGenerators(WeakKeyDictionary[Any, None]):
    """A weak set in order of insertion."""

    def add(self, generator: Any) -> None:
        self[generator] = None

    def discard(self, generator: Any) -> None:
        self.pop(generator, None)


class NetLoop(asyncio.BaseEventLoop):
    """An event loop whose `time()` is that of a net, in seconds.

    `source` is the end of sockets that are bound to no address (default: the first source of the world). `executor` is
    None, which refuses threads, or "inline": `run_in_executor` calls the function at once, and its time is none. Use
    `sojourn.net.run`, which also cleans up.
    """

    # Of asyncio.BaseEventLoop, which has no public interface for loops of other kinds.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _thread_id: int | None
    _clock_resolution: float

    def __init__(self, net: Net, *, source: End | str | None = None, executor: str | None = None) -> None:
        self._closed = True  # until it is complete: an incomplete loop is not reported as unclosed
        sockets, now = Sockets(net, source), net.now / 1e9
        if executor not in (None, "inline"):
            raise ValueError(f"executor: {executor!r}; give None, which refuses threads, or 'inline'")
        super().__init__()
        self.net = net
        self.sockets = sockets
        self.numbers = count()
        self.has_ended = False
        self.unbound: dict[tuple[str, int], int] = {}
        """Datagrams that reached a port without a socket, by end and port."""
        self._executes = executor == "inline"
        self._now = now
        self._turns = 0
        self._waiting: dict[NetTransport, None] = {}
        self._selector = self
        self._asyncgens = _AsyncGenerators()
        self._set_resolution()

    def time(self) -> float:
        """Time of the net in seconds."""
        return self._now

    # Called by BaseEventLoop._run_once, as a selector's.
    def select(self, timeout: float | None) -> list[Event]:
        """Move the clock, unless callbacks are ready; return the event that is then due."""
        if timeout == 0:
            self._turns += 1
            if self._turns > MAX_TURNS:
                raise RunEndedError(
                    f"{MAX_TURNS} turns of the loop at {self._now:.9f} s; await what takes time, "
                    f"e.g. asyncio.sleep(0.001), instead of: {waiting_tasks(self)}"
                )
            return []
        self._turns = 0
        when = self._scheduled[0].when() if self._scheduled else math.inf
        if self.has_ended:
            return self._outlive(when)
        event = self.net.advance(nanoseconds(when)) if when < NEVER else self.net.next()
        if event is None and self.net.due() is None and self.net.now / 1e9 < when:
            self.has_ended = True
            raise RunEndedError(self._reason())
        self._set_time(self.net.now / 1e9)
        return [] if event is None else [event]

    def _process_events(self, events: list[Event]) -> None:
        for event in events:
            if event.kind == "datagram":
                assert event.local is not None, "a datagram has a destination"
                bound = self.sockets.bound.get(event.local)
                if bound is not None:
                    bound.receive(event)
                else:
                    place = event.end.name, event.local[1]
                    self.unbound[place] = self.unbound.get(place, 0) + 1
            elif event.kind == "room":
                self._flush(event.end)
            elif event.kind == "too_big":
                for bound in self.sockets.bound.values():
                    if bound.local[0] == event.end.address[0]:
                        bound.refuse(event)

    def _outlive(self, when: float) -> list[Event]:
        """After the end the net is silent, and timers fire for a while so that tasks can clean up."""
        if when > self.net.now / 1e9 + GRACE:
            raise RunEndedError(self._reason())
        self._set_time(max(when, self._now))
        return []

    def _set_time(self, now: float) -> None:
        self._now = now
        self._set_resolution()

    def _set_resolution(self) -> None:
        # Timers are due at their time and not before: a program that is woken early re-arms its timer at once.
        self._clock_resolution = math.ulp(self._now)

    def _reason(self) -> str:
        lost = ", ".join(f"{number} at {end} port {port}" for (end, port), number in sorted(self.unbound.items())[:8])
        text = (
            f"the run of {self.net.duration / 1e9:g} s has ended, and the program waits since {self._now:.9f} s; "
            f"give the world a longer duration, or let it end: {waiting_tasks(self)}"
        )
        return f"{text}; datagrams without a socket: {lost}" if lost else text

    def shares_host(self, end: End) -> bool:
        """Whether other ends have the same host."""
        return len(self.sockets.hosts[end.address[0]]) > 1

    def wait_for_room(self, transport: NetTransport) -> None:
        """Flush a transport when its host has room again."""
        self._waiting[transport] = None

    def _flush(self, end: End) -> None:
        for transport in list(self._waiting):
            if transport.local[0] == end.address[0] and transport.flush():
                del self._waiting[transport]

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return _Future(loop=self)

    def create_task(self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], **keywords: Any) -> asyncio.Task[T]:
        """A task of this loop."""
        if self.get_task_factory() is not None:
            return super().create_task(coro, **keywords)
        self._check_closed()
        return _Task(coro, loop=self, **keywords)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """As `call_soon`; other threads are refused."""
        if self._thread_id not in (None, threading.get_ident()):
            raise NotImplementedError(
                "call_soon_threadsafe: another thread runs in real time; call from the loop's own thread"
            )
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Call a function at once if the loop's executor is "inline"; otherwise refuse."""
        if not self._executes:
            raise NotImplementedError(
                f"run_in_executor: a thread runs {_name(func)} in real time; call it directly, or give "
                'sojourn.net.run(…, executor="inline")'
            )
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        return future

    def set_default_executor(self, executor: Any) -> None:
        """Nothing: no thread runs."""

    async def getaddrinfo(
        self,
        host: str | bytes | None,
        port: str | int | bytes | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 (asyncio's name)
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Addresses of an end's name, or of an IP address; others are refused with `socket.gaierror`."""
        if type not in (0, socket.SOCK_DGRAM) or proto not in (0, socket.IPPROTO_UDP):
            raise socket.gaierror(socket.EAI_SOCKTYPE, f"{host!r}: a net has UDP only; ask for SOCK_DGRAM")
        name, number = (value.decode("ascii") if isinstance(value, bytes) else value for value in (host, port))
        return self.sockets.infos(name if name is None else str(name), number, family, flags)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        """Name of the end at an address, or the address; and the port."""
        return self.sockets.name(sockaddr), str(sockaddr[1])

    async def create_datagram_endpoint(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], Any],
        local_addr: tuple[str, int] | None = None,
        remote_addr: tuple[str, int] | None = None,
        *,
        family: int = 0,
        sock: socket.socket | None = None,
        **options: Any,
    ) -> tuple[NetTransport, Any]:
        """Bind a UDP socket at a host of the net.

        `local_addr` decides which; without one, or with the unspecified address, it is the end of `sojourn.net.at`. A
        `sock` is closed, because it is the machine's: its family counts, and the net chooses address and port.
        Options of real sockets are ignored.
        """
        if sock is not None:
            if sock.type != socket.SOCK_DGRAM:
                raise ValueError(f"A UDP Socket was expected, got {sock!r}")
            family = sock.family
            sock.close()
        host, port = (local_addr or (None, 0))[:2]
        place = self.sockets.local(host, int(port or 0), family == socket.AF_INET6)
        remote = None if remote_addr is None else self.sockets.plain(_two(remote_addr))
        transport = NetTransport(self, protocol_factory(), place)
        self.sockets.bound[place[1]] = transport
        if remote is not None:
            transport.connect(remote)
        protocol = transport.get_protocol()
        self.call_soon(protocol.connection_made, transport)
        made = self.create_future()
        self.call_soon(_set_result, made)
        try:
            await made
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing: no thread runs."""

    def close(self) -> None:
        """Close the loop; sockets are closed without notice, as those of a process that ends."""
        super().close()
        self.sockets.bound.clear()
        self._waiting.clear()

    def _check_closed(self) -> None:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")


def _refusal(name: str, reason: str) -> Callable[..., Any]:
    def refuse(self: NetLoop, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{name}: {reason}")

    refuse.__name__ = name
    refuse.__doc__ = f"Refused: {reason}."
    return refuse


for _method, _reason in REFUSED.items():
    setattr(NetLoop, _method, _refusal(_method, _reason))


def _set_result(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.set_result(None)


def _two(address: Any) -> Address:
    if not (isinstance(address, tuple) and len(address) >= 2):
        raise TypeError(f"{address!r} is not an address; give host and port")
    return str(address[0]), int(address[1])


def _name(func: Callable[..., Any]) -> str:
    return str(getattr(func, "__qualname__", func))
