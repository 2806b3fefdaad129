"""A second implementation of BBRv3 of the draft, for the table beside it: `python bbr3_draft.py > bbr3_draft.txt`.

Written from draft-ietf-ccwg-bbr-06, independently of the Rust code: filters as lists of all their samples, times in
microseconds, data in segments. `connection.py` drives it.
"""

from __future__ import annotations

from math import floor, inf

from connection import LOSS, RECOVERY, Stream, drive

MSS = 1448
SEED = 7
PROBE_BW = ("ProbeBwDown", "ProbeBwCruise", "ProbeBwRefill", "ProbeBwUp")
PACING = {"Startup": 2.77, "Drain": 0.5, "ProbeBwDown": 0.9, "ProbeBwUp": 1.25}


class Draft:
    def __init__(self, i: dict, cwnd: int, srtt: int, min_rtt: int) -> None:
        self.draw = Stream(SEED).below
        self.mode, self.cwnd, self.initial = "Startup", float(cwnd), float(cwnd)
        self.min_rtt = self.low_rtt = srtt / 1e6
        self.min_stamp = self.low_stamp = i["now"]
        self.done, self.rested = None, False
        self.prior, self.recovering = 0.0, False
        self.undo_mode, self.undo_bounds, self.undoing = None, (0.0, 0.0, 0.0), False
        self.idle = False
        self.samples: list[tuple[int, float]] = []
        self.extras: list[tuple[int, float]] = [(0, 0.0)]
        self.extra_start, self.extra_acked = i["now"], 0.0
        self.full_bw, self.flat_rounds, self.flat, self.reached = 0.0, 0, False, False
        self.max_bw = self.bw = 0.0
        self.bw_short = self.flight_short = self.flight_long = inf
        self.bw_latest = self.flight_latest = 0.0
        self.lossy, self.loss_end, self.loss_over, self.ranges = False, 0, False, 0
        self.phase, self.cycle, self.cycle_start, self.wait = "init", 0, 0, 0
        self.per_inc, self.up_acked, self.up_rounds = inf, 0.0, 0
        self.since_up = 0
        self.probe_sample = self.too_high = self.precautionary = False
        self.round_end, self.round, self.round_start, self.drain_round = 0, 0, False, 0
        self.pacing = 2.77 * self.initial / (srtt / 1e6)
        self.quantum = 2.0

    def bdp(self, bw: float) -> float:
        return bw * self.min_rtt

    def budget(self, amount: float) -> float:
        amount = max(amount, 3.0 * self.quantum, 4.0)
        return amount + 2.0 if self.mode == "ProbeBwUp" else amount

    def target(self) -> float:
        return min(self.bdp(self.bw), self.cwnd)

    def headroom(self) -> float:
        return inf if self.flight_long == inf else max(self.flight_long - max(1.0, 0.15 * self.flight_long), 4.0)

    def rest_cwnd(self) -> float:
        return max(0.5 * self.bdp(self.bw), 4.0)

    def save(self) -> None:
        held = self.recovering or self.mode == "ProbeRtt"
        self.prior = max(self.prior, self.cwnd) if held else self.cwnd

    def restore(self) -> None:
        self.cwnd = max(self.cwnd, self.prior)

    def flat_again(self, bw: float) -> None:
        self.full_bw, self.flat_rounds, self.flat = bw, 0, False

    # losses

    def reduce(self) -> None:
        self.save()
        self.undo_mode, self.undo_bounds = None, (self.bw_short, self.flight_short, self.flight_long)

    def note(self, i: dict) -> None:
        if not self.lossy:
            self.loss_end = i["d"]
            self.reduce()
        self.lossy = True

    def lose(self, i: dict) -> None:
        self.note(i)
        if not i["continues"]:
            self.ranges += 1
        flight, lost = i["tx_flight"], i["tx_lost"]
        if not self.probe_sample or lost <= flight * 0.02:
            return
        self.too_high, self.probe_sample = True, False
        if not i["tx_limited"]:
            before, lost_before = flight - 1.0, lost - 1.0
            at_loss = before + (0.02 * before - lost_before) / (1.0 - 0.02)
            self.flight_long = max(at_loss, self.target() * 0.7)
        if self.mode == "ProbeBwUp":
            self.undo_mode = "ProbeBwUp"
            self.down(i)

    def repair(self, i: dict) -> None:
        self.note(i)

    def enter(self, i: dict) -> None:
        if i["state"] == LOSS:
            self.cwnd, self.recovering = float(int(self.cwnd)), True
        elif self.recovering and i["state"] < RECOVERY:
            self.restore()
            self.recovering = False

    def undo(self) -> None:
        self.restore()
        self.lossy = False
        self.flat_again(0.0)
        self.bw_short = max(self.bw_short, self.undo_bounds[0])
        self.flight_short = max(self.flight_short, self.undo_bounds[1])
        self.flight_long = max(self.flight_long, self.undo_bounds[2])
        self.undoing = True

    def finish_undo(self, i: dict) -> None:
        if not self.undoing:
            return
        self.undoing = False
        if self.undo_mode == "Startup" and self.mode != "Startup":
            self.reached = False
            if self.mode != "ProbeRtt":
                self.mode = "Startup"
        elif self.undo_mode == "ProbeBwUp" and self.mode not in ("ProbeBwUp", "ProbeRtt"):
            self.refill(i)
        self.undo_mode = None

    # phases

    def down(self, i: dict) -> None:
        self.lossy, self.bw_latest, self.flight_latest = False, 0.0, 0.0
        self.per_inc = inf
        self.since_up = self.draw(2)
        self.wait = 2_000_000 + self.draw(1_000_000)
        self.cycle_start, self.phase, self.round_end, self.mode = i["now"], "stopping", i["d"], "ProbeBwDown"

    def refill(self, i: dict) -> None:
        self.bw_short = self.flight_short = inf
        self.up_rounds, self.up_acked, self.precautionary = 0, 0.0, False
        self.phase, self.round_end, self.mode = "refilling", i["d"], "ProbeBwRefill"

    def up(self, i: dict, rate: float) -> None:
        self.phase, self.round_end = "starting", i["d"]
        self.flat_again(rate)
        self.mode = "ProbeBwUp"
        self.steeper()

    def steeper(self) -> None:
        self.per_inc = max(self.cwnd / 2.0**self.up_rounds, 1.0)
        self.up_rounds = min(self.up_rounds + 1, 30)

    def resume(self, i: dict) -> None:
        if i["flight"] or not i["now_limited"]:
            return
        self.idle, self.extra_start, self.extra_acked = True, i["now"], 0.0
        if self.mode in PROBE_BW:
            self.pace(1.0)
        elif self.mode == "ProbeRtt":
            self.rested_enough(i)

    def rested_enough(self, i: dict) -> None:
        if self.done is None or i["now"] <= self.done:
            return
        self.low_stamp = i["now"]
        self.restore()
        self.bw_short = self.flight_short = inf
        if self.reached:
            self.down(i)
            self.mode = "ProbeBwCruise"
        else:
            self.mode = "Startup"

    def pace(self, gain: float) -> None:
        rate = gain * self.bw * (100.0 - 1.0) / 100.0
        if self.reached or rate > self.pacing:
            self.pacing = rate

    # acknowledgments

    def ack(self, i: dict) -> None:
        self.finish_undo(i)
        sampled = i["delivered"] >= 0
        delivered = float(i["delivered"]) if sampled else 0.0
        rate = delivered / (i["interval"] / 1e6) if sampled and i["interval"] > 0 else 0.0
        self.bw_latest, self.flight_latest = max(self.bw_latest, rate), max(self.flight_latest, delivered)
        self.loss_over = sampled and i["prior_delivered"] >= self.loss_end
        if self.loss_over:
            self.loss_end = i["d"]
        self.round_start = sampled and i["prior_delivered"] >= self.round_end
        if self.round_start:
            self.round_end, self.round, self.since_up = i["d"], self.round + 1, self.since_up + 1
            self.extras.append((self.round, 0.0))
        if rate > 0 and (rate >= self.max_bw or not i["limited"]):
            self.samples.append((self.cycle, rate))
            self.max_bw = max(bw for cycle, bw in self.samples if cycle >= self.cycle - 1)
        if self.loss_over:
            if self.lossy and self.mode not in ("Startup", "ProbeBwRefill", "ProbeBwUp"):
                self.bw_short = self.max_bw if self.bw_short == inf else self.bw_short
                self.flight_short = self.cwnd if self.flight_short == inf else self.flight_short
                self.bw_short = max(self.bw_latest, 0.7 * self.bw_short)
                self.flight_short = max(self.flight_latest, 0.7 * self.flight_short)
            self.lossy = False
        expected = self.bw * ((i["now"] - self.extra_start) / 1e6)
        if self.extra_acked <= expected:
            self.extra_acked, self.extra_start, expected = 0.0, i["now"], 0.0
        self.extra_acked += i["acked"]
        self.extras.append((self.round, min(self.extra_acked - expected, self.cwnd)))
        if not self.flat and self.round_start and not i["limited"]:
            if rate >= self.full_bw * 1.25:
                self.flat_again(rate)
            else:
                self.flat_rounds += 1
                self.flat = self.flat_rounds >= 3
                self.reached = self.reached or self.flat
        if self.loss_over:
            many, self.ranges = self.ranges >= 6 and i["state"] == RECOVERY, 0
            if self.mode == "Startup" and many and i["lost_since"] > i["tx_in_flight"] * 0.02:
                self.undo_mode, self.reached = "Startup", True
                self.flight_long = max(self.bdp(self.bw), self.flight_latest)
        if self.mode == "Startup" and self.reached:
            self.mode, self.drain_round = "Drain", self.round
        drained = i["flight"] <= self.budget(self.bdp(self.bw)) or self.round > self.drain_round + 3
        if self.mode == "Drain" and drained:
            self.down(i)
        if self.reached:
            self.cycle_step(i, rate)
        self.rtts(i, delivered)
        if self.loss_over:
            self.bw_latest, self.flight_latest = rate, delivered
        self.bw = min(self.max_bw, self.bw_short)
        self.pace(PACING.get(self.mode, 1.0))
        self.quantum = max(min(self.pacing * 0.001, 65536.0 / MSS), 2.0)
        self.window(i)
        self.recovering = i["state"] >= RECOVERY

    def cycle_step(self, i: dict, rate: float) -> None:
        if self.phase == "starting" and self.round_start:
            self.phase = "feedback"
        if self.phase == "stopping" and self.round_start:
            self.probe_sample, self.phase = False, "init"
            if self.mode in PROBE_BW:
                self.cycle += not i["limited"]
                if self.precautionary and not self.too_high:
                    self.refill(i)
                    return
        if i["lost_since"] <= i["tx_in_flight"] * 0.02 and self.flight_long < inf:
            self.flight_long = max(self.flight_long, float(i["tx_in_flight"]))
            if self.mode == "ProbeBwUp" and i["cwnd_limited"] and self.cwnd >= self.flight_long:
                self.up_acked += i["acked"]
                if self.up_acked >= self.per_inc:
                    steps = floor(self.up_acked / self.per_inc)
                    self.up_acked -= steps * self.per_inc
                    self.flight_long += steps
                if self.round_start:
                    self.steeper()
        over = i["now"] > self.cycle_start + self.wait or self.since_up >= min(self.target(), 63.0)
        if self.mode in ("ProbeBwDown", "ProbeBwCruise") and over:
            self.refill(i)
        elif self.mode == "ProbeBwDown":
            if i["flight"] <= self.headroom() and i["flight"] <= self.budget(self.bdp(self.max_bw)):
                self.mode = "ProbeBwCruise"
        elif self.mode == "ProbeBwRefill" and self.round_start:
            self.probe_sample = True
            self.up(i, rate)
        elif self.mode == "ProbeBwUp":
            if self.too_high and i["flight"] >= self.flight_long:
                self.precautionary = True
            elif i["cwnd_limited"] and self.cwnd >= self.flight_long:
                self.flat_again(rate)
                return
            elif not self.flat:
                return
            self.too_high = False
            self.down(i)

    def rtts(self, i: dict, delivered: float) -> None:
        expired = i["now"] > self.low_stamp + 5_000_000
        if i["rtt"] >= 0 and (i["rtt"] / 1e6 < self.low_rtt or expired):
            self.low_rtt, self.low_stamp = i["rtt"] / 1e6, i["now"]
        if self.low_rtt < self.min_rtt or i["now"] > self.min_stamp + 10_000_000:
            self.min_rtt, self.min_stamp = self.low_rtt, self.low_stamp
        if self.mode != "ProbeRtt" and expired and not self.idle:
            self.mode, self.done = "ProbeRtt", None
            self.save()
            self.phase, self.round_end = "stopping", i["d"]
        if self.mode == "ProbeRtt":
            if self.done is None:
                if i["flight"] <= self.rest_cwnd():
                    self.done, self.rested, self.round_end = i["now"] + 200_000, False, i["d"]
            else:
                self.rested = self.rested or self.round_start
                if self.rested:
                    self.rested_enough(i)
        if delivered > 0:
            self.idle = False

    def window(self, i: dict) -> None:
        if i["acked"]:
            gain = {"ProbeBwUp": 2.25, "ProbeRtt": 0.5}.get(self.mode, 2.0)
            span = 10 if self.reached else 1
            extra = max(extra for number, extra in self.extras if number > self.round - span)
            most = self.budget(gain * self.bdp(self.bw) + extra)
            if self.reached:
                self.cwnd = min(self.cwnd + i["acked"], most)
            elif self.cwnd < most or i["d"] < self.initial:
                self.cwnd += i["acked"]
            self.cwnd = max(self.cwnd, 4.0)
        if self.mode == "ProbeRtt":
            self.cwnd = min(self.cwnd, self.rest_cwnd())
        cap = inf
        if self.mode in ("ProbeBwDown", "ProbeBwRefill", "ProbeBwUp"):
            cap = self.flight_long
        elif self.mode in ("ProbeBwCruise", "ProbeRtt"):
            cap = self.headroom()
        self.cwnd = min(self.cwnd, max(min(cap, self.flight_short), 4.0))


def main() -> None:
    def found(bbr: Draft) -> list[object]:
        bounds = [-1 if bound == inf else f"{bound:.3f}" for bound in (bbr.flight_long, bbr.flight_short)]
        return [f"{bbr.cwnd:.3f}", f"{bbr.pacing:.3f}", bbr.mode, f"{bbr.min_rtt:.6f}", f"{bbr.bw:.3f}", *bounds]

    drive(Draft, found, seed=38)


if __name__ == "__main__":
    main()
