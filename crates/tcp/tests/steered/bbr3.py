"""A second implementation of BBRv3 of Google's Linux, for the table beside it: `python bbr3.py > bbr3.txt`.

Written from a description in words and formulas, independently of the Rust code: one function per acknowledgment,
bounds as infinities. It is driven by synthetic acknowledgments: a rate that grows, levels off and falls, losses during
and outside of probes, time-outs, loss probes, pauses, an application that sends little. Each line of the table is a
callback with its arguments and the control's state after it.
"""

from __future__ import annotations

from math import inf

from connection import LOSS, OPEN, RECOVERY, Stream, drive

UNIT = 1 << 24
MSS = 1448
BW_PHASES = ("ProbeUp", "ProbeDown", "ProbeCruise", "ProbeRefill")
GAINS = {
    "Startup": (710, 512),
    "Drain": (88, 512),
    "ProbeUp": (320, 576),
    "ProbeDown": (232, 512),
    "ProbeCruise": (256, 512),
    "ProbeRefill": (256, 512),
    "ProbeRtt": (256, 256),
}
SEED = 7


def rate_of(bw: int, gain: int) -> int:
    return max((((bw * MSS * gain) >> 8) * 990000) >> 24, 1)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def beyond(lost: int, flight: int) -> bool:
    return lost > 0 and flight > 0 and lost > flight * 5 // 256


class Bbr3:
    def __init__(self, i: dict, cwnd: int, srtt: int, min_rtt: int) -> None:
        self.cwnd, self.first_cwnd, self.ssthresh = cwnd, cwnd, 2**31 - 1
        self.mode, self.draw = "Startup", Stream(SEED).below
        ms = i["now"] // 1000
        self.min_rtt, self.min_stamp, self.low_rtt, self.low_stamp = min_rtt, ms, min_rtt, ms
        self.done, self.rested = None, False
        self.next_round, self.round_start = i["d"], False
        self.loss_round, self.loss_round_start, self.lossy = i["d"] + 1, False, False
        self.idle = False
        self.gain, self.cwnd_gain = GAINS["Startup"]
        self.full_bw, self.flat_rounds, self.flat, self.reached = 0, 0, False, False
        self.old_bw = self.new_bw = 0
        self.bw_latest = self.flight_latest = 0
        self.bw_lo = self.flight_lo = self.flight_hi = inf
        self.saved = (0, 0, 0)
        self.to_save = False
        self.events = 0
        self.wait = self.phase_start = self.rounds = 0
        self.acks = "init"
        self.probing = self.too_high = self.risky = False
        self.up_rounds, self.up_step, self.up_acked = 0, inf, 0
        self.prev, self.prior = OPEN, 0
        self.epoch_start, self.epoch_acked = i["now"], 0
        self.slots, self.slot, self.age = [0, 0], 0, 0
        self.fast = False
        self.rate = rate_of(cwnd * UNIT // max(srtt, 1), 710)

    # derived from the state

    def max_bw(self) -> int:
        return max(self.old_bw, self.new_bw)

    def bw(self) -> int:
        return min(self.max_bw(), self.bw_lo)

    def goal(self) -> int:
        halvings = self.min_rtt >> 9
        size = (self.rate >> 10) + (65536 >> halvings if halvings < 32 else 0)
        return max(min(size, 65536 - 1 - 320) // MSS, 2)

    def bdp(self, bw: int, gain: int) -> int:
        return ceil_div((bw * self.min_rtt * gain) >> 8, UNIT)

    def quant(self, w: int) -> int:
        return max(w, 3 * self.goal(), 4) + (2 if self.mode == "ProbeUp" else 0)

    def inflight(self, bw: int) -> int:
        return self.quant(self.bdp(bw, 256))

    def target(self) -> int:
        return min(self.inflight(self.bw()), self.cwnd)

    def in_network(self, i: dict, flight: int) -> int:
        gone = self.bw() * max(0, i["departure"] - i["now"]) >> 24
        return max(flight + (self.goal() if self.gain > 256 else 0) - gone, 0)

    def headroom(self) -> float:
        if self.flight_hi == inf:
            return inf
        return max(self.flight_hi - max(self.flight_hi * 38 >> 8, 1), 4)

    # phases

    def phase(self, name: str) -> None:
        self.mode, self.fast = name, False

    def flat_again(self, bw: int) -> None:
        self.full_bw, self.flat_rounds, self.flat = bw, 0, False

    def down(self, i: dict) -> None:
        self.lossy, self.bw_latest, self.flight_latest = False, 0, 0
        self.up_step = inf
        self.rounds = self.draw(2)
        self.wait = 2_000_000 + self.draw(1_000_000)
        self.phase_start, self.acks, self.next_round = i["now"], "stopping", i["d"]
        self.phase("ProbeDown")

    def cruise(self) -> None:
        if self.flight_lo < inf:
            self.flight_lo = min(self.flight_lo, self.flight_hi)
        self.phase("ProbeCruise")

    def refill(self, i: dict) -> None:
        self.bw_lo = self.flight_lo = inf
        self.up_rounds = self.up_acked = 0
        self.risky, self.acks, self.next_round = False, "refilling", i["d"]
        self.phase("ProbeRefill")

    def steeper(self) -> None:
        self.up_step = max(self.cwnd // 2**self.up_rounds, 1)
        self.up_rounds = min(self.up_rounds + 1, 30)

    def up(self, i: dict, bw: int) -> None:
        self.acks, self.next_round, self.phase_start = "starting", i["d"], i["now"]
        self.flat_again(bw)
        self.phase("ProbeUp")
        self.steeper()

    # losses

    def note(self, i: dict) -> None:
        if not self.lossy:
            self.loss_round = i["d"]
        self.lossy = True

    def judge(self, i: dict, flight: int, level: int, limited: bool, lost: int) -> None:
        if self.probing and beyond(lost, flight):
            self.overshot(i, level, limited)

    def overshot(self, i: dict, level: int, limited: bool) -> None:
        self.too_high, self.probing = True, False
        if not limited:
            self.flight_hi = max(level, self.target() * 180 >> 8)
        if self.mode == "ProbeUp":
            self.down(i)

    def lose(self, i: dict) -> None:
        self.note(i)
        flight, lost = i["tx_flight"], i["tx_lost"]
        budget = ((flight - 1) * 5 + 255) >> 8
        level = flight - 1 + max(budget - (lost - 1), 0) * 256 // 251
        self.judge(i, flight, level, bool(i["tx_limited"]), lost)

    def repair(self, i: dict) -> None:
        self.note(i)
        flight = self.flight_latest + 1
        self.judge(i, flight, flight, bool(i["tx_limited"]), 1)

    def settle(self) -> None:
        if self.to_save:
            self.saved = (self.bw_lo, self.flight_lo, self.flight_hi)
        self.to_save = False

    def reduce(self) -> None:
        self.save()
        self.to_save = True

    def save(self) -> None:
        if self.prev < RECOVERY and self.mode != "ProbeRtt":
            self.prior = self.cwnd
        else:
            self.prior = max(self.prior, self.cwnd)

    def undo(self) -> None:
        self.settle()
        self.flat_again(0)
        self.lossy = False
        self.bw_lo = max(self.bw_lo, self.saved[0])
        self.flight_lo = max(self.flight_lo, self.saved[1])
        self.flight_hi = max(self.flight_hi, self.saved[2])
        self.fast = False

    def enter(self, i: dict) -> None:
        self.settle()
        if i["state"] == LOSS:
            self.prev = LOSS
            self.flat_again(0)
            if self.mode not in ("Startup", "ProbeRefill", "ProbeUp") and self.flight_lo == inf:
                self.flight_lo = max(self.cwnd, self.prior)
        elif self.prev == LOSS:
            self.cwnd, self.fast = max(self.cwnd, self.prior), False

    # acknowledgments

    def rested_enough(self, i: dict) -> None:
        if self.done is None or i["now"] // 1000 <= self.done:
            return
        self.low_stamp, self.cwnd = i["now"] // 1000, max(self.cwnd, self.prior)
        self.bw_lo = self.flight_lo = inf
        if self.reached:
            self.down(i)
            self.cruise()
        else:
            self.mode = "Startup"

    def pace(self, gain: int) -> None:
        r = rate_of(self.bw(), gain)
        if self.reached or r > self.rate:
            self.rate = r

    def resume(self, i: dict) -> None:
        if not i["now_limited"]:
            return
        self.idle, self.epoch_start, self.epoch_acked = True, i["now"], 0
        if self.mode in BW_PHASES:
            self.pace(256)
        elif self.mode == "ProbeRtt":
            self.rested_enough(i)

    def ack(self, i: dict) -> None:
        self.settle()
        valid = i["delivered"] >= 0 and i["interval"] > 0
        counts = valid and i["acked"] > 0
        bw = ceil_div(i["delivered"] * UNIT, i["interval"]) if valid else 0
        self.round_start = valid and i["prior_delivered"] >= self.next_round
        if self.round_start:
            self.next_round, self.rounds = i["d"], min(self.rounds + 1, 255)
        self.loss_round_start = False
        if counts:
            self.bw_latest = max(self.bw_latest, bw)
            self.flight_latest = max(self.flight_latest, i["delivered"])
            if i["prior_delivered"] >= self.loss_round:
                self.loss_round, self.loss_round_start = i["d"], True
        linux_mode = "BW" if self.mode in BW_PHASES else self.mode
        before = (linux_mode, self.min_rtt)
        fast = self.fast and i["limited"] and bw < self.max_bw() and not self.lossy
        if not fast:
            if counts:
                self.congestion(i, bw)
            if valid and i["acked"] > 0:
                self.aggregation(i)
            self.startup_losses(i)
            self.plateau(i, bw)
        self.drain(i)
        self.cycle(i, bw)
        self.rtts(i)
        linux_mode = "BW" if self.mode in BW_PHASES else self.mode
        if not (fast and before == (linux_mode, self.min_rtt) and self.fast):
            self.gain, self.cwnd_gain = GAINS[self.mode]
            self.pace(self.gain)
            self.window(i)
        if self.loss_round_start and not i["acks_probe"]:
            self.bw_latest, self.flight_latest = bw, i["delivered"]
        self.prev = i["state"]

    def congestion(self, i: dict, bw: int) -> None:
        if not i["limited"] or bw >= self.max_bw():
            self.new_bw = max(self.new_bw, bw)
        self.lossy = self.lossy or i["losses"] > 0
        if not self.loss_round_start:
            return
        if self.lossy and self.mode not in ("Startup", "ProbeRefill", "ProbeUp"):
            if self.bw_lo == inf:
                self.bw_lo = self.max_bw()
            if self.flight_lo == inf:
                self.flight_lo = self.cwnd
            self.bw_lo = max(self.bw_latest, self.bw_lo * 180 >> 8, 1)
            self.flight_lo = max(self.flight_latest, self.flight_lo * 180 >> 8)
        self.lossy = False

    def aggregation(self, i: dict) -> None:
        if self.round_start:
            self.age = min(31, self.age + 1)
            if self.age >= (5 if self.reached else 1):
                self.age, self.slot = 0, 1 - self.slot
                self.slots[self.slot] = 0
        expected = self.bw() * (i["d_time"] - self.epoch_start) // UNIT
        if self.epoch_acked <= expected or self.epoch_acked + i["acked"] >= 1 << 20:
            self.epoch_acked, self.epoch_start, expected = 0, i["d_time"], 0
        self.epoch_acked = min(0xFFFFF, self.epoch_acked + i["acked"])
        self.slots[self.slot] = max(self.slots[self.slot], min(self.epoch_acked - expected, self.cwnd))

    def startup_losses(self, i: dict) -> None:
        if self.reached:
            return
        self.events = min(self.events + (i["losses"] > 0), 15)
        if not self.loss_round_start:
            return
        if i["state"] == RECOVERY and self.events >= 6 and beyond(i["lost_since"], i["tx_in_flight"]):
            self.reached = True
            self.flight_hi = max(self.inflight(self.max_bw()), self.flight_latest)
        else:
            self.events = 0

    def plateau(self, i: dict, bw: int) -> None:
        if self.flat or i["limited"]:
            return
        if bw >= self.full_bw * 320 >> 8:
            self.flat_again(bw)
        elif self.round_start:
            self.flat_rounds += 1
            self.flat = self.flat_rounds >= 3
            self.reached = self.reached or self.flat

    def drain(self, i: dict) -> None:
        if self.mode == "Startup" and self.reached:
            self.mode, self.ssthresh = "Drain", self.inflight(self.max_bw())
            self.lossy, self.bw_latest, self.flight_latest = False, 0, 0
        if self.mode == "Drain" and self.in_network(i, i["flight"]) <= self.inflight(self.max_bw()):
            self.down(i)

    def cycle(self, i: dict, bw: int) -> None:
        if not self.reached:
            return
        if self.acks == "starting" and self.round_start:
            self.acks = "feedback"
        if self.acks == "stopping" and self.round_start:
            self.probing, self.acks = False, "init"
            if self.mode in BW_PHASES and not i["limited"] and self.new_bw:
                self.old_bw, self.new_bw = self.new_bw, 0
            if self.mode in BW_PHASES and self.risky and not self.too_high:
                self.refill(i)
                return
        if beyond(i["lost_since"], i["tx_in_flight"]):
            if self.probing:
                self.overshot(i, i["tx_in_flight"], bool(i["limited"]))
        elif self.flight_hi < inf:
            self.flight_hi = max(self.flight_hi, i["tx_in_flight"])
            if self.mode == "ProbeUp" and i["cwnd_limited"] and self.cwnd >= self.flight_hi:
                self.up_acked += i["acked"]
                if self.up_acked >= self.up_step:
                    self.flight_hi += self.up_acked // self.up_step
                    self.up_acked %= self.up_step
                    self.fast = False
                if self.round_start:
                    self.steeper()
        flight = self.in_network(i, i["prior_flight"])
        time = i["now"] > self.phase_start + self.wait or self.rounds >= min(63, self.target())
        if self.mode in ("ProbeCruise", "ProbeDown") and time:
            self.refill(i)
        elif self.mode == "ProbeDown" and flight <= self.headroom() and flight <= self.inflight(self.max_bw()):
            self.cruise()
        elif self.mode == "ProbeRefill" and self.round_start:
            self.probing = True
            self.up(i, bw)
        elif self.mode == "ProbeUp":
            risky = self.too_high and flight >= self.flight_hi
            if risky:
                self.risky = True
            elif i["cwnd_limited"] and self.cwnd >= self.flight_hi:
                self.flat_again(bw)
                return
            if risky or self.flat:
                self.too_high = False
                self.down(i)

    def rtts(self, i: dict) -> None:
        now, rtt = i["now"] // 1000, i["rtt"]
        expired = now > self.low_stamp + 5000
        if rtt >= 0 and (rtt < self.low_rtt or (expired and not i["delayed"])):
            self.low_rtt, self.low_stamp = rtt, now
        if self.low_rtt <= self.min_rtt or now > self.min_stamp + 10000:
            self.min_rtt, self.min_stamp = self.low_rtt, self.low_stamp
        if expired and not self.idle and self.mode != "ProbeRtt":
            self.mode, self.done = "ProbeRtt", None
            self.save()
            self.acks, self.next_round = "stopping", i["d"]
        if self.mode == "ProbeRtt":
            if self.done is None:
                if i["flight"] <= max(4, self.bdp(self.bw(), 128)):
                    self.done, self.rested, self.next_round = now + 200, False, i["d"]
            else:
                self.rested = self.rested or self.round_start
                if self.rested:
                    self.rested_enough(i)
        if i["delivered"] > 0:
            self.idle = False

    def window(self, i: dict) -> None:
        if i["acked"]:
            extra = min(max(self.slots), self.bw() * 100000 // UNIT)
            target = self.quant(self.bdp(self.bw(), self.cwnd_gain) + extra)
            if self.reached:
                self.fast = self.cwnd + i["acked"] >= target
                self.cwnd = min(self.cwnd + i["acked"], target)
            else:
                self.fast = not (self.cwnd < target or self.cwnd < 2 * self.first_cwnd)
                self.cwnd += 0 if self.fast else i["acked"]
            self.cwnd = max(self.cwnd, 4)
        if self.mode == "ProbeRtt":
            self.cwnd = min(self.cwnd, max(4, self.bdp(self.bw(), 128)))
        cap = inf
        if self.mode in ("ProbeUp", "ProbeDown", "ProbeRefill"):
            cap = self.flight_hi
        elif self.mode in ("ProbeCruise", "ProbeRtt"):
            cap = self.headroom()
        self.cwnd = min(self.cwnd, max(min(cap, self.flight_lo), 4))


def main() -> None:
    def found(bbr: Bbr3) -> list[object]:
        bounds = [-1 if bound == inf else bound for bound in (bbr.flight_hi, bbr.flight_lo)]
        return [bbr.cwnd, bbr.ssthresh, bbr.rate, bbr.mode, bbr.min_rtt, bbr.bw(), *bounds]

    drive(Bbr3, found, seed=23)


if __name__ == "__main__":
    main()
