//! HyStart: ends slow start before it causes losses (Ha and Rhee, "Taming the Elephants", 2011).
//!
//! Source: Linux `tcp_cubic.c`. One of two signals within a round ends slow start: an ACK train longer than half the
//! minimum RTT, or a rise of the RTT.
//!
//! Differs: `hystart_ack_delay` (since 5.6) is the time of 256 kB at the pacing rate if that is below a millisecond,
//! that is above 2 Gbit/s; here it is a millisecond at any rate.

use super::Ack;
use crate::stack::hystart::Config;
use sojourn_aqm::{Duration, Instant};

/// State of HyStart for a connection.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    config: Config,
    params: Params,
    /// HyStart has ended slow start; only a time-out restarts the search.
    found: bool,
    round_start: Instant,
    /// Last acknowledgment of the train at the start of the round.
    last_ack: Instant,
    /// The round ends when this sequence number is acknowledged.
    end_seq: u64,
    /// Minimum RTT of the round.
    curr_rtt: Duration,
    samples: u32,
}

/// Module parameters of CUBIC that concern HyStart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    /// An ACK train may end slow start (`HYSTART_ACK_TRAIN` of `hystart_detect`).
    pub ack_train: bool,
    /// A rise of the RTT may end slow start (`HYSTART_DELAY` of `hystart_detect`).
    pub delay: bool,
    /// Smaller windows stay in slow start (`hystart_low_window`).
    pub low_window: u32,
    /// Maximum spacing of acknowledgments within one train (`hystart_ack_delta_us`).
    pub ack_delta: Duration,
}

impl HyStart {
    pub fn new(config: Config, params: Params) -> Self {
        Self {
            config,
            params,
            found: false,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            end_seq: 0,
            curr_rtt: NO_SAMPLE,
            samples: 0,
        }
    }

    /// Takes an RTT sample in slow start with window `cwnd`; returns whether slow start ends.
    pub fn ends_slow_start(&mut self, cwnd: u32, ack: &Ack, rtt: Duration, delay_min: Duration) -> bool {
        if self.config.every_sample && ack.una > self.end_seq {
            self.start_round(ack);
        }
        if self.found || cwnd < self.params.low_window {
            return false;
        }
        if self.params.ack_train && ack.now - self.last_ack <= self.params.ack_delta {
            self.last_ack = ack.now;
            let longest = (delay_min + self.config.ack_delay).as_nanos() >> self.config.train_shift;
            self.found = (ack.now - self.round_start).as_nanos() > longest;
        }
        if !self.params.delay {
            return self.found;
        }
        let enough = self.samples >= MIN_SAMPLES;
        // Since 5.8 every sample lowers the round's minimum; before, only the first eight.
        if !enough || self.config.every_sample {
            self.curr_rtt = self.curr_rtt.min(rtt);
        }
        if enough {
            let fraction = Duration::from_nanos(delay_min.as_nanos() >> self.config.rise_shift);
            let rise = fraction.clamp(self.config.min_rise, MAX_RISE);
            self.found |= self.curr_rtt > delay_min + rise;
        } else {
            self.samples += 1;
        }
        self.found
    }

    /// Called when the window grows in slow start.
    pub fn grows(&mut self, ack: &Ack) {
        if !self.config.every_sample && ack.una > self.end_seq {
            self.start_round(ack);
        }
    }

    fn start_round(&mut self, ack: &Ack) {
        (self.round_start, self.last_ack) = (ack.now, ack.now);
        self.end_seq = ack.nxt;
        self.curr_rtt = NO_SAMPLE;
        self.samples = 0;
    }
}

/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MAX`.
const MAX_RISE: Duration = Duration::from_millis(16);
/// Longer than any RTT: no sample yet.
const NO_SAMPLE: Duration = Duration::from_secs(1 << 30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::hystart::{LINUX_2_6_29, LINUX_3, LINUX_6};
    use crate::state::CaState;

    const DEFAULTS: Params =
        Params { ack_train: true, delay: true, low_window: 16, ack_delta: Duration::from_millis(2) };

    fn ms(ms: i64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Acknowledgments in one round, spaced by `gap`, on a connection with a minimum RTT of `delay_min`: index of the
    /// one that ends slow start.
    fn ends_at(config: Config, cwnd: u32, delay_min: Duration, gap: Duration, rtts: &[Duration]) -> Option<usize> {
        let mut hystart = HyStart::new(config, DEFAULTS);
        let mut ack = Ack {
            now: Instant::ZERO + ms(1000),
            packets: 1,
            rtt: None,
            una: 1,
            nxt: 1000,
            state: CaState::Open,
            one_way: None,
            slow_path: false,
        };
        hystart.start_round(&ack);
        rtts.iter().position(|&rtt| {
            (ack.now, ack.una) = (ack.now + gap, ack.una + 1);
            hystart.ends_slow_start(cwnd, &ack, rtt, delay_min)
        })
    }

    #[test]
    fn the_rise_that_counts_depends_on_the_kernel() {
        // The ninth sample decides; the rise must exceed min(max(delay_min / 8 or 16, 2 or 4 ms), 16 ms).
        for (config, delay_min, rise) in [
            (LINUX_2_6_29, 10, 2),
            (LINUX_2_6_29, 48, 3),
            (LINUX_2_6_29, 800, 16),
            (LINUX_3, 10, 4),
            (LINUX_3, 80, 5),
            (LINUX_6, 10, 4),
            (LINUX_6, 80, 10),
            (LINUX_6, 400, 16),
        ] {
            let ends = |rtt| ends_at(config, 16, ms(delay_min), ms(5), &[ms(rtt); 20]);
            assert_eq!(ends(delay_min + rise), None, "{config:?}, {delay_min} ms");
            assert_eq!(ends(delay_min + rise + 1), Some(8), "{config:?}, {delay_min} ms");
        }
    }

    #[test]
    fn a_small_window_stays_in_slow_start() {
        assert_eq!(ends_at(LINUX_6, 15, ms(10), ms(5), &[ms(100); 50]), None);
    }

    #[test]
    fn a_train_longer_than_half_the_least_rtt_ends_slow_start() {
        for config in [LINUX_2_6_29, LINUX_3, LINUX_6] {
            // The 21st acknowledgment arrives 21 ms after the round began.
            assert_eq!(ends_at(config, 16, ms(40), ms(1), &[ms(40); 50]), Some(20));
            // Linux 5.6 adds a millisecond to the minimum RTT: 21 ms is not longer than half of 42 ms.
            let late = if config == LINUX_6 { 21 } else { 20 };
            assert_eq!(ends_at(config, 16, ms(41), ms(1), &[ms(41); 50]), Some(late));
            assert_eq!(ends_at(config, 16, ms(40), ms(2), &[ms(40); 50]), Some(10));
            assert_eq!(ends_at(config, 16, ms(40), ms(3), &[ms(40); 50]), None, "no train");
            // Since 5.6 a paced train may last a full minimum RTT: 42 ms is longer than 41 ms.
            let paced = if config == LINUX_6 { 41 } else { 20 };
            assert_eq!(ends_at(config.paced(), 16, ms(40), ms(1), &[ms(40); 50]), Some(paced));
        }
    }

    #[test]
    fn a_fall_of_the_rtt_in_mid_round_is_no_rise_since_5_8() {
        // Nine samples of 200 ms, then the path becomes shorter: 29 ms.
        for (config, ends) in [(LINUX_6, false), (LINUX_3, true)] {
            let mut hystart = HyStart::new(config, DEFAULTS);
            let mut ack = Ack {
                now: Instant::ZERO + ms(1000),
                packets: 1,
                rtt: None,
                una: 1,
                nxt: 1000,
                state: CaState::Open,
                one_way: None,
                slow_path: false,
            };
            hystart.start_round(&ack);
            for _ in 0..9 {
                (ack.now, ack.una) = (ack.now + ms(5), ack.una + 1);
                assert!(!hystart.ends_slow_start(30, &ack, ms(200), ms(200)));
            }
            ack.now += ms(5);
            assert_eq!(hystart.ends_slow_start(30, &ack, ms(29), ms(29)), ends, "{config:?}");
        }
    }
}
