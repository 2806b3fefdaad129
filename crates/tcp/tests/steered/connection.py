"""A synthetic connection for the second implementations of BBR: the callbacks of a control, line by line.

The path's rate grows, levels off and falls; there are losses during and outside of probes, time-outs, loss probes,
pauses, and an application that sends little. The length of a phase depends on the control, so that each phase is
visited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

MASK = (1 << 64) - 1
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
KEYS = ["now", "state", "flight", "d", "d_time", "lost", "now_limited", "departure", "cwnd_limited"]
SAMPLE = ["delivered", "interval", "prior_delivered", "acked", "losses", "prior_flight", "rtt", "limited", "delayed"]
SAMPLE += ["tx_in_flight", "lost_since", "acks_probe"]
LOST = ["tx_flight", "tx_lost", "tx_limited", "continues"]


def mixed(z: int) -> int:
    """SplitMix64's output function."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """The simulation's random stream, from a state."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return (mixed(self.state) * n) >> 64


def drive(control: Callable[..., Any], found: Callable[[Any], list[object]], seed: int) -> None:
    """Print a table of callbacks of `control`, each with its state from `found` afterwards."""
    rng = random.Random(seed)
    now, base = 5_000_000, 40_000
    i = dict.fromkeys(KEYS + SAMPLE + LOST, 0)
    i.update(now=now, d=1, d_time=now, flight=10)
    bbr = control(i, 10, base, base)

    def write(event: str, words: list[str]) -> None:
        print(event, " ".join(str(int(i[key])) for key in words), "|", *found(bbr))

    # Acknowledgments, packets per second of the path, loss rate, whether the application limits the rate.
    plan = [
        *[(9, speed, 0, 0) for speed in (200, 400, 800)],
        *[(160, 800, 0, 0), (60, 800, 0.02, 0), (70, 700, 0, 1), (160, 1500, 0.004, 0)],
        *[(180, 400, 0.3, 0), (150, 300, 0, 0), (200, 900, 0, 0), (60, 900, 0.01, 1), (200, 1200, 0.02, 0)],
    ]
    recovering = 0
    for count, speed, loss, limited in plan:
        for _ in range(count):
            acked = rng.choice([0, 1, 2, 2, 2, 3, 9])
            gap = 1_000_000 * max(acked, 1) // speed
            gap = rng.randrange(gap // 2, gap * 3 // 2) + rng.choice([0, 0, 0, 40_000])
            if rng.random() < 0.006:
                gap += 4_000_000
            elif bbr.mode.endswith("Cruise") and speed > 500 and rng.random() < 0.08:
                gap += 2_400_000
            i["now"] += gap
            most = {"ProbeRtt": (3, 30), "Startup": (60, 140), "Drain": (30, 99)}.get(bbr.mode, (20, 90))
            i["prior_flight"] = min(max(int(bbr.cwnd), most[0]), rng.randrange(*most))
            losses = rng.randrange(1, 6) if rng.random() < loss * 2 else 0
            i["losses"], i["acked"] = losses, acked
            i["d"] += acked
            if acked:
                i["d_time"] = i["now"]
            i["flight"] = max(i["prior_flight"] - acked - losses, 0)
            recovering = 12 if losses else max(recovering - 1, 0)
            state = RECOVERY if recovering else OPEN
            i["now_limited"], i["cwnd_limited"] = int(limited), int(rng.random() < 0.7)
            if state == RECOVERY and i["state"] < RECOVERY:
                bbr.reduce()
                write("reduce", KEYS)
            previous, i["state"] = i["state"], state
            flight = max(i["prior_flight"], 2)
            for n in range(losses):
                i["lost"] += 1
                i["tx_flight"], i["tx_lost"] = flight + rng.randrange(9), n + 1
                i["tx_limited"], i["continues"] = limited and rng.random() < 0.5, n > 0 and rng.random() < 0.3
                bbr.lose(i)
                write("lost", KEYS + LOST)
            if state != previous:
                bbr.enter(i)
                write("enter", KEYS)
            i["rtt"] = rng.choice([-1, base + rng.randrange(-500, 30_000), base + rng.randrange(0, 3_000)])
            i["limited"], i["delayed"] = limited and rng.random() < 0.8, rng.random() < 0.1
            back = rng.randrange(3, 30)
            i["prior_delivered"] = max(i["d"] - acked - back, 1)
            i["delivered"] = i["d"] - i["prior_delivered"] if acked and rng.random() < 0.95 else -1
            i["interval"] = max(i["delivered"], 1) * 1_000_000 // speed + rng.randrange(0, 400)
            if rng.random() < 0.04:
                i["interval"] = -1
            chosen = i["delivered"] >= 0
            i["tx_in_flight"] = flight + rng.randrange(12) if chosen else 0
            i["lost_since"] = rng.choice([0, 0, 1, losses, 3]) if chosen and recovering else 0
            i["acks_probe"] = rng.random() < 0.02
            i["departure"] = i["now"] + rng.choice([-5, 0, 700, 2_345])
            bbr.ack(i)
            write("ack", KEYS + SAMPLE)
            if rng.random() < 0.01:
                bbr.reduce()
                write("reduce", KEYS)
                i["state"], recovering = LOSS, 5
                bbr.enter(i)
                write("enter", KEYS)
            if rng.random() < 0.01:
                bbr.undo()
                write("undo", KEYS)
            if rng.random() < 0.01:
                i["tx_limited"] = limited
                bbr.repair(i)
                write("repair", KEYS + LOST)
            if rng.random() < 0.03:
                i["now"] += rng.choice([3_000, 3_000, 12_000_000])
                i["flight"] = rng.choice([0, 0, i["flight"]])
                bbr.resume(i)
                write("resume", KEYS)
