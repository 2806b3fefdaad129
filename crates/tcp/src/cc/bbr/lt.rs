//! Token-bucket policers: two intervals in a row with much loss and the same rate, and BBR goes by that rate for a while.
//!
//! Source: Linux 6.1 `tcp_bbr.c`, `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`.

use super::units::{BW_UNIT, SCALE, UNIT, bytes_per_s};
use super::{Bbr, Flight, Mode, RateSample};
use crate::micros_at;

/// The long-term rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTermBw {
    is_sampling: bool,
    /// The rate of the last lossy interval; zero if none.
    bw: u64,
    use_bw: bool,
    /// Rounds in this interval, or since the rate is used.
    rounds: u32,
    /// Where the interval began: milliseconds, packets delivered and lost.
    since_ms: u64,
    delivered: u64,
    lost: u64,
}

impl LongTermBw {
    /// The rate, while it is used.
    pub fn in_use(&self) -> Option<u64> {
        self.use_bw.then_some(self.bw)
    }

    /// Nothing is known of a policer; the interval stays where it began.
    pub fn reset(&mut self) {
        *self = Self { is_sampling: false, bw: 0, use_bw: false, rounds: 0, ..*self };
    }

    /// Nothing is known of a policer, and an interval begins.
    pub fn restart(&mut self, flight: &Flight) {
        self.reset();
        self.begin_interval(flight);
    }

    fn begin_interval(&mut self, flight: &Flight) {
        self.since_ms = micros_at(flight.delivered_at) / 1_000;
        (self.delivered, self.lost, self.rounds) = (flight.delivered, flight.lost, 0);
    }

    /// The rate in the interval, if it ends here: long enough, and lossy.
    fn rate_of_interval(&mut self, flight: &Flight) -> Option<u64> {
        let (lost, delivered) = (flight.lost - self.lost, flight.delivered - self.delivered);
        if delivered == 0 || lost << SCALE < LOSS_THRESH * delivered {
            return None;
        }
        let ms = (micros_at(flight.delivered_at) / 1_000).saturating_sub(self.since_ms);
        (ms >= 1).then(|| delivered * BW_UNIT / (ms * 1_000))
    }
}

impl Bbr {
    /// Looks at a sample for signs of a policer.
    #[inline]
    pub(super) fn sample_long_term(&mut self, flight: &Flight, sample: &RateSample) {
        let lt = &mut self.lt;
        if lt.use_bw {
            lt.rounds += (self.mode == Mode::ProbeBw && self.round_start) as u32;
            if self.mode == Mode::ProbeBw && self.round_start && lt.rounds >= USED_ROUNDS {
                lt.restart(flight);
                self.reset_probe_bw_mode(flight);
            }
            return;
        }
        if !lt.is_sampling {
            if sample.losses == 0 {
                return;
            }
            lt.begin_interval(flight);
            lt.is_sampling = true;
        }
        if sample.is_app_limited {
            return lt.restart(flight);
        }
        lt.rounds += self.round_start as u32;
        if lt.rounds < MIN_ROUNDS {
            return;
        }
        if lt.rounds > 4 * MIN_ROUNDS {
            return lt.restart(flight);
        }
        // The interval ends with a loss, so that it has whole periods of the bucket.
        if sample.losses > 0 {
            if let Some(bw) = lt.rate_of_interval(flight) {
                self.end_interval(bw, flight);
            }
        }
    }

    fn end_interval(&mut self, bw: u64, flight: &Flight) {
        let lt = &mut self.lt;
        if lt.bw > 0 {
            let difference = bw.abs_diff(lt.bw);
            let near = difference * UNIT <= RATIO * lt.bw;
            if near || bytes_per_s(difference, flight.window.mss, UNIT) <= NEAR_BYTES_PER_S {
                (lt.bw, lt.use_bw, lt.rounds) = ((bw + lt.bw) >> 1, true, 0);
                self.pacing_gain = UNIT;
                return;
            }
        }
        lt.bw = bw;
        lt.begin_interval(flight);
    }
}

/// Least rounds of an interval; at most four times as many.
const MIN_ROUNDS: u32 = 4;
/// A fifth lost makes an interval lossy.
pub(super) const LOSS_THRESH: u64 = 50;
/// Rates within an eighth are the same,
const RATIO: u64 = UNIT / 8;
/// or within 4 kbit/s.
const NEAR_BYTES_PER_S: u64 = 4_000 / 8;
/// Rounds for which the rate is used.
const USED_ROUNDS: u32 = 48;
