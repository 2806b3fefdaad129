"""LEDBAT (RFC 6817) and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01)."""

from __future__ import annotations

from typing import ClassVar

from second.control import MSS, Ack, Control, Params


class Delays:
    """Base delay over ten minutes and minimum of the last four samples, in microseconds."""

    def __init__(self, minutes: int, samples: int) -> None:
        self.minutes, self.samples = minutes, samples
        self.by_minute: dict[int, int] = {}
        self.last: list[int] = []

    def take(self, now: int, delay: int) -> None:
        minute = now // 60_000_000
        self.by_minute[minute] = min(self.by_minute.get(minute, delay), delay)
        self.last = [*self.last, delay][-self.samples :]

    @property
    def base(self) -> int:
        return min([self.by_minute[minute] for minute in sorted(self.by_minute)][-self.minutes :])

    @property
    def now(self) -> int:
        return min(self.last)


class Ledbat(Control):
    MECHANISMS = ("target", "shrink", "history", "filter", "least", "follows", "unlimited", "fraction")
    PARAMS: ClassVar[Params] = {"target": 100_000, "gain": 1.0, "base_history": 10, "current_filter": 4, "min_cwnd": 2}

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.bytes = 0.0
        self.delays = self.new_delays()

    def new_delays(self) -> Delays:
        minutes, samples = int(self.params["base_history"]), int(self.params["current_filter"])
        return Delays(minutes if self.has("history") else 1_000_000, samples if self.has("filter") else 1)

    def configure(self, params: Params) -> None:
        super().configure(params)
        self.delays = self.new_delays()

    def on_ack(self, now: int, ack: Ack) -> None:
        self.delays.take(now, ack.one_way)

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        target = self.params["target"]
        share = (target - (self.delays.now - self.delays.base)) / target
        if not self.has("target"):
            share = 1.0
        if not limited and (share > 0 or not self.has("unlimited")):
            return
        if share < 0 and not self.has("shrink"):
            return
        if self.bytes == 0 or (int(self.bytes / MSS) != self.cwnd and self.has("follows")):
            self.bytes = float(self.cwnd * MSS)
        self.bytes += self.params["gain"] * share * ack.packets * MSS * MSS / self.bytes
        if not self.has("fraction"):
            self.bytes = float(int(self.bytes / MSS) * MSS)
        if self.has("least"):
            self.bytes = max(self.bytes, self.params["min_cwnd"] * MSS)
        self.cwnd = max(int(self.bytes / MSS), 1)


class LedbatPp(Control):
    MECHANISMS = (
        "gain", "most_divisor", "early_exit", "exit_on_loss", "initial", "hold", "ramp", "periodic", "nine", "shrink",
        "half", "follows",
    )  # fmt: skip
    PARAMS: ClassVar[Params] = {"target": 60_000, "base_history": 10, "current_filter": 4, "min_cwnd": 2}

    def __init__(self, *words: int | str) -> None:
        super().__init__(*words)  # type: ignore[arg-type]
        self.configure({})
        self.w, self.goal = 0.0, 0.0
        # Phase, start of the slowdown (-1: none), and time of the next phase.
        self.phase, self.began, self.due = "first", -1, 0

    def configure(self, params: Params) -> None:
        super().configure(params)
        self.target = int(self.params["target"])
        self.delays = Delays(int(self.params["base_history"]), int(self.params["current_filter"]))

    def on_ack(self, now: int, ack: Ack) -> None:
        if ack.rtt is not None:
            self.delays.take(now, ack.rtt)
        if ack.state != "Open" or not self.delays.last:
            return
        if self.phase == "steady" and now >= self.due and (self.has("initial") or self.began >= 0):
            self.phase, self.began, self.due = "held", now, now + (2 * self.delays.now if self.has("hold") else 0)
            self.goal = float(self.cwnd)
            self.ssthresh = self.cwnd
            self.put(self.params["min_cwnd"])
        elif self.phase == "held" and now >= self.due:
            self.phase = "ramp"

    def put(self, w: float) -> None:
        self.w = max(w, float(self.params["min_cwnd"]))
        self.cwnd = int(self.w)

    def exit(self, now: int) -> None:
        self.phase, self.due = "steady", now + 2 * self.delays.now
        if not self.has("initial"):
            self.due = now + 1_000_000_000

    def grow(self, now: int, ack: Ack, limited: bool) -> None:
        if int(self.w) != self.cwnd and (self.has("follows") or self.w == 0):
            self.w = float(self.cwnd)
        most = 16 if self.has("most_divisor") else 1_000_000
        gain = 1.0 / min(most, -(-2 * self.target // self.delays.base)) if self.has("gain") else 1.0
        queue = self.delays.now - self.delays.base
        if self.phase == "first":
            if queue > self.target * 3 // 4 and self.has("early_exit"):
                self.exit(now)
            elif limited:
                self.put(self.w + gain * ack.packets)
                return
        elif self.phase == "ramp":
            if self.w < self.goal and self.has("ramp"):
                if limited:
                    self.put(min(self.w + gain * ack.packets, self.goal))
                return
            pause = (9 if self.has("nine") else 1) * (now - self.began) if self.began >= 0 else 0
            if not self.has("periodic"):
                pause = 1_000_000_000
            self.phase, self.due = "steady", now + max(pause, 2 * self.delays.now)
        elif self.phase == "held":
            return
        if queue < self.target:
            if limited:
                self.put(self.w + gain * ack.packets / self.w)
        elif self.has("shrink"):
            change = gain - self.w * ((queue - self.target) / self.target)
            if self.has("half"):
                change = max(change, -self.w / 2)
            self.put(self.w + change * ack.packets / self.w)

    def state(self, now: int, state: str, nxt: int) -> None:
        if state in ("Cwr", "Recovery", "Loss") and self.phase == "first" and self.has("exit_on_loss"):
            self.exit(now)
        if state == "Loss":
            self.phase, self.began = "ramp", -1

    def threshold(self, now: int) -> int:
        half = min(max(self.cwnd // 2, 2), self.cwnd)
        self.goal = float(half)
        return half
