//! The warm-up: what the statistics leave out.

use super::keys::{Datum, Field, Own, text, time_of};
use super::{FileSpec, FlowSpec, LinkChange, LinkSpec, Scenario, Service, Traffic, ValueError};
use serde_json::{Value, json};
use sojourn_aqm::Duration;

/// How much of the start of a run its statistics leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// So much.
    Given(Duration),
    /// What the queues take to settle, as their backlog tells when the run is over.
    Auto,
}

/// The word for a warm-up that is found.
const AUTO: &str = "auto";

/// Reads and writes a warm-up.
pub(super) static WARMUP: Own = Own {
    check: |value| read(value).map(|_| ()),
    schema: || json!({ "anyOf": [{ "$ref": "#/$defs/duration" }, { "const": AUTO }] }),
};

fn read(value: &Value) -> Result<Warmup, ValueError> {
    match text(value, r#"a text with a unit such as "5 s", or "auto""#)? {
        AUTO => Ok(Warmup::Auto),
        span => time_of(span, Duration::ZERO).map(Warmup::Given),
    }
}

impl Field for Warmup {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Own(value) => read(&value).expect("it was checked"),
            _ => unreachable!("a field has the type of its key"),
        }
    }

    fn datum(&self) -> Option<Datum> {
        let text = match self {
            Self::Given(span) => span.to_string(),
            Self::Auto => AUTO.to_string(),
        };
        Some(Datum::Own(text.into()))
    }
}

/// What a key says of how link or load change.
struct Change {
    /// When; `None` all the time, or nobody knows when.
    at: Option<Duration>,
    /// The key, and what it does.
    what: &'static str,
}

impl Scenario {
    /// What of link or load changes with time, so that the queues cannot settle: the key, and what it does. What happens
    /// until `at_first` is no change, and flows may begin at random until half of the run is over.
    pub(crate) fn changes(&self, at_first: Duration) -> Option<String> {
        let counts = |change: &Change| change.at.is_none_or(|at| at > at_first && at < self.duration);
        let links = self.places().flat_map(|(place, link)| {
            link_changes(link).filter(counts).map(move |change| format!("{place}.{}", change.what))
        });
        let flows = self.flows.iter().enumerate().flat_map(|(i, flow)| {
            let late = flow.start < self.duration && starts(flow, 0).any(|at| at + flow.spread > self.duration / 2);
            let late = late.then_some("spread begins flows during the second half of the run");
            let planned = flow_changes(flow).filter(counts).map(|change| change.what);
            planned.chain(late).map(move |what| format!("flows[{i}].{what}"))
        });
        links.chain(flows).next()
    }

    /// When the changes until `at_first` are over, and every flow that ever begins has begun.
    pub(crate) fn begun(&self, at_first: Duration) -> Duration {
        let flows = self.flows.iter().flat_map(|flow| starts(flow, 0).map(|at| (at, at + flow.spread)));
        let begun = flows.filter(|&(at, _)| at < self.duration).map(|(_, begun)| begun);
        let changes = self.places().flat_map(|(_, link)| link_changes(link));
        let changes = changes.chain(self.flows.iter().flat_map(flow_changes)).filter_map(|change| change.at);
        begun.chain(changes.filter(|&at| at <= at_first)).max().unwrap_or(Duration::ZERO)
    }

    /// The links with their places in the file.
    fn places(&self) -> impl Iterator<Item = (String, &LinkSpec)> {
        let listed = usize::from(self.graph.is_none());
        self.hops().enumerate().flat_map(move |(i, (_, link, reverse))| match i {
            0 if listed == 1 => [("link".to_string(), link), ("reverse".to_string(), reverse)],
            _ => [(format!("links[{}]", i - listed), link), (format!("links[{}].reverse", i - listed), reverse)],
        })
    }
}

fn link_changes(link: &LinkSpec) -> impl Iterator<Item = Change> + '_ {
    let rate = match &link.service {
        Service::Steps(steps) => Some(&steps.rate),
        _ => None,
    };
    let rates = rate.into_iter().flat_map(|rate| rate.changes_at());
    let trace = matches!(link.service, Service::Trace(_));
    let always = trace.then_some(Change { at: None, what: "trace changes with time" });
    rates
        .map(|at| Change { at: Some(at), what: "rate changes with time" })
        .chain(always)
        .chain(link.delays.changes_at().map(|at| Change { at: Some(at), what: "delay changes with time" }))
        .chain(link.changes.iter().flat_map(queue_changes))
}

/// An entry of `[[changes]]` about the queue or the loss.
fn queue_changes(change: &LinkChange) -> impl Iterator<Item = Change> {
    let at = Some(change.at);
    let aqm = change.aqm.is_some().then_some("aqm changes with time");
    let limit = change.limits.is_some().then_some("limit changes with time");
    let loss = change.loss.is_some().then_some("loss changes with time");
    [aqm, limit, loss].into_iter().flatten().map(move |what| Change { at, what })
}

fn flow_changes(flow: &FlowSpec) -> impl Iterator<Item = Change> + '_ {
    let first = (flow.start > Duration::ZERO).then_some(flow.start);
    let stops = flow.stop.into_iter().flat_map(move |stop| starts(flow, 0).map(move |at| stop + (at - flow.start)));
    let transfer = matches!(flow.traffic, Traffic::Tcp(FileSpec { size: Some(_), pause: None, .. }));
    let ends = transfer.then_some(Change { at: None, what: "size ends flows once they are done" });
    let tests = matches!(flow.traffic, Traffic::Rpm(_));
    let tests = tests.then_some(Change { at: None, what: "kind adds load at intervals, and ends it" });
    let media = match &flow.traffic {
        Traffic::Media(media) => [media.pause_at, media.resume_at],
        _ => [None, None],
    };
    let change = |what| move |at| Change { at: Some(at), what };
    first
        .into_iter()
        .map(change("start begins flows during the run"))
        .chain(starts(flow, 1).map(change("stagger begins flows during the run")))
        .chain(stops.map(change("stop ends flows during the run")))
        .chain(media.into_iter().flatten().map(change("pause_at pauses flows during the run")))
        .chain(ends)
        .chain(tests)
}

/// The earliest starts of a group's flows, from the one numbered `from` on; without a stagger only the first has one.
fn starts(flow: &FlowSpec, from: u32) -> impl Iterator<Item = Duration> + '_ {
    let count = if flow.stagger.is_some() { flow.count } else { 1 };
    (from..count).map(|i| flow.start + flow.stagger.unwrap_or(Duration::ZERO) * i64::from(i))
}
