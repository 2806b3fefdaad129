//! RTT estimator and retransmission time-out, of Linux or RFC 6298.
//!
//! Source: Linux `tcp_rtt_estimator`, in its fixed-point arithmetic: `srtt` holds eight times the smoothed RTT and
//! `mdev` four times the mean deviation, in units of the RTT's resolution. The variance term is never below the minimum
//! RTO, so RTO ≥ srtt + 200 ms.

use crate::stack::{RtoFormula, Stack};
use crate::{Clock, Ticks};

/// The estimator. All values are in units of the RTT's resolution: a tick, or an integral fraction of it.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    srtt_x8: u32,
    mdev_x4: u32,
    mdev_max: u32,
    rttvar: u32,
    /// The next sample beyond this sequence number starts a new round.
    rtt_seq: u64,
    rto: u32,
    /// The same in ticks, rounded up: it is read more often than it changes.
    rto_ticks: u32,
    /// RFC 6298: the time-out without back-off, and the number of doublings since the last sample.
    rto_base: u32,
    doublings: u32,
    rto_min: u32,
    rto_max: u32,
    /// Units per tick.
    per_tick: u32,
    form: RtoFormula,
}

impl RttEstimator {
    /// The estimator of a stack, before the first sample.
    pub fn for_stack(stack: &Stack) -> Self {
        let unit = Clock::new(stack.rtt_unit);
        let units = |span| unit.ticks_at_least_one(span) as u32;
        let bounds = [stack.rto_initial, stack.rto_min, stack.rto_max].map(units);
        Self::new(bounds, units(stack.tick)).with_form(stack.rto)
    }

    /// No sample yet. The array holds the initial, minimum and maximum time-out.
    pub fn new([initial, min, max]: [u32; 3], per_tick: u32) -> Self {
        let (rto, rto_min, rto_max) = (initial, min, max);
        let rto_ticks = rto.div_ceil(per_tick);
        Self {
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max: 0,
            rttvar: 0,
            rtt_seq: 0,
            rto,
            rto_ticks,
            rto_base: rto,
            doublings: 0,
            rto_min,
            rto_max,
            per_tick,
            form: RtoFormula::Linux,
        }
    }

    /// With another formula for the time-out than Linux's.
    pub fn with_form(self, form: RtoFormula) -> Self {
        Self { form, ..self }
    }

    /// Adds a sample of `rtt` units and ends any back-off; `una` and `nxt` delimit rounds.
    #[inline(always)]
    pub fn sample(&mut self, rtt: u32, una: u64, nxt: u64) {
        let rtt = rtt.max(1);
        if self.form == RtoFormula::Rfc6298 {
            self.sample_rfc_6298(rtt);
            return;
        }
        if self.srtt_x8 == 0 {
            self.srtt_x8 = rtt << 3;
            self.mdev_x4 = rtt << 1;
            self.rttvar = self.mdev_x4.max(self.rto_min);
            self.mdev_max = self.rttvar;
            self.rtt_seq = nxt;
        } else {
            self.smooth(rtt, una, nxt);
        }
        self.set_rto(((self.srtt_x8 >> 3) + self.rttvar).min(self.rto_max));
    }

    /// Doubles the time-out after it has expired.
    pub fn back_off(&mut self) {
        self.set_rto(self.rto.saturating_mul(2).min(self.rto_max));
        if self.form == RtoFormula::Rfc6298 {
            self.doublings += 1;
            if self.doublings > MAX_DOUBLINGS {
                // RFC 6298 §5, ns-2's `rtt_backoff`: the estimate is likely bogus, so the next sample counts as the
                // first.
                self.srtt_x8 = 0;
            }
        }
    }

    /// RFC 6298: an acknowledgment of new data ends the back-off even without a sample.
    pub fn end_back_off(&mut self) {
        self.set_rto(self.rto_base);
        self.doublings = 0;
    }

    /// The time-out in ticks, rounded up, with back-off.
    #[inline]
    pub fn rto(&self) -> Ticks {
        self.rto_ticks.into()
    }

    #[inline(always)]
    fn set_rto(&mut self, rto: u32) {
        self.rto = rto;
        self.rto_ticks = if self.per_tick == 1 { rto } else { rto.div_ceil(self.per_tick) };
    }

    /// Units per tick.
    pub fn per_tick(&self) -> u32 {
        self.per_tick
    }

    /// The smoothed RTT in units, with fractions; zero before the first sample.
    pub fn srtt(&self) -> f64 {
        self.srtt_x8 as f64 / 8.0
    }

    /// Eight times the smoothed RTT in units; zero before the first sample.
    pub fn srtt_x8(&self) -> u32 {
        self.srtt_x8
    }

    /// `parts` eighths of the smoothed RTT in ticks, rounded down; zero before the first sample.
    pub fn srtt_eighths(&self, parts: u32) -> Ticks {
        self.srtt_x8 as u64 * parts as u64 / (64 * self.per_tick as u64)
    }

    /// Twice the smoothed RTT in ticks, rounded up; zero before the first sample.
    pub fn two_srtt_ticks(&self) -> Ticks {
        (self.srtt_x8 >> 2).div_ceil(self.per_tick) as u64
    }

    /// Whether there was a sample.
    pub fn is_measured(&self) -> bool {
        self.srtt_x8 > 0
    }

    /// RFC 6298 §2.
    #[inline(never)]
    fn sample_rfc_6298(&mut self, rtt: u32) {
        if self.srtt_x8 == 0 {
            (self.srtt_x8, self.mdev_x4) = (rtt << 3, rtt << 1);
        } else {
            let error = rtt as i32 - (self.srtt_x8 >> 3) as i32;
            self.srtt_x8 = self.srtt_x8.wrapping_add_signed(error);
            self.mdev_x4 = self.mdev_x4.wrapping_add_signed(error.abs() - (self.mdev_x4 >> 2) as i32);
        }
        self.rto_base = ((self.srtt_x8 >> 3) + self.mdev_x4).clamp(self.rto_min, self.rto_max);
        self.end_back_off();
    }

    #[inline(always)]
    fn smooth(&mut self, rtt: u32, una: u64, nxt: u64) {
        let mut error = rtt as i32 - (self.srtt_x8 >> 3) as i32;
        self.srtt_x8 = self.srtt_x8.wrapping_add_signed(error);
        if error < 0 {
            // A sudden decrease of the RTT must not raise the deviation: its gain is an eighth.
            error = -error - (self.mdev_x4 >> 2) as i32;
            if error > 0 {
                error >>= 3;
            }
        } else {
            error -= (self.mdev_x4 >> 2) as i32;
        }
        self.mdev_x4 = self.mdev_x4.wrapping_add_signed(error);
        if self.mdev_x4 > self.mdev_max {
            self.mdev_max = self.mdev_x4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.rtt_seq {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.rtt_seq = nxt;
            self.mdev_max = self.rto_min;
        }
    }
}

/// More consecutive doublings discard the smoothed RTT.
const MAX_DOUBLINGS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` samples of `rtt` ms, with a window of one segment per round.
    fn feed(estimator: &mut RttEstimator, rtt: u32, n: u64, seq: &mut u64) {
        for _ in 0..n {
            *seq += 1;
            estimator.sample(rtt, *seq, *seq + 1);
        }
    }

    #[test]
    fn constant_100_ms_gives_300_ms_for_ever() {
        let (mut estimator, mut seq) = (RttEstimator::new([3000, 200, 120_000], 1), 0);
        feed(&mut estimator, 100, 1, &mut seq);
        assert_eq!(estimator.rto(), 300);
        feed(&mut estimator, 100, 200, &mut seq);
        assert_eq!(estimator.rto(), 300);
    }

    #[test]
    fn a_fall_to_50_ms_tends_to_250_ms() {
        let (mut estimator, mut seq) = (RttEstimator::new([3000, 200, 120_000], 1), 0);
        feed(&mut estimator, 100, 50, &mut seq);
        feed(&mut estimator, 50, 1, &mut seq);
        assert!(estimator.rto() < 300, "the fall did not raise the deviation");
        feed(&mut estimator, 50, 200, &mut seq);
        assert_eq!(estimator.rto(), 250);
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_a_sample_ends_it() {
        let (mut estimator, mut seq) = (RttEstimator::new([3000, 200, 120_000], 1), 0);
        estimator.back_off();
        assert_eq!(estimator.rto(), 6000);
        for _ in 0..10 {
            estimator.back_off();
        }
        assert_eq!(estimator.rto(), 120_000);
        feed(&mut estimator, 10, 1, &mut seq);
        assert_eq!(estimator.rto(), 210);
    }

    #[test]
    fn microseconds_give_the_same_time_out_in_whole_ticks() {
        let (mut estimator, mut seq) = (RttEstimator::new([1_000_000, 200_000, 120_000_000], 1_000), 0);
        assert_eq!(estimator.rto(), 1_000);
        feed(&mut estimator, 100_000, 200, &mut seq);
        assert_eq!(estimator.rto(), 300);
        feed(&mut estimator, 100_400, 200, &mut seq);
        assert_eq!(estimator.rto(), 301, "a begun tick counts");
        assert_eq!((estimator.srtt_eighths(8), estimator.srtt_eighths(2)), (100, 25));
    }

    #[test]
    fn the_fourth_time_out_in_a_row_gives_up_the_smoothed_rtt() {
        // As ns-2's `rtt_backoff` and `rtt_update`, by hand, in ticks of 10 ms.
        for (time_outs, rto) in [(3, 28), (4, 3 * 25)] {
            let mut estimator = RttEstimator::new([300, 20, 6000], 1).with_form(RtoFormula::Rfc6298);
            feed(&mut estimator, 25, 20, &mut 0);
            // Integer arithmetic leaves a deviation of three quarters of a tick.
            assert_eq!(estimator.rto(), 28);
            (0..time_outs).for_each(|_| estimator.back_off());
            assert_eq!(estimator.rto(), 28 << time_outs);
            assert_eq!(estimator.is_measured(), time_outs < 4);
            estimator.sample(25, 0, 0);
            assert_eq!(estimator.rto(), rto, "after {time_outs}");
        }
    }

    #[test]
    fn an_acknowledgment_may_end_the_back_off_without_a_sample() {
        let mut estimator = RttEstimator::new([300, 20, 6000], 1).with_form(RtoFormula::Rfc6298);
        feed(&mut estimator, 25, 20, &mut 0);
        estimator.back_off();
        estimator.end_back_off();
        assert_eq!((estimator.rto(), estimator.srtt_x8()), (28, 200));
    }

    #[test]
    fn rfc_6298_tends_to_the_minimum_or_the_rtt() {
        // Ticks of 10 ms. First srtt + 4 · srtt / 2 = 300 ms; then the deviation dies out.
        for (rtt, rto) in [(10, 20), (30, 33)] {
            let mut estimator = RttEstimator::new([300, 20, 6000], 1).with_form(RtoFormula::Rfc6298);
            let mut seq = 0;
            feed(&mut estimator, rtt, 1, &mut seq);
            assert_eq!(estimator.rto(), 3 * rtt as u64);
            feed(&mut estimator, rtt, 100, &mut seq);
            // Integer arithmetic leaves three quarters of a tick of deviation.
            assert_eq!(estimator.rto(), rto);
            // A decrease raises it as much as an increase does.
            feed(&mut estimator, rtt / 2, 1, &mut seq);
            assert!(estimator.rto() > (rtt + rtt / 4) as u64);
        }
    }
}
