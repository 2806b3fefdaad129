//! Token-bucket policers: after two consecutive lossy intervals with similar rates BBR uses that rate for a while
//! (`lt_bw`).
//!
//! Source: Linux 6.1 `tcp_bbr.c`, `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`.

use super::units::{BW_UNIT, SCALE, UNIT, bytes_per_s};
use super::{Bbr, Flight, Mode, RateSample};
use crate::micros_at;

/// Long-term bandwidth sampling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTermBw {
    is_sampling: bool,
    /// Rate of the last lossy interval; zero if none.
    bw: u64,
    use_bw: bool,
    /// Rounds in this interval, or since the rate has been in use.
    rounds: u32,
    /// Start of the interval: time in milliseconds, packets delivered and lost.
    since_ms: u64,
    delivered: u64,
    lost: u64,
}

impl LongTermBw {
    /// The long-term rate, while it is in use.
    pub fn in_use(&self) -> Option<u64> {
        self.use_bw.then_some(self.bw)
    }

    /// Forgets the policer; the interval keeps its start.
    pub fn reset(&mut self) {
        *self = Self { is_sampling: false, bw: 0, use_bw: false, rounds: 0, ..*self };
    }

    /// Forgets the policer and begins an interval.
    pub fn restart(&mut self, flight: &Flight) {
        self.reset();
        self.begin_interval(flight);
    }

    fn begin_interval(&mut self, flight: &Flight) {
        self.since_ms = micros_at(flight.delivered_at) / 1_000;
        (self.delivered, self.lost, self.rounds) = (flight.delivered, flight.lost, 0);
    }

    /// Rate in the interval, if it ends here because it is long enough and lossy.
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
    /// Checks a sample for signs of a policer.
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
        // An application that sends less than the policer's rate hides it.
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
        // The interval ends with a loss, so that it covers whole token-bucket periods.
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
                // Two intervals at one rate: a token bucket. Paces at their mean without probing.
                (lt.bw, lt.use_bw, lt.rounds) = ((bw + lt.bw) >> 1, true, 0);
                self.pacing_gain = UNIT;
                return;
            }
        }
        lt.bw = bw;
        lt.begin_interval(flight);
    }
}

/// Minimum number of rounds of an interval; the maximum is four times as many.
const MIN_ROUNDS: u32 = 4;
/// An interval is lossy if a fifth of its packets are lost (50/256).
pub(super) const LOSS_THRESH: u64 = 50;
/// Two rates are equal if they differ by at most an eighth,
const RATIO: u64 = UNIT / 8;
/// or by at most 4 kbit/s.
const NEAR_BYTES_PER_S: u64 = 4_000 / 8;
/// Rounds for which the rate is used.
const USED_ROUNDS: u32 = 48;
