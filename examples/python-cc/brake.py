"""A congestion control of one's own: AIMD with a gentler decrease and a brake on delay."""

import sojourn as sj


class Brake(sj.Cc):
    """AIMD that keeps 80 % of the window after a loss, and does not grow while the queue is long."""

    def __init__(self, beta=0.8, limit="15 ms"):
        if not 0 < beta < 1:
            raise ValueError("beta must be between 0 and 1; write e.g. beta 0.8")
        self.beta, self.limit = beta, limit  # times are passed in ns
        self.queue = 0

    def acked(self, cx, ack):
        if ack.rtt and cx.min_rtt:
            self.queue = ack.rtt - cx.min_rtt

    def ssthresh(self, cx):
        return max(int(cx.cwnd * self.beta), 2)

    def grow(self, cx, ack):
        if self.queue > self.limit:
            cx.ssthresh = min(cx.ssthresh, cx.cwnd)  # slow start is over
        elif cx.in_slow_start:
            cx.cwnd += ack.packets
        else:
            more, cx.cwnd_cnt = divmod(cx.cwnd_cnt + ack.packets, cx.cwnd)
            cx.cwnd += more
