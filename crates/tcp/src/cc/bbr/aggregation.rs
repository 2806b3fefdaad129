//! ACK aggregation: data acknowledged in excess of the bandwidth estimate, and room for it in the window.
//!
//! Source: Linux 6.1 `tcp_bbr.c`, `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`; the same in BBRv3.

use super::units::{BW_UNIT, valid};
use crate::cc::Flight;
use crate::micros_at;
use crate::rate_sample::RateSample;
use sojourn_aqm::Instant;

/// Data acknowledged in excess of the bandwidth estimate (`extra_acked`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct AckAggregation {
    epoch_us: u64,
    epoch_acked: u64,
    /// Maximum excess of the last one to two windows.
    acked: [u64; 2],
    slot: usize,
    rounds: u32,
}

/// The round trip of an acknowledgment.
pub struct Round {
    /// Estimated bandwidth.
    pub bw: u64,
    /// Whether the acknowledgment starts the round.
    pub starts: bool,
    /// Window of the maximum, in rounds; it covers this many to twice as many.
    pub window: u32,
}

impl AckAggregation {
    /// Begins a new epoch.
    pub fn restart(&mut self, now: Instant) {
        (self.epoch_us, self.epoch_acked) = (micros_at(now), 0);
    }

    /// Counts an acknowledgment.
    #[inline(always)]
    pub fn update(&mut self, flight: &Flight, sample: &RateSample, round: Round) {
        let Round { bw, starts, window } = round;
        if sample.acked_sacked == 0 || valid(sample).is_none() {
            return;
        }
        let (now, acked) = (micros_at(flight.delivered_at), sample.acked_sacked as u64);
        if starts {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= window {
                (self.rounds, self.slot) = (0, 1 - self.slot);
                self.acked[self.slot] = 0;
            }
        }
        let mut expected = bw * now.saturating_sub(self.epoch_us) / BW_UNIT;
        // A new epoch begins when ACKs fall behind the bandwidth estimate, or before the kernel's counter would
        // saturate.
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_ACKED_RESET {
            (self.epoch_acked, self.epoch_us, expected) = (0, now, 0);
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_ACKED_RESET - 1);
        let excess = (self.epoch_acked - expected).min(flight.window.cwnd as u64);
        self.acked[self.slot] = self.acked[self.slot].max(excess);
    }

    /// Packets added to the window for aggregation.
    pub fn cwnd(&self, bw: u64) -> u32 {
        self.acked[0].max(self.acked[1]).min(bw * EXTRA_ACKED_US / BW_UNIT) as u32
    }

    /// Clears the maxima.
    #[cfg(test)]
    pub fn reset(&mut self) {
        self.acked = [0, 0];
    }
}

pub(in crate::cc) const EXTRA_ACKED_ROUNDS: u32 = 5;
const EXTRA_ACKED_US: u64 = 100_000;
const EPOCH_ACKED_RESET: u64 = 1 << 20;
