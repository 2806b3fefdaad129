"""Scalable, HighSpeed, Westwood+, BIC and H-TCP, from their papers and Linux 6.1."""

from __future__ import annotations

from typing import ClassVar

from second.control import HZ, MSS, U32, Ack, Control, Params, jiffies


class Scalable(Control):
    MECHANISMS = ("hundred", "eighth")

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        left = self.slow_start(ack.packets) if self.slow else ack.packets
        if left:
            self.additive(min(self.cwnd, 100) if self.has("hundred") else self.cwnd, left)

    def threshold(self, now: int) -> int:
        return max(self.cwnd - self.cwnd // 8, 2) if self.has("eighth") else super().threshold(now)


class Highspeed(Control):
    MECHANISMS = ("increase", "decrease", "down", "per_ack", "rest")
    # RFC 3649, appendix B.
    W = (
        38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
        5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
        17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
        37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
        79517, 84035, 89053,
    )  # fmt: skip

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.row = 0

    def decrease(self) -> int:
        """b(w) of RFC 3649 in units of 1/256, for the current row."""
        from math import log

        share = (log(self.W[self.row]) - log(38)) / (log(83000) - log(38))
        return int(256 * (0.5 - 0.4 * share))

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        if self.slow:
            left = self.slow_start(ack.packets)
            if self.has("rest"):
                return
            self.cnt += left
        lowest = next((i for i, w in enumerate(self.W) if self.cwnd <= w), len(self.W) - 1)
        self.row = lowest if self.has("down") else max(self.row, lowest)
        self.cnt += (self.row + 1 if self.has("increase") else 1) * (1 if self.has("per_ack") else ack.packets)
        if self.cnt >= self.cwnd:
            self.cnt -= self.cwnd
            self.cwnd += 1

    def threshold(self, now: int) -> int:
        if not self.has("decrease"):
            return super().threshold(now)
        return max(self.cwnd - (self.cwnd * self.decrease() >> 8), 2)


class Westwood(Control):
    MECHANISMS = (
        "second_stage", "duplicates", "taken_back", "at_end", "at_timeout", "reset", "least_window", "jiffies",
        "least_rtt",
    )  # fmt: skip

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.first, self.second, self.opened, self.bytes = 0, 0, -1, 0
        self.una, self.owed, self.reset = -1, 0, True
        self.rtt = self.rtt_min = 20 * HZ

    def start(self, now: int) -> None:
        if self.opened < 0:
            self.opened = now * HZ // 1_000_000

    def on_ack(self, now: int, ack: Ack) -> None:
        if ack.rtt is not None and ack.rtt > 0:
            self.rtt = jiffies(ack.rtt) if self.has("jiffies") else ack.rtt * HZ // 1_000_000
        if self.una < 0:
            self.una = ack.una
        tick = now * HZ // 1_000_000
        span = tick - self.opened
        if span > max(self.rtt, HZ // 20 if self.has("least_window") else 0):
            rate = self.bytes // span
            if self.first == self.second == 0:
                self.first = self.second = rate
            else:
                self.first = (7 * self.first + rate) >> 3
                self.second = (7 * self.second + self.first) >> 3 if self.has("second_stage") else self.first
            self.bytes, self.opened = 0, tick
        self.bytes += self.count(ack)
        self.una = ack.una
        self.rtt_min = self.rtt if self.reset or not self.has("least_rtt") else min(self.rtt_min, self.rtt)
        self.reset = False

    def count(self, ack: Ack) -> int:
        newly_acked = ack.una - self.una
        if not ack.slow:
            return newly_acked
        if newly_acked == 0:
            if not self.has("duplicates"):
                return 0
            self.owed += MSS
            return MSS
        if newly_acked <= MSS or not self.has("taken_back"):
            return newly_acked
        if self.owed >= newly_acked:
            self.owed -= newly_acked
            return MSS
        newly_acked, self.owed = newly_acked - self.owed, 0
        return newly_acked

    def estimate(self) -> int:
        return max(((self.second * self.rtt_min) & U32) // MSS, 2)

    def timeout_threshold(self, now: int) -> int:
        if self.has("reset"):
            self.reset = True
        return self.estimate() if self.has("at_timeout") else super().timeout_threshold(now)

    def completed(self) -> None:
        if self.has("at_end"):
            self.cwnd = self.ssthresh = self.estimate()


class Bic(Control):
    MECHANISMS = (
        "low_window", "linear", "binary", "near", "beyond", "before_loss", "convergence", "delayed", "kept", "timeout",
        "in_open", "beta",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {
        "fast_convergence": True, "max_increment": 16, "low_window": 14, "beta": 819, "initial_ssthresh": 0,
        "smooth_part": 20,
    }  # fmt: skip

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.forget()

    def forget(self) -> None:
        self.step, self.goal, self.seen, self.when, self.ratio = 0, 0, 0, -10_000, 32

    def start(self, now: int) -> None:
        if self.params["initial_ssthresh"]:
            self.ssthresh, self.params["initial_ssthresh"] = int(self.params["initial_ssthresh"]), 0

    def on_ack(self, now: int, ack: Ack) -> None:
        if (ack.state == "Open" or not self.has("in_open")) and self.has("delayed"):
            self.ratio += ack.packets - (self.ratio >> 4)

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        left = self.slow_start(ack.packets) if self.slow else ack.packets
        if left:
            self.update(now * HZ // 1_000_000)
            self.additive(self.step, left)

    def update(self, tick: int) -> None:
        if self.seen == self.cwnd and tick - self.when <= HZ // 32 and self.has("kept"):
            return
        self.seen, self.when = self.cwnd, tick
        if self.cwnd <= self.params["low_window"] and self.has("low_window"):
            self.step = self.cwnd
            return
        step = self.search()
        if self.goal == 0 and self.has("before_loss"):
            step = min(step, 20)
        self.step = max((step << 4) // self.ratio, 1)

    def search(self) -> int:
        limit, near = int(self.params["max_increment"]), self.cwnd * int(self.params["smooth_part"]) // 4
        cwnd, far = self.cwnd, self.cwnd // limit
        if cwnd < self.goal:
            quarter = (self.goal - cwnd) // 4
            if quarter > limit and self.has("linear"):
                return far
            if quarter <= 1:
                return near if self.has("near") else far
            return cwnd // quarter if self.has("binary") else far
        beyond = cwnd - self.goal
        if beyond < 4:
            return near if self.has("near") else far
        if beyond < 3 * limit:
            return 3 * cwnd // beyond if self.has("beyond") else far
        return far

    def threshold(self, now: int) -> int:
        beta = int(self.params["beta"])
        if self.cwnd < self.goal and self.params["fast_convergence"] and self.has("convergence"):
            self.goal = self.cwnd * (1024 + beta) // 2048
        else:
            self.goal = self.cwnd
        if self.cwnd <= self.params["low_window"] or not self.has("beta"):
            return max(self.cwnd >> 1, 2)
        return max(self.cwnd * beta // 1024, 2)

    def state(self, now: int, state: str, nxt: int) -> None:
        if state == "Loss" and self.has("timeout"):
            self.forget()


class Htcp(Control):
    MECHANISMS = (
        "time", "square", "scaling", "switch", "adaptive", "rise", "fading", "undo", "open", "packets", "just_after",
        "states", "clamp",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {"use_rtt_scaling": True, "use_bandwidth_switch": True}

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.alpha, self.beta, self.mode = 128, 64, False
        self.acked, self.count, self.since = 1, 0, -(1 << 31)
        self.min_rtt, self.max_rtt = 0, 0
        self.event = -1
        self.saved: tuple[int, int, int] | None = None
        self.rate, self.best, self.best_before = 0, 0, 0

    def start(self, now: int) -> None:
        if self.event < 0:
            self.event = now * HZ // 1_000_000

    def on_ack(self, now: int, ack: Ack) -> None:
        tick = now * HZ // 1_000_000
        if ack.state == "Open" and self.has("packets"):
            self.acked = ack.packets
        if ack.rtt is not None and ack.rtt > 0:
            rtt = jiffies(ack.rtt)
            self.min_rtt = min(self.min_rtt, rtt) if self.min_rtt else rtt
            if ack.state == "Open":
                self.max_rtt = max(self.max_rtt, self.min_rtt)
                if self.max_rtt < rtt and (rtt <= self.max_rtt + 20 or not self.has("rise")):
                    self.max_rtt = rtt
        if not self.params["use_bandwidth_switch"]:
            return
        if ack.state not in ("Open", "Disorder") and self.has("states"):
            self.count, self.since = 0, tick
            return
        self.count += ack.packets
        span = tick - self.since
        if self.count >= self.cwnd - max(self.alpha >> 7, 1) and span >= self.min_rtt > 0:
            rate = self.count * HZ // span
            if (tick - self.event) // self.min_rtt <= 3 and self.has("just_after"):
                self.rate = self.best = rate
            else:
                self.rate = (3 * self.rate + rate) // 4
                self.best = max(self.best, self.rate)
            self.count, self.since = 0, tick

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if not limited:
            return
        if self.slow:
            self.slow_start(ack.packets)
            return
        if (self.cnt * self.alpha & U32) >> 7 >= self.cwnd:
            self.cwnd += 1
            self.cnt = 0
            self.new_alpha(now * HZ // 1_000_000)
        else:
            self.cnt += self.acked
        self.acked = 1

    def new_alpha(self, tick: int) -> None:
        past = tick - self.event - HZ
        factor = 1
        if past > 0 and self.has("time"):
            square = (past // 2) ** 2 // HZ if self.has("square") else 0
            factor = 1 + (10 * past + square) // HZ
        if self.min_rtt and self.params["use_rtt_scaling"] and self.has("scaling"):
            scale = min(max(8 * HZ // (10 * self.min_rtt), 4), 80)
            factor = max(8 * factor // scale, 1)
        self.alpha = 2 * factor * (128 - self.beta)

    def new_beta(self) -> None:
        before = self.best_before
        if self.params["use_bandwidth_switch"]:
            self.best_before = self.best
        if self.params["use_bandwidth_switch"] and self.has("switch") and not 4 * before <= 5 * self.best <= 6 * before:
            self.beta, self.mode = 64, False
        elif self.mode and self.min_rtt > 10 and self.max_rtt and self.has("adaptive"):
            share = (self.min_rtt << 7) // self.max_rtt
            self.beta = min(max(share, 64), 102) if self.has("clamp") else share
        else:
            self.beta, self.mode = 64, True

    def threshold(self, now: int) -> int:
        self.new_beta()
        self.new_alpha(now * HZ // 1_000_000)
        if self.max_rtt > self.min_rtt > 0 and self.has("fading"):
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 // 100
        return max(self.cwnd * self.beta >> 7, 2)

    def state(self, now: int, state: str, nxt: int) -> None:
        tick = now * HZ // 1_000_000
        if state in ("Cwr", "Recovery", "Loss"):
            self.saved = (self.event, self.max_rtt, self.best_before)
            self.event = tick
        elif state == "Open" and self.saved:
            self.saved = None
            if self.has("open"):
                self.event = tick

    def undo(self) -> None:
        if self.saved and self.has("undo"):
            self.event, self.max_rtt, self.best_before = self.saved
            self.saved = None
