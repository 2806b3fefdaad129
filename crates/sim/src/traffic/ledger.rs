//! What the groups of flows have done: connections opened and closed, transfers completed.

use super::Status;
use crate::histogram::Histogram;
use crate::table::{Table, recorder};
use sojourn_aqm::Instant;

/// The books of a run.
pub(crate) struct Ledger {
    /// Start of the statistics.
    from: Instant,
    pub groups: Vec<GroupTally>,
    /// Rows are written only if somebody wants them.
    transfers: Option<Transfers>,
    /// Slots of connections that have ended and were not yet given up.
    pub ended: Vec<u32>,
}

/// A group of flows inside the statistics window.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupTally {
    /// Flows started, closed connections.
    pub opened: u64,
    pub closed: u64,
    /// Payload that was asked for.
    pub offered: u64,
    /// From the start of each completed transfer to its last byte.
    pub completion: Histogram,
    /// What connections that are no more have done, over the whole run.
    pub past: Status,
}

recorder! {
    Transfers("transfers") {
        group: u32 => U32,
        flow: u32 => U32,
        start_ns: u64 => U64,
        duration_ns: u64 => U64,
        bytes: u64 => U64,
    }
}

impl Ledger {
    pub fn new(groups: usize, from: Instant, recording: bool) -> Self {
        let transfers = recording.then(Transfers::default);
        Self { from, groups: vec![GroupTally::default(); groups], transfers, ended: Vec::new() }
    }

    /// A flow of `group` starts at `now`.
    pub fn opened(&mut self, now: Instant, group: u32) {
        self.groups[group as usize].opened += (now >= self.from) as u64;
    }

    /// A flow of `group` was asked for `bytes`.
    pub fn offered(&mut self, now: Instant, group: u32, bytes: u64) {
        if now >= self.from {
            self.groups[group as usize].offered += bytes;
        }
    }

    /// A connection of `group` is over.
    pub fn closed(&mut self, now: Instant, group: u32) {
        self.groups[group as usize].closed += (now >= self.from) as u64;
    }

    /// The last byte of a transfer has arrived.
    pub fn completed(&mut self, now: Instant, (flow, group): (u32, u32), begun: Instant, bytes: u64) {
        if now >= self.from {
            self.groups[group as usize].completion.record(now - begun);
        }
        if let Some(transfers) = &mut self.transfers {
            transfers.push(group, flow, begun.as_nanos(), (now - begun).as_nanos() as u64, bytes);
        }
    }

    /// The transfers, if they were recorded.
    pub fn into_table(self) -> Option<Table> {
        self.transfers.map(Transfers::into_table)
    }
}
