//! The window that a congestion control steers, and the arithmetic of its steps.

use crate::stack::GrowthCounting;
use crate::state::CaState;

/// The window that a congestion control steers. Counted in segments, as Linux does.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Acknowledgments (or packets) since the last change of `cwnd`; in rate halving every second one counts.
    pub cwnd_cnt: u32,
    /// Bytes acknowledged since the last step, for appropriate byte counting.
    pub bytes_acked: u64,
    /// Segment size in bytes.
    pub mss: u32,
    /// What a step counts.
    pub counting: GrowthCounting,
}

impl Window {
    /// No threshold: slow start until the first loss.
    pub const INFINITE_SSTHRESH: u32 = i32::MAX as u32;

    /// Whether the window is in slow start.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        // Linux before 4.1 is still in slow start at the threshold.
        self.cwnd < self.ssthresh
            || (self.cwnd == self.ssthresh
                && !matches!(self.counting, GrowthCounting::Packets | GrowthCounting::Fractions))
    }

    /// The threshold, or 0 where there is none. No window follows from `INFINITE_SSTHRESH`: an undo restores it, and a
    /// second one (`linux-3.13` without SACK, F-RTO after timestamps) doubled it, so that the sender never stopped.
    pub(crate) fn reduced_ssthresh(&self) -> u32 {
        if self.ssthresh < Self::INFINITE_SSTHRESH { self.ssthresh } else { 0 }
    }

    /// Half the window with its fraction, at least one segment.
    pub fn halve_exactly(&mut self) {
        let half = (((self.cwnd as u64) << FRACTION_BITS) + self.cwnd_cnt as u64) / 2;
        let half = half.max(1 << FRACTION_BITS);
        self.cwnd = (half >> FRACTION_BITS) as u32;
        self.cwnd_cnt = (half & ((1 << FRACTION_BITS) - 1)) as u32;
    }

    /// The threshold that matters in `state`: three quarters of an open window, if that is more (`tcp_current_ssthresh`).
    pub(crate) fn current_ssthresh(&self, state: CaState) -> u32 {
        match state {
            CaState::Cwr | CaState::Recovery => self.ssthresh,
            _ => self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2)),
        }
    }

    /// A step of slow start on an acknowledgment of `packets`; returns those left for congestion avoidance.
    pub(super) fn slow_start(&mut self, packets: u32) -> u32 {
        match self.counting {
            GrowthCounting::Bytes(_) if self.bytes_acked < self.mss as u64 => 0,
            GrowthCounting::Acknowledgments | GrowthCounting::Bytes(_) => {
                self.cwnd_cnt += self.cwnd * self.segments_acknowledged();
                self.bytes_acked = 0;
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

    /// What an acknowledgment is worth in slow start, in segments: more than one if byte counting allows that and it tells of
    /// so many bytes.
    fn segments_acknowledged(&self) -> u32 {
        match self.counting {
            GrowthCounting::Bytes(most) => most.min((self.bytes_acked / self.mss as u64) as u32),
            _ => 1,
        }
    }

    /// A step of congestion avoidance on an acknowledgment of `packets`: one segment more for each `per` that count.
    pub(super) fn step(&mut self, per: u32, packets: u32) {
        if self.counting == GrowthCounting::Packets {
            if self.cwnd_cnt >= per {
                // Left over from when a step took more.
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
            // A step takes one acknowledgment more than `per`: the counter is compared before it is raised.
            self.cwnd += 1;
            self.cwnd_cnt = 0;
        } else {
            self.cwnd_cnt += 1;
        }
    }
}

/// Bits behind the point of a window with a fraction.
const FRACTION_BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32, counting: GrowthCounting) -> Window {
        Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting }
    }

    #[test]
    fn slow_start_counts_acknowledgments_or_packets() {
        // Acknowledgments of two packets each: the growth, per kernel.
        for (counting, after) in [
            (GrowthCounting::Acknowledgments, [11, 12, 13, 14]),
            (GrowthCounting::Bytes(1), [11, 12, 13, 14]),
            // Two windows' worth count, compared with a window that grows meanwhile: 20 leaves 10, 32 leaves 9, 35 leaves 8.
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
        for most in [1, 2] {
            let mut w = window(10, 100, GrowthCounting::Bytes(most));
            w.bytes_acked = 1447;
            w.slow_start(1);
            assert_eq!((w.cwnd, w.bytes_acked), (10, 1447));
            // One segment and a half is worth one, whatever the most.
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
        // From 10 the window w fulfils w² = 100 + 2 n, nearly: after 105 acknowledgments it is sqrt(310) = 17.6.
        let mut w = window(10, 5, GrowthCounting::Fractions);
        (0..105).for_each(|_| w.step(w.cwnd, 1));
        let exact = w.cwnd as f64 + w.cwnd_cnt as f64 / (1 << FRACTION_BITS) as f64;
        assert!((exact - 310f64.sqrt()).abs() < 0.05, "{exact}");
    }
}
