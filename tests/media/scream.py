"""Second implementation of SCReAM: RFC 8298, and v2 of draft-ietf-ccwg-rfc8298bis-screamv2, August 2026.

Arguments are in ns, internal times in seconds; events are kept in lists and recounted.
"""

from __future__ import annotations

import math
import statistics
from typing import Any


class Scream:
    """Common state: all frames, packets sent and packets reported."""

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        self.min_rate, self.max_rate, self.period, self.start = min_rate, max_rate, 1 / fps, start
        self.target = start
        self.frames: list[tuple[float, int]] = []
        self.sent_log: list[tuple[float, int, int]] = []
        self.reported: list[tuple[float, Any]] = []
        self.rtts: list[float] = []

    def frame(self, at: int, size: int, waited: int) -> None:
        """Record a frame of `size` bytes; `waited` is the age of the oldest packet in the pacer's queue."""
        self.frames.append((at / 1e9, size))

    def sent(self, at: int, size: int, in_flight: int) -> None:
        """Record a packet; `in_flight` includes it."""
        self.sent_log.append((at / 1e9, size, in_flight))

    def add_report(self, now: float, packets: list[Any]) -> None:
        """Add the packets of a report."""
        self.reported += [(now, p) for p in packets]
        last = [p for p in packets if p.arrived is not None][-1]
        self.rtts.append(now - last.sent / 1e9)
        base = min(p.arrived - p.sent for _, p in self.reported if p.arrived is not None)
        self.qdelay = (last.arrived - last.sent - base) / 1e9
        self.srtt = self.rtts[0]
        for rtt in self.rtts[1:]:
            self.srtt = 0.875 * self.srtt + 0.125 * rtt


class Scream1(Scream):
    """RFC 8298."""

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        super().begin(min_rate, start, max_rate, fps)
        self.cwnd, self.fast, self.acked = 3000.0, True, 0
        self.qdelay, self.srtt = 0.0, 0.0
        self.qtarget = 0.1
        self.fractions: list[float] = [0.0] * 20
        self.norms: list[float] = [0.0] * 200
        self.average = self.trend = self.trend_peak = 0.0
        self.low_since: float | None = None
        self.loss_rate, self.round, self.round_lost = 0.0, 0.0, False
        self.event = -math.inf
        self.known_max = 1.0
        self.samples = self.adjusts = 0
        self.media: list[float] = []

    def tick(self, until: int, waiting: int) -> None:
        """Run the due timers; at equal times samples come first."""
        while min(50 * (self.samples + 1), 200 * (self.adjusts + 1)) * 1_000_000 <= until:
            if 50 * (self.samples + 1) <= 200 * (self.adjusts + 1):
                self.samples += 1
                self.sample()
            else:
                self.adjusts += 1
                self.adjust(self.adjusts * 0.2, 8 * waiting)

    def sample(self) -> None:
        """Sample the queue delay and compute its trend."""
        fraction = self.qdelay / self.qtarget
        self.average = 0.9 * self.average + 0.1 * fraction
        self.fractions.append(fraction)
        recent = self.fractions[-20:]
        centred = [x - sum(recent) / 20 for x in recent]
        power = sum(x * x for x in centred)
        lag = sum(centred[n] * centred[n + 1] for n in range(19))
        self.trend = min(1.0, max(0.0, (lag / power if power > 0 else 0.0) * self.average))
        self.trend_peak = max(0.99 * self.trend_peak, self.trend)

    def adjust(self, now: float, queued: int) -> None:
        """Adjust the encoder's rate; `queued` bits are in the RTP queue."""

        def rate(events: list[tuple[float, int]]) -> float:
            return sum(size for at, size in events if now - 0.2 - 1e-12 <= at < now - 1e-12) * 8 / 0.2

        transmit = rate([(at, size) for at, size, _ in self.sent_log])
        current = max(transmit, rate([(at, p.bytes) for at, p in self.reported]))
        self.media.append(rate(self.frames))
        ramp = min(200_000, self.target / 2)
        scale = max(0.2, min(1.0, ((self.target - self.known_max) / self.known_max * 4) ** 2))
        if self.fast:
            self.target += ramp * 0.2 * scale
        else:
            delta = current * (1 - 0.1 * self.trend) - 1.0 * queued
            if delta > 0:
                delta = min(delta * scale, ramp * 0.2)
            self.target += delta
            if queued > 0.02 * current:
                self.target *= 0.95
        median = sorted(self.media[-51:])[len(self.media[-51:]) // 2]
        limit = max(current, self.media[-1], median) * (2 - self.trend_peak)
        self.target = min(self.max_rate, max(self.min_rate, min(self.target, limit)))

    def report(self, now_ns: int, created: int, packets: list[Any], in_flight: int) -> None:
        """Take a report."""
        now = now_ns / 1e9
        self.add_report(now, packets)
        self.acked += sum(p.bytes for p in packets)
        loss = any(p.arrived is None for p in packets)
        mark = any(p.marked for p in packets)
        self.round_lost |= loss
        if now - self.round > self.srtt:
            self.loss_rate = 0.99 * self.loss_rate + (0.01 if self.round_lost else 0)
            self.round, self.round_lost = now, False
        if (loss or mark) and now - self.event >= self.srtt:
            self.event, self.fast, self.known_max = now, False, self.target
            self.cwnd = max(3000, self.cwnd * (0.8 if loss else 0.9))
            self.target = max(0.9 * self.target, self.min_rate)
            self.follow_others()
            return
        self.update_window(now, in_flight)
        self.follow_others()
        if self.trend < 0.2:
            self.low_since = now if self.low_since is None else self.low_since
            if now - self.low_since >= 5:
                self.fast = True
        else:
            self.low_since = None

    def update_window(self, now: float, in_flight: int) -> None:
        """Update the window from the queue delay."""
        acked, self.acked = self.acked, 0
        if self.fast and self.trend >= 0.2:
            self.fast = False
        if self.fast:
            if in_flight * 1.5 + acked > self.cwnd:
                self.cwnd += acked
            return
        off = (self.qtarget - self.qdelay) / self.qtarget
        if not (off > 0 and in_flight * 1.25 + acked <= self.cwnd):
            self.cwnd += off * acked * 1000 / self.cwnd
        newest = self.sent_log[-1][0]
        peak = max(out for at, _, out in self.sent_log if newest - at <= 5)
        self.cwnd = max(min(self.cwnd, peak * 1.1), 3000)

    def follow_others(self) -> None:
        """Raise the delay target in competition with queue-building flows."""
        self.norms.append(self.qdelay / 0.1)
        variance = statistics.pvariance(self.norms[-200:])
        wanted = (sum(self.norms[-50:]) / 50 + math.sqrt(variance)) * 0.1
        if self.loss_rate > 0.002:
            self.qtarget = 1.5 * wanted
        elif variance < 0.2:
            self.qtarget = wanted
        elif wanted < 0.1:
            self.qtarget = max(self.qtarget / 2, wanted)
        else:
            self.qtarget *= 0.9
        self.qtarget = max(0.1, min(0.4, self.qtarget))

    def rates(self, waiting: int) -> tuple[float, float]:
        """Return the rates of encoder and pacer."""
        return self.target, max(50e3, self.cwnd * 8 / self.srtt if self.srtt else self.target)

    def window(self) -> int:
        """Return the congestion window in bytes."""
        return int(self.cwnd + (1000 if self.qdelay <= self.qtarget else 0))


class Scream2(Scream):
    """SCReAM v2."""

    def __init__(self, *, is_l4s: bool) -> None:
        self.is_l4s = is_l4s

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        super().begin(min_rate, start, max_rate, fps)
        self.wnd, self.inflection, self.may_inflect = 3000.0, 1.0, True
        self.alpha, self.alpha_at, self.alpha_from = 0.0, 0.0, 0
        self.qavg, self.qavg_at = 0.0, 0.0
        self.congested = self.reacted = -math.inf
        self.since_reaction: list[Any] = []
        self.round_at, self.round_first, self.left_over = 0.0, 0, 0
        self.before = 0
        self.factor = self.deviation = 0.0

    def tick(self, until: int, waiting: int) -> None:
        """Do nothing: there is no clock."""

    def frame(self, at: int, size: int, waited: int) -> None:
        """Process a frame."""
        super().frame(at, size, waited)
        error = (waited / 1e9 - self.period / 4) / self.period
        self.factor = min(0.5, max(0.0, self.factor + error / 16))
        nominal = self.target * self.period / 8
        over = max(0.0, (size - nominal) / nominal)
        self.deviation = min(0.2, 63 / 64 * self.deviation + over / 64)

    def report(self, now_ns: int, created: int, packets: list[Any], in_flight: int) -> None:
        """Take a report."""
        now = now_ns / 1e9
        self.add_report(now, packets)
        if len(self.rtts) == 1:
            self.wnd = max(self.wnd, 1.2 * self.start * self.srtt / 8)
        if now - self.alpha_at >= min(0.01, self.srtt):
            came = [p for _, p in self.reported[self.alpha_from :] if p.arrived is not None]
            share = sum(p.marked for p in came) / len(came)
            self.alpha = share / 8 + self.alpha * 7 / 8 if share >= self.alpha else self.alpha * 127 / 128
            self.alpha_at, self.alpha_from = now, len(self.reported)
        if now - self.qavg_at >= min(0.025, self.srtt):
            self.qavg = self.qdelay if self.qdelay < self.qavg else self.qdelay / 4 + self.qavg * 3 / 4
            self.qavg_at = now
        self.since_reaction += packets
        most_now = max([out for _, _, out in self.sent_log[self.round_first :]] + [self.left_over])
        scl = max(0.1, min(1.0, (8 * (self.wnd - self.inflection) / self.inflection) ** 2))
        self.reduce(now, scl)
        self.increase(now, scl, packets, max(most_now, self.before))
        small = 1 - min(0.2, max(0.0, min(1.0, 1000 / self.wnd) - 0.1))
        rate = small * 1000 / 1020 / (1.2 + self.factor + self.deviation) * 8 * self.wnd / self.srtt
        self.target = min(self.max_rate, max(self.min_rate, rate))
        if now - self.round_at >= self.srtt:
            self.before, self.left_over = most_now, in_flight
            self.round_at, self.round_first = now, len(self.sent_log)

    def reduce(self, now: float, scl: float) -> None:
        """Reduce the window for losses, marks or delay, in this order."""
        loss = any(p.arrived is None for p in self.since_reaction)
        mark = any(p.marked for p in self.since_reaction)
        if loss or mark:
            self.congested = now
        delayed = self.qavg > 0.03
        if now - self.reacted < min(0.025, self.srtt) or not (loss or mark or delayed):
            return
        if self.may_inflect:
            self.inflection, self.may_inflect = self.wnd, False
        if loss:
            self.wnd *= 0.7
        elif mark and self.is_l4s:
            back = self.alpha / 2 / max(1.0, self.srtt / 0.025)
            if self.qdelay < 0.015:
                back *= max(0.25, scl)
            if now - self.reacted > 100 * max(0.025, self.srtt):
                self.wnd = min(self.wnd, self.before)
            self.wnd *= 1 - back
        elif mark:
            self.wnd *= 0.8
        else:
            self.wnd *= 1 - min(1.0, (self.qavg - 0.03) / 0.03) / 2 / max(1.0, self.srtt / 0.025)
        self.wnd = max(3000, self.wnd)
        self.reacted, self.since_reaction = now, []

    def increase(self, now: float, scl: float, packets: list[Any], max_in_flight: int) -> None:
        """Increase the window by the bytes acknowledged without a mark."""
        calm = max(0.0, min(1.0, (now - self.congested) / (100 * max(0.025, self.srtt))))
        fresh = sum(p.bytes for p in packets) - sum(p.bytes for p in packets if p.marked)
        step = fresh * min(1.0, 1000 / self.wnd) * min(1.0, self.srtt / 0.025) * max(0.25, scl)
        step *= 1 + (0.02 * self.wnd / 1000) * calm * scl
        if self.wnd + step <= 1000 + 1.5 * max_in_flight and self.target < self.max_rate:
            if step > 0:
                self.may_inflect = True
            self.wnd += step

    def rates(self, waiting: int) -> tuple[float, float]:
        """Return the rates of encoder and pacer."""
        near = min(1.0, (self.target / self.max_rate - 0.8) / 0.2)
        relaxed = min(1.0, max(0.25, 1 - near))
        return self.target, max(50e3, self.target) * 1.5 / relaxed

    def window(self) -> int:
        """Return the congestion window in bytes; -1 for none."""
        return int(3 * self.wnd) if self.rtts else -1
