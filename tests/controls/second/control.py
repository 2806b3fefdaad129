"""Base of the second implementations of the congestion controls.

Integers are those of the kernel, e.g. u32 if the kernel has u32. `off` names a mechanism to disable, `ignored` a
parameter that stays at its default; the tests require that each of them changes the script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

Params = Mapping[str, float]

U32 = 0xFFFFFFFF
HZ = 1000
MSS = 1448
INFINITE = 0x7FFFFFFF


def jiffies(us: int) -> int:
    """`usecs_to_jiffies`: rounded up."""
    return -(-us * HZ // 1_000_000)


class Control:
    """The congestion window with Reno's behaviour; times in microseconds."""

    MECHANISMS: tuple[str, ...] = ()
    PARAMS: ClassVar[Params] = {}

    def __init__(self, cwnd: int, ssthresh: int, off: str = "") -> None:
        assert off in ("", *self.MECHANISMS), off
        self.cwnd, self.ssthresh, self.cnt, self.off = cwnd, ssthresh, 0, off
        self.ignored = ""
        self.params = dict(self.PARAMS)

    def configure(self, params: Params) -> None:
        """Set parameters of a new connection."""
        assert set(params) <= set(self.PARAMS), params
        self.params.update({name: value for name, value in params.items() if name != self.ignored})

    def has(self, mechanism: str) -> bool:
        assert mechanism in self.MECHANISMS, mechanism
        return self.off != mechanism

    @property
    def slow(self) -> bool:
        return self.cwnd < self.ssthresh

    def slow_start(self, acked: int) -> int:
        """`tcp_slow_start`: grow up to ssthresh and return the rest of `acked`."""
        before = self.cwnd
        self.cwnd = min(before + acked, self.ssthresh)
        return acked - (self.cwnd - before)

    def additive(self, w: int, acked: int) -> None:
        """`tcp_cong_avoid_ai`."""
        if self.cnt >= w:
            self.cnt = 0
            self.cwnd += 1
        self.cnt += acked
        self.cwnd, self.cnt = self.cwnd + self.cnt // w, self.cnt % w

    def reno(self, acked: int) -> None:
        if self.slow:
            acked = self.slow_start(acked)
        if acked:
            self.additive(self.cwnd, acked)

    def start(self, now: int) -> None:
        """Transmission starts with nothing in flight (`CA_EVENT_TX_START`)."""

    def on_ack(self, now: int, ack: Ack) -> None:
        """Called for every ACK, before `grow`."""

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if limited:
            self.reno(ack.packets)

    def threshold(self, now: int) -> int:
        """ssthresh after a congestion event."""
        return max(self.cwnd // 2, 2)

    def timeout_threshold(self, now: int) -> int:
        return self.threshold(now)

    def state(self, now: int, state: str, nxt: int) -> None:
        """The state machine enters `state`."""

    def completed(self) -> None:
        """Called at the end of a reduction."""

    def undo(self) -> None:
        """Called when a reduction is undone."""


class Ack:
    """One ACK: packets acknowledged, RTT, one-way delay, sequence numbers and state."""

    def __init__(self, packets: int, rtt: int | None, una: int, nxt: int, state: str, slow: bool, one_way: int) -> None:
        self.packets, self.rtt, self.una, self.nxt = packets, rtt, una, nxt
        self.state, self.slow, self.one_way = state, slow, one_way
