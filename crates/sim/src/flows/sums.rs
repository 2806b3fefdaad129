//! Sums over flows: of those of a group, and of all that go forward.

use crate::status::{Datagrams, Payload, Status};
use crate::summary::{DatagramSummary, PayloadSummary, jain};
use serde::Serialize;

/// What the forward flows of a run did together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Whole {
    /// Payload that arrived for the first time in the window, per second.
    pub goodput_bps: f64,
    /// Payload that was delivered in order in the window, per second.
    pub delivered_bps: f64,
    /// Jain's index of the goodputs of those that last.
    pub jain: f64,
}

impl Whole {
    /// Nothing is known of the ends.
    pub(crate) const UNKNOWN: Self = Self { goodput_bps: f64::NAN, delivered_bps: f64::NAN, jain: f64::NAN };

    /// From the forward groups, and the goodputs of the forward flows that last.
    pub fn of(groups: impl Iterator<Item = PayloadSummary>, lasting: impl IntoIterator<Item = f64>) -> Self {
        let lasting: Vec<f64> = lasting.into_iter().collect();
        let empty = Self { goodput_bps: 0.0, delivered_bps: 0.0, jain: jain(&lasting) };
        groups.fold(empty, |sum, group| Self {
            goodput_bps: sum.goodput_bps + group.goodput_bps,
            delivered_bps: sum.delivered_bps + group.delivered_bps,
            ..sum
        })
    }
}

/// A group being added up.
pub(super) struct GroupReport {
    pub total: Status,
    seen: Datagrams,
    pub payload: Payload,
    scores: Vec<f64>,
}

impl GroupReport {
    pub fn new(connections: &Status, before: &Status) -> Self {
        let payload = connections.payload.since(&before.payload);
        Self { total: *connections, seen: Datagrams::default(), payload, scores: Vec::new() }
    }

    pub fn add(&mut self, status: &Status, before: &Status, (datagrams, score): (&Datagrams, Option<f64>)) {
        self.total.add(status);
        self.seen.add(datagrams);
        self.payload.add(&status.payload.since(&before.payload));
        self.scores.extend(score);
    }

    pub fn datagrams(&self) -> DatagramSummary {
        DatagramSummary::of(&self.seen, false).of_calls(&self.scores)
    }
}
