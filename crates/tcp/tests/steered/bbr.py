"""A second implementation of BBRv1, for the table beside it: `python bbr.py > bbr.txt`.

Written from a description of Linux 6.1's tcp_bbr.c in words and formulas, independently of the Rust code. It is driven
by synthetic acknowledgments: a rate that grows and levels off, losses, a policer, time-outs, pauses, an application
that sends little. Each line of the table is a callback with its arguments and the control's state after it.
"""

from __future__ import annotations

from connection import LOSS, OPEN, RECOVERY, Stream, drive

UNIT = 1 << 24
MSS = 1448
CYCLE = [320, 192, 256, 256, 256, 256, 256, 256]


def rate_of(bw: int, gain: int) -> int:
    return (((bw * MSS * gain) >> 8) * 990000) >> 24


class Maximum:
    """Three best samples, by rounds."""

    def __init__(self) -> None:
        self.s = [(0, 0)] * 3

    def add(self, t: int, v: int) -> None:
        s = self.s
        if v >= s[0][0] or t - s[2][1] > 10:
            self.s = [(v, t)] * 3
            return
        if v >= s[1][0]:
            s[1] = s[2] = (v, t)
        elif v >= s[2][0]:
            s[2] = (v, t)
        dt = t - s[0][1]
        if dt > 10:
            s[0], s[1], s[2] = s[1], s[2], (v, t)
            if t - s[0][1] > 10:
                s[0], s[1], s[2] = s[1], s[2], (v, t)
        elif s[1][1] == s[0][1] and dt > 10 // 4:
            s[1] = s[2] = (v, t)
        elif s[2][1] == s[1][1] and dt > 10 // 2:
            s[2] = (v, t)


class Bbr:
    def __init__(self, i: dict, cwnd: int, srtt: int, min_rtt: int) -> None:
        now = i["now"]
        self.cwnd, self.ssthresh = cwnd, 2**31 - 1
        self.mode = "Startup"
        self.random = Stream(7)
        self.max = Maximum()
        self.rounds, self.next_round, self.round_start = 0, i["d"], False
        self.min_rtt, self.stamp, self.done, self.round_done = min_rtt, now // 1000, 0, False
        self.idle = False
        self.index, self.cycle_start = 0, 0
        self.gain = self.cwnd_gain = 739
        self.full_bw = self.full_count = 0
        self.reached = False
        self.prev, self.conservation, self.prior = OPEN, False, 0
        self.epoch_start, self.epoch_acked = now, 0
        self.slots, self.slot, self.age = [0, 0], 0, 0
        self.sampling, self.lt_bw, self.use, self.lt_rounds = False, 0, False, 0
        self.lt_ms = self.lt_delivered = self.lt_lost = 0
        self.rate = rate_of(cwnd * UNIT // max(srtt, 1), 739)

    def bw(self) -> int:
        return self.lt_bw if self.use else self.max.s[0][0]

    def goal(self) -> int:
        least = 1 if self.rate < 150000 else 2
        return min(max(min(self.rate >> 10, 65536 - 1 - 320) // MSS, least), 127)

    def bdp(self, bw: int, gain: int) -> int:
        return (((bw * self.min_rtt * gain) >> 8) + UNIT - 1) // UNIT

    def quant(self, w: int) -> int:
        w = w + 3 * self.goal()
        w += w & 1
        return w + (2 if self.mode == "ProbeBw" and self.index == 0 else 0)

    def inflight(self, bw: int, gain: int) -> int:
        return self.quant(self.bdp(bw, gain))

    def net(self, i: dict, flight: int) -> int:
        d = self.bw() * max(0, i["departure"] - i["now"]) >> 24
        x = flight + (self.goal() if self.gain > 256 else 0)
        return max(x - d, 0)

    def probe_bw(self, i: dict) -> None:
        self.mode, self.index = "ProbeBw", 7 - self.random.below(7)
        self.next_phase(i)

    def next_phase(self, i: dict) -> None:
        self.index, self.cycle_start = (self.index + 1) & 7, i["d_time"]

    def lt_interval(self, i: dict) -> None:
        self.lt_ms, self.lt_delivered, self.lt_lost, self.lt_rounds = i["d_time"] // 1000, i["d"], i["lost"], 0

    def lt_reset(self, i: dict | None) -> None:
        self.lt_bw, self.use, self.sampling, self.lt_rounds = 0, False, False, 0
        if i:
            self.lt_interval(i)

    def policer(self, i: dict, losses: int, limited: bool) -> None:
        if self.use:
            if self.mode == "ProbeBw" and self.round_start:
                self.lt_rounds += 1
                if self.lt_rounds >= 48:
                    self.lt_reset(i)
                    self.probe_bw(i)
            return
        if not self.sampling:
            if not losses:
                return
            self.lt_interval(i)
            self.sampling = True
        if limited:
            self.lt_reset(i)
            return
        self.lt_rounds += self.round_start
        if self.lt_rounds < 4:
            return
        if self.lt_rounds > 16:
            self.lt_reset(i)
            return
        if not losses:
            return
        lost, delivered = i["lost"] - self.lt_lost, i["d"] - self.lt_delivered
        if not delivered or lost * 256 < 50 * delivered:
            return
        ms = i["d_time"] // 1000 - self.lt_ms
        if ms < 1:
            return
        bw = delivered * UNIT // (ms * 1000)
        if self.lt_bw:
            diff = abs(bw - self.lt_bw)
            if diff * 256 <= 32 * self.lt_bw or rate_of(diff, 256) <= 500:
                self.lt_bw, self.use, self.gain, self.lt_rounds = (bw + self.lt_bw) >> 1, True, 256, 0
                return
        self.lt_bw = bw
        self.lt_interval(i)

    def probe_rtt_over(self, i: dict) -> None:
        if not (self.done and i["now"] // 1000 > self.done):
            return
        self.stamp, self.cwnd = i["now"] // 1000, max(self.cwnd, self.prior)
        if self.reached:
            self.probe_bw(i)
        else:
            self.mode = "Startup"

    def pace(self, gain: int) -> None:
        r = rate_of(self.bw(), gain)
        if self.reached or r > self.rate:
            self.rate = r

    def ack(self, i: dict) -> None:
        # 1 bandwidth
        self.round_start = False
        valid = i["delivered"] >= 0 and i["interval"] > 0
        if valid:
            if i["prior_delivered"] >= self.next_round:
                self.next_round, self.rounds = i["d"], self.rounds + 1
                self.round_start, self.conservation = True, False
            self.policer(i, i["losses"], i["limited"])
            s = i["delivered"] * UNIT // i["interval"]
            if not i["limited"] or s >= self.max.s[0][0]:
                self.max.add(self.rounds, s)
        # 2 aggregation
        if i["acked"] > 0 and valid:
            if self.round_start:
                self.age = min(31, self.age + 1)
                if self.age >= 5:
                    self.age, self.slot = 0, 1 - self.slot
                    self.slots[self.slot] = 0
            expected = self.bw() * (i["d_time"] - self.epoch_start) // UNIT
            if self.epoch_acked <= expected or self.epoch_acked + i["acked"] >= 1 << 20:
                self.epoch_acked, self.epoch_start, expected = 0, i["d_time"], 0
            self.epoch_acked = min(0xFFFFF, self.epoch_acked + i["acked"])
            extra = min(self.epoch_acked - expected, self.cwnd)
            self.slots[self.slot] = max(self.slots[self.slot], extra)
        # 3 phase
        if self.mode == "ProbeBw":
            full = i["d_time"] - self.cycle_start > self.min_rtt
            bw = self.max.s[0][0]
            if self.gain == 256:
                over = full
            elif self.gain > 256:
                over = full and (i["losses"] > 0 or self.net(i, i["prior_flight"]) >= self.inflight(bw, self.gain))
            else:
                over = full or self.net(i, i["prior_flight"]) <= self.inflight(bw, 256)
            if over:
                self.next_phase(i)
        # 4 full pipe
        if not self.reached and self.round_start and not i["limited"]:
            if self.max.s[0][0] >= self.full_bw * 320 >> 8:
                self.full_bw, self.full_count = self.max.s[0][0], 0
            else:
                self.full_count += 1
                self.reached = self.full_count >= 3
        # 5 drain
        if self.mode == "Startup" and self.reached:
            self.mode, self.ssthresh = "Drain", self.inflight(self.max.s[0][0], 256)
        if self.mode == "Drain" and self.net(i, i["flight"]) <= self.inflight(self.max.s[0][0], 256):
            self.probe_bw(i)
        # 6 minimum RTT
        now = i["now"] // 1000
        expired = now > self.stamp + 10000
        if i["rtt"] >= 0 and (i["rtt"] < self.min_rtt or (expired and not i["delayed"])):
            self.min_rtt, self.stamp = i["rtt"], now
        if expired and not self.idle and self.mode != "ProbeRtt":
            self.mode = "ProbeRtt"
            self.reduce()
            self.done = 0
        if self.mode == "ProbeRtt":
            if not self.done and i["flight"] <= 4:
                self.done, self.round_done, self.next_round = now + 200, False, i["d"]
            elif self.done:
                self.round_done = self.round_done or self.round_start
                if self.round_done:
                    self.probe_rtt_over(i)
        if i["delivered"] > 0:
            self.idle = False
        # 7 gains
        self.gain, self.cwnd_gain = {
            "Startup": (739, 739),
            "Drain": (88, 739),
            "ProbeBw": (256 if self.use else CYCLE[self.index], 512),
            "ProbeRtt": (256, 256),
        }[self.mode]
        # 8 pacing, 9 window
        self.pace(self.gain)
        self.window(i)
        if self.mode == "ProbeRtt":
            self.cwnd = min(self.cwnd, 4)

    def window(self, i: dict) -> None:
        acked = i["acked"]
        if acked == 0:
            return
        if i["losses"]:
            self.cwnd = max(self.cwnd - i["losses"], 1)
        if i["state"] == RECOVERY and self.prev != RECOVERY:
            self.conservation, self.next_round, self.cwnd = True, i["d"], i["flight"] + acked
        elif self.prev >= RECOVERY and i["state"] < RECOVERY:
            self.cwnd, self.conservation = max(self.cwnd, self.prior), False
        self.prev = i["state"]
        if self.conservation:
            self.cwnd = max(self.cwnd, i["flight"] + acked)
            return
        agg = min(max(self.slots), self.bw() * 100000 // UNIT) if self.reached else 0
        target = self.quant(self.bdp(self.bw(), self.cwnd_gain) + agg)
        if self.reached:
            self.cwnd = min(self.cwnd + acked, target)
        elif self.cwnd < target or i["d"] < 10:
            self.cwnd += acked
        self.cwnd = max(self.cwnd, 4)

    def reduce(self) -> None:
        if self.prev < RECOVERY and self.mode != "ProbeRtt":
            self.prior = self.cwnd
        else:
            self.prior = max(self.prior, self.cwnd)

    def enter(self, i: dict) -> None:
        if i["state"] == LOSS:
            self.prev, self.full_bw, self.round_start = LOSS, 0, True
            self.policer(i, 1, False)

    def lose(self, i: dict) -> None:
        """Do nothing: version 1 is not notified of single segments."""

    repair = lose

    def resume(self, i: dict) -> None:
        if not i["now_limited"]:
            return
        self.idle, self.epoch_start, self.epoch_acked = True, i["now"], 0
        if self.mode == "ProbeBw":
            self.pace(256)
        elif self.mode == "ProbeRtt":
            self.probe_rtt_over(i)

    def undo(self) -> None:
        self.full_bw = self.full_count = 0
        self.lt_reset(None)


def main() -> None:
    def found(bbr: Bbr) -> list[object]:
        return [bbr.cwnd, bbr.ssthresh, bbr.rate, bbr.mode, bbr.min_rtt, bbr.bw(), int(bbr.use)]

    drive(Bbr, found, seed=22)


if __name__ == "__main__":
    main()
