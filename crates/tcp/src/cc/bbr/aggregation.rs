//! ACK aggregation: how much more is acknowledged at a time than the rate explains, and room for that in the window.
//!
//! Source: Linux 6.1 `tcp_bbr.c`, `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`.

use super::{BW_UNIT, Bbr, Flight, RateSample, since_start, valid};

/// How much more was acknowledged at a time than the rate explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    pub epoch_us: u64,
    pub epoch_acked: u64,
    /// The largest excess of the last five to ten rounds.
    pub acked: [u64; 2],
    slot: usize,
    rounds: u32,
}

impl Bbr {
    /// Takes an acknowledgment into account.
    pub(super) fn update_ack_aggregation(&mut self, flight: &Flight, sample: &RateSample) {
        if sample.acked_sacked == 0 || valid(sample).is_none() {
            return;
        }
        let (now, bw, acked) = (since_start(flight.delivered_at), self.bw(), sample.acked_sacked as u64);
        let extra = &mut self.extra;
        if self.round_start {
            extra.rounds = (extra.rounds + 1).min(31);
            if extra.rounds >= EXTRA_ACKED_ROUNDS {
                (extra.rounds, extra.slot) = (0, 1 - extra.slot);
                extra.acked[extra.slot] = 0;
            }
        }
        let mut expected = bw * now.saturating_sub(extra.epoch_us) / BW_UNIT;
        if extra.epoch_acked <= expected || extra.epoch_acked + acked >= EPOCH_ACKED_RESET {
            (extra.epoch_acked, extra.epoch_us, expected) = (0, now, 0);
        }
        extra.epoch_acked = (extra.epoch_acked + acked).min(EPOCH_ACKED_RESET - 1);
        let excess = (extra.epoch_acked - expected).min(flight.window.cwnd as u64);
        extra.acked[extra.slot] = extra.acked[extra.slot].max(excess);
    }

    /// What the window gets for it, once the rate is known.
    pub(super) fn ack_aggregation_cwnd(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = self.bw() * EXTRA_ACKED_US / BW_UNIT;
        self.extra.acked[0].max(self.extra.acked[1]).min(most) as u32
    }
}

pub(super) const EXTRA_ACKED_ROUNDS: u32 = 5;
const EXTRA_ACKED_US: u64 = 100_000;
const EPOCH_ACKED_RESET: u64 = 1 << 20;
