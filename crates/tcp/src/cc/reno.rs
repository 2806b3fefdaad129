//! Reno (RFC 5681) with Linux's counters (`tcp_reno_cong_avoid`, `tcp_slow_start`).
//!
//! # When to use
//!
//! As the baseline for all other controls: a loss halves the window, a round trip adds one segment. It runs in every
//! stack and counts growth as that stack does.

use super::{Ack, CongestionControl, ControlDocs, GrowthCounting, Needs, Window, WindowControl};

/// Reno. Stateless beyond the window.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl ControlDocs for Reno {
    const SOURCE: &'static str = "RFC 5681; Linux tcp_cong.c";
}

impl CongestionControl for Reno {
    fn needs(&self) -> Needs {
        Needs { partial_ack_ends_recovery: true, ..Needs::NONE }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Reno {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        halved(window)
    }

    #[inline(always)]
    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        increase(window, ack.packets);
    }
}

/// Slow start below the threshold, congestion avoidance above.
#[inline]
pub(crate) fn increase(window: &mut Window, mut packets: u32) {
    if window.in_slow_start() {
        packets = window.slow_start(packets);
        if packets == 0 {
            return;
        }
    }
    if matches!(window.counting, GrowthCounting::Bytes(_)) {
        // RFC 3465: one segment per window of acknowledged bytes, independent of the number of acknowledgments.
        let bytes_per_step = window.cwnd as u64 * window.mss as u64;
        if window.bytes_acked >= bytes_per_step {
            window.bytes_acked -= bytes_per_step;
            window.cwnd += 1;
        }
    } else {
        window.step(window.cwnd, packets);
    }
}

/// Half of the window, at least two segments.
pub(super) fn halved(window: &Window) -> u32 {
    (window.cwnd / 2).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32, counting: GrowthCounting) -> Window {
        Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting }
    }

    #[test]
    fn slow_start_adds_one_per_acknowledgment() {
        let mut w = window(3, Window::INFINITE_SSTHRESH, GrowthCounting::Acknowledgments);
        (0..5).for_each(|_| increase(&mut w, 1));
        assert_eq!(w.cwnd, 8);
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window_and_one() {
        let mut w = window(10, 5, GrowthCounting::Acknowledgments);
        (0..10).for_each(|_| increase(&mut w, 1));
        assert_eq!(w.cwnd, 10);
        increase(&mut w, 1);
        assert_eq!(w.cwnd, 11);
    }

    #[test]
    fn counted_packets_make_one_per_window_exactly() {
        let mut w = window(10, 5, GrowthCounting::Packets);
        (0..5).for_each(|_| increase(&mut w, 2));
        assert_eq!((w.cwnd, w.cwnd_cnt), (11, 0));
        // Slow start consumes packets up to the threshold, congestion avoidance the remaining ones.
        let mut w = window(8, 10, GrowthCounting::Packets);
        increase(&mut w, 5);
        assert_eq!((w.cwnd, w.cwnd_cnt), (10, 3));
    }

    #[test]
    fn byte_counting_ignores_the_number_of_acknowledgments() {
        let mut w = window(10, 5, GrowthCounting::Bytes(2));
        for _ in 0..5 {
            // Delayed acknowledgments: two segments each.
            w.bytes_acked += 2 * 1448;
            increase(&mut w, 2);
        }
        assert_eq!((w.cwnd, w.bytes_acked), (11, 0));
    }

    #[test]
    fn halving_stops_at_two() {
        for (cwnd, ssthresh) in [(20, 10), (5, 2), (3, 2), (1, 2)] {
            assert_eq!(halved(&window(cwnd, 100, GrowthCounting::Acknowledgments)), ssthresh);
        }
    }
}
