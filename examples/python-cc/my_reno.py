"""Reno (RFC 5681) written in Python: the built-in `reno`, packet by packet."""

import sojourn as sj


class MyReno(sj.Cc):
    """Reno: a loss halves the window, a round trip adds one segment."""

    needs = ("partial_ack_ends",)  # without SACK a partial acknowledgment ends recovery

    def ssthresh(self, cx):
        return max(cx.cwnd // 2, 2)

    def grow(self, cx, ack):
        packets = ack.packets
        if cx.in_slow_start:
            left = max(cx.cwnd + packets - cx.ssthresh, 0)
            cx.cwnd += packets - left
            packets = left
        if packets:
            self.count(cx, packets)

    def count(self, cx, packets):
        """One segment more per window of acknowledged packets, as Linux counts them."""
        if cx.cwnd_cnt >= cx.cwnd:  # counted while the window was larger
            cx.cwnd_cnt, cx.cwnd = 0, cx.cwnd + 1
        more, cx.cwnd_cnt = divmod(cx.cwnd_cnt + packets, cx.cwnd)
        cx.cwnd += more
