"""A queue with an explicit clock, to push and pop by hand."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sojourn import _core
from sojourn.model.aqms.aqm import Aqm


class PoppedPacket(NamedTuple):
    """A dequeued packet."""

    tag: Any
    sojourn_ns: int
    marked: bool

    @property
    def sojourn_ms(self) -> float:
        """Sojourn time in ms."""
        return self.sojourn_ns / 1e6


class Queue:
    """The simulator's queue, driven step by step; times are integer nanoseconds and must not decrease.

    >>> import sojourn as sj
    >>> q = sj.Queue(sj.Codel(target="5 ms"))
    >>> q.push(0, size=1500, tag="first")
    'queued'
    >>> q.pop(2_000_000).sojourn_ms
    2.0
    """

    def __init__(
        self,
        aqm: Aqm | type[Aqm] | str,
        *,
        limit: str = "1000 packets",
        rate: str = "10 Mbit/s",
        mtu: int = 1500,
        seed: int = 1,
    ) -> None:
        """Create a queue managed by `aqm` on a link of `rate`."""
        self.aqm = str(aqm() if isinstance(aqm, type) else aqm)
        self._core = _core.Queue(self.aqm, limit, rate, mtu, seed)

    def push(
        self,
        now_ns: int,
        size: int = 1500,
        *,
        flow: int = 0,
        ecn: int = 0,
        tag: Any = None,
        dscp: int = 0,
        hosts: tuple[int, int] = (0, 0),
        class_: str = "",
    ) -> str:
        """Enqueue a packet of `size` bytes; returns "queued", "marked" or "dropped:REASON".

        Fields for classifiers: `dscp`, 0 to 63; `hosts`, the numbers of the sending and receiving host; and `class_`,
        the class of `htb` or `prio` as tc writes it ("1:10", "10" for short), or a priority ("0:6"). Any other text
        raises `InputError`.

        >>> import sojourn as sj
        >>> q = sj.Queue("prio")
        >>> q.push(0, tag="bulk"), q.push(0, tag="urgent", class_="1:1")
        ('queued', 'queued')
        >>> q.pop(0).tag
        'urgent'
        """
        return self._core.push(now_ns, size, flow, ecn, tag, dscp, hosts, class_)

    def pop(self, now_ns: int) -> PoppedPacket | None:
        """Dequeue a packet; None if none is eligible. The manager may drop packets first."""
        popped = self._core.pop(now_ns)
        return None if popped is None else PoppedPacket(*popped)

    def not_before(self) -> int | None:
        """Earliest departure time in ns of a shaped queue, if the last pop came too early."""
        return self._core.not_before()

    def statistics(self) -> dict[str, Any] | None:
        """Statistics under the names of `tc -s -j qdisc`; None for a qdisc that tc does not have."""
        text = self._core.statistics()
        return None if text is None else json.loads(text)

    def dropped(self) -> list[tuple[Any, str]]:
        """Tags and reasons of the packets dropped since the last call."""
        return self._core.dropped()

    def backlog(self) -> tuple[int, int]:
        """Packets and bytes in the queue."""
        return self._core.backlog()

    def state(self) -> dict[str, float]:
        """State variables of the manager by name."""
        return self._core.state()

    def __len__(self) -> int:
        return self.backlog()[0]

    def __repr__(self) -> str:
        return f"<Queue {self.aqm}: {len(self)} packets>"
