//! The probe of drops: which packets of a flow each queue dropped, to find bursts of losses.

use crate::queue_event::{QueueEvent, fate_of_drop};
use crate::table::{Table, recorder};
use sojourn_aqm::DropReason;
#[expect(clippy::disallowed_types, reason = "looked up, never iterated")]
use std::collections::HashMap;

/// Records every drop with the packet's index among those of its flow at the queue.
#[derive(Default)]
pub(crate) struct DropRecorder {
    log: Log,
    /// By link and flow: packets offered to the queue. A map, because flow numbers are not dense: tunnels count down
    /// from `u32::MAX`.
    #[expect(clippy::disallowed_types, reason = "looked up, never iterated")]
    arrivals: HashMap<(usize, u32), u32>,
    /// By handle: the index of a packet that is or was queued.
    numbers: Vec<u32>,
}

recorder! {
    Log("drops") {
        time_ns: u64 => U64,
        link: u16 => U16,
        flow: u32 => U32,
        number: u32 => U32,
        bytes: u32 => U32,
        sojourn_ns: u64 => U64,
        fate: u8 => U8,
    }
}

impl DropRecorder {
    /// Bytes per row.
    pub const ROW_BYTES: u64 = Log::ROW_BYTES;
    /// Memory per packet in flight, and per flow at a queue.
    pub const PACKET_BYTES: u64 = size_of::<u32>() as u64;
    pub const FLOW_BYTES: u64 = size_of::<((usize, u32), u32)>() as u64 + 1;

    /// Counts a packet that is offered to a link's queue.
    pub fn arrived(&mut self, QueueEvent { link, packet, meta, .. }: QueueEvent<'_>) {
        let packet = packet as usize;
        if packet >= self.numbers.len() {
            self.numbers.resize(packet + 1, 0);
        }
        let reached = self.arrivals.entry((link, meta.flow)).or_default();
        self.numbers[packet] = *reached;
        *reached += 1;
    }

    /// Records a drop.
    pub fn dropped(&mut self, QueueEvent { at: now, link, packet, meta }: QueueEvent<'_>, reason: DropReason) {
        let (number, sojourn) = (self.numbers[packet as usize], (now - meta.enqueued).as_nanos() as u64);
        self.log.push(now.as_nanos(), link as u16, meta.flow, number, meta.len, sojourn, fate_of_drop(reason));
    }

    /// Takes the recorded rows if there are at least `min_rows`.
    pub fn take(&mut self, min_rows: usize) -> Option<Table> {
        self.log.take(min_rows)
    }

    /// Rows that have not been taken.
    pub fn into_table(self) -> Table {
        self.log.into_table()
    }
}
