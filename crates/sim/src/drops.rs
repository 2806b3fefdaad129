//! The probe of drops: which packets of a flow were lost at a queue, so that bursts of losses can be told.

use crate::queue_event::{QueueEvent, fate_of_drop};
use crate::table::{Table, recorder};
use sojourn_aqm::DropReason;
#[expect(clippy::disallowed_types, reason = "looked up, never walked")]
use std::collections::HashMap;

/// Records every drop with the packet's number among those of its flow at the queue.
#[derive(Default)]
pub(crate) struct DropRecorder {
    log: Log,
    /// By link and flow: packets that reached the queue. A map, as flow numbers are not dense: tunnels are numbered from
    /// the end of `u32` down.
    #[expect(clippy::disallowed_types, reason = "looked up, never walked")]
    arrivals: HashMap<(usize, u32), u32>,
    /// By handle: the number of a packet that is in a queue, or was.
    numbers: Vec<u32>,
}

recorder! {
    Log("drops") {
        time_ns: u64 => U64,
        link: u8 => U8,
        flow: u32 => U32,
        number: u32 => U32,
        bytes: u32 => U32,
        sojourn_ns: u64 => U64,
        fate: u8 => U8,
    }
}

impl DropRecorder {
    /// Bytes of a row.
    pub const ROW_BYTES: u64 = Log::ROW_BYTES;
    /// Bytes that are kept of each packet under way, and of each flow at a queue.
    pub const PACKET_BYTES: u64 = size_of::<u32>() as u64;
    pub const FLOW_BYTES: u64 = size_of::<((usize, u32), u32)>() as u64 + 1;

    /// A packet reached a link's queue.
    pub fn arrived(&mut self, QueueEvent { link, packet, meta, .. }: QueueEvent<'_>) {
        let packet = packet as usize;
        if packet >= self.numbers.len() {
            self.numbers.resize(packet + 1, 0);
        }
        let reached = self.arrivals.entry((link, meta.flow)).or_default();
        self.numbers[packet] = *reached;
        *reached += 1;
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, QueueEvent { at: now, link, packet, meta }: QueueEvent<'_>, reason: DropReason) {
        let (number, sojourn) = (self.numbers[packet as usize], (now - meta.enqueued).as_nanos() as u64);
        self.log.push(now.as_nanos(), link as u8, meta.flow, number, meta.len, sojourn, fate_of_drop(reason));
    }

    /// What was recorded so far, if that are so many rows; it is forgotten.
    pub fn take(&mut self, least: usize) -> Option<Table> {
        self.log.take(least)
    }

    /// What was recorded, less what was taken.
    pub fn into_table(self) -> Table {
        self.log.into_table()
    }
}
