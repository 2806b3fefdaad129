//! Reports of acknowledgments for controls that need them.

use super::Transmission;
use crate::ack::AckInfo;
use crate::cc;
use crate::state::CaState;
use crate::{Header, HostTime};

impl Transmission {
    /// The report of an acknowledgment.
    #[inline(never)]
    pub(crate) fn report(&self, now: HostTime, header: &Header, ack: &AckInfo, state: CaState) -> cc::Ack {
        cc::Ack {
            now: now.at,
            packets: ack.acked.packets,
            rtt: ack.sample_rtt(now, &self.rtt),
            one_way: self.rtt.one_way(header.ts_val, header.ts_ecr),
            una: self.queue.una(),
            nxt: self.queue.nxt(),
            state,
            slow_path: !ack.advanced || !header.sack.blocks().is_empty() || ack.ece,
        }
    }
}
