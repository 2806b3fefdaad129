"""Writes the test script of QUIC's loss recovery: events, each with the state of a second implementation after it.

`python tests/quic/generate.py` writes crates/tcp/tests/quic/recovery.txt; tests compare it with this script's output,
and the crate with it. A line is an event, its words, `=`, and then the packets just detected as lost (`-`: none),
latest_rtt, smoothed_rtt, rttvar, min_rtt, cwnd, ssthresh (-1 for none), bytes_in_flight, pto_count, and the timer
(`-` if not set). Times are in ns.

| event | words |
|---|---|
| `new` | max_datagram_size: new connection |
| `open` | now, the RTT of the handshake |
| `send` | now, bytes, 1 if ECN-capable |
| `stop` | 1 if the sender is application-limited, 0 if cwnd-limited |
| `ack` | now, ack delay, ECT(0),ECT(1),CE or `-`, ranges, highest first |
| `time` | now: the timer expires, for loss detection |
| `pto` | now: the timer expires, for probes, which follow |
| `probed` | the probes were sent |
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from recovery import MS, Frame, Recovery  # noqa: E402

SCRIPT = HERE.parents[1] / "crates" / "tcp" / "tests" / "quic" / "recovery.txt"


class Connection:
    """A sender over a path that delays, loses, reorders and marks."""

    def __init__(self, lines: list[str], seed: int, mds: int, off: str) -> None:
        self.lines, self.random = lines, random.Random(seed)
        self.recovery = Recovery(mds, off)
        self.now, self.base, self.noise = 7_000_013, 41_234_567, 3 * MS
        self.loss, self.mark, self.ack_delay, self.ect = 0.0, 0.0, 8 * MS, False
        self.arrivals: list[tuple[int, int, bool]] = []
        """Arrival time, packet number and CE mark of packets in flight."""
        self.received: list[int] = []
        self.counts = [0, 0, 0]
        self.unacked = 0
        self.write("new", mds)

    def write(self, *words: object) -> None:
        r = self.recovery
        lost = ",".join(map(str, r.lost)) or "-"
        timer = "-" if r.timer is None else r.timer
        state = (lost, r.latest, r.smoothed, r.var, r.min_rtt, r.cwnd, r.ssthresh, r.in_flight, r.pto_count, timer)
        self.lines.append(f"{' '.join(map(str, words))} = {' '.join(map(str, state))}")
        r.lost = []

    def open(self, rtt: int) -> None:
        self.now += rtt
        self.recovery.open(self.now, rtt)
        self.write("open", self.now, rtt)

    def send(self, size: int | None = None, lost: bool | None = None) -> None:
        size = size or self.recovery.mds
        number = len(self.recovery.packets)
        self.recovery.send(self.now, size, self.ect)
        self.write("send", self.now, size, int(self.ect))
        lost = self.random.random() < self.loss if lost is None else lost
        if not lost:
            delay = self.base + int(self.random.random() ** 3 * self.noise)
            self.arrivals.append((self.now + delay, number, self.random.random() < self.mark))

    def fill(self, limit: int = 1000) -> None:
        """Send within cwnd, at most `limit` packets."""
        sent = 0
        while self.recovery.room and sent < limit:
            self.send()
            self.now += 120_007
            sent += 1
        self.stop(sent == limit)

    def stop(self, limited: bool) -> None:
        self.recovery.stop(limited)
        self.write("stop", int(limited))

    def frame(self, delay: int, limit: int = 32) -> Frame:
        ranges: list[tuple[int, int]] = []
        for number in sorted(self.received, reverse=True):
            if ranges and ranges[-1][0] == number + 1:
                ranges[-1] = (number, ranges[-1][1])
            else:
                ranges.append((number, number))
        ecn = (self.counts[0], self.counts[1], self.counts[2]) if self.ect else None
        return Frame(delay, ranges[:limit], ecn)

    def acknowledge(self, delay: int, back: int = 0) -> None:
        frame = self.frame(delay)
        self.now += back
        self.recovery.ack(self.now, frame)
        ecn = ",".join(map(str, frame.ecn)) if frame.ecn else "-"
        ranges = ",".join(f"{first}-{last}" for first, last in frame.ranges)
        self.write("ack", self.now, delay, ecn, ranges)

    def run(self, packets: int, app: int = 1000) -> None:
        """Send and process ACKs until `packets` more are sent and all arrivals are processed."""
        until = len(self.recovery.packets) + packets
        while True:
            if len(self.recovery.packets) < until:
                self.fill(app)
            timer = self.recovery.timer
            first = min(self.arrivals, default=None)
            if first is None and timer is None:
                if len(self.recovery.packets) >= until:
                    return
                continue
            if timer is not None and (first is None or timer < first[0]):
                self.now = max(self.now, timer)
                if len(self.recovery.packets) >= until and self.recovery.loss_time is None and first is None:
                    # Tail loss: recovered by probes.
                    self.expire(lost=False)
                else:
                    self.expire()
                continue
            assert first is not None
            self.arrive(first)

    def arrive(self, first: tuple[int, int, bool]) -> None:
        at, number, mark = first
        self.arrivals.remove(first)
        self.now = max(self.now, at)
        in_order = not self.received or number == max(self.received) + 1
        self.received.append(number)
        self.counts[2 if mark else 0] += 1
        self.unacked += 1
        if self.unacked >= 2 or not in_order or mark:
            self.acknowledge(0)
        elif self.random.random() < 0.5:
            delay = int(self.random.random() * self.ack_delay) // 8000 * 8000
            self.acknowledge(delay, delay)
        else:
            return
        self.unacked = 0

    def expire(self, lost: bool | None = None) -> None:
        if self.recovery.expire(self.now):
            self.write("pto", self.now)
            self.send(lost=lost)
            self.send(217, lost=lost)
            self.recovery.probed()
            self.write("probed")
        else:
            self.write("time", self.now)


def script(off: str = "") -> list[str]:
    lines: list[str] = []
    path = Connection(lines, 4217, 1448, off)
    path.open(43_210_987)
    path.run(60)
    path.loss = 0.02
    path.run(120)
    # Reordering by more than a packet's time, and long ACK delays.
    path.noise, path.loss, path.ack_delay = 11 * MS, 0.005, 39 * MS
    path.run(90)
    # An application-limited sender with tail losses.
    path.loss, path.noise = 0.3, MS
    path.run(40, app=3)
    path.loss = 0.05
    path.run(40, app=2)
    marked = Connection(lines, 99, 1211, off)
    marked.ect, marked.mark, marked.loss = True, 0.03, 0.004
    marked.open(12_345_678)
    marked.base, marked.noise = 11_111_111, 900_000
    marked.run(150)
    # Blackout: everything is lost for long, then probes arrive. The first packets precede every other sample.
    dead = Connection(lines, 5, 1472, off)
    dead.open(30 * MS + 1)
    dead.send(lost=True)
    dead.now += 1
    dead.fill(4)
    dead.run(8)
    for _ in range(2):
        dead.now += 40 * MS
        dead.loss = 1.0
        dead.fill(5)
        for _ in range(3):
            assert dead.recovery.timer is not None
            dead.now = max(dead.now, dead.recovery.timer)
            dead.expire()
        dead.loss = 0.0
        dead.run(12)
    # Equally long, but one packet in the middle arrived and its ACK was lost.
    dead.send(lost=True)
    dead.now += 120 * MS
    dead.send()
    dead.now += 500 * MS
    dead.send(lost=True)
    dead.now += 3 * MS
    for _ in range(4):
        dead.send()
        dead.now += 5 * MS
    kept = sorted(dead.arrivals)
    dead.received += [number for _, number, _ in kept[:-1]]
    dead.arrivals = kept[-1:]
    dead.run(4)
    # The lost packets span the persistent-congestion period only together with the packet sent at the first RTT sample.
    early = Connection(lines, 6, 1300, off)
    early.open(50 * MS)
    early.send(lost=True)
    early.loss = 1.0
    for late in (0, 10 * MS):
        assert early.recovery.timer is not None
        early.now = max(early.now, early.recovery.timer) + late
        early.expire()
    early.loss = 0.0
    early.run(20)
    # Two losses in one window, so that cwnd gets small.
    small = Connection(lines, 8, 1448, off)
    small.open(20 * MS + 77)
    for loss in (0.4, 0.0, 0.5, 0.0, 0.35):
        small.loss = loss
        small.run(14)
    # An RTT of microseconds: the timer granularity matters.
    near = Connection(lines, 11, 1400, off)
    near.base, near.noise, near.loss, near.ack_delay = 90_000, 60_000, 0.03, 24_000
    near.open(95_123)
    near.run(60)
    return lines


def main() -> None:
    SCRIPT.write_text("\n".join(script()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
