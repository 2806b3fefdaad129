//! RTT samples per round for Vegas and YeAH (Linux 6.1 `tcp_vegas.c`: `tcp_vegas_pkts_acked` and its state).

use super::Ack;
use crate::state::CaState;

/// Minimum RTT of the connection and of the current round, in microseconds.
#[derive(Clone, Debug)]
pub(super) struct RttRounds {
    /// Whether rounds are evaluated: only in the state Open.
    pub enabled: bool,
    /// Minimum RTT since the connection was last idle (`baseRTT`).
    pub base_rtt: u32,
    /// Minimum RTT of this round (`minRTT`).
    pub min_rtt: u32,
    /// Number of samples of this round (`cntRTT`).
    cnt_rtt: u32,
    /// The round ends when this sequence number is acknowledged (`beg_snd_nxt`).
    beg_snd_nxt: u64,
}

impl Default for RttRounds {
    fn default() -> Self {
        Self { enabled: true, base_rtt: NONE, min_rtt: NONE, cnt_rtt: 0, beg_snd_nxt: 0 }
    }
}

impl RttRounds {
    /// Adds a sample, in every state.
    pub fn add_sample(&mut self, report: &Ack) {
        if let Some(rtt) = report.rtt {
            // Never zero.
            let rtt = (rtt.as_nanos() / 1_000) as u32 + 1;
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.cnt_rtt += 1;
        }
    }

    /// Begins a round when the state becomes Open; in other states there are no rounds.
    pub fn state_changed(&mut self, state: CaState, nxt: u64) {
        self.enabled = state == CaState::Open;
        if self.enabled {
            self.begin(nxt);
        }
    }

    /// Resets everything after idle, so that the next acknowledgment ends a round.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Whether an acknowledgment ends the round.
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una > self.beg_snd_nxt
    }

    /// Begins a round that ends when `nxt` is acknowledged.
    pub fn begin(&mut self, nxt: u64) {
        (self.beg_snd_nxt, self.cnt_rtt, self.min_rtt) = (nxt, 0, NONE);
    }

    /// Whether the round has enough samples, so that not all of them include delayed acknowledgments.
    pub fn is_sampled(&self) -> bool {
        self.cnt_rtt > MIN_SAMPLES
    }

    /// Minimum RTT of this round less the minimum RTT of the connection.
    pub fn queueing_delay(&self) -> u32 {
        self.min_rtt - self.base_rtt
    }
}

/// Sentinel: no sample.
const NONE: u32 = 0x7fff_ffff;
/// A round needs more samples than this.
pub(super) const MIN_SAMPLES: u32 = 2;
