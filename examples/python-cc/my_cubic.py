"""CUBIC with HyStart written in Python: the built-in `cubic` over `linux-6.1`, packet by packet.

Names and integer arithmetic are those of Linux 6.1, `tcp_cubic.c`. Windows are in segments. Time is in ns, in jiffies,
and inside the cubic function in 1/1024 s.
"""

import sojourn as sj

MS = 1_000_000
JIFFY = MS  # HZ = 1000


class MyCubic(sj.Cc):
    """CUBIC: after a loss the window grows along a cubic function of time, at least as fast as Reno's."""

    def __init__(self, beta=717, bic_scale=41, hystart=True):
        if not 512 <= beta < 1024:
            raise ValueError("beta must be from 512 to 1023; it is the factor after a loss times 1024")
        if bic_scale < 1:
            raise ValueError("bic_scale must be at least 1; it is C times 1024 / 10")
        self.beta = beta  # the window after a loss is beta / 1024 of the window before it
        self.cube_rtt_scale = 10 * bic_scale  # C * 1024
        self.cube_factor = 2**40 // self.cube_rtt_scale  # 1 / C
        self.beta_scale = 8 * (1024 + beta) // 3 // (1024 - beta)  # windows per segment of Reno's growth, times 8
        self.has_hystart = hystart
        self.reset()

    def reset(self):
        self.last_max_cwnd = 0  # W_max: window before the last reduction; 0 before the first
        self.delay_min = 0  # minimum RTT; 0 before the first sample
        self.epoch_start = None  # jiffy of the start of growth after a reduction
        self.cnt = self.last_cwnd = self.last_time = 0
        self.bic_origin_point = self.bic_k = 0  # plateau, and time from the epoch's start to it
        self.ack_cnt = self.tcp_cwnd = 0
        self.hystart = HyStart() if self.has_hystart else None

    def ssthresh(self, cx):
        cwnd = cx.cwnd
        self.epoch_start = None
        # Fast convergence: a flow whose window did not recover to W_max releases bandwidth to others.
        self.last_max_cwnd = cwnd * (1024 + self.beta) // 2048 if cwnd < self.last_max_cwnd else cwnd
        return max(cwnd * self.beta // 1024, 2)

    def grow(self, cx, ack):
        packets, cwnd = ack.packets, cx.cwnd
        if cx.in_slow_start:
            cx.cwnd = min(cwnd + packets, cx.ssthresh)
            packets -= cx.cwnd - cwnd
            if packets == 0:
                return
            cwnd = cx.cwnd
        cnt = self.update(cwnd, cx.now // JIFFY, packets)
        # tcp_cong_avoid_ai: one segment per cnt packets.
        counted = cx.cwnd_cnt
        if counted >= cnt:  # counted while cnt was larger
            counted, cwnd = 0, cwnd + 1
        more, cx.cwnd_cnt = divmod(counted + packets, cnt)
        cx.cwnd = cwnd + more

    def update(self, cwnd, now, packets):
        """Packets per segment of growth (`bictcp_update`)."""
        self.ack_cnt += packets
        since = now - self.last_time
        if cwnd == self.last_cwnd and since <= 31:  # HZ / 32
            return self.cnt
        if self.epoch_start is None or since:  # at most one evaluation per jiffy
            self.last_cwnd, self.last_time = cwnd, now
            if self.epoch_start is None:
                self.start_epoch(cwnd, now, packets)
            target = self.w_cubic(now)
            self.cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
            if self.last_max_cwnd == 0:  # before the first loss: at least 5 % per round trip
                self.cnt = min(self.cnt, 20)
        self.apply_tcp_friendliness(cwnd)
        self.cnt = max(self.cnt, 2)
        return self.cnt

    def start_epoch(self, cwnd, now, packets):
        self.epoch_start, self.ack_cnt, self.tcp_cwnd = now, packets, cwnd
        self.bic_k = cube_root(self.cube_factor * max(self.last_max_cwnd - cwnd, 0))
        self.bic_origin_point = max(self.last_max_cwnd, cwnd)

    def w_cubic(self, now):
        """W_cubic(t) = C (t - K)^3 + W_max, for the time one round trip from now."""
        delay = max(self.delay_min // JIFFY, 1) if self.delay_min else 0
        t = (now - self.epoch_start + delay) * 1024 // 1000
        delta = self.cube_rtt_scale * abs(t - self.bic_k) ** 3 >> 40
        return max(self.bic_origin_point - delta, 0) if t < self.bic_k else self.bic_origin_point + delta

    def apply_tcp_friendliness(self, cwnd):
        """Grow at least as fast as a Reno flow with the same losses."""
        per_step = cwnd * self.beta_scale // 8
        if self.ack_cnt > per_step:
            steps = (self.ack_cnt - 1) // per_step
            self.ack_cnt -= steps * per_step
            self.tcp_cwnd += steps
        if self.tcp_cwnd > cwnd:
            self.cnt = min(self.cnt, cwnd // (self.tcp_cwnd - cwnd))

    def acked(self, cx, ack):
        rtt, now = ack.rtt, cx.now
        if rtt is None:
            return
        # Samples right after a reduction still include the queue that caused it.
        if self.epoch_start is not None and now // JIFFY - self.epoch_start < 1000:
            return
        if rtt < self.delay_min or not self.delay_min:
            self.delay_min = rtt
        if self.hystart and cx.in_slow_start and self.hystart.ends_slow_start(cx, rtt, self.delay_min):
            cx.ssthresh = cx.cwnd

    def idle(self, cx, last_sent):
        # Shifts the epoch by the idle time, so that the window does not jump along the curve after a pause.
        if self.epoch_start is not None:
            now = cx.now // JIFFY
            self.epoch_start = min(self.epoch_start + now - last_sent // JIFFY, now)

    def timed_out(self, cx):
        self.reset()


class HyStart:
    """Ends slow start before it causes losses: after a long ACK train, or when the RTT of a round rises."""

    def __init__(self):
        self.found = False
        self.end_seq = 0
        self.start_round(0)

    def start_round(self, now):
        self.round_start = self.last_ack = now
        self.curr_rtt = float("inf")
        self.samples = 0

    def ends_slow_start(self, cx, rtt, delay_min):
        now = cx.now
        if cx.una > self.end_seq:
            self.start_round(now)
            self.end_seq = cx.nxt
        if self.found or cx.cwnd < 16:  # hystart_low_window
            return False
        if now - self.last_ack <= 2 * MS:  # hystart_ack_delta: the acknowledgment is part of the train
            self.last_ack = now
            # A host that paces stretches the train to twice its length; QUIC's own pacing does not.
            shift = 0 if cx.is_paced and not cx.is_quic else 1
            self.found = now - self.round_start > (delay_min + MS) >> shift
        self.curr_rtt = min(self.curr_rtt, rtt)
        if self.samples < 8:  # HYSTART_MIN_SAMPLES
            self.samples += 1
        else:
            rise = min(max(delay_min >> 3, 4 * MS), 16 * MS)
            self.found = self.found or self.curr_rtt > delay_min + rise
        return self.found


def cube_root(a):
    """Linux's approximate root: a guess from the leading bits of `a`, then one Newton-Raphson step."""
    if a < 64:
        return GUESS[a] + 35 >> 6
    shift = (a.bit_length() * 84 >> 8) - 1  # bits of the root, less one
    guess = (GUESS[a >> 3 * shift] + 10 << shift) >> 6
    return (2 * guess + a // (guess * (guess - 1))) * 341 >> 10  # a third is 341 / 1024


# fmt: off
GUESS = (  # roots of 0 to 63, times 64, corrected so that the error after the step is small
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
)
# fmt: on
