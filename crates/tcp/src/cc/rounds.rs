//! RTT samples of a round, as Vegas and YeAH take them (Linux 6.1 `tcp_vegas.c`: `tcp_vegas_pkts_acked` and its state).

use super::Ack;
use crate::state::CaState;

/// The least RTT ever, and that of the present round. RTTs in microseconds.
#[derive(Clone, Debug)]
pub(super) struct RttRounds {
    /// Whether rounds are looked at: in the state Open.
    pub enabled: bool,
    /// Least RTT since the connection was last idle (`baseRTT`).
    pub base_rtt: u32,
    /// Least RTT of this round (`minRTT`).
    pub min_rtt: u32,
    /// Samples of this round (`cntRTT`).
    cnt_rtt: u32,
    /// The round ends when this is acknowledged (`beg_snd_nxt`).
    beg_snd_nxt: u64,
}

impl Default for RttRounds {
    fn default() -> Self {
        Self { enabled: true, base_rtt: NONE, min_rtt: NONE, cnt_rtt: 0, beg_snd_nxt: 0 }
    }
}

impl RttRounds {
    /// A sample counts in every state.
    pub fn add_sample(&mut self, report: &Ack) {
        if let Some(rtt) = report.rtt {
            // Never zero.
            let rtt = (rtt.as_nanos() / 1_000) as u32 + 1;
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.cnt_rtt += 1;
        }
    }

    /// A new round begins with the state Open; in every other one there are none.
    pub fn state_changed(&mut self, state: CaState, nxt: u64) {
        self.enabled = state == CaState::Open;
        if self.enabled {
            self.begin(nxt);
        }
    }

    /// Everything is forgotten while nothing is out, so that whatever is acknowledged next ends a round.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Whether an acknowledgment ends the round.
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una > self.beg_snd_nxt
    }

    /// A round begins that ends when `nxt` is acknowledged.
    pub fn begin(&mut self, nxt: u64) {
        (self.beg_snd_nxt, self.cnt_rtt, self.min_rtt) = (nxt, 0, NONE);
    }

    /// Whether the round has samples enough, so that not all of them are of delayed acknowledgments.
    pub fn is_sampled(&self) -> bool {
        self.cnt_rtt > MIN_SAMPLES
    }

    /// How much longer the least RTT of this round is than the least ever.
    pub fn queueing_delay(&self) -> u32 {
        self.min_rtt - self.base_rtt
    }
}

/// No sample.
const NONE: u32 = 0x7fff_ffff;
/// One more sample than this is needed.
pub(super) const MIN_SAMPLES: u32 = 2;
