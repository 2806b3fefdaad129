//! Probes of every packet. Without one, the hooks compile to nothing.

use crate::table::{Table, recorder};
use sojourn_aqm::{DropReason, Instant, Meta};

/// Sees what happens at the queues. It cannot change anything.
pub(crate) trait Probe: Default {
    /// Transmission of a packet began.
    #[inline]
    fn sent(&mut self, now: Instant, link: usize, meta: &Meta, newly_marked: bool) {
        let _ = (now, link, meta, newly_marked);
    }

    /// A packet was dropped.
    #[inline]
    fn dropped(&mut self, now: Instant, link: usize, meta: &Meta, reason: DropReason) {
        let _ = (now, link, meta, reason);
    }

    /// What was recorded.
    fn tables(self) -> Vec<Table>;
}

/// No probe.
impl Probe for () {
    fn tables(self) -> Vec<Table> {
        Vec::new()
    }
}

/// Records every packet.
#[derive(Default)]
pub(crate) struct EveryPacket(Packets);

recorder! {
    Packets("packets") {
        time_ns: u64 => U64,
        link: u8 => U8,
        flow: u32 => U32,
        bytes: u32 => U32,
        sojourn_ns: u64 => U64,
        fate: u8 => U8,
    }
}

impl EveryPacket {
    fn push(&mut self, now: Instant, link: usize, meta: &Meta, fate: u8) {
        let sojourn = (now - meta.enqueued).as_nanos() as u64;
        self.0.push(now.as_nanos(), link as u8, meta.flow, meta.len, sojourn, fate);
    }
}

impl Probe for EveryPacket {
    fn sent(&mut self, now: Instant, link: usize, meta: &Meta, newly_marked: bool) {
        self.push(now, link, meta, if newly_marked { SENT_MARKED } else { SENT });
    }

    fn dropped(&mut self, now: Instant, link: usize, meta: &Meta, reason: DropReason) {
        self.push(now, link, meta, DROPPED + reason as u8);
    }

    fn tables(self) -> Vec<Table> {
        vec![self.0.into_table()]
    }
}

/// Codes of the column `fate`; drops follow in the order of [`DropReason`].
const SENT: u8 = 0;
const SENT_MARKED: u8 = 1;
const DROPPED: u8 = 2;
