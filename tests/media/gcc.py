"""Second implementation of Google congestion control: libwebrtc of June 2025 without probes."""

from __future__ import annotations

import math
from typing import Any


def whole_ms(ns: int) -> int:
    """Round to whole milliseconds as libwebrtc does."""
    return (ns + 500_000) // 1_000_000


class Gcc:
    """All state in one object; times in ns, those of the detector in ms."""

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        self.min_rate, self.max_rate = max(min_rate, 5e3), max_rate
        self.detector_reset()
        self.last_report = None
        # Throughput, kbit/s.
        self.estimate_kbps = self.variance = -1.0
        self.sum = self.window = 0
        self.newest = -1
        # Delay-based rate.
        self.rate = self.throughput = max(start, self.min_rate)
        self.capacity: float | None = None
        self.deviation = 0.4
        self.state = "hold"
        self.changed = -math.inf
        self.rtt = 200e6
        # Target rate.
        self.target = min(max(self.rate, self.min_rate), max_rate)
        self.by_delay = math.inf
        self.history: list[tuple[int, float]] = []
        self.lost = self.packets_reported = self.lost_since = self.packets_reported_since = 0
        self.share, self.shared, self.first_reported = 0, -math.inf, math.inf
        self.decreased, self.has_decreased = -math.inf, False
        self.path_rtt, self.rtt_at, self.sent_at = 0, 0, 0
        self.loss_due, self.update_due = 1_000_000_000, 25_000_000

    def detector_reset(self) -> None:
        """Reset the overuse detector."""
        self.groups: list[list[tuple[int, int]]] = []
        self.deltas = 0
        self.first_ms = -1
        self.delay = self.smoothed = self.slope = 0.0
        self.points: list[tuple[float, float]] = []
        self.threshold, self.threshold_at = 12.5, -1
        self.over_for, self.overs = -1.0, 0
        self.usage = "normal"

    def tick(self, now: int) -> None:
        """Run the periodic update if due."""
        if now >= self.update_due:
            self.update_target(now)
            self.update_due = now + 25_000_000

    def report(self, now: int, created: int, packets: list[Any]) -> None:
        """Process a report."""
        self.sent_at = packets[-1].sent
        self.tick(now)
        if self.last_report is not None and now - self.last_report > 2e9:
            self.detector_reset()
        self.last_report = now
        received = sorted((p for p in packets if p.arrived is not None), key=lambda p: p.arrived)
        newest = received[-1].arrived
        self.path_rtt = self.rtt = min(now - p.sent - (newest - p.arrived) for p in received)
        self.rtt_at = now
        for p in received:
            self.count(p)
            self.group(p)
        self.control_rate(now)
        self.packets_reported += len(packets)
        self.lost += len(packets) - len(received)
        if now >= self.loss_due:
            self.update_loss_share(now)
            self.loss_due = now + 1_000_000_000

    def rates(self, waiting: int) -> tuple[float, float]:
        """Return the rates of encoder and pacer."""
        return self.target, 2.5 * self.target

    def count(self, p: Any) -> None:
        """Add a packet to the throughput estimate."""
        ms, length = whole_ms(p.arrived), 500 if self.estimate_kbps < 0 else 150
        if self.newest >= 0:
            self.window += ms - self.newest
            if ms - self.newest > length:
                self.sum, self.window = 0, self.window % length
        self.newest = ms
        if self.window >= length:
            sample = 8 * self.sum / length
            self.window -= length
            self.sum = 0
            if self.estimate_kbps < 0:
                self.estimate_kbps, self.variance = sample, 50.0
            else:
                doubt = (10 * abs(self.estimate_kbps - sample) / self.estimate_kbps) ** 2
                predicted = self.variance + 5
                self.estimate_kbps = (doubt * self.estimate_kbps + predicted * sample) / (doubt + predicted)
                self.variance = doubt * predicted / (doubt + predicted)
        self.sum += p.bytes

    def group(self, p: Any) -> None:
        """Add a packet to its group; when a new group starts, compare the previous two."""
        if not self.groups:
            self.groups.append([(p.sent, p.arrived)])
            return
        group = self.groups[-1]
        if p.sent < group[0][0]:
            return
        last_sent, last_arrived = max(s for s, _ in group), group[-1][1]
        later, arrived_later = p.sent - last_sent, p.arrived - last_arrived
        burst = later == 0 or (arrived_later < later and arrived_later <= 5e6 and p.arrived - group[0][1] < 100e6)
        if burst or p.sent - group[0][0] <= 5e6:
            group.append((p.sent, p.arrived))
            return
        self.groups.append([(p.sent, p.arrived)])
        if len(self.groups) >= 3:
            one, two = self.groups[-3], self.groups[-2]
            sent = (max(s for s, _ in two) - max(s for s, _ in one)) / 1e6
            self.detect(sent, (two[-1][1] - one[-1][1]) / 1e6, whole_ms(p.arrived))

    def detect(self, sent: float, arrived: float, ms: int) -> None:
        """Fit the trend line and compare its slope with the threshold."""
        self.deltas = min(self.deltas + 1, 1000)
        if self.first_ms < 0:
            self.first_ms = ms
        self.delay += arrived - sent
        self.smoothed = 0.9 * self.smoothed + 0.1 * self.delay
        self.points = [*self.points, (float(ms - self.first_ms), self.smoothed)][-20:]
        slope = self.slope
        if len(self.points) == 20:
            mean_x, mean_y = (sum(point[i] for point in self.points) / 20 for i in (0, 1))
            below = sum((x - mean_x) ** 2 for x, _ in self.points)
            if below:
                slope = sum((x - mean_x) * (y - mean_y) for x, y in self.points) / below
        if self.deltas < 2:
            self.usage = "normal"
            return
        trend = min(self.deltas, 60) * slope * 4
        if trend > self.threshold:
            self.over_for = sent / 2 if self.over_for == -1 else self.over_for + sent
            self.overs += 1
            if self.over_for > 10 and self.overs > 1 and slope >= self.slope:
                self.over_for, self.overs, self.usage = 0.0, 0, "over"
        else:
            self.over_for, self.overs = -1.0, 0
            self.usage = "under" if trend < -self.threshold else "normal"
        self.slope = slope
        if self.threshold_at < 0:
            self.threshold_at = ms
        if abs(trend) <= self.threshold + 15:
            gain = 0.039 if abs(trend) < self.threshold else 0.0087
            step = gain * (abs(trend) - self.threshold) * min(ms - self.threshold_at, 100)
            self.threshold = min(max(self.threshold + step, 6.0), 600.0)
        self.threshold_at = ms

    def control_rate(self, now: int) -> None:
        """Update the rate from the detector's state."""
        measured = self.estimate_kbps * 1e3 if self.estimate_kbps >= 0 else None
        if self.usage == "over":
            compared = measured if measured is not None else self.rate / 2 - 1
            if now - self.changed < min(max(self.rtt, 10e6), 200e6) and not compared < 0.5 * self.rate:
                return
            if measured is None:
                self.rate, self.changed = max(self.rate / 2, self.min_rate), now
                self.limit()
                return
        if measured is not None:
            self.throughput = measured
        if self.usage == "over":
            self.state = "decrease"
        elif self.usage == "under":
            self.state = "hold"
        elif self.state == "hold":
            self.state, self.changed = "increase", now
        if self.state == "increase":
            self.increase(now)
        elif self.state == "decrease":
            self.decrease(now)
        self.rate = max(self.rate, self.min_rate)
        self.limit()

    def increase(self, now: int) -> None:
        """Increase the rate: additively near the capacity."""
        capacity = self.capacity
        if capacity is not None and self.throughput / 1e3 > capacity + 3 * math.sqrt(self.deviation * capacity):
            self.capacity = None
        bound, seconds = 1.5 * self.throughput + 10e3, (now - self.changed) / 1e9
        if self.rate < bound:
            if self.capacity is not None:
                frame = self.rate / 30
                size = frame / math.ceil(frame / 9600)
                more = max(4e3, size / (2 * (self.rtt / 1e9 + 0.1))) * seconds
            else:
                more = max(1e3, self.rate * (1.08 ** min(seconds, 1.0) - 1))
            self.rate = min(self.rate + more, bound)
        self.changed = now

    def decrease(self, now: int) -> None:
        """Decrease the rate below the throughput."""
        wanted = 0.85 * self.throughput
        if wanted > 5e3:
            wanted -= 5e3
        if wanted > self.rate and self.capacity is not None:
            wanted = 0.85 * self.capacity * 1e3
        self.rate = min(wanted, self.rate)
        sample = self.throughput / 1e3
        if self.capacity is not None and sample < self.capacity - 3 * math.sqrt(self.deviation * self.capacity):
            self.capacity = None
        self.capacity = sample if self.capacity is None else 0.95 * self.capacity + 0.05 * sample
        spread = 0.95 * self.deviation + 0.05 * (self.capacity - sample) ** 2 / max(self.capacity, 1.0)
        self.deviation = min(max(spread, 0.4), 2.5)
        self.state, self.changed = "hold", now

    def limit(self) -> None:
        """Limit the target to the delay-based rate."""
        self.by_delay = self.rate
        self.set_target(self.target)

    def set_target(self, bps: float) -> None:
        """Set the target within its limits."""
        self.target = max(min(bps, self.by_delay, self.max_rate), self.min_rate)

    def update_loss_share(self, now: int) -> None:
        """Compute the loss rate of the last second, if enough packets were reported."""
        self.first_reported = min(self.first_reported, now)
        self.lost_since += self.lost
        self.packets_reported_since += self.packets_reported
        self.lost = self.packets_reported = 0
        if self.packets_reported_since < 20:
            return
        self.has_decreased = False
        self.share = min(255, (self.lost_since << 8) // self.packets_reported_since)
        self.lost_since = self.packets_reported_since = 0
        self.shared = now
        self.update_target(now)

    def update_target(self, now: int) -> None:
        """Update the target from losses, or from an RTT of seconds."""
        if self.path_rtt + max(self.sent_at - self.rtt_at, 0) > 3e9:
            if now - self.decreased >= 1e9 and self.target > 5e3:
                self.decreased = now
                self.set_target(max(0.8 * self.target, 5e3))
            return
        starts = now - self.first_reported < 2e9
        if self.share == 0 and starts and self.target < self.by_delay < math.inf:
            self.history = [(now, self.target)]
            self.set_target(self.by_delay)
            return
        self.history = [(at, bps) for at, bps in self.history if now - at + 1e6 <= 1e9]
        while self.history and self.target <= self.history[-1][1]:
            self.history.pop()
        self.history.append((now, self.target))
        loss = self.share / 256
        if now - self.shared < 6e9:
            if loss <= 0.02:
                self.set_target(self.history[0][1] * 1.08 + 0.5 + 1000)
                return
            if loss > 0.1 and not self.has_decreased and now - self.decreased >= 300e6 + self.path_rtt:
                self.decreased, self.has_decreased = now, True
                self.set_target(self.target * (512 - self.share) / 512)
                return
        self.set_target(self.target)
