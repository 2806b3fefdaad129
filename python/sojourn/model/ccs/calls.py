"""Methods of a congestion control in Python that the core calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sojourn._core import Ack, Flight, Loss, Sample

State = Literal["open", "disorder", "cwr", "recovery", "loss"]
"""State of congestion avoidance, Linux's TCP_CA_*: nothing suspicious; duplicates or SACKs have arrived; reduction
after a mark; fast recovery; after a time-out."""
Congestion = Literal["loss", "ecn", "timeout", "persistent"]
"""Kind of a congestion event."""


class Calls:
    """Every call of a congestion control, with its meaning; none has a default behaviour of its own."""

    def start(self, cx: Flight) -> None:
        """Handle the established connection, whose first RTT is known, before any data is sent."""

    def ssthresh(self, cx: Flight) -> int:
        """Return the slow-start threshold after a loss or a mark, in segments (Linux `ssthresh`).

        With the need "causes" it takes a second argument, "reduction", "loss" or "timeout": it is also called when
        recovery begins with a loss, and after a time-out; None then leaves the threshold or asks for "reduction".
        """
        raise NotImplementedError

    def grow(self, cx: Flight, ack: Ack) -> None:
        """Grow `cx.cwnd` on an acknowledgment of `ack.packets` packets (Linux `cong_avoid`).

        Called only if the window was the limit, unless the class needs "grows_unlimited".
        """

    def acked(self, cx: Flight, ack: Ack) -> None:
        """Take the RTT of an acknowledgment of new data; may end slow start (Linux `pkts_acked`).

        With `report` defined it only takes part of them.
        """

    def report(self, cx: Flight, ack: Ack) -> None:
        """Take any acknowledgment, duplicates included, before recovery and the window act on it."""

    def delivered(self, cx: Flight, packets: int, ce: int) -> None:
        """Take the packets that an acknowledgment delivered, `ce` of them marked (Linux `in_ack_event`)."""

    def state(self, cx: Flight, entered: State) -> None:
        """Handle a new state of congestion avoidance (Linux `set_state`); without `ack`, `cx.state` is the old one."""

    def idle(self, cx: Flight, last_sent: int | None) -> None:
        """Handle a transmission with nothing in flight; the previous one was at `last_sent` in ns, None with `ack`."""

    def reduced(self, cx: Flight) -> None:
        """Handle the end of a reduction at the threshold (Linux `CA_EVENT_COMPLETE_CWR`)."""

    def timed_out(self, cx: Flight) -> None:
        """Handle an expired retransmission timer, or over QUIC persistent congestion (Linux `CA_EVENT_LOSS`)."""

    def undo(self, cx: Flight) -> int:
        """Return the window after a reduction that turned out to be needless (Linux `undo_cwnd`)."""
        raise NotImplementedError

    def min_cwnd(self, cx: Flight) -> int:
        """Return the lower bound of the window in recovery by rate halving (Linux before 3.2)."""
        raise NotImplementedError

    def sent(self, cx: Flight, size: int) -> None:
        """Handle an event that has sent `size` bytes, new or again; over QUIC a packet."""

    def ack(self, cx: Flight, sample: Sample) -> None:
        """Set `cx.cwnd` and `cx.pacing_rate` on an acknowledgment (Linux `cong_control`)."""

    def lost(self, cx: Flight, loss: Loss) -> None:
        """Take a segment that was marked lost."""

    def repaired(self, cx: Flight, app_limited: bool) -> None:
        """Take a loss that a tail loss probe has repaired."""

    def congestion(self, cx: Flight, event: Congestion) -> None:
        """Handle a congestion event, after `state`; after a time-out `cx.cwnd` is one more than in flight."""
