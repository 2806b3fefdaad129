"""Second implementation of draft-ietf-rmcat-gcc-02: receiver-side delay estimate and sender-side loss control."""

from __future__ import annotations

import math
from typing import Any


class Draft02:
    """Both ends; times in ms. The threshold applies to m times the number of groups, at most `most_deltas`."""

    def __init__(self, *, most_deltas: int = 1) -> None:
        self.most_deltas = most_deltas

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        self.min_rate, self.max_rate, self.by_losses = min_rate, max_rate, start
        self.estimate: float | None = None
        self.reported: float | None = None
        self.all: list[Any] = []
        self.groups: list[list[Any]] = []
        self.compared = 0.0
        self.m, self.e, self.variance, self.threshold = 0.0, 0.1, 1.0, 12.5
        self.sent_gaps: list[float] = []
        self.signalled_at: float | None = None
        self.over_since: float | None = None
        self.peak: float | None = None
        self.spread, self.state = 0.4, "increase"

    def report(self, now: int, created: int, packets: list[Any]) -> None:
        """Process a report: first the receiver's arrivals, then the sender's loss control."""
        for p in sorted((p for p in packets if p.arrived is not None), key=lambda p: p.arrived):
            self.arrive(p)
        self.reported = self.estimate if self.estimate is not None else self.reported
        share = sum(p.arrived is None for p in packets) / len(packets)
        if share < 0.02:
            self.by_losses *= 1.05
        elif share > 0.1:
            self.by_losses *= 1 - share / 2
        self.by_losses = min(max(self.by_losses, self.min_rate), self.max_rate)

    def rates(self, waiting: int) -> tuple[float, float]:
        """Return the rates of encoder and pacer."""
        target = max(self.min_rate, min(self.by_losses, self.reported if self.reported is not None else math.inf))
        return target, 2.5 * target

    def arrive(self, p: Any) -> None:
        """Add the packet to its group; when a new group starts, compare the previous two."""
        self.all.append(p)
        if not self.groups:
            self.groups.append([p])
            return
        group = self.groups[-1]
        if p.sent < group[0].sent:
            return
        last_sent = max(q.sent for q in group)
        later, arrived_later = p.sent - last_sent, p.arrived - group[-1].arrived
        burst = later == 0 or (arrived_later < later and arrived_later <= 5e6 and p.arrived - group[0].arrived < 100e6)
        if burst or p.sent - group[0].sent <= 5e6:
            group.append(p)
            return
        self.groups.append([p])
        if len(self.groups) < 3:
            return
        one, two = self.groups[-3], self.groups[-2]
        sent = (max(q.sent for q in two) - max(q.sent for q in one)) / 1e6
        self.filter(sent, (two[-1].arrived - one[-1].arrived) / 1e6)
        self.control(p.arrived / 1e6, self.signal(p.arrived / 1e6))

    def filter(self, sent: float, arrived: float) -> None:
        """Update the estimate m of the delay variation."""
        self.sent_gaps.append(sent)
        residual = arrived - sent - self.m
        f_max = 1 / min(self.sent_gaps[-5:])
        alpha = (1 - 0.01) ** (30 / (1000 * f_max))
        outlier = min(residual, 3 * math.sqrt(self.variance))
        self.variance = max(alpha * self.variance + (1 - alpha) * outlier**2, 1)
        k = (self.e + 1e-3) / (self.variance + (self.e + 1e-3))
        self.m += residual * k
        self.e = (1 - k) * (self.e + 1e-3)
        self.before = self.compared
        self.compared = self.m * min(len(self.sent_gaps), self.most_deltas)

    def signal(self, now: float) -> str:
        """Compare m with the adaptive threshold."""
        found = "normal"
        if self.compared > self.threshold:
            self.over_since = now if self.over_since is None else self.over_since
            if now - self.over_since >= 10 and self.compared >= self.before:
                found = "over"
        else:
            self.over_since = None
            found = "under" if self.compared < -self.threshold else "normal"
        passed = 0 if self.signalled_at is None else min(now - self.signalled_at, 100)
        self.last_signal, self.signalled_at = self.signalled_at, now
        if abs(self.compared) - self.threshold <= 15:
            gain = 0.00018 if abs(self.compared) < self.threshold else 0.01
            self.threshold += passed * gain * (abs(self.compared) - self.threshold)
            self.threshold = min(max(self.threshold, 6), 600)
        return found

    def control(self, now: float, signal: str) -> None:
        """Update the rate estimate."""
        first = self.all[0].arrived / 1e6
        span = min(now - first, 1000)
        if span < 500:
            return
        bits = 8 * sum(p.bytes for p in self.all if now - p.arrived / 1e6 < 1000)
        received = bits / span * 1e3
        old = received if self.estimate is None else self.estimate
        since = 0.0 if self.estimate is None else (now - self.controlled_at) / 1e3
        self.controlled_at = now
        table = {
            "over": {"hold": "decrease", "increase": "decrease", "decrease": "decrease"},
            "normal": {"hold": "increase", "increase": "increase", "decrease": "hold"},
            "under": {"hold": "hold", "increase": "hold", "decrease": "hold"},
        }
        self.state = table[signal][self.state]
        width = 0.0 if self.peak is None else 3 * math.sqrt(self.spread * self.peak)
        if self.state == "hold":
            self.estimate = old
        elif self.state == "increase":
            if self.peak is not None and received / 1e3 > self.peak + width:
                self.peak = None
            if self.peak is None:
                new = old * 1.08 ** min(since, 1.0)
            else:
                bits_per_frame = old / 30
                packet = bits_per_frame / math.ceil(bits_per_frame / 9600)
                new = old + max(1000 * since, 0.5 * min(since / 0.3, 1.0) * packet)
            self.estimate = min(new, 1.5 * received)
        else:
            if self.peak is not None and received / 1e3 < self.peak - width:
                self.peak = None
            sample = received / 1e3
            self.peak = sample if self.peak is None else 0.95 * self.peak + 0.05 * sample
            error = (self.peak - sample) ** 2 / max(self.peak, 1)
            self.spread = min(max(0.95 * self.spread + 0.05 * error, 0.4), 2.5)
            self.estimate = min(old, 0.85 * received)
