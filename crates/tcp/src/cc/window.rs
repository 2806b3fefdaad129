//! The congestion window and the arithmetic of its growth.

use crate::stack::GrowthCounting;
use crate::state::CaState;

/// Congestion window and slow-start threshold, in segments as in Linux.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Acknowledgments (or packets) since the last change of `cwnd`; during rate halving every second one decrements
    /// the window.
    pub cwnd_cnt: u32,
    /// Bytes acknowledged since the last increase, for appropriate byte counting.
    pub bytes_acked: u64,
    /// Segment size in bytes.
    pub mss: u32,
    /// Unit of growth.
    pub counting: GrowthCounting,
}

impl Window {
    /// No threshold: slow start until the first loss.
    pub const INFINITE_SSTHRESH: u32 = i32::MAX as u32;

    /// Whether the window is below the threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        // Linux before 4.1 is still in slow start at the threshold.
        self.cwnd < self.ssthresh
            || (self.cwnd == self.ssthresh
                && !matches!(self.counting, GrowthCounting::Packets | GrowthCounting::Fractions))
    }

    /// The threshold, or 0 if it is infinite. A window must not be derived from `INFINITE_SSTHRESH`: an undo restores
    /// it, and a second undo (`linux-3.13` without SACK, F-RTO after timestamps) would double it, so that the window no
    /// longer limits the sender.
    pub(crate) fn reduced_ssthresh(&self) -> u32 {
        if self.ssthresh < Self::INFINITE_SSTHRESH { self.ssthresh } else { 0 }
    }

    /// Halves the window exactly, with its fraction; the minimum is one segment.
    pub fn halve_exactly(&mut self) {
        let half = (((self.cwnd as u64) << FRACTION_BITS) + self.cwnd_cnt as u64) / 2;
        let half = half.max(1 << FRACTION_BITS);
        self.cwnd = (half >> FRACTION_BITS) as u32;
        self.cwnd_cnt = (half & ((1 << FRACTION_BITS) - 1)) as u32;
    }

    /// Threshold to use in `state`: three quarters of an open window, if that is more (`tcp_current_ssthresh`).
    pub(crate) fn current_ssthresh(&self, state: CaState) -> u32 {
        match state {
            CaState::Cwr | CaState::Recovery => self.ssthresh,
            _ => self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2)),
        }
    }

    /// Slow start on an acknowledgment of `packets`; returns the packets left for congestion avoidance.
    pub(super) fn slow_start(&mut self, packets: u32) -> u32 {
        match self.counting {
            GrowthCounting::Bytes(_) if self.bytes_acked < self.mss as u64 => 0,
            GrowthCounting::Acknowledgments | GrowthCounting::Bytes(_) => {
                self.cwnd_cnt += self.cwnd * self.segments_acknowledged();
                self.bytes_acked = 0;
                // The comparison is with the growing window, as in `tcp_slow_start`: with L = 2 two segments add a
                // little less than two.
                while self.cwnd_cnt >= self.cwnd {
                    self.cwnd_cnt -= self.cwnd;
                    self.cwnd += 1;
                }
                0
            }
            GrowthCounting::Fractions => {
                self.cwnd += 1;
                0
            }
            GrowthCounting::PacketsInSlowStart => {
                self.cwnd = (self.cwnd + packets).min(self.ssthresh + 1);
                0
            }
            GrowthCounting::Packets => {
                let cwnd = (self.cwnd + packets).min(self.ssthresh);
                let left = packets - (cwnd - self.cwnd);
                self.cwnd = cwnd;
                left
            }
        }
    }

    /// Segments that an acknowledgment counts for in slow start; more than one if byte counting allows it and enough
    /// bytes were acknowledged.
    fn segments_acknowledged(&self) -> u32 {
        match self.counting {
            GrowthCounting::Bytes(limit) => limit.min((self.bytes_acked / self.mss as u64) as u32),
            _ => 1,
        }
    }

    /// Congestion avoidance on an acknowledgment of `packets`: one segment more per `per` counted.
    pub(super) fn step(&mut self, per: u32, packets: u32) {
        if self.counting == GrowthCounting::Packets {
            if self.cwnd_cnt >= per {
                // Counted while `per` was larger (`tcp_cong_avoid_ai`).
                self.cwnd_cnt = 0;
                self.cwnd += 1;
            }
            self.cwnd_cnt += packets;
            if self.cwnd_cnt >= per {
                self.cwnd += self.cwnd_cnt / per;
                self.cwnd_cnt %= per;
            }
        } else if self.counting == GrowthCounting::Fractions {
            let window = ((per as u64) << FRACTION_BITS) + self.cwnd_cnt as u64;
            self.cwnd_cnt += ((1u64 << (2 * FRACTION_BITS)) / window) as u32;
            self.cwnd += self.cwnd_cnt >> FRACTION_BITS;
            self.cwnd_cnt &= (1 << FRACTION_BITS) - 1;
        } else if self.cwnd_cnt >= per {
            // Takes one acknowledgment more than `per`, because the counter is compared before it is incremented.
            self.cwnd += 1;
            self.cwnd_cnt = 0;
        } else {
            self.cwnd_cnt += 1;
        }
    }
}

/// Fractional bits of a window with a fraction.
const FRACTION_BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32, counting: GrowthCounting) -> Window {
        Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting }
    }

    #[test]
    fn slow_start_counts_acknowledgments_or_packets() {
        // Acknowledgments of two packets each: growth per kernel.
        for (counting, after) in [
            (GrowthCounting::Acknowledgments, [11, 12, 13, 14]),
            (GrowthCounting::Bytes(1), [11, 12, 13, 14]),
            // `tcp_slow_start` compares its counter with the window as it grows, so two segments add a little less than
            // two: 20 leaves 10, 32 leaves 9, 35 leaves 8.
            (GrowthCounting::Bytes(2), [11, 13, 15, 17]),
            (GrowthCounting::PacketsInSlowStart, [12, 14, 16, 16]),
            (GrowthCounting::Packets, [12, 14, 15, 15]),
            (GrowthCounting::Fractions, [11, 12, 13, 14]),
        ] {
            let mut w = window(10, 15, counting);
            let cwnd = [(); 4].map(|()| {
                w.bytes_acked += 2 * 1448;
                w.slow_start(2);
                w.cwnd
            });
            assert_eq!(cwnd, after, "{counting:?}");
        }
    }

    #[test]
    fn what_slow_start_leaves_is_counted_in_congestion_avoidance() {
        let mut w = window(13, 15, GrowthCounting::Packets);
        assert_eq!([w.slow_start(2), w.slow_start(2)], [0, 2]);
        assert!(!w.in_slow_start(), "at the threshold it is over");
        assert!(window(15, 15, GrowthCounting::PacketsInSlowStart).in_slow_start(), "before 4.1 it was not");
    }

    #[test]
    fn byte_counting_waits_for_a_whole_segment() {
        for limit in [1, 2] {
            let mut w = window(10, 100, GrowthCounting::Bytes(limit));
            w.bytes_acked = 1447;
            w.slow_start(1);
            assert_eq!((w.cwnd, w.bytes_acked), (10, 1447));
            // One and a half segments count as one, regardless of the limit.
            w.bytes_acked = 2895;
            w.slow_start(2);
            assert_eq!((w.cwnd, w.cwnd_cnt, w.bytes_acked), (11, 0, 0));
        }
    }

    #[test]
    fn steps_carry_their_remainder_when_packets_are_counted() {
        let mut w = window(10, 5, GrowthCounting::Packets);
        let seen = [3, 3, 3, 3, 25].map(|packets| {
            w.step(10, packets);
            (w.cwnd, w.cwnd_cnt)
        });
        assert_eq!(seen, [(10, 3), (10, 6), (10, 9), (11, 2), (13, 7)]);
        w.step(5, 1);
        assert_eq!((w.cwnd, w.cwnd_cnt), (14, 1), "a counter above a smaller step is worth one segment, not several");
    }

    #[test]
    fn half_of_a_window_keeps_its_fraction() {
        for (cwnd, cnt, half) in [(10, 0.0, (5, 0.0)), (7, 0.5, (3, 0.75)), (2, 0.0, (1, 0.0)), (1, 0.5, (1, 0.0))] {
            let mut w = window(cwnd, 5, GrowthCounting::Fractions);
            let one = (1u32 << FRACTION_BITS) as f64;
            w.cwnd_cnt = (cnt * one) as u32;
            w.halve_exactly();
            assert_eq!((w.cwnd, w.cwnd_cnt as f64 / one), half, "{cwnd} + {cnt}");
        }
    }

    #[test]
    fn fractions_grow_by_one_over_the_window() {
        // From 10 the window w satisfies w² = 100 + 2 n, nearly: after 105 acknowledgments it is sqrt(310) = 17.6.
        let mut w = window(10, 5, GrowthCounting::Fractions);
        (0..105).for_each(|_| w.step(w.cwnd, 1));
        let exact = w.cwnd as f64 + w.cwnd_cnt as f64 / (1 << FRACTION_BITS) as f64;
        assert!((exact - 310f64.sqrt()).abs() < 0.05, "{exact}");
    }
}
