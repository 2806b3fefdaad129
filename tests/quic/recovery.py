"""Second implementation of RFC 9002: loss detection and NewReno from the text of §5 to §7, times in nanoseconds.

It follows the definitions, over the list of all packets ever sent, unlike the crate. `off` names a mechanism to
disable; the tests require that each of them changes the script. Congestion avoidance counts bytes (RFC 3465 §2.1,
which appendix B allows). A CE mark counts only in frames with a newly acknowledged largest number (RFC 9000 §13.4.2.1).
"""

from __future__ import annotations

from dataclasses import dataclass

MS = 1_000_000
INFINITE = -1


@dataclass
class Packet:
    number: int
    sent: int
    size: int
    ect: bool
    fate: str = "out"


@dataclass
class Frame:
    delay: int
    ranges: list[tuple[int, int]]
    """Highest first, both ends inclusive."""
    ecn: tuple[int, int, int] | None


class Recovery:
    MECHANISMS = (
        "packet threshold",
        "time threshold",
        "latest RTT in the time threshold",
        "ack delay",
        "least RTT bounds the ack delay",
        "max ack delay bounds the ack delay",
        "max ack delay in the PTO",
        "back-off",
        "back-off ends",
        "recovery period",
        "recovery period of growth",
        "application limit",
        "slow start",
        "persistent congestion",
        "persistent congestion needs silence",
        "persistent congestion needs a sample",
        "marks",
        "least window",
        "one packet beyond the window",
    )

    def __init__(self, mds: int, off: str = "") -> None:
        assert off in ("", *self.MECHANISMS), off
        self.mds, self.off = mds, off
        self.packets: list[Packet] = []
        self.latest, self.smoothed, self.var, self.min_rtt = 0, 333 * MS, 333 * MS // 2, 0
        self.first_sample: int | None = None
        self.largest: int | None = None
        self.loss_time: int | None = None
        self.pto_count = 0
        self.cwnd = min(10 * mds, max(14720, 2 * mds))
        self.ssthresh = INFINITE
        self.counted = 0
        self.recovery_start: int | None = None
        self.ce = 0
        self.limited = False
        self.one_more = False
        self.lost: list[int] = []

    def has(self, mechanism: str) -> bool:
        assert mechanism in self.MECHANISMS, mechanism
        return self.off != mechanism

    # Events.

    def open(self, now: int, rtt: int) -> None:
        self.sample(now, rtt, 0)

    def send(self, now: int, size: int, ect: bool) -> None:
        self.packets.append(Packet(len(self.packets), now, size, ect))
        self.one_more = False

    def stop(self, limited: bool) -> None:
        self.limited = limited

    def ack(self, now: int, frame: Frame) -> None:
        self.lost = []
        biggest = frame.ranges[0][1]
        if biggest >= len(self.packets):
            return
        self.largest = biggest if self.largest is None else max(self.largest, biggest)
        named = {number for first, last in frame.ranges for number in range(first, last + 1)}
        anew = [packet for packet in self.packets if packet.fate == "out" and packet.number in named]
        if not anew:
            return
        for packet in anew:
            packet.fate = "acked"
        if anew[-1].number == biggest:
            self.sample(now, now - anew[-1].sent, frame.delay)
            if frame.ecn and frame.ecn[2] > self.ce:
                self.ce = frame.ecn[2]
                if self.has("marks"):
                    self.congestion(now, anew[-1].sent)
        self.detect(now)
        for packet in anew:
            self.grow(packet)
        if self.has("back-off ends"):
            self.pto_count = 0

    def expire(self, now: int) -> bool:
        """Handle the expired timer; returns whether probes are due, after which `probed` follows."""
        self.lost = []
        if self.loss_time is None:
            return True
        self.detect(now)
        return False

    def probed(self) -> None:
        self.pto_count += 1

    # Observable state.

    @property
    def in_flight(self) -> int:
        return sum(packet.size for packet in self.packets if packet.fate == "out")

    @property
    def room(self) -> bool:
        return self.one_more or self.in_flight + self.mds <= self.cwnd

    @property
    def timer(self) -> int | None:
        if self.loss_time is not None:
            return self.loss_time
        if not any(packet.fate == "out" for packet in self.packets):
            return None
        max_ack_delay = 25 * MS if self.has("max ack delay in the PTO") else 0
        doubled = 2**self.pto_count if self.has("back-off") else 1
        return self.packets[-1].sent + (self.smoothed + max(4 * self.var, MS) + max_ack_delay) * doubled

    # RFC 9002 §5 to §7.

    def sample(self, now: int, latest: int, delay: int) -> None:
        self.latest = latest
        if self.first_sample is None:
            self.first_sample, self.min_rtt, self.smoothed, self.var = now, latest, latest, latest // 2
            return
        self.min_rtt = min(self.min_rtt, latest)
        if self.has("max ack delay bounds the ack delay"):
            delay = min(delay, 25 * MS)
        adjusted = latest
        if latest >= self.min_rtt + delay or not self.has("least RTT bounds the ack delay"):
            adjusted = latest - delay if self.has("ack delay") else latest
        self.var = (3 * self.var + abs(self.smoothed - adjusted)) // 4
        self.smoothed = (7 * self.smoothed + adjusted) // 8

    def detect(self, now: int) -> None:
        assert self.largest is not None
        rtt = max(self.latest, self.smoothed) if self.has("latest RTT in the time threshold") else self.smoothed
        patience = max(9 * rtt // 8, MS)
        earlier = [packet for packet in self.packets[: self.largest + 1] if packet.fate == "out"]
        old = {p.number for p in earlier if self.has("time threshold") and p.sent + patience <= now}
        overtaken = {p.number for p in earlier if self.has("packet threshold") and self.largest - p.number >= 3}
        gone = [packet for packet in earlier if packet.number in old | overtaken]
        left = [packet.sent + patience for packet in earlier if packet not in gone]
        self.loss_time = min(left) if left and self.has("time threshold") else None
        if not gone:
            return
        for packet in gone:
            packet.fate = "lost"
        self.lost = [packet.number for packet in gone]
        self.congestion(now, max(packet.sent for packet in gone))
        if self.has("persistent congestion") and self.is_silent(gone):
            self.cwnd, self.recovery_start, self.counted = self.smallest, None, 0

    def is_silent(self, gone: list[Packet]) -> bool:
        if self.first_sample is None:
            return False
        duration = 3 * (self.smoothed + max(4 * self.var, MS) + 25 * MS)
        ends = [p for p in gone if p.sent > self.first_sample or not self.has("persistent congestion needs a sample")]
        return any(
            last.sent - first.sent > duration
            and not (
                self.has("persistent congestion needs silence")
                and any(p.fate == "acked" for p in self.packets[first.number : last.number])
            )
            for first in ends
            for last in ends
        )

    def congestion(self, now: int, sent: int) -> None:
        if self.has("recovery period") and self.within(sent):
            return
        self.recovery_start = now
        self.ssthresh, self.counted = self.cwnd // 2, 0
        self.cwnd = max(self.ssthresh, self.smallest)
        self.one_more = self.has("one packet beyond the window")

    @property
    def smallest(self) -> int:
        return 2 * self.mds if self.has("least window") else self.mds

    def within(self, sent: int) -> bool:
        return self.recovery_start is not None and sent <= self.recovery_start

    def grow(self, packet: Packet) -> None:
        if self.limited and self.has("application limit"):
            return
        if self.within(packet.sent) and self.has("recovery period of growth"):
            return
        if (self.ssthresh == INFINITE or self.cwnd < self.ssthresh) and self.has("slow start"):
            self.cwnd += packet.size
            return
        self.counted += packet.size
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += self.mds
