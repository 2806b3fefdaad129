"""Second implementation of `gcc` beyond `gcc@unprobed`: libwebrtc's probes and its loss-based estimator v2."""

from __future__ import annotations

import math
import statistics
from typing import Any

from gcc import Gcc

WEIGHTS = [0.9**age for age in range(15)]


class LibWebrtc(Gcc):
    """libwebrtc of 2025 with its defaults."""

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        super().begin(min_rate, start, max_rate, fps)
        self.by_losses = LossBasedEstimator(self.min_rate, max_rate)
        self.clusters: list[float] = []
        self.clusters_seen: dict[int, list[tuple[int, int, int]]] = {}
        self.dead: set[int] = set()
        self.probed_at, self.more_above = 0, math.inf
        self.probe(0, [3 * max(start, self.min_rate), 6 * max(start, self.min_rate)])

    def probe(self, now: int, rates: list[float]) -> None:
        """Request probes."""
        self.clusters += [min(bps, self.max_rate) for bps in rates]
        self.probed_at = now
        self.more_above = math.inf if any(bps >= self.max_rate for bps in rates) else 0.7 * self.clusters[-1]

    def tick(self, now: int) -> None:
        """Run the periodic update if due."""
        if now >= self.update_due:
            self.update_target(now)
            if now - self.probed_at > 1e9:
                self.more_above = math.inf
            self.probe_further(now)
            self.update_due = now + 25_000_000

    def probe_further(self, now: int) -> None:
        """Probe at twice the estimate if the last probe was successful."""
        away = self.path_rtt + max(self.sent_at - self.rtt_at, 0)
        if self.usage == "normal" and self.by_losses.state == "delay" and away <= 3e9 and self.target > self.more_above:
            self.probe(now, [2 * self.target])

    def report(self, now: int, created: int, packets: list[Any]) -> None:
        """Take a report."""
        self.sent_at = packets[-1].sent
        self.tick(now)
        if self.last_report is not None and now - self.last_report > 2e9:
            self.detector_reset()
        self.last_report = now
        arrived_packets = sorted((p for p in packets if p.arrived is not None), key=lambda p: p.arrived)
        newest = arrived_packets[-1].arrived
        self.path_rtt = self.rtt = min(now - p.sent - (newest - p.arrived) for p in arrived_packets)
        self.rtt_at = now
        probed = None
        for p in arrived_packets:
            self.count(p)
            self.group(p)
            if p.probe is not None:
                result = self.result_of_probe(p)
                probed = probed if result is None else result
        acked = self.estimate_kbps * 1e3 if self.estimate_kbps >= 0 else None
        before, self.updated = self.by_delay, False
        if probed is not None and self.usage != "over":
            if acked is not None:
                probed = max(probed, min(self.rate, 0.85 * acked))
            self.rate, self.changed, self.updated = max(probed, self.min_rate), now, True
            self.by_delay = math.inf
            self.set_target(self.rate)
            self.history = []
            self.limit()
        else:
            self.control_rate(now)
        assert self.updated or self.by_delay == before
        self.by_losses.report(packets, acked, self.by_delay)
        self.update_target(now)
        if self.updated:
            self.probe_further(now)
        self.packets_reported += len(packets)
        self.lost += len(packets) - len(arrived_packets)
        if now >= self.loss_due:
            self.update_loss_share(now)
            self.loss_due = now + 1_000_000_000

    def limit(self) -> None:
        """Limit the target to the delay-based rate."""
        self.updated = True
        super().limit()

    def result_of_probe(self, p: Any) -> float | None:
        """Return the rate measured by a probe's packets, if any."""
        for number, packets in self.clusters_seen.items():
            if p.arrived - max(arrived for _, arrived, _ in packets) > 1e9:
                self.dead.add(number)
        if p.probe in self.dead or p.probe >= len(self.clusters):
            return None
        packets = self.clusters_seen.setdefault(p.probe, [])
        packets.append((p.sent, p.arrived, p.bytes))
        size = sum(size for *_, size in packets)
        if len(packets) < 4 or size < 0.8 * int(self.clusters[p.probe] * 0.015 / 8):
            return None
        newest_sent = max(packets, key=lambda q: q[0])
        oldest = min(packets, key=lambda q: q[1])
        sending = (newest_sent[0] - min(q[0] for q in packets)) / 1e9
        receiving = (max(q[1] for q in packets) - oldest[1]) / 1e9
        if not (0 < sending <= 1 and 0 < receiving <= 1):
            return None
        sent, received = (size - newest_sent[2]) * 8 / sending, (size - oldest[2]) * 8 / receiving
        if received > 2 * sent:
            return None
        return 0.95 * received if received < 0.9 * sent else min(sent, received)

    def update_target(self, now: int) -> None:
        """Update the target from losses, by the loss-based estimator once it has an estimate."""
        away = self.path_rtt + max(self.sent_at - self.rtt_at, 0)
        estimate = self.by_losses.estimate()
        if away > 3e9 or estimate is None:
            super().update_target(now)
            return
        self.history = [(at, bps) for at, bps in self.history if now - at + 1e6 <= 1e9]
        while self.history and self.target <= self.history[-1][1]:
            self.history.pop()
        self.history.append((now, self.target))
        self.set_target(estimate if self.shared != -math.inf else self.target)


class LossBasedEstimator:
    """Loss-based estimator v2; kilobytes and bit/s."""

    def __init__(self, min_rate: float, max_rate: float) -> None:
        self.min_rate, self.max_rate = min_rate, max_rate
        self.pending: list[Any] = []
        self.begun: int | None = None
        self.observed: list[tuple[float, float, float]] = []
        self.acked: float | None = None
        self.best: tuple[float, float] | None = None
        self.state, self.value = "delay", 0.0
        self.window_limit, self.window_at = math.inf, -math.inf
        self.release()

    def release(self) -> None:
        """End the hold after a decrease."""
        self.held_until, self.held_for, self.held_at = -math.inf, 300e6, math.inf
        self.forget_padding()

    def forget_padding(self) -> None:
        """Reset the padded increases."""
        self.padded_to, self.padded_at = 0.0, -math.inf

    def estimate(self) -> float | None:
        """Return the estimate, if there is one."""
        return self.value if self.best is not None and len(self.observed) >= 3 else None

    def report(self, packets: list[Any], acked: float | None, by_delay: float) -> None:
        """Take a report."""
        self.acked = acked if acked is not None else self.acked
        self.pending += packets
        if self.begun is None:
            self.begun = packets[0].sent
        last = packets[-1].sent
        if last - self.begun < 250e6 or last == self.begun:
            return
        size = sum(p.bytes for p in self.pending)
        lost = sum(p.bytes for p in self.pending if p.arrived is None)
        self.observed.append((size / 1e3, lost / 1e3, size * 8 / ((last - self.begun) / 1e9)))
        self.begun, self.pending = last, []
        self.recent = list(zip(WEIGHTS, reversed(self.observed[-15:]), strict=False))
        self.loss = self.mean_loss()
        if self.best is None:
            if by_delay == math.inf:
                return
            self.value, self.state, self.best = by_delay, "delay", (by_delay, 0.01)
        self.choose(last, by_delay)

    def mean_loss(self) -> float:
        """Return the weighted loss rate, usually without the best and the worst observation."""
        sizes = [(w * size, w * lost) for w, (size, lost, _) in self.recent]
        every = sum(lost for _, lost in sizes) / sum(size for size, _ in sizes)
        shares = [lost / size for _, (size, lost, _) in self.recent]
        if len(self.observed) <= 3:
            return every
        worst = shares.index(max(shares)) if max(shares) > 0 else None
        best = shares.index(min(shares)) if min(shares) < 1 else None
        median = statistics.median(bps for _, (_, _, bps) in self.recent)
        if median * 2 <= (self.recent[worst][1][2] if worst is not None else 0):
            return every
        left_out = [sizes[i] for i in (worst, best) if i is not None]
        size = sum(size for size, _ in sizes) - sum(size for size, _ in left_out)
        lost = sum(lost for _, lost in sizes) - sum(lost for _, lost in left_out)
        return lost / size if size else every

    def choose(self, now: int, by_delay: float) -> None:
        """Choose the most likely candidate, within limits."""
        assert self.best is not None
        old = self.best[0]
        candidates = [1.02 * old, old, 0.95 * old]
        candidates += [] if self.acked is None else [self.acked]
        candidates += [by_delay] if old < by_delay < math.inf else []
        limited = self.state != "delay"
        max_rate = max(old, self.window_limit if limited and self.window_limit < math.inf else self.max_rate)
        fitted = [self.fit(min(bps, max_rate), self.best[1]) for bps in candidates]
        bps, own = max(fitted, key=lambda channel: self.objective(*channel))
        if self.loss > own and bps > old:
            bps = old
        if limited:
            if self.window_at + 300e6 > now:
                bps = min(bps, self.window_limit)
            if self.acked is not None and (bps > old or (bps == old and self.state == "increasing")):
                held = self.held_at < math.inf and self.acked < 1.3 * self.held_at
                bps = max(old, min(bps, (1.2 if held else 1.5) * self.acked))
                if self.state == "decreasing" and bps == old:
                    bps += 1
        floor = max(self.acked or 0.0, self.min_rate)
        ceiling = 100e3 / (self.loss - 0.05) if self.loss > 0.05 else self.max_rate
        bounded = max(floor, min(bps, ceiling, by_delay))
        self.best = (bounded, 0.0) if bounded < bps else (max(bps, floor), own)
        self.change_state(now, bounded, by_delay, floor)

    def change_state(self, now: int, bounded: float, by_delay: float, floor: float) -> None:
        """Set the state from the limit of the estimate, and hold the estimate after a decrease."""
        assert self.best is not None
        if self.state == "decreasing" and self.held_until > now and bounded < by_delay:
            self.held_at = max(floor, self.held_at)
            self.value = min(self.held_at, bounded)
            return
        limited = bounded < by_delay and bounded < self.max_rate
        rises = self.state != "delay" and (
            bounded > self.value or (bounded == self.value and self.state == "increasing")
        )
        may = self.state != "increasing" or self.padded_at + 2e9 >= now or self.padded_to < bounded
        if limited and rises and may:
            if bounded > self.padded_to:
                self.padded_to, self.padded_at = bounded, now
            self.state = "increasing"
        elif limited:
            if self.state != "decreasing":
                self.held_until, self.held_at = now + self.held_for, bounded
                self.held_for = min(2 * self.held_for, 60e9)
            self.forget_padding()
            self.state = "decreasing"
        else:
            self.release()
            self.state = "delay"
        self.value = bounded
        if self.state != "delay" and self.window_at + 300e6 < now:
            self.window_limit, self.window_at = max(5e3, 1.3 * self.best[0]), now

    def fit(self, bps: float, own: float) -> tuple[float, float]:
        """Improve the inherent loss by one step of Newton's method."""
        limit = min(1.0, 0.05 + 100e3 / bps)
        own = min(max(own, 1e-3), limit)
        slope = curve = 0.0
        for w, (size, lost, sent) in self.recent:
            p = self.loss_at(bps, own, sent)
            slope += w * (lost / p - (size - lost) / (1 - p))
            curve -= w * (lost / p**2 + (size - lost) / (1 - p) ** 2)
        own -= 0.75 * slope / curve
        return bps, min(max(own, 1e-3), limit)

    def objective(self, bps: float, own: float) -> float:
        """Return the log-likelihood plus a bias towards high rates."""
        liked = (0.2 - self.loss) / (0.002 + abs(0.2 - self.loss))
        bias = liked * 0.0002 * bps / 1e3 + liked * 0.02 * math.log(1 + bps / 1e3)
        total = 0.0
        for w, (size, lost, sent) in self.recent:
            p = self.loss_at(bps, own, sent)
            total += w * (lost * math.log(p) + (size - lost) * math.log(1 - p)) + w * bias * size
        return total

    @staticmethod
    def loss_at(bps: float, own: float, sent: float) -> float:
        """Return the loss probability of packets sent at `sent` bit/s."""
        beyond = (sent - bps) / sent if sent > bps else 0.0
        return min(max(own + (1 - own) * beyond, 1e-6), 1 - 1e-6)
