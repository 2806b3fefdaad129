"""Vegas, YeAH and Illinois, from their papers and Linux 6.1."""

from __future__ import annotations

from typing import ClassVar

from second.control import U32, Ack, Control, Params


class Vegas(Control):
    MECHANISMS = ("alpha", "beta", "gamma", "samples", "threshold", "restart", "state", "unlimited", "round", "base")
    PARAMS: ClassVar[Params] = {"alpha": 2, "beta": 4, "gamma": 1}
    NONE = 0x7FFFFFFF

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.base, self.min_rtt, self.samples, self.mark, self.on = self.NONE, self.NONE, 0, -1, True

    def new_round(self, nxt: int) -> None:
        self.mark, self.min_rtt, self.samples = nxt, self.NONE, 0

    def on_ack(self, now: int, ack: Ack) -> None:
        if ack.rtt is not None:
            self.base = min(self.base, ack.rtt + 1) if self.has("base") else ack.rtt + 1
            self.min_rtt = min(self.min_rtt, ack.rtt + 1)
            self.samples += 1

    def start(self, now: int) -> None:
        if self.has("restart"):
            self.base, self.on = self.NONE, True
            self.new_round(-1)

    def state(self, now: int, state: str, nxt: int) -> None:
        if not self.has("state"):
            return
        self.on = state == "Open"
        if self.on:
            self.new_round(nxt)

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited and not self.has("unlimited"):
            return
        if not self.on:
            if limited:
                self.reno(ack.packets)
            return
        if ack.una <= self.mark:
            if self.slow:
                self.slow_start(ack.packets)
            return
        if self.samples > (2 if self.has("samples") else 0):
            self.round(ack)
        elif limited:
            self.reno(ack.packets)
        self.new_round(ack.nxt if self.has("round") else ack.una)

    def round(self, ack: Ack) -> None:
        waiting = ((self.cwnd * (self.min_rtt - self.base)) & U32) // self.base
        if self.slow:
            if waiting > self.params["gamma"] and self.has("gamma"):
                self.cwnd = min(self.cwnd, self.cwnd * self.base // self.min_rtt + 1)
                self.ssthresh = min(self.ssthresh, self.cwnd)
            else:
                self.slow_start(ack.packets)
        elif waiting > self.params["beta"] and self.has("beta"):
            self.cwnd -= 1
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif waiting < self.params["alpha"] and self.has("alpha"):
            self.cwnd += 1
        self.cwnd = max(self.cwnd, 2)
        if self.has("threshold"):
            self.ssthresh = max(self.ssthresh, (self.cwnd >> 1) + (self.cwnd >> 2))


class Yeah(Vegas):
    MECHANISMS = (
        "fast", "decongestion", "reno_count", "eighth_of_base", "half", "rho", "zeta", "delta", "last_queue",
        "samples", "restart", "round", "base", "state",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {}

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)
        self.last_queue, self.slow_rounds, self.reno_count, self.fast_rounds = 0, 0, 2, 0

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        left = self.slow_start(ack.packets) if self.slow else ack.packets
        if left:
            fast = self.slow_rounds == 0 and self.has("fast")
            self.additive(min(self.cwnd, 100) if fast else self.cwnd, left)
        if ack.una <= self.mark:
            return
        if self.samples > (2 if self.has("samples") else 0):
            self.decide()
        self.new_round(ack.nxt if self.has("round") else ack.una)

    def decide(self) -> None:
        extra = self.min_rtt - self.base
        queue = self.cwnd * extra // self.min_rtt
        if queue > 80 or (extra > self.base // 8 and self.has("eighth_of_base")):
            if queue > 80 and self.cwnd > self.reno_count and self.has("decongestion"):
                max_delay = self.cwnd >> 1 if self.has("half") else self.cwnd
                self.cwnd -= min(queue, max_delay)
                if self.has("reno_count"):
                    self.cwnd = max(self.cwnd, self.reno_count)
                self.ssthresh = self.cwnd
            self.reno_count = max(self.cwnd >> 1, 2) if self.reno_count <= 2 else self.reno_count + 1
            self.slow_rounds += 1
        else:
            self.fast_rounds += 1
            if self.fast_rounds > 50 and self.has("zeta"):
                self.reno_count, self.fast_rounds = 2, 0
            self.slow_rounds = 0
        self.last_queue = queue

    def threshold(self, now: int) -> int:
        half = max(self.cwnd >> 1, 2)
        less = half
        if self.slow_rounds < 16 or not self.has("rho"):
            less = min(self.last_queue if self.has("last_queue") else 0, half)
            if self.has("delta"):
                less = max(less, self.cwnd >> 3)
        self.fast_rounds = 0
        self.reno_count = max(self.reno_count >> 1, 2)
        return max(self.cwnd - less, 2)


class Illinois(Control):
    MECHANISMS = (
        "alpha", "beta", "theta", "small", "loss", "unlimited", "longest", "starts_fast", "round",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {"win_thresh": 15, "theta": 5}

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.alpha, self.beta = (1280 if self.has("starts_fast") else 128), 32
        self.base, self.max_rtt, self.total, self.number = 0x7FFFFFFF, 0, 0, 0
        self.mark, self.above, self.low = 0, False, 0

    def new_round(self, nxt: int) -> None:
        self.mark, self.total, self.number = nxt, 0, 0

    def on_ack(self, now: int, ack: Ack) -> None:
        if ack.rtt is None:
            return
        rtt = min(ack.rtt, U32 // 1280) if self.has("longest") else ack.rtt
        self.base, self.max_rtt = min(self.base, rtt), max(self.max_rtt, rtt)
        self.total, self.number = self.total + rtt, self.number + 1

    def update(self) -> None:
        if self.cwnd < self.params["win_thresh"] and self.has("small"):
            self.alpha, self.beta = 128, 32
        elif self.number:
            max_delay, mean = self.max_rtt - self.base, self.total // self.number - self.base
            if self.has("alpha"):
                self.alpha = self.new_alpha(mean, max_delay)
            if self.has("beta"):
                self.beta = self.new_beta(mean, max_delay)

    def new_alpha(self, mean: int, max_delay: int) -> int:
        low = max_delay // 100
        if mean > low:
            self.above = True
            return ((max_delay - low) * 1280 & U32) // (max_delay - low + (mean - low) * (1280 - 38) // 38)
        if self.above and self.has("theta"):
            self.low += 1
            if self.low < self.params["theta"]:
                return self.alpha
            self.low, self.above = 0, False
        return 1280

    def new_beta(self, mean: int, max_delay: int) -> int:
        d2, d3 = max_delay // 10, 8 * max_delay // 10
        if mean <= d2:
            return 8
        if mean >= d3 or d3 <= d2:
            return 32
        return (8 * d3 - 32 * d2 + 24 * mean) // (d3 - d2)

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if ack.una > self.mark and (limited or self.has("unlimited")):
            self.update()
            self.new_round(ack.nxt if self.has("round") else ack.una)
        if not limited:
            return
        if self.slow:
            self.slow_start(ack.packets)
            return
        self.cnt += ack.packets
        step = self.cnt * self.alpha >> 7
        if step >= self.cwnd:
            self.cwnd += step // self.cwnd
            self.cnt = 0

    def state(self, now: int, state: str, nxt: int) -> None:
        if state == "Loss" and self.has("loss"):
            self.alpha, self.beta, self.low, self.above = 128, 32, 0, False
            self.new_round(nxt)

    def threshold(self, now: int) -> int:
        return max(self.cwnd - (self.cwnd * self.beta >> 6), 2)
