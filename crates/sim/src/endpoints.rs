//! Endpoint counts of a run on another engine, as the summary of a simulation.

use crate::flows::{BulkShares, ForwardTotals};
use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::scenario::{Direction, Scenario, Traffic};
use crate::summary::{DatagramSummary, FlowSummary, GroupSummary, PayloadSummary};
use serde::{Deserialize, Serialize};
use sojourn_aqm::Duration;
use std::collections::BTreeMap;

/// Endpoint counts; times in ns from the start of the run. A source has one flow for the whole run, or opens
/// connections.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointCounts {
    /// Flow of each source that has one for the whole run.
    pub flows: Vec<Option<u32>>,
    /// Group of each source.
    pub groups: Vec<usize>,
    /// Source of each flow and connection, by number.
    pub sources: Vec<(u32, usize)>,
    /// Source and time of each connection opened.
    pub opened: Vec<(usize, u64)>,
    /// Source and time of each connection closed.
    pub closed: Vec<(usize, u64)>,
    /// Completed transfers: source, start, end.
    pub transfers: Vec<(usize, u64, u64)>,
    /// Requested transfers whose size the scenario does not give: source, time, bytes.
    pub requested: Vec<(usize, u64, u64)>,
    /// Flow or connection, its source, its data packets sent and retransmitted.
    pub sent: Vec<(u32, usize, u64, u64)>,
    /// Retransmission timeouts of flows and connections that had any.
    pub timeouts: Vec<(u32, u64)>,
    /// Time, flow, then up to that time: bytes delivered in order and bytes that arrived, without duplicates.
    pub flow_bytes: Vec<(u64, u32, u64, u64)>,
    /// The same per group.
    pub group_bytes: Vec<(u64, u32, u64, u64)>,
    /// Time, flow, and its datagrams up to that time.
    pub datagrams: Vec<(u64, u32, DatagramCounts)>,
}

/// Datagrams sent, received and expected; sums of delays and of delay variations in ns.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct DatagramCounts(u64, u64, u64, u64, u64);

/// The part of a summary that only endpoints can count.
#[derive(Clone, Debug, Serialize)]
pub struct EndpointSummary {
    #[serde(flatten)]
    whole: ForwardTotals,
    groups: Vec<GroupSummary>,
    flows: Vec<FlowSummary>,
}

/// A number that the scenario does not have, with the table that contains it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}: {1} is not in the scenario")]
pub struct UnknownEndpoint(&'static str, usize);

impl EndpointCounts {
    /// Rejects sources and groups that the scenario does not have.
    fn check(&self, scenario: &Scenario) -> Result<(), UnknownEndpoint> {
        let (groups, sources) = (scenario.flows.len(), self.groups.len());
        let beyond = |place, count, numbers: &mut dyn Iterator<Item = usize>| {
            let beyond = Iterator::find(&mut { numbers }, |&number| number >= count);
            beyond.map_or(Ok(()), |number| Err(UnknownEndpoint(place, number)))
        };
        beyond("groups", groups, &mut self.groups.iter().copied())?;
        beyond("flows", sources + 1, &mut std::iter::once(self.flows.len()))?;
        beyond("sources", sources, &mut self.sources.iter().map(|of| of.1))?;
        beyond("opened", sources, &mut self.opened.iter().map(|of| of.0))?;
        beyond("closed", sources, &mut self.closed.iter().map(|of| of.0))?;
        beyond("transfers", sources, &mut self.transfers.iter().map(|of| of.0))?;
        beyond("requested", sources, &mut self.requested.iter().map(|of| of.0))?;
        beyond("sent", sources, &mut self.sent.iter().map(|of| of.1))
    }
}

/// Counts of a run, indexed by time and number.
pub struct EndpointIndex<'a> {
    counts: &'a EndpointCounts,
    scenario: &'a Scenario,
    flow_bytes: BTreeMap<(u64, u32), (u64, u64)>,
    group_bytes: BTreeMap<(u64, u32), (u64, u64)>,
    datagrams: BTreeMap<(u64, u32), DatagramCounts>,
    sent: BTreeMap<u32, (u64, u64)>,
    timeouts: BTreeMap<u32, u64>,
    sources: BTreeMap<u32, usize>,
}

impl<'a> EndpointIndex<'a> {
    /// Indexes the counts of a run of `scenario`.
    pub fn new(counts: &'a EndpointCounts, scenario: &'a Scenario) -> Result<Self, UnknownEndpoint> {
        counts.check(scenario)?;
        let bytes = |rows: &[(u64, u32, u64, u64)]| {
            rows.iter().map(|&(at, number, delivered, arrived)| ((at, number), (delivered, arrived))).collect()
        };
        Ok(Self {
            counts,
            scenario,
            flow_bytes: bytes(&counts.flow_bytes),
            group_bytes: bytes(&counts.group_bytes),
            datagrams: counts.datagrams.iter().map(|&(at, flow, seen)| ((at, flow), seen)).collect(),
            sent: counts.sent.iter().map(|&(flow, _, sent, again)| (flow, (sent, again))).collect(),
            timeouts: counts.timeouts.iter().copied().collect(),
            sources: counts.sources.iter().copied().collect(),
        })
    }

    /// The summary from `start` to `end`, in ns.
    pub fn summary(&self, start: u64, end: u64) -> EndpointSummary {
        let window = Window { start, end };
        let bulk = self.scenario.flows.iter().map(|spec| spec.is_bulk(self.scenario.duration));
        let forward = self.scenario.flows.iter().map(|spec| spec.direction == Direction::Forward);
        let mut shares = BulkShares::new(bulk.zip(forward));
        let flows: Vec<FlowSummary> = self.lasting().map(|(flow, group)| self.flow(flow, group, &window)).collect();
        flows.iter().for_each(|flow| shares.add(flow.group as usize, flow.payload.goodput_bps));
        let groups: Vec<GroupSummary> = (0..self.scenario.flows.len())
            .map(|number| GroupSummary {
                jain: shares.of_group(number),
                ..self.group(number, flows.iter().filter(|flow| flow.group as usize == number), &window)
            })
            .collect();
        let payloads = groups.iter().filter(|group| group.direction == FORWARD).map(|group| group.payload);
        EndpointSummary { whole: ForwardTotals::of(payloads, &shares), groups, flows }
    }

    /// Flows that last the whole run, with their groups.
    fn lasting(&self) -> impl Iterator<Item = (u32, usize)> {
        self.counts.flows.iter().zip(&self.counts.groups).filter_map(|(&flow, &group)| Some((flow?, group)))
    }

    fn flow(&self, flow: u32, group: usize, window: &Window) -> FlowSummary {
        let spec = &self.scenario.flows[group];
        let (mut sent, retransmissions) = self.sent.get(&flow).copied().unwrap_or_default();
        if let Some(&DatagramCounts(datagrams, ..)) = self.datagrams.get(&(window.end, flow)) {
            sent = datagrams;
        }
        let is_voice = matches!(spec.traffic, Traffic::Voice(_));
        FlowSummary {
            id: flow,
            group: group as u32,
            kind: spec.traffic.name(),
            direction: direction(spec.direction),
            payload: window.payload(&self.flow_bytes, flow),
            sent,
            retransmissions,
            timeouts: self.timeouts.get(&flow).copied().unwrap_or(0),
            rtt_ms: None,
            datagrams: self.seen(flow, window).map_or_else(DatagramSummary::default, |seen| seen.summary(is_voice)),
        }
    }

    fn group<'f>(&self, number: usize, flows: impl Iterator<Item = &'f FlowSummary>, window: &Window) -> GroupSummary {
        let spec = &self.scenario.flows[number];
        let flows: Vec<&FlowSummary> = flows.collect();
        let own = |source: &usize| self.counts.groups[*source] == number;
        let opened: Vec<u64> =
            self.counts.opened.iter().filter(|(source, at)| own(source) && *at <= window.end).map(|of| of.1).collect();
        let mut times = Histogram::default();
        let transfers = self.counts.transfers.iter().filter(|&(source, _, at)| own(source) && *at >= window.start);
        transfers.for_each(|&(_, begun, at)| times.record(Duration::from_nanos(at.saturating_sub(begun) as i64)));
        let (mut sent, mut retransmissions) = (0, 0);
        self.counts.sent.iter().filter(|(_, source, ..)| own(source)).for_each(|&(_, _, first, again)| {
            (sent, retransmissions) = (sent + first, retransmissions + again);
        });
        if spec.traffic.tcp().is_none() {
            sent += flows.iter().map(|flow| flow.sent).sum::<u64>();
        }
        let seen = flows.iter().filter_map(|flow| self.seen(flow.id, window)).reduce(DatagramCounts::plus);
        let scores: Vec<f64> = flows.iter().filter_map(|flow| flow.datagrams.mos).collect();
        GroupSummary {
            kind: spec.traffic.name(),
            direction: direction(spec.direction),
            payload: window.payload(&self.group_bytes, number as u32),
            jain: None,
            offered_bytes: self.offered(number, &opened, window),
            // A flow that lasts the whole run counts whenever it starts.
            opened: match flows.len() {
                0 => opened.iter().filter(|&&at| at >= window.start).count() as u64,
                count => count as u64,
            },
            closed: self.counts.closed.iter().filter(|(source, at)| own(source) && *at >= window.start).count() as u64,
            transfers: times.total(),
            completion_ms: Quantiles::of(&times),
            sent,
            retransmissions,
            timeouts: (self.timeouts.iter())
                .filter(|(flow, _)| self.sources.get(flow).is_some_and(own))
                .map(|(_, count)| count)
                .sum(),
            rtt_ms: None,
            datagrams: seen.map_or_else(DatagramSummary::default, |seen| seen.summary(false)).of_calls(&scores),
            video: None,
            capture: None,
            media: None,
            rpm: None,
            endpoint: None,
        }
    }

    /// Payload of the transfers started in the window.
    fn offered(&self, group: usize, opened: &[u64], window: &Window) -> u64 {
        let of_group = |source: usize| self.counts.groups[source] == group;
        let opened_in_window = opened.iter().filter(|&&at| at >= window.start).count() as u64;
        let is_recent = |&&(source, at, ..): &&(usize, u64, u64)| of_group(source) && at >= window.start;
        match &self.scenario.flows[group].traffic {
            Traffic::PackMime(_) => self.counts.requested.iter().filter(is_recent).map(|&(.., size)| size).sum(),
            Traffic::Tcp(spec) => spec.size.unwrap_or(0) * opened_in_window,
            Traffic::Web(spec) => spec.size * opened_in_window,
            Traffic::Request(spec) => {
                // Each response is followed by the next request.
                let transfers = self.counts.transfers.iter();
                let answered = transfers.filter(|&&(source, _, at)| of_group(source) && at >= window.start).count();
                spec.size * (opened_in_window + answered as u64)
            }
            _ => 0,
        }
    }

    /// Datagrams that the receiver counted in the window.
    fn seen(&self, flow: u32, window: &Window) -> Option<DatagramCounts> {
        let last = self.datagrams.get(&(window.end, flow))?;
        let first = self.datagrams.get(&(window.start, flow)).copied().unwrap_or_default();
        Some(last.less(&first))
    }
}

/// The statistics window, in ns.
struct Window {
    start: u64,
    end: u64,
}

impl Window {
    fn payload(&self, counted: &BTreeMap<(u64, u32), (u64, u64)>, number: u32) -> PayloadSummary {
        let [then, now] = [self.start, self.end].map(|at| counted.get(&(at, number)).copied().unwrap_or_default());
        let seconds = (self.end - self.start) as f64 / 1e9;
        PayloadSummary::counted(now.1.saturating_sub(then.1), now.0.saturating_sub(then.0), seconds)
    }
}

impl DatagramCounts {
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1, self.2 + other.2, self.3 + other.3, self.4 + other.4)
    }

    fn less(&self, before: &Self) -> Self {
        let less = u64::saturating_sub;
        Self(
            less(self.0, before.0),
            less(self.1, before.1),
            less(self.2, before.2),
            less(self.3, before.3),
            less(self.4, before.4),
        )
    }

    fn summary(&self, is_voice: bool) -> DatagramSummary {
        DatagramSummary::counted(self.1, self.2, self.3, self.4, is_voice)
    }
}

fn direction(direction: Direction) -> &'static str {
    if direction == Direction::Forward { FORWARD } else { "reverse" }
}

const FORWARD: &str = "forward";
