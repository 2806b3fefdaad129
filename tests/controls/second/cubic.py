"""CUBIC with HyStart, from the paper and Linux 6.1; windows in packets, times in microseconds and jiffies."""

from __future__ import annotations

from typing import ClassVar

from second.control import HZ, U32, Ack, Control, Params

# Differences of the kernel's first guesses from the cube roots, in 1/64.
MOVED = (
    0, -9, -25, -37, 18, 10, 3, -3, -4, -3, -2, -3, -2, -2, -2, 0, -3, -2, -2, -1, -2, -2, -2, -2, -2, -1, -1, -1, -1,
    -1, 0, -1, -2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, -1, 0, -1, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0,
    1,
)  # fmt: skip


def exact_root(cube: int) -> int:
    root = 0
    while (root + 1) ** 3 <= cube:
        root += 1
    return root


GUESSES = [0] + [exact_root(x << 18) - 1 + MOVED[x] for x in range(1, 64)]


def cubic_root(cube: int) -> int:
    """The kernel's cube root: a guess from the leading bits and one step of Newton."""
    if cube < 64:
        return (GUESSES[cube] + 35) >> 6
    shift = (cube.bit_length() * 84 >> 8) - 1
    guess = (GUESSES[cube >> 3 * shift] + 10 << shift) >> 6
    return (2 * guess + cube // (guess * (guess - 1))) * 341 >> 10


class Cubic(Control):
    MECHANISMS = (
        "curve", "plateau", "convergence", "friendly", "before_loss", "kept", "two", "idle", "timeout", "discard",
        "train", "rise", "low_window", "beta", "ahead",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {
        "fast_convergence": True, "beta": 717, "initial_ssthresh": 0, "bic_scale": 41, "tcp_friendliness": True,
        "hystart": True, "hystart_detect": 3, "hystart_low_window": 16, "hystart_ack_delta_us": 2_000,
    }  # fmt: skip

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.forget(0, 0)

    def forget(self, now: int, nxt: int) -> None:
        self.step, self.goal, self.seen, self.when = 0, 0, 0, 0
        self.epoch, self.origin, self.k, self.counted, self.reno_cwnd = -1, 0, 0, 0, 0
        self.min_rtt, self.found = 0, False
        self.new_round(now, nxt)

    def new_round(self, now: int, nxt: int) -> None:
        self.begun = self.last = now
        self.end, self.lowest, self.samples = nxt, U32, 0

    def start(self, now: int) -> None:
        if self.params["initial_ssthresh"] and not self.params["hystart"]:
            self.ssthresh, self.params["initial_ssthresh"] = int(self.params["initial_ssthresh"]), 0
        if self.epoch >= 0 and self.has("idle"):
            # The scripts have no time of the last transmission: the pause is longer than the epoch.
            self.epoch = now * HZ // 1_000_000

    def on_ack(self, now: int, ack: Ack) -> None:
        if ack.packets == 0 or ack.rtt is None:
            return
        if self.epoch >= 0 and now * HZ // 1_000_000 - self.epoch < HZ and self.has("discard"):
            return
        self.min_rtt = min(self.min_rtt, ack.rtt) if self.min_rtt else ack.rtt
        if self.params["hystart"] and self.slow and not self.found:
            self.find(now, ack, ack.rtt)

    def find(self, now: int, ack: Ack, rtt: int) -> None:
        if ack.una > self.end:
            self.new_round(now, ack.nxt)
        if self.cwnd < self.params["hystart_low_window"] and self.has("low_window"):
            return
        signals = int(self.params["hystart_detect"])
        if signals & 1 and now - self.last <= self.params["hystart_ack_delta_us"] and self.has("train"):
            self.last = now
            # `hystart_ack_delay` is a millisecond below 2 Gbit/s.
            self.found = now - self.begun > self.min_rtt + 1_000 >> 1
        if signals & 2 and self.has("rise"):
            self.lowest = min(self.lowest, rtt)
            if self.samples < 8:
                self.samples += 1
            elif self.lowest > self.min_rtt + min(max(self.min_rtt >> 3, 4_000), 16_000):
                self.found = True
        if self.found:
            self.ssthresh = self.cwnd

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        left = self.slow_start(ack.packets) if self.slow else ack.packets
        if left:
            self.update(now * HZ // 1_000_000, left)
            self.additive(self.step, left)

    def update(self, tick: int, acked: int) -> None:
        self.counted += acked
        if self.seen == self.cwnd and tick - self.when <= HZ // 32 and self.has("kept"):
            return
        if self.epoch < 0 or tick != self.when:
            self.seen, self.when = self.cwnd, tick
            self.step = self.curve(tick, acked)
            if self.goal == 0 and self.has("before_loss"):
                self.step = min(self.step, 20)
        if self.params["tcp_friendliness"] and self.has("friendly"):
            self.befriend()
        self.step = max(self.step, 2 if self.has("two") else 1)

    def curve(self, tick: int, acked: int) -> int:
        scale, cwnd = 10 * int(self.params["bic_scale"]), self.cwnd
        if self.epoch < 0:
            self.epoch, self.counted, self.reno_cwnd = tick, acked, cwnd
            self.k = cubic_root((1 << 40) // scale * (self.goal - cwnd)) if self.goal > cwnd else 0
            self.origin = max(self.goal, cwnd) if self.has("plateau") else cwnd
        # Differs from Linux 6.1, which rounds up, as the crate does.
        ahead = max(self.min_rtt * HZ // 1_000_000, min(self.min_rtt, 1)) if self.has("ahead") else 0
        offset = (tick - self.epoch + ahead << 10) // HZ - self.k
        delta = scale * abs(offset) ** 3 >> 40 if self.has("curve") else 0
        target = self.origin + (delta if offset >= 0 else -delta)
        return cwnd // (target - cwnd) if target > cwnd else 100 * cwnd

    def befriend(self) -> None:
        beta = int(self.params["beta"])
        per_segment = self.cwnd * (8 * (1024 + beta) // 3 // (1024 - beta)) >> 3
        while self.counted > per_segment:
            self.counted -= per_segment
            self.reno_cwnd += 1
        if self.reno_cwnd > self.cwnd:
            self.step = min(self.step, self.cwnd // (self.reno_cwnd - self.cwnd))

    def threshold(self, now: int) -> int:
        beta, self.epoch = int(self.params["beta"]), -1
        lowers = self.cwnd < self.goal and self.params["fast_convergence"] and self.has("convergence")
        self.goal = self.cwnd * (1024 + beta) // 2048 if lowers else self.cwnd
        return max(self.cwnd * beta // 1024, 2) if self.has("beta") else super().threshold(now)

    def state(self, now: int, state: str, nxt: int) -> None:
        if state == "Loss" and self.has("timeout"):
            self.forget(now, nxt)
