"""Second implementation of NADA: RFC 8698, and the differences of its authors' code for ns-3."""

from __future__ import annotations

import math
from typing import Any


class Nada:
    """The sender's rate; everything is computed from the list of all reported packets."""

    def __init__(self, *, of_ns3: bool) -> None:
        self.of_ns3 = of_ns3
        self.packets: list[Any] = []
        self.rtts: list[int] = []
        self.loss_share = self.mark_share = 0.0
        self.signal = 0.0
        self.last = 0

    def begin(self, min_rate: float, start: float, max_rate: float, fps: int) -> None:
        """Start at time 0."""
        self.min_rate, self.max_rate, self.fps, self.rate = min_rate, max_rate, fps, start

    def report(self, now: int, created: int, packets: list[Any]) -> None:
        """Process a report."""
        for packet in packets:
            self.packets.append(packet)
            if packet.arrived is not None:
                self.rtts.append(now - packet.sent - (created - packet.arrived))
                if not self.of_ns3:
                    self.smooth()
        delta = (now - self.last) / 1e6
        if self.of_ns3 and delta < 50:
            return
        if self.of_ns3:
            self.smooth()
        before, self.signal = self.signal, self.aggregate()
        if self.ramps_up():
            gamma = min(0.5, 50 / (min(self.rtts[-15:]) / 1e6 + 100 + 120))
            self.rate = max(self.rate, (1 + gamma) * self.received())
        else:
            offset = self.signal - 1.0 * 10 * self.max_rate / self.rate
            rise = self.signal - before
            self.rate = self.rate - 0.5 * delta / 500 * offset / 500 * self.rate - 0.5 * 2.0 * rise / 500 * self.rate
        self.rate = max(min(self.rate, self.max_rate), self.min_rate)
        self.last = now

    def rates(self, waiting: int) -> tuple[float, float]:
        """Return the rates of encoder and pacer."""
        shift = min(0.05 * self.rate, 0.1 * 8 * waiting * self.fps)
        return max(self.min_rate, self.rate - shift), min(self.max_rate, self.rate + shift)

    def window(self) -> list[Any]:
        """Return the packets from the first arrival of the last 500 ms on, with the losses directly before it."""
        arrived = [i for i, p in enumerate(self.packets) if p.arrived is not None]
        newest = self.packets[arrived[-1]].arrived
        first = (
            next(i for i in reversed(arrived) if newest - self.packets[i].arrived >= 500e6)
            if any(newest - self.packets[i].arrived >= 500e6 for i in arrived)
            else -1
        )
        return self.packets[first + 1 : arrived[-1] + 1]

    def smooth(self) -> None:
        """Smooth the loss and mark rates in the window."""
        window = self.window()
        lost = sum(p.arrived is None for p in window) / len(window)
        marked = sum(p.marked for p in window) / len(window)
        self.loss_share = 0.1 * lost + 0.9 * self.loss_share
        self.mark_share = 0.1 * marked + 0.9 * self.mark_share

    def queueing(self) -> list[float]:
        """Return the queueing delays in the window, in ms."""
        base = min(p.arrived - p.sent for p in self.packets if p.arrived is not None)
        return [(p.arrived - p.sent - base) / 1e6 for p in self.window() if p.arrived is not None]

    def aggregate(self) -> float:
        """Return the congestion signal, in ms."""
        queue = min(self.queueing()[-15:])
        signal = self.with_losses(queue) + 2 * (self.mark_share / 0.01) ** 2 + 10 * (self.loss_share / 0.01) ** 2
        return min(signal, 500.0) if self.of_ns3 else signal

    def with_losses(self, queue: float) -> float:
        """Return the queueing delay, warped after recent losses."""
        runs, before_lost = [0], False
        reported = self.packets[: max(i for i, p in enumerate(self.packets) if p.arrived is not None) + 1]
        for packet in reported:
            if packet.arrived is None:
                before_lost = True
            else:
                if before_lost:
                    runs.append(0)
                runs[-1] += 1
                before_lost = False
        if reported[0].arrived is None:
            runs = runs[1:]
        if len(runs) < 2:
            return queue
        newest = list(reversed(runs))[:9]
        weights = [1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2][: len(newest) - 1]
        open_too = sum(w * n for w, n in zip(weights, newest, strict=False))
        closed = sum(w * n for w, n in zip(weights, newest[1:], strict=True))
        average = max(open_too, closed) / sum(weights)
        warped = queue if queue < 50 else 50 * math.exp(-0.5 * (queue - 50) / 50)
        if newest[0] < 7 * average:
            return warped
        if newest[0] < 8 * average:
            share = (newest[0] - 7 * average) / average
            return share * queue + (1 - share) * warped
        return queue

    def ramps_up(self) -> bool:
        """Return whether the window has no loss and no delay above 10 ms."""
        return all(p.arrived is not None for p in self.window()) and max(self.queueing()) <= 10

    def received(self) -> float:
        """Return the receive rate in bit/s."""
        arrivals = [p for p in self.window() if p.arrived is not None]
        if not self.of_ns3:
            return sum(p.bytes for p in arrivals) * 8 / 0.5
        span = (arrivals[-1].arrived - arrivals[0].arrived) / 1e9
        return sum(p.bytes for p in arrivals[1:]) * 8 / span if span > 0 else 0.0
