//! Reno (RFC 5681) with Linux's counters (`tcp_reno_cong_avoid`, `tcp_slow_start`).

use super::{CongestionControl, Window};

/// Reno. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    fn increase(&mut self, window: &mut Window, abc: bool) {
        increase(window, abc);
    }

    fn ssthresh(&mut self, window: &Window) -> u32 {
        halved(window)
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }

    fn partial_ack_ends_recovery(&self) -> bool {
        true
    }
}

/// Slow start below the threshold, congestion avoidance above it.
pub(super) fn increase(window: &mut Window, abc: bool) {
    if window.in_slow_start() {
        slow_start(window, abc);
    } else if abc {
        // RFC 3465: one segment per window of bytes, however few acknowledgments tell of them.
        let bytes_per_step = window.cwnd as u64 * window.mss as u64;
        if window.bytes_acked >= bytes_per_step {
            window.bytes_acked -= bytes_per_step;
            window.cwnd += 1;
        }
    } else if window.cwnd_cnt >= window.cwnd {
        // One step per cwnd + 1 acknowledgments: the counter is compared before it is raised.
        window.cwnd += 1;
        window.cwnd_cnt = 0;
    } else {
        window.cwnd_cnt += 1;
    }
}

/// Half the window, at least two segments.
pub(super) fn halved(window: &Window) -> u32 {
    (window.cwnd / 2).max(2)
}

fn slow_start(window: &mut Window, abc: bool) {
    if abc && window.bytes_acked < window.mss as u64 {
        return;
    }
    window.bytes_acked = 0;
    window.cwnd_cnt += window.cwnd;
    while window.cwnd_cnt >= window.cwnd {
        window.cwnd_cnt -= window.cwnd;
        window.cwnd += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448 }
    }

    #[test]
    fn slow_start_adds_one_per_acknowledgment() {
        let mut w = window(3, Window::INFINITE_SSTHRESH);
        (0..5).for_each(|_| increase(&mut w, false));
        assert_eq!(w.cwnd, 8);
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window_and_one() {
        let mut w = window(10, 5);
        (0..10).for_each(|_| increase(&mut w, false));
        assert_eq!(w.cwnd, 10);
        increase(&mut w, false);
        assert_eq!(w.cwnd, 11);
    }

    #[test]
    fn byte_counting_ignores_the_number_of_acknowledgments() {
        let mut w = window(10, 5);
        for _ in 0..5 {
            // Delayed acknowledgments: two segments each.
            w.bytes_acked += 2 * 1448;
            increase(&mut w, true);
        }
        assert_eq!((w.cwnd, w.bytes_acked), (11, 0));
    }

    #[test]
    fn halving_stops_at_two() {
        for (cwnd, ssthresh) in [(20, 10), (5, 2), (3, 2), (1, 2)] {
            assert_eq!(halved(&window(cwnd, 100)), ssthresh);
        }
    }
}
