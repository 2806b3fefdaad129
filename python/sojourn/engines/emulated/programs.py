"""Server and clients of an emulated scenario: a program of its own that needs nothing but Python.

`programs.py serve PORT...` sends to whoever asks, `programs.py clients SPEC` asks as the scenario's flows do. A request
is one line, filled up to its size: `GET BYTES THINK CC DSCP`, of which no bytes is a download without end;
`PUT CC DSCP`, after which the client sends; `ASK SIZE BYTES THINK CC DSCP`, after which further requests of that size
get as much. THINK is the time to the answer in seconds.
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
from itertools import count
from pathlib import Path
from typing import Any

BLOCK = bytes(1 << 18)
ENDLESS = 0


class Loop:
    """Sockets and timers of one process."""

    def __init__(self) -> None:
        """Begin with neither."""
        self.selector = selectors.DefaultSelector()
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()
        self.late_s = 0.0
        """By how much its beats came too late, in all: time in which the program could do nothing."""

    def at(self, when: float, do: Callable[[], None]) -> None:
        """Do something at a time of the monotonic clock."""
        heapq.heappush(self.timers, (when, next(self.order), do))

    def watch(self, peer: socket.socket, events: int, do: Callable[[], None]) -> None:
        """Do something whenever a socket is ready."""
        try:
            self.selector.modify(peer, events, do)
        except KeyError:
            self.selector.register(peer, events, do)

    def close(self, peer: socket.socket) -> None:
        """Close a socket that is watched."""
        with suppress(KeyError):
            self.selector.unregister(peer)
        peer.close()

    def beat(self, due: float) -> None:
        """Note how late this is, and be called again: a program that waits for a CPU is late."""
        now = time.monotonic()
        late = now - due
        self.late_s += late if late > LATE_S else 0.0
        self.at(max(due + BEAT_S, now), partial(self.beat, max(due + BEAT_S, now)))

    def run(self, until: float) -> None:
        """Go on until a time of the monotonic clock."""
        while (now := time.monotonic()) < until:
            due = min(until, self.timers[0][0] if self.timers else until)
            for key, _ in self.selector.select(min(max(0.0, due - now), LONGEST_WAIT_S)):
                key.data()
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()


def serve(ports: list[int]) -> None:
    """Answer requests for ever."""
    tune()
    loop = Loop()
    for port in ports:
        listen(loop, port)
    if gate := at_gate():
        gate.send(b"r")
    loop.run(float("inf"))


def listen(loop: Loop, port: int) -> None:
    """Take connections to a port."""
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    listener.setblocking(False)

    def accept() -> None:
        with suppress(BlockingIOError):
            while True:
                peer, _ = listener.accept()
                peer.setblocking(False)
                Served(loop, peer)

    loop.watch(listener, selectors.EVENT_READ, accept)


class Served:
    """A connection as the server sees it."""

    def __init__(self, loop: Loop, peer: socket.socket) -> None:
        """Wait for its request."""
        self.loop, self.peer, self.line = loop, peer, b""
        self.asked = False
        self.left: int | None = None
        self.answer = Answer()
        loop.watch(peer, selectors.EVENT_READ, self.read)

    def read(self) -> None:
        """Take the request, or throw away what is sent."""
        try:
            part = self.peer.recv(len(BLOCK))
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self.loop.close(self.peer)
            return
        if self.asked:
            self.more(len(part))
            return
        self.line += part
        head, end, _ = self.line.partition(b"\n")
        if not end:
            return
        self.asked = True
        words = head.decode(errors="replace").split()
        dye(self.peer, int(words[-1]))
        choose(self.peer, words[-2])
        match words[:-2]:
            case ["GET", size, think]:
                self.loop.at(time.monotonic() + float(think), partial(self.send, int(size)))
            case ["ASK", request, size, think]:
                self.answer = Answer(int(request), int(size), float(think))
                # The line may be longer than a request is to be.
                self.more(len(self.line) - max(0, len(head) + 1 - self.answer.request))

    def more(self, part: int) -> None:
        """Answer each request once it is whole; what else is sent is thrown away."""
        if self.answer.request:
            self.answer.got += part
            while self.answer.got >= self.answer.request:
                self.answer.got -= self.answer.request
                self.loop.at(time.monotonic() + self.answer.think, partial(self.send, self.answer.size))

    def send(self, size: int) -> None:
        """Begin to send so many bytes."""
        self.left = size + (self.left or 0)
        events = selectors.EVENT_WRITE | (selectors.EVENT_READ if self.answer.request else 0)
        with suppress(ValueError, OSError):  # the connection may be closed meanwhile
            self.loop.watch(self.peer, events, self.work)

    def work(self) -> None:
        """Read and write as far as the connection lets us."""
        self.write()
        if self.peer.fileno() >= 0 and self.answer.request:
            self.read()

    def write(self) -> None:
        """Send what the connection takes."""
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
                # The client closes when it has everything.
                self.loop.watch(self.peer, selectors.EVENT_READ, self.read)


@dataclass
class Answer:
    """What each request of a connection gets; none without a size of requests."""

    request: int = 0
    size: int = 0
    think: float = 0.0
    got: int = 0
    """Bytes of a request that is not whole yet."""


class Transfer:
    """A connection as a client sees it."""

    def __init__(self, group: Group, size: int, upward: bool = False) -> None:
        """Connect, and ask."""
        self.group, self.size, self.upward, self.got = group, size, upward, 0
        self.start_ns = time.time_ns()
        self.request = f"{self.line()} {group.cc} {group.dscp}\n".encode().ljust(group.request, b".")
        family = socket.AF_INET6 if ":" in group.client.host else socket.AF_INET
        self.peer = socket.socket(family, socket.SOCK_STREAM)
        self.peer.setblocking(False)
        if group.client.source:
            self.peer.bind((group.client.source, 0))
        choose(self.peer, group.cc)
        dye(self.peer, group.dscp)
        self.delivered: dict[int, int] = {}
        group.opened += 1
        with suppress(BlockingIOError):
            self.peer.connect((group.client.host, group.port))
        self.number = len(group.ends)
        group.ends.append((self.peer.getsockname()[:2], (group.client.host, group.port)))
        group.client.loop.watch(self.peer, selectors.EVENT_WRITE, self.ask)

    def line(self) -> str:
        """What the request begins with."""
        return "PUT" if self.upward else f"GET {self.size} {self.group.think}"

    def ask(self) -> None:
        """Send the request once the connection is there; then read, or go on sending."""
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
        """Take what has come."""
        try:
            part = self.peer.recv_into(self.group.client.room)
        except BlockingIOError:
            return
        except OSError as error:
            self.fail(error)
            return
        self.count(part)
        if not part or self.got == self.size != ENDLESS:
            self.end()

    def count(self, part: int) -> None:
        """Count bytes by the hundredth of a second: which of them count, the shell's clock decides."""
        self.got += part
        now = time.time_ns() // STEP_NS
        for delivered in (self.delivered, self.group.delivered):
            delivered[now] = delivered.get(now, 0) + part

    def end(self) -> None:
        """Everything is there."""
        self.group.closed += 1
        if self.got == self.size:
            self.group.transfers.append((self.start_ns, time.time_ns() - self.start_ns, self.got))
        self.group.client.loop.close(self.peer)

    def fail(self, error: OSError) -> None:
        """Note the first error; others are of the same kind."""
        self.group.error = self.group.error or str(error)
        self.group.client.loop.close(self.peer)


class Dialogue(Transfer):
    """A connection over which a client asks again and again."""

    def line(self) -> str:
        """What the first request begins with; it says how large all are."""
        return f"ASK {self.group.request} {self.size} {self.group.think}"

    def end(self) -> None:
        """An answer is there: wait, and ask again."""
        if self.got < self.size:
            super().end()
            return
        self.group.transfers.append((self.start_ns, time.time_ns() - self.start_ns, self.got))
        self.got = 0
        loop = self.group.client.loop
        if (at := time.monotonic() + self.group.gap) < self.group.stop:
            loop.at(at, self.again)
        else:
            self.group.closed += 1
            loop.close(self.peer)

    def again(self) -> None:
        """Ask again."""
        self.start_ns, self.request = time.time_ns(), b"." * self.group.request
        self.group.client.loop.watch(self.peer, selectors.EVENT_WRITE, self.ask)


class Group:
    """Flows of one kind."""

    def __init__(self, client: Client, number: int, spec: dict[str, Any]) -> None:
        """Take the keys of the scenario, times in seconds."""
        self.client, self.number, self.spec = client, number, spec
        self.cc: str = spec["cc"]
        self.request: int = spec.get("request", 0)
        self.port: int = spec["port"]
        self.dscp: int = spec.get("dscp", 0)
        self.think: float = spec.get("think", 0.0)
        self.gap: float = spec.get("gap", 0.0)
        self.stop: float = client.zero + spec.get("stop", float("inf"))
        self.opened = self.closed = 0
        self.delivered: dict[int, int] = {}
        self.ends: list[tuple[tuple[str, int], tuple[str, int]]] = []
        """Address and port of the client and of the server, of every connection."""
        self.transfers: list[tuple[int, int, int]] = []
        self.error: str | None = None
        self.lasting: list[Transfer] = []

    @property
    def flows(self) -> list[tuple[int, dict[int, int]]]:
        """Of each flow that lasts its place in `ends`, and its bytes by time."""
        return [(one.number, one.delivered) for one in self.lasting]

    def begin(self, zero: float, chance: random.Random) -> None:
        """Set the timers of the first connections."""
        for _ in range(self.spec["count"]):
            start = zero + self.spec["start"] + chance.random() * self.spec["spread"]
            self.client.loop.at(start, partial(self.next, start, chance))

    def next(self, at: float, chance: random.Random) -> None:
        """Open a connection; of pages, also the timer of the one after it."""
        upward = self.spec["direction"] == "reverse"
        if self.spec["kind"] == "tcp":
            download = Transfer(self, ENDLESS, upward)
            self.lasting.append(download)
            if "stop" in self.spec:
                self.client.loop.at(self.stop, download.end)
            return
        if self.spec["kind"] == "request":
            Dialogue(self, self.spec["size"])
            return
        Transfer(self, self.spec["size"], upward)
        gap = self.spec["interval"] * (chance.expovariate(1) if self.spec["random"] else 1)
        if at + gap < self.stop:
            self.client.loop.at(at + gap, partial(self.next, at + gap, chance))


class Client:
    """All groups at one distance."""

    def __init__(self, spec: dict[str, Any]) -> None:
        """Prepare them."""
        self.loop, self.room = Loop(), bytearray(1 << 18)
        self.host = os.environ["SOJOURN_HOST"]
        self.source = os.environ["SOJOURN_INSIDE"] if GATE in os.environ else ""
        """Where its packets come from, if that decides which way they go."""
        self.spec = spec
        self.zero = 0.0
        self.groups: list[Group] = []

    def run(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Run the groups of these numbers; what they report."""
        if gate := at_gate():
            gate.send(b"r")
            self.zero = int.from_bytes(gate.recv(8), sys.byteorder) / 1e9
        else:
            self.wait_for_server()
            self.zero = time.monotonic()
        for number in numbers:
            group = Group(self, number, self.spec["groups"][number])
            group.begin(self.zero, random.Random(f"{self.spec['seed']} {number}"))
            self.groups.append(group)
        self.loop.at(self.zero, partial(self.loop.beat, self.zero))
        self.loop.run(self.zero + self.spec["duration"])
        fields = ("number", "delivered", "ends", "flows", "opened", "closed", "transfers", "error")
        return [{field: getattr(group, field) for field in fields} | self.told() for group in self.groups]

    def told(self) -> dict[str, float]:
        """What a report says of the whole process."""
        return {"late_s": self.loop.late_s}

    def wait_for_server(self) -> None:
        """Connect once, so that the run begins when the server is there."""
        end = time.monotonic() + PATIENCE_S
        # It listens at the last port last.
        port = max(group["port"] for group in self.spec["groups"])
        while True:
            try:
                socket.create_connection((self.host, port), timeout=PATIENCE_S).close()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


def clients(path: Path) -> None:
    """Run all groups: those with a delay of their own in a shell inside this one."""
    spec = json.loads(path.read_text(encoding="utf-8"))
    by_delay: dict[str, list[int]] = {}
    for number, group in enumerate(spec["groups"]):
        by_delay.setdefault(group["delay"], []).append(number)
    others = []
    for delay, numbers in by_delay.items():
        if delay != "0 s":
            inner = [sys.executable, __file__, "client", str(path), *map(str, numbers)]
            words = [*spec["sojourn"], "delay", delay, *spec["delays"], "--quiet", "--", *inner]
            others.append(subprocess.Popen(words))
    if here := by_delay.get("0 s"):
        client(path, here)
    codes = [other.wait() for other in others]
    sys.exit(max(codes, default=0))


def client(path: Path, numbers: list[int]) -> None:
    """Run some groups and write what they report beside the file that describes them."""
    tune()
    spec = json.loads(path.read_text(encoding="utf-8"))
    reports = Client(spec).run(numbers)
    for report in reports:
        path.with_name(f"group-{report['number']}.json").write_text(json.dumps(report), encoding="utf-8")


def at_gate() -> socket.socket | None:
    """Return where to say that one is ready and to hear when the run begins, if programs of other nodes are awaited."""
    return socket.socket(fileno=int(os.environ[GATE])) if GATE in os.environ else None


def tune() -> None:
    """Come before other programs of the machine; allow many connections; ECN is for those who ask for it."""
    with suppress(OSError):  # only root may
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(BEFORE_OTHERS))
    import resource  # of Linux, where alone this runs; the package is loaded elsewhere too

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # A server answers with the code point of the first segment, before it has read the request (Linux 5.10).
    for name, value in (("tcp_ecn", os.environ.get("SOJOURN_ECN", "0")), ("tcp_reflect_tos", "1")):
        with suppress(OSError):
            Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")


def choose(peer: socket.socket, cc: str) -> None:
    """Choose the congestion control of a connection."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())


def dye(peer: socket.socket, dscp: int) -> None:
    """Choose the code point of a connection's packets."""
    for level, option in ((socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)):
        with suppress(OSError):
            peer.setsockopt(level, option, dscp << 2)


GATE = "SOJOURN_GATE"
PATIENCE_S = 20.0
STEP_NS = 10_000_000
LONGEST_WAIT_S = 60.0
BEFORE_OTHERS = 1
"""Priority in real time, below the shells': hosts of a testbed have their CPUs for themselves."""
BEAT_S = 0.1
LATE_S = 0.01
"""What a beat may be late: a program that is busy with its own sockets is no later than that."""

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", *numbers]:
            serve([int(number) for number in numbers])
        case ["clients", file]:
            clients(Path(file))
        case ["client", file, *numbers]:
            client(Path(file), [int(number) for number in numbers])
