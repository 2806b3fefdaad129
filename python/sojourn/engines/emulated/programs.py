"""Server and clients of an emulated scenario: a standalone program that needs only Python's standard library.

`programs.py serve PORT...` answers requests, `programs.py clients SPEC` sends those of the scenario's flows. A request
is one line, padded to its size: `GET BYTES THINK CC DSCP`, with BYTES 0 for an endless download; `PUT CC DSCP`, after
which the client sends; `ASK SIZE BYTES THINK CC DSCP`, after which each further request of SIZE bytes gets a response
of BYTES. THINK is the server's delay before a response in seconds.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

BLOCK = bytes(1 << 18)
ENDLESS = 0


class EventLoop:
    """Sockets and timers of one process."""

    def __init__(self) -> None:
        """Create an empty loop."""
        self.selector = selectors.DefaultSelector()
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()
        self.late_s = 0.0
        """Total lateness of the heartbeats: time in which the program could not run."""

    def at(self, when: float, do: Callable[[], None]) -> None:
        """Call `do` at a time of the monotonic clock."""
        heapq.heappush(self.timers, (when, next(self.order), do))

    def watch(self, peer: socket.socket, events: int, do: Callable[[], None]) -> None:
        """Call `do` whenever a socket is ready."""
        try:
            self.selector.modify(peer, events, do)
        except KeyError:
            self.selector.register(peer, events, do)

    def close(self, peer: socket.socket) -> None:
        """Close a watched socket."""
        with suppress(KeyError):
            self.selector.unregister(peer)
        peer.close()

    def heartbeat(self, due: float) -> None:
        """Add this heartbeat's lateness, caused by waiting for a CPU, and schedule the next one."""
        now = time.monotonic()
        late = now - due
        self.late_s += late if late > LATE_S else 0.0
        self.at(max(due + HEARTBEAT_S, now), partial(self.heartbeat, max(due + HEARTBEAT_S, now)))

    def run(self, until: float) -> None:
        """Run until a time of the monotonic clock."""
        while (now := time.monotonic()) < until:
            due = min(until, self.timers[0][0] if self.timers else until)
            for key, _ in self.selector.select(min(max(0.0, due - now), MAX_WAIT_S)):
                key.data()
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()


def serve(ports: list[int]) -> None:
    """Answer requests forever."""
    tune()
    loop = EventLoop()
    for port in ports:
        listen(loop, port)
    if gate := start_gate():
        gate.send(b"r")
    loop.run(float("inf"))


def listen(loop: EventLoop, port: int) -> None:
    """Accept connections on a port."""
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    listener.setblocking(False)

    def accept() -> None:
        with suppress(BlockingIOError):
            while True:
                peer, _ = listener.accept()
                peer.setblocking(False)
                ServerConnection(loop, peer)

    loop.watch(listener, selectors.EVENT_READ, accept)


class ServerConnection:
    """Server side of a connection."""

    def __init__(self, loop: EventLoop, peer: socket.socket) -> None:
        """Wait for the request."""
        self.loop, self.peer, self.line = loop, peer, b""
        self.has_request = False
        self.left: int | None = None
        self.plan = ResponsePlan()
        loop.watch(peer, selectors.EVENT_READ, self.read)

    def read(self) -> None:
        """Read the request, or further requests, or discard uploaded data."""
        try:
            part = self.peer.recv(len(BLOCK))
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self.loop.close(self.peer)
            return
        if self.has_request:
            self.on_data(len(part))
            return
        self.line += part
        head, end, _ = self.line.partition(b"\n")
        if not end:
            return
        self.has_request = True
        words = head.decode(errors="replace").split()
        set_dscp(self.peer, int(words[-1]))
        set_congestion_control(self.peer, words[-2])
        match words[:-2]:
            case ["GET", size, think]:
                self.loop.at(time.monotonic() + float(think), partial(self.send, int(size)))
            case ["ASK", request, size, think]:
                self.plan = ResponsePlan(int(request), int(size), float(think))
                # The request line may be longer than the request size.
                self.on_data(len(self.line) - max(0, len(head) + 1 - self.plan.request))

    def on_data(self, part: int) -> None:
        """Count received bytes and answer each complete request; other data are discarded."""
        if self.plan.request:
            self.plan.received += part
            while self.plan.received >= self.plan.request:
                self.plan.received -= self.plan.request
                self.loop.at(time.monotonic() + self.plan.think, partial(self.send, self.plan.size))

    def send(self, size: int) -> None:
        """Start to send `size` bytes."""
        self.left = size + (self.left or 0)
        events = selectors.EVENT_WRITE | (selectors.EVENT_READ if self.plan.request else 0)
        with suppress(ValueError, OSError):  # the connection may be closed meanwhile
            self.loop.watch(self.peer, events, self.on_ready)

    def on_ready(self) -> None:
        """Write and read until the socket would block."""
        self.write()
        if self.peer.fileno() >= 0 and self.plan.request:
            self.read()

    def write(self) -> None:
        """Send until the socket would block."""
        try:
            part = BLOCK if self.left == ENDLESS else BLOCK[: self.left]
            sent = self.peer.send(part)
        except BlockingIOError:
            return
        except OSError:
            self.loop.close(self.peer)
            return
        if self.left != ENDLESS and self.left is not None:
            self.left -= sent
            if self.left == 0:
                # The client closes after the last byte.
                self.loop.watch(self.peer, selectors.EVENT_READ, self.read)


@dataclass
class ResponsePlan:
    """Response to each request of a connection; `request` 0 means no further requests."""

    request: int = 0
    size: int = 0
    think: float = 0.0
    received: int = 0
    """Bytes received of an incomplete request."""


class ClientConnection:
    """Client side of a connection."""

    def __init__(self, group: Group, size: int, port: int, upward: bool = False) -> None:
        """Connect to a port of the server, and send the request."""
        self.group, self.size, self.upward, self.received = group, size, upward, 0
        self.start_ns = time.time_ns()
        self.request = f"{self.line()} {group.cc} {group.dscp}\n".encode().ljust(group.request, b".")
        family = socket.AF_INET6 if ":" in group.client.host else socket.AF_INET
        self.peer = socket.socket(family, socket.SOCK_STREAM)
        self.peer.setblocking(False)
        if group.client.source:
            self.peer.bind((group.client.source, 0))
        set_congestion_control(self.peer, group.cc)
        set_dscp(self.peer, group.dscp)
        self.delivered: dict[int, int] = {}
        group.opened += 1
        with suppress(BlockingIOError):
            self.peer.connect((group.client.host, port))
        self.number = len(group.ends)
        group.ends.append((self.peer.getsockname()[:2], (group.client.host, port)))
        group.client.loop.watch(self.peer, selectors.EVENT_WRITE, self.on_writable)

    def line(self) -> str:
        """Start of the request line."""
        return "PUT" if self.upward else f"GET {self.size} {self.group.think}"

    def on_writable(self) -> None:
        """Send the request once connected; then read, or keep sending."""
        try:
            if self.request:
                self.request = self.request[self.peer.send(self.request) :]
            elif self.upward:
                self.count(self.peer.send(BLOCK))
        except BlockingIOError:
            return
        except OSError as error:
            self.fail(error)
            return
        if not self.request and not self.upward:
            self.group.client.loop.watch(self.peer, selectors.EVENT_READ, self.read)

    def read(self) -> None:
        """Read from the socket."""
        try:
            part = self.peer.recv_into(self.group.client.buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self.fail(error)
            return
        self.count(part)
        if not part or self.received == self.size != ENDLESS:
            self.end()

    def count(self, part: int) -> None:
        """Count bytes per 10 ms of the wall clock; the shell's clock later decides which steps count."""
        self.received += part
        now = time.time_ns() // STEP_NS
        for delivered in (self.delivered, self.group.delivered):
            delivered[now] = delivered.get(now, 0) + part

    def end(self) -> None:
        """Record the transfer and close."""
        self.group.closed += 1
        if self.received == self.size:
            self.group.transfers.append((self.start_ns, time.time_ns() - self.start_ns, self.received))
        self.group.client.loop.close(self.peer)

    def fail(self, error: OSError) -> None:
        """Record the group's first error and close."""
        self.group.error = self.group.error or str(error)
        self.group.client.loop.close(self.peer)


class PersistentConnection(ClientConnection):
    """Client side of a connection that carries one request after another."""

    def line(self) -> str:
        """Start of the first request, which announces the size of all."""
        return f"ASK {self.group.request} {self.size} {self.group.think}"

    def end(self) -> None:
        """Record a complete response, wait for the gap, and send the next request."""
        if self.received < self.size:
            super().end()
            return
        self.group.transfers.append((self.start_ns, time.time_ns() - self.start_ns, self.received))
        self.received = 0
        loop = self.group.client.loop
        if (at := time.monotonic() + self.group.gap) < self.group.stop:
            loop.at(at, self.repeat)
        else:
            self.group.closed += 1
            loop.close(self.peer)

    def repeat(self) -> None:
        """Send the next request."""
        self.start_ns, self.request = time.time_ns(), b"." * self.group.request
        self.group.client.loop.watch(self.peer, selectors.EVENT_WRITE, self.on_writable)


class Group:
    """Flows of one group of the scenario."""

    def __init__(self, client: Client, number: int, spec: dict[str, Any]) -> None:
        """Read the keys of the group, times in seconds."""
        self.client, self.number, self.spec = client, number, spec
        self.cc: str = spec["cc"]
        self.request: int = spec.get("request", 0)
        self.dscp: int = spec.get("dscp", 0)
        self.think: float = spec.get("think", 0.0)
        self.gap: float = spec.get("gap", 0.0)
        self.stop: float = client.zero + spec.get("stop", float("inf"))
        self.opened = self.closed = 0
        self.delivered: dict[int, int] = {}
        self.ends: list[tuple[tuple[str, int], tuple[str, int]]] = []
        """Address and port of client and server, per connection."""
        self.transfers: list[tuple[int, int, int]] = []
        self.error: str | None = None
        self.long_lived: list[ClientConnection] = []

    @property
    def flows(self) -> list[tuple[int, dict[int, int]]]:
        """Index in `ends` and bytes by step of each long-lived flow."""
        return [(one.number, one.delivered) for one in self.long_lived]

    def schedule(self, zero: float, rng: random.Random) -> None:
        """Schedule the first connections."""
        for port, _ in zip(cycle(self.spec["ports"]), range(self.spec["count"]), strict=False):
            start = zero + self.spec["start"] + rng.random() * self.spec["spread"]
            self.client.loop.at(start, partial(self.open, start, rng, port))

    def open(self, at: float, rng: random.Random, port: int) -> None:
        """Open a connection; for web pages, also schedule the next."""
        upward = self.spec["direction"] == "reverse"
        if self.spec["kind"] == "tcp":
            download = ClientConnection(self, ENDLESS, port, upward)
            self.long_lived.append(download)
            if "stop" in self.spec:
                self.client.loop.at(self.stop, download.end)
            return
        if self.spec["kind"] == "request":
            PersistentConnection(self, self.spec["size"], port)
            return
        ClientConnection(self, self.spec["size"], port, upward)
        gap = self.spec["interval"] * (rng.expovariate(1) if self.spec["random"] else 1)
        if at + gap < self.stop:
            self.client.loop.at(at + gap, partial(self.open, at + gap, rng, port))


class Client:
    """All groups with the same access delay."""

    def __init__(self, spec: dict[str, Any]) -> None:
        """Read the environment."""
        self.loop, self.buffer = EventLoop(), bytearray(1 << 18)
        self.host = os.environ["SOJOURN_HOST"]
        self.source = os.environ["SOJOURN_INSIDE"] if GATE in os.environ else ""
        """Source address, if it decides the route."""
        self.spec = spec
        self.zero = 0.0
        self.groups: list[Group] = []

    def run(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Run the groups with these numbers; returns their reports."""
        if gate := start_gate():
            gate.send(b"r")
            self.zero = int.from_bytes(gate.recv(8), sys.byteorder) / 1e9
        else:
            self.wait_for_server()
            self.zero = time.monotonic()
        for number in numbers:
            group = Group(self, number, self.spec["groups"][number])
            group.schedule(self.zero, random.Random(f"{self.spec['seed']} {number}"))
            self.groups.append(group)
        self.loop.at(self.zero, partial(self.loop.heartbeat, self.zero))
        self.loop.run(self.zero + self.spec["duration"])
        fields = ("number", "delivered", "ends", "flows", "opened", "closed", "transfers", "error")
        return [{field: getattr(group, field) for field in fields} | self.process_report() for group in self.groups]

    def process_report(self) -> dict[str, float]:
        """Fields of a report that concern the whole process."""
        return {"late_s": self.loop.late_s}

    def wait_for_server(self) -> None:
        """Connect once, so that the run starts when the server is ready."""
        end = time.monotonic() + CONNECT_TIMEOUT_S
        # The server opens its ports in ascending order.
        port = max(port for group in self.spec["groups"] for port in group["ports"])
        while True:
            try:
                socket.create_connection((self.host, port), timeout=CONNECT_TIMEOUT_S).close()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


def clients(path: Path) -> None:
    """Run all groups; each access delay gets a nested shell."""
    spec = json.loads(path.read_text(encoding="utf-8"))
    by_delay: dict[str, list[int]] = {}
    for number, group in enumerate(spec["groups"]):
        by_delay.setdefault(group["delay"], []).append(number)
    shells = []
    for delay, numbers in by_delay.items():
        if delay != "0 s":
            inner = [sys.executable, __file__, "client", str(path), *map(str, numbers)]
            words = [*spec["sojourn"], "delay", delay, *spec["delays"], "--quiet", "--", *inner]
            shells.append(subprocess.Popen(words))
    if local := by_delay.get("0 s"):
        client(path, local)
    codes = [shell.wait() for shell in shells]
    sys.exit(max(codes, default=0))


def client(path: Path, numbers: list[int]) -> None:
    """Run some groups and write their reports beside their specification."""
    tune()
    spec = json.loads(path.read_text(encoding="utf-8"))
    reports = Client(spec).run(numbers)
    for report in reports:
        path.with_name(f"group-{report['number']}.json").write_text(json.dumps(report), encoding="utf-8")


def start_gate() -> socket.socket | None:
    """Socket of the topology's start barrier, if there is one: send readiness, receive the start time."""
    return socket.socket(fileno=int(os.environ[GATE])) if GATE in os.environ else None


def tune() -> None:
    """Set real-time priority, the maximum number of open files, and the sysctls of ECN and TOS."""
    with suppress(OSError):  # only root may
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(REALTIME_PRIORITY))
    import resource  # absent on Windows, which imports this module as well

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # tcp_reflect_tos (Linux 5.10): the SYN-ACK has the client's DSCP, before the server has read the request.
    for name, value in (("tcp_ecn", os.environ.get("SOJOURN_ECN", "0")), ("tcp_reflect_tos", "1")):
        with suppress(OSError):
            Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")


def set_congestion_control(peer: socket.socket, cc: str) -> None:
    """Set TCP_CONGESTION."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())


def set_dscp(peer: socket.socket, dscp: int) -> None:
    """Set the DSCP of a connection's packets, with ECN bits of zero."""
    for level, option in ((socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)):
        with suppress(OSError):
            peer.setsockopt(level, option, dscp << 2)


GATE = "SOJOURN_GATE"
CONNECT_TIMEOUT_S = 20.0
STEP_NS = 10_000_000
MAX_WAIT_S = 60.0
REALTIME_PRIORITY = 1
"""SCHED_RR priority, below the shells': hosts of a testbed do not share their CPUs."""
HEARTBEAT_S = 0.1
LATE_S = 0.01
"""Lateness that is ignored: a program busy with its own sockets stays below it."""

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", *numbers]:
            serve([int(number) for number in numbers])
        case ["clients", file]:
            clients(Path(file))
        case ["client", file, *numbers]:
            client(Path(file), [int(number) for number in numbers])
