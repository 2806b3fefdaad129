//! Sums over the flows of a group and over all forward flows, and Jain's index of bulk flows.

use crate::status::{Datagrams, Payload, RoundTrips, Status};
use crate::summary::{DatagramSummary, PayloadSummary, jain};
use serde::Serialize;

/// Totals over the forward flows of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ForwardTotals {
    /// Payload that arrived in the window, without duplicates, per second.
    pub goodput_bps: f64,
    /// Payload delivered in order in the window, per second.
    pub delivered_bps: f64,
    /// Jain's index of the bulk flows, if exactly one forward group has any ([`BulkShares`]).
    pub jain: Option<f64>,
}

impl ForwardTotals {
    /// Totals of a run whose endpoints are not recorded.
    pub(crate) const UNKNOWN: Self = Self { goodput_bps: f64::NAN, delivered_bps: f64::NAN, jain: None };

    /// Sums the forward groups; `shares` has the goodputs of bulk flows.
    pub fn of(groups: impl Iterator<Item = PayloadSummary>, shares: &BulkShares) -> Self {
        let empty = Self { goodput_bps: 0.0, delivered_bps: 0.0, jain: shares.jain() };
        groups.fold(empty, |sum, group| Self {
            goodput_bps: sum.goodput_bps + group.goodput_bps,
            delivered_bps: sum.delivered_bps + group.delivered_bps,
            ..sum
        })
    }
}

/// Goodputs of the bulk flows of each group, for Jain's index.
///
/// R. Jain, D.-M. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination", DEC-TR-301 (1984): the index
/// assumes users with equal demands. So only flows count that have data to send until the end of the run and no rate of
/// their own ([`FlowSpec::is_bulk`](crate::scenario::FlowSpec::is_bulk)), and only flows of one group are compared.
#[derive(Clone, Debug)]
pub struct BulkShares(Vec<GroupShares>);

#[derive(Clone, Debug)]
struct GroupShares {
    is_bulk: bool,
    forward: bool,
    goodputs: Vec<f64>,
}

impl BulkShares {
    /// Empty shares of groups in order; each as (is bulk, is forward).
    pub fn new(groups: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let empty = |(is_bulk, forward)| GroupShares { is_bulk, forward, goodputs: Vec::new() };
        Self(groups.into_iter().map(empty).collect())
    }

    /// Adds the goodput of a flow that lasts the whole run.
    pub fn add(&mut self, group: usize, goodput_bps: f64) {
        if let Some(group) = self.0.get_mut(group).filter(|group| group.is_bulk) {
            group.goodputs.push(goodput_bps);
        }
    }

    /// The index of a group with at least two bulk flows.
    pub fn of_group(&self, group: usize) -> Option<f64> {
        self.0.get(group).filter(|group| group.goodputs.len() > 1).map(|group| jain(&group.goodputs))
    }

    /// The index of the only forward group with bulk flows; none if there are several.
    pub fn jain(&self) -> Option<f64> {
        let mut bulk = self.0.iter().filter(|group| group.forward && !group.goodputs.is_empty());
        match (bulk.next(), bulk.next()) {
            (Some(only), None) => Some(jain(&only.goodputs)),
            _ => None,
        }
    }
}

/// Accumulator for the report of a group.
pub(super) struct GroupReport {
    pub total: Status,
    seen: Datagrams,
    pub payload: Payload,
    pub rtts: RoundTrips,
    scores: Vec<f64>,
}

impl GroupReport {
    pub fn new(connections: &Status, before: &Status) -> Self {
        let payload = connections.payload.since(&before.payload);
        let rtts = connections.rtts.since(&before.rtts);
        Self { total: *connections, seen: Datagrams::default(), payload, rtts, scores: Vec::new() }
    }

    pub fn add(&mut self, status: &Status, before: &Status, (datagrams, score): (&Datagrams, Option<f64>)) {
        self.total.add(status);
        self.seen.add(datagrams);
        self.payload.add(&status.payload.since(&before.payload));
        self.rtts.add(&status.rtts.since(&before.rtts));
        self.scores.extend(score);
    }

    pub fn datagrams(&self) -> DatagramSummary {
        DatagramSummary::of(&self.seen, false).of_calls(&self.scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of groups (is bulk, is forward); each flow has its group and its goodput in Mbit/s.
    fn shares(groups: &[(bool, bool)], flows: &[(usize, f64)]) -> BulkShares {
        let mut shares = BulkShares::new(groups.iter().copied());
        flows.iter().for_each(|&(group, goodput)| shares.add(group, goodput));
        shares
    }

    #[test]
    fn only_bulk_flows_of_one_group_are_compared() {
        let (bulk, call, up) = ((true, true), (false, true), (true, false));
        // A call and two equal downloads.
        let found = shares(&[bulk, call], &[(0, 9.0), (0, 9.0), (1, 0.08)]);
        assert_eq!((found.jain(), found.of_group(0), found.of_group(1)), (Some(1.0), Some(1.0), None));
        // Two groups: each has its own index, the total has none.
        let found = shares(&[bulk, bulk], &[(0, 3.0), (0, 1.0), (1, 7.0), (1, 7.0), (1, 7.0)]);
        assert_eq!((found.jain(), found.of_group(0), found.of_group(1)), (None, Some(0.8), Some(1.0)));
        // Uploads have their own index and are not mixed with the downloads.
        let found = shares(&[bulk, up], &[(0, 4.0), (1, 3.0), (1, 1.0)]);
        assert_eq!((found.jain(), found.of_group(0), found.of_group(1)), (Some(1.0), None, Some(0.8)));
        // No bulk flow at all; a group that does not exist.
        let found = shares(&[call], &[(0, 1.0), (0, 2.0), (7, 1.0)]);
        assert_eq!((found.jain(), found.of_group(0), found.of_group(7)), (None, None, None));
    }
}
