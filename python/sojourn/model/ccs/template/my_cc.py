"""Congestion control `MyCc`: Reno (RFC 5681) as a starting point. Use it as cc = "my_cc.py:MyCc"."""

import sojourn as sj


class MyCc(sj.Cc):
    """Halves the window on a loss or a mark; adds one segment per round trip."""

    def ssthresh(self, cx):
        """Slow-start threshold after a reduction, in segments."""
        return max(cx.cwnd // 2, 2)

    def grow(self, cx, ack):
        """Grow the window by an acknowledgment of `ack.packets` packets; called while the window is the limit."""
        packets = ack.packets
        if cx.cwnd < cx.ssthresh:  # slow start: one segment per packet, up to the threshold
            used = min(packets, cx.ssthresh - cx.cwnd)
            cx.cwnd += used
            packets -= used
        cx.cwnd_cnt += packets  # packets since the last change of the window
        if cx.cwnd_cnt >= cx.cwnd:
            cx.cwnd_cnt -= cx.cwnd
            cx.cwnd += 1
