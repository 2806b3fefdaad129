"""Second implementations of TCP Prague 0.7 and 0.6, for the tables beside them: `python prague.py`.

Written from a description in words and formulas, independently of the Rust code. They are driven by synthetic
acknowledgments with marks, losses, short and long RTTs and low rates. Each line is a callback with its arguments and
the control's state after it.
"""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

ONE = 1 << 20
INFINITE = 2**31 - 1
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)


def nearest(x: Fraction) -> int:
    return floor(x + Fraction(1, 2))


class Common:
    def __init__(self, i: dict) -> None:
        self.cwnd, self.ssthresh, self.mtu = 10, INFINITE, 1500
        self.frac, self.round, self.saw, self.in_loss = 10 * ONE, 0, False, False
        self.cwr_stamp, self.alpha_stamp = 0, i["now"]
        self.saved_cwnd, self.burst = 0, 1
        self.new_round(i)

    def slow(self) -> bool:
        return self.cwnd < self.ssthresh

    def independent(self) -> bool:
        return not self.slow() and self.round >= self.transition

    def new_round(self, i: dict) -> None:
        self.next, self.d, self.d_ce = i["nxt"], i["d"], i["d_ce"]
        if not self.slow():
            self.round += 1
        self.set_ai(i)

    def alpha(self, i: dict) -> None:
        if self.saw:
            f = ((i["d_ce"] - self.d_ce) << self.bits) // max(i["d"] - self.d, 1)
            self.up = min(self.up - (self.up >> 4) + f, 1 << (self.bits + 4))
            self.alpha_stamp = i["now"]
            self.resize(i)
        self.after_alpha(i)
        self.new_round(i)

    def resize(self, i: dict) -> None:
        pass

    def after_alpha(self, i: dict) -> None:
        pass

    def target(self) -> int:
        return max(ceil(Fraction(self.frac, ONE)), self.min_target)

    def step(self, i: dict) -> None:
        if self.cwnd > self.target() and self.cwnd > self.least:
            self.cwnd -= 1
            self.ssthresh = self.cwnd
            self.set_ai(i)
        elif self.cwnd < self.target():
            self.cwnd += 1
            self.set_ai(i)

    def slow_start(self, acked: int) -> int:
        grown = min(self.cwnd + acked, self.ssthresh)
        left, self.cwnd = acked - (grown - self.cwnd), grown
        return left

    def due(self, i: dict) -> bool:
        return i["una"] >= self.next and (not self.independent() or i["now"] - self.alpha_stamp >= self.target_us)

    def changed(self, i: dict, state: int, first: bool) -> None:
        if state == RECOVERY or (state == LOSS and first):
            self.lose(i)
        elif state == CWR:
            self.in_loss = False
            if self.independent() and i["now"] - self.cwr_stamp < self.target_us:
                return
            self.cwr_stamp = i["now"]
            self.reduce(i, self.up >> 4)
        elif state == OPEN:
            self.in_loss = False


class V7(Common):
    transition, bits, least, min_target, target_us = 4, 24, 2, 2, 25000
    alpha_mode, cwnd_mode, cwnd_transit = 0, 2, 4

    def __init__(self, i: dict) -> None:
        self.up, self.by_rate, self.saved_rate, self.ai = 0, self.cwnd_mode == 1, 0, ONE
        if self.alpha_mode == 1:
            self.up = 16 << 24
        self.target8 = 8 * self.target_us
        self.hsrtt = i["srtt8"] << 7
        self.rate = max(8 * 10**6 * 1500 // i["srtt8"] * 10, 12500)
        super().__init__(i)
        self.round = 0
        self.pace(i)

    def set_ai(self, i: dict) -> None:
        s = i["srtt8"]
        plain = self.round < self.transition or s > 800_000 or s >= self.target8
        self.ai = ONE if plain else nearest(Fraction(s * s * ONE, self.target8**2))

    def rate_of_frac(self, i: dict) -> int:
        return max(((8 * 10**6 * self.mtu // i["srtt8"]) * self.frac) >> 20, 12500)

    def frac_of_rate(self) -> int:
        return -(-((self.rate * (self.hsrtt >> 7)) >> 3) // self.mtu)

    def ack(self, i: dict) -> None:
        acked = i["acked"] - i["ce"]
        if i["ce"]:
            if not self.saw and self.alpha_mode == 0:
                self.frac = (self.frac + 1) >> 1
            self.saw = True
        v = max(self.target8, i["srtt8"])
        stepping = True
        if acked > 0 and not self.in_loss and i["limited"]:
            if self.slow():
                acked = self.slow_start(acked)
                self.frac = self.cwnd << 20
                if not acked:
                    self.set_ai(i)
                    stepping = False
            if stepping and self.independent() and self.by_rate:
                inc = ((acked * 1500) << 23) // v
                w = -(-self.rate * v // (self.mtu << 23))
                self.rate += nearest(Fraction(inc, w))
                self.frac = max(self.frac + acked, self.frac_of_rate())
            elif stepping:
                inc = nearest(Fraction((acked * self.ai) << 20, self.frac)) * 1500 // self.mtu
                self.frac += max(acked, inc)
                self.rate = max(self.rate + acked, self.rate_of_frac(i))
        if stepping:
            self.step(i)
        if self.due(i):
            self.alpha(i)
        self.pace(i)
        if self.cwnd_mode != 2:
            return
        self.by_rate = self.saw and self.cwnd * self.mtu <= 1500 * self.cwnd_transit
        if self.by_rate:
            self.frac = self.frac_of_rate()
        else:
            self.rate = self.rate_of_frac(i)

    def after_alpha(self, i: dict) -> None:
        self.hsrtt += i["srtt8"] - (self.hsrtt >> 7)

    def resize(self, i: dict) -> None:
        if not self.independent() or self.in_loss:
            return
        if self.by_rate:
            carried = self.rate * max(self.target8, i["srtt8"]) >> 23
        else:
            w = self.frac * self.target8 // i["srtt8"] if i["srtt8"] < self.target8 else self.frac
            carried = (w * self.mtu) >> 20
        mtu = max(min(1500, ceil(Fraction(carried, 2))), 202)
        if mtu != self.mtu:
            self.frac = self.frac * self.mtu // mtu
            used, self.mtu = self.mtu, mtu
            if self.cwnd != self.target():
                self.cwnd = self.target()
                self.ssthresh = min(self.ssthresh * used // mtu, INFINITE)

    def pace(self, i: dict) -> None:
        if self.independent() and self.by_rate:
            offset = 4 * self.rate >> 7
            late = i["now"] - self.alpha_stamp >= max(self.target8, i["srtt8"]) >> 4
            rate = self.rate - offset if late else self.rate + offset
        else:
            self.rate = rate = max(8 * 10**6 * self.mtu // i["srtt8"] * max(self.frac >> 20, i["flight"]), 12500)
        if self.cwnd < self.ssthresh // 2:
            rate *= 2
        self.burst, self.pacing = max(1, (rate // self.mtu) >> 12), rate

    def reduce(self, i: dict, a: int) -> None:
        if self.independent() and self.by_rate:
            self.rate = max(self.rate - (self.rate * a >> 25), 12500)
            self.frac = self.frac_of_rate()
        else:
            self.frac -= (a * self.frac + (1 << 24)) >> 25
            self.rate = self.rate_of_frac(i)

    def lose(self, i: dict) -> None:
        self.saved_rate, self.in_loss = self.rate, True
        if self.independent() and self.by_rate:
            self.rate -= self.rate >> 1
            self.frac = self.frac_of_rate()
        else:
            self.frac -= self.frac >> 1
            self.rate = self.rate_of_frac(i)

    def undo(self) -> None:
        self.in_loss, self.rate = False, max(self.rate, self.saved_rate)
        self.frac = self.frac_of_rate()
        self.cwnd = max(self.cwnd, self.saved_cwnd)


class V7Rate(V7):
    """Everything but the burst differs from the defaults."""

    transition, target_us = 9, 40_000
    alpha_mode, cwnd_transit = 1, 7


class V7Window(V7):
    cwnd_mode = 0


class V7Fixed(V7):
    cwnd_mode, transition = 1, 2


class V6(Common):
    transition, bits, least, min_target, goal = 500, 20, 2, 1, 195
    scaling = 1

    @property
    def target_us(self) -> int:
        return 128 * self.target_rtt()

    def target_rtt(self) -> int:
        return self.goal + (self.rtt if self.scaling == 3 else 0)

    def independent(self) -> bool:
        return self.scaling > 0 and super().independent()

    def __init__(self, i: dict) -> None:
        self.rtt = i["srtt8"] >> 10
        self.up, self.saved_frac, self.ai, self.pacing = 1 << 24, 0, ONE, 0
        super().__init__(i)
        self.round = 0

    def set_ai(self, i: dict) -> None:
        r = self.rtt = (i["srtt8"] >> 3) >> 7
        t = self.target_rtt()
        plain = self.round < self.transition or r == 0 or self.scaling == 0
        if not plain and self.scaling == 2:
            self.ai = nearest(Fraction((ONE // 8 * 128 + ONE * min(max(r - 12, 0), 128)) * r, 128 * 128))
        else:
            self.ai = ONE if plain or r >= t else nearest(Fraction(r * r * ONE, t * t))

    def ack(self, i: dict) -> None:
        self.rtt = i["srtt8"] >> 10
        acked = i["acked"] - i["ce"]
        self.saw = self.saw or i["ce"] > 0
        stepping = True
        if acked > 0 and not self.in_loss and i["limited"]:
            if self.slow():
                acked = self.slow_start(acked)
                if not acked:
                    self.set_ai(i)
                    stepping = False
            if stepping:
                self.frac += max(acked, nearest(Fraction(acked * self.ai, self.target())))
        if stepping:
            self.step(i)
        if self.due(i):
            self.alpha(i)
        rate = 8 * 10**6 * self.mtu
        if self.cwnd < self.ssthresh // 2:
            rate *= 2
        self.pacing = nearest(Fraction(rate // i["srtt8"] * self.frac, ONE))
        self.burst = max(1, (self.pacing // self.mtu) >> 12)

    def changed(self, i: dict, state: int, first: bool) -> None:
        self.rtt = i["srtt8"] >> 10
        super().changed(i, state, first)

    def reduce(self, i: dict, a: int) -> None:
        self.frac -= (a * self.frac + (1 << 20)) >> 21

    def lose(self, i: dict) -> None:
        self.saved_frac, self.in_loss = self.frac, True
        self.frac -= self.frac >> 1
        self.set_ai(i)

    def undo(self) -> None:
        self.frac = max(self.frac, self.saved_frac)
        self.cwnd = max(self.cwnd, self.saved_cwnd)


class V6None(V6):
    transition, scaling = 6, 0


class V6Scalable(V6):
    transition, scaling, goal = 6, 2, 40_000 // 128


class V6Additive(V6):
    transition, scaling, goal = 6, 3, 12_000 // 128


KEYS = ["now", "state", "flight", "una", "nxt", "d", "d_ce", "srtt8", "limited"]


def table(make: type, plan: list[tuple], seed: int) -> list[str]:
    rng = random.Random(seed)
    i = {"now": 1_000_000, "state": OPEN, "flight": 0, "una": 1, "nxt": 1, "d": 1, "d_ce": 0, "srtt8": 20_000 * 8}
    i |= {"limited": 1, "acked": 0, "ce": 0}
    control, lines = make(i), []

    def write(event: str, words: list[str]) -> None:
        arguments = " ".join(str(int(i[key])) for key in words)
        mss = control.mtu - 52
        found = [control.cwnd, control.ssthresh, control.pacing, mss, control.frac, control.up, control.burst]
        lines.append(f"{event} {arguments} | {' '.join(map(str, found))}")

    # Acknowledgments, fraction marked, RTT in µs, loss rate, whether the application limits the rate.
    for count, marks, rtt, loss, idle in plan:
        for n in range(count):
            acked = rng.choice([1, 1, 2, 2, 3, 6])
            i["now"] += rtt * acked // max(control.cwnd, 2) + rng.randrange(0, 300)
            ce = sum(rng.random() < marks for _ in range(acked))
            i["srtt8"] = max(i["srtt8"] + (rtt * 8 - i["srtt8"]) // 4 + rng.randrange(-40, 40), 8)
            i |= {"acked": acked, "ce": ce, "limited": rng.random() >= idle}
            i["d"] += acked
            i["d_ce"] += ce
            i["una"] += acked * 1448
            i["flight"] = max(0, control.cwnd - rng.randrange(0, 3))
            i["nxt"] = i["una"] + i["flight"] * 1448
            if loss and rng.random() < loss:
                i["state"] = rng.choice([RECOVERY, LOSS])
                control.saved_cwnd = control.cwnd
                control.changed(i, i["state"], True)
                write("lose", KEYS)
            elif i["state"] in (RECOVERY, LOSS) and rng.random() < 0.2:
                if rng.random() < 0.3:
                    control.undo()
                    write("undo", KEYS)
                i["state"] = OPEN
                control.changed(i, OPEN, False)
                write("open", KEYS)
            elif ce and i["state"] < RECOVERY and (i["state"] != CWR or n % 7 == 0):
                i["state"] = CWR
                control.saved_cwnd = control.cwnd
                control.changed(i, CWR, False)
                write("mark", KEYS)
            control.ack(i)
            write("ack", [*KEYS, "acked", "ce"])
    return lines


def main() -> None:
    here = Path(__file__).parent
    fast = [(9, 0, 20_000, 0, 0), (3, 1, 20_000, 0, 0), (70, 0.1, 20_000, 0, 0), (70, 0.02, 60_000, 0.05, 0.3)]
    slow = [(150, 0.9, 5_000, 0, 0), (90, 0.97, 2_000, 0.03, 0), (120, 0.98, 60_000, 0, 0), (90, 0.1, 9_000, 0.03, 0)]
    (here / "prague-0.7.txt").write_text("\n".join(table(V7, fast + slow, 3)) + "\n")
    old = [(12, 0, 20_000, 0, 0), (60, 0.3, 20_000, 0.05, 0.2)]
    (here / "prague-0.6.txt").write_text("\n".join(table(V6, [*old, (700, 0.2, 9_000, 0, 0)], 4)) + "\n")
    for name, make in (("rate", V7Rate), ("window", V7Window), ("fixed", V7Fixed)):
        (here / f"prague-0.7-{name}.txt").write_text("\n".join(table(make, fast + slow[:2], 5)) + "\n")
    for name, make in (("none", V6None), ("scalable", V6Scalable), ("additive", V6Additive)):
        plan = [*old, (150, 0.2, 9_000, 0, 0)]
        (here / f"prague-0.6-{name}.txt").write_text("\n".join(table(make, plan, 6)) + "\n")


if __name__ == "__main__":
    main()
