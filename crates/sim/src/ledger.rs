//! What the groups of flows have done: connections opened and closed, transfers completed.

use crate::histogram::Histogram;
use crate::status::Status;
use crate::table::{Table, recorder};
use crate::traffic::News;
use crate::window::{Part, Parts, Window};
use sojourn_aqm::Instant;
use std::collections::VecDeque;

/// The books of a run.
pub(crate) struct Ledger {
    counts: Parts<Vec<GroupCounts>>,
    pub groups: Vec<GroupTally>,
    /// Rows are written only if somebody wants them.
    transfers: Option<Transfers>,
    /// Slots of connections that have ended and were not yet given up.
    pub ended: Vec<u32>,
    /// What connections have told their clients, and in which slot; not heard yet.
    pub news: VecDeque<(u32, News)>,
}

/// A group of flows over the whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupTally {
    /// Flows that last for it.
    pub lasting: u64,
    /// What connections that are no more have done.
    pub past: Status,
}

/// A group of flows in a part of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupCounts {
    /// Connections opened and closed.
    pub opened: u64,
    pub closed: u64,
    /// Payload that was asked for.
    pub offered: u64,
    /// From the start of each completed transfer to its last byte.
    pub completion: Histogram,
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
    pub fn new(groups: usize, window: &Window, recording: bool) -> Self {
        let (counts, transfers) = (Parts::new(window), recording.then(Transfers::default));
        Self {
            counts,
            groups: vec![GroupTally::default(); groups],
            transfers,
            ended: Vec::new(),
            news: VecDeque::new(),
        }
    }

    fn counts(&mut self, now: Instant, group: u32) -> &mut GroupCounts {
        let (groups, counts) = (self.groups.len(), self.counts.at(now));
        counts.resize_with(groups, GroupCounts::default);
        &mut counts[group as usize]
    }

    /// A connection of `group` is opened at `now`.
    pub fn opened(&mut self, now: Instant, group: u32) {
        self.counts(now, group).opened += 1;
    }

    /// A flow of `group` was asked for `bytes`.
    pub fn offered(&mut self, now: Instant, group: u32, bytes: u64) {
        self.counts(now, group).offered += bytes;
    }

    /// A connection of `group` is over.
    pub fn closed(&mut self, now: Instant, group: u32) {
        self.counts(now, group).closed += 1;
    }

    /// The last byte of a transfer has arrived.
    pub fn completed(&mut self, now: Instant, (flow, group): (u32, u32), begun: Instant, bytes: u64) {
        self.counts(now, group).completion.record(now - begun);
        if let Some(transfers) = &mut self.transfers {
            transfers.push(group, flow, begun.as_nanos(), (now - begun).as_nanos() as u64, bytes);
        }
    }

    /// The counts of each group from instant `number` of the window on.
    pub fn counts_from(&self, number: usize) -> Vec<GroupCounts> {
        let mut counts = self.counts.sum(number);
        counts.resize_with(self.groups.len(), GroupCounts::default);
        counts
    }

    /// The transfers so far, if at least so many were recorded; it goes on without them.
    pub fn take(&mut self, least: usize) -> Option<Table> {
        self.transfers.as_mut()?.take(least)
    }

    /// The transfers that were not taken, if they were recorded.
    pub fn into_table(self) -> Option<Table> {
        self.transfers.map(Transfers::into_table)
    }
}

impl Part for GroupCounts {
    fn add(&mut self, other: &Self) {
        self.opened += other.opened;
        self.closed += other.closed;
        self.offered += other.offered;
        self.completion.merge(&other.completion);
    }

    fn pack(&mut self) {
        self.completion.pack();
    }
}
