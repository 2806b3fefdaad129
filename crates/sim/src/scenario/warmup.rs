//! Warm-up: the start of a run, which its statistics leave out.

use super::keys::{CustomForm, Datum, Field, text, time_of};
use super::{FileSpec, FlowSpec, LinkChange, LinkSpec, Scenario, Service, Traffic, ValueError};
use serde_json::{Value, json};
use sojourn_aqm::Duration;

/// Length of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// This long.
    Fixed(Duration),
    /// Until the queues have settled, determined from their backlog after the run.
    Auto,
}

/// Word for [`Warmup::Auto`].
const AUTO: &str = "auto";

/// Form of a warm-up.
pub(super) static WARMUP: CustomForm = CustomForm {
    check: |value| read(value).map(|_| ()),
    schema: || json!({ "title": "time or `auto`", "anyOf": [{ "$ref": "#/$defs/duration" }, { "const": AUTO }] }),
};

fn read(value: &Value) -> Result<Warmup, ValueError> {
    match text(value, r#"a text with a unit such as "5 s", or "auto""#)? {
        AUTO => Ok(Warmup::Auto),
        span => time_of(span, Duration::ZERO).map(Warmup::Fixed),
    }
}

impl Field for Warmup {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Custom(value) => read(&value).expect("it was checked"),
            _ => unreachable!("a field has the type of its key"),
        }
    }

    fn datum(&self) -> Option<Datum> {
        let text = match self {
            Self::Fixed(span) => span.to_string(),
            Self::Auto => AUTO.to_string(),
        };
        Some(Datum::Custom(text.into()))
    }
}

/// Planned change of a link or of the load, by one key.
struct ScheduledChange {
    /// Time of the change; `None` if it is continuous or unknown.
    at: Option<Duration>,
    /// Key and effect.
    description: &'static str,
}

impl Scenario {
    /// First change of a link or of the load that keeps the queues from settling: the key and its effect. Changes until
    /// `at_first` do not count, and flows may start at random during the first half of the run.
    pub(crate) fn changes(&self, at_first: Duration) -> Option<String> {
        let counts = |change: &ScheduledChange| change.at.is_none_or(|at| at > at_first && at < self.duration);
        let links = self.links_with_places().flat_map(|(place, link)| {
            link_changes(link).filter(counts).map(move |change| format!("{place}.{}", change.description))
        });
        let flows = self.flows.iter().enumerate().flat_map(|(i, flow)| {
            let late = flow.start < self.duration && starts(flow, 0).any(|at| at + flow.spread > self.duration / 2);
            let late = late.then_some("spread begins flows during the second half of the run");
            let planned = flow_changes(flow).filter(counts).map(|change| change.description);
            planned.chain(late).map(move |what| format!("flows[{i}].{what}"))
        });
        links.chain(flows).next()
    }

    /// Time after the last change until `at_first` and after the start of every flow that starts at all.
    pub(crate) fn last_change_before(&self, at_first: Duration) -> Duration {
        let flows = self.flows.iter().flat_map(|flow| starts(flow, 0).map(|at| (at, at + flow.spread)));
        let begun = flows.filter(|&(at, _)| at < self.duration).map(|(_, begun)| begun);
        let changes = self.links_with_places().flat_map(|(_, link)| link_changes(link));
        let changes = changes.chain(self.flows.iter().flat_map(flow_changes)).filter_map(|change| change.at);
        begun.chain(changes.filter(|&at| at <= at_first)).max().unwrap_or(Duration::ZERO)
    }

    /// Links with their places in the file.
    fn links_with_places(&self) -> impl Iterator<Item = (String, &LinkSpec)> {
        let listed = usize::from(self.graph.is_none());
        self.hops().enumerate().flat_map(move |(i, (_, link, reverse))| match i {
            0 if listed == 1 => [("link".to_string(), link), ("reverse".to_string(), reverse)],
            _ => [(format!("links[{}]", i - listed), link), (format!("links[{}].reverse", i - listed), reverse)],
        })
    }
}

fn link_changes(link: &LinkSpec) -> impl Iterator<Item = ScheduledChange> + '_ {
    let rate = match &link.service {
        Service::Steps(steps) => Some(&steps.rate),
        _ => None,
    };
    let rates = rate.into_iter().flat_map(|rate| rate.changes_at());
    let trace = matches!(link.service, Service::Trace(_));
    let always = trace.then_some(ScheduledChange { at: None, description: "trace changes with time" });
    rates
        .map(|at| ScheduledChange { at: Some(at), description: "rate changes with time" })
        .chain(always)
        .chain(
            link.delays.changes_at().map(|at| ScheduledChange { at: Some(at), description: "delay changes with time" }),
        )
        .chain(link.changes.iter().flat_map(queue_changes))
}

/// Changes of the queue or the loss in `[[changes]]`.
fn queue_changes(change: &LinkChange) -> impl Iterator<Item = ScheduledChange> {
    let at = Some(change.at);
    let aqm = change.aqm.is_some().then_some("aqm changes with time");
    let limit = change.limits.is_some().then_some("limit changes with time");
    let loss = change.loss.is_some().then_some("loss changes with time");
    [aqm, limit, loss].into_iter().flatten().map(move |description| ScheduledChange { at, description })
}

fn flow_changes(flow: &FlowSpec) -> impl Iterator<Item = ScheduledChange> + '_ {
    let first = (flow.start > Duration::ZERO).then_some(flow.start);
    let stops = flow.stop.into_iter().flat_map(move |stop| starts(flow, 0).map(move |at| stop + (at - flow.start)));
    let transfer = matches!(flow.traffic, Traffic::Tcp(FileSpec { size: Some(_), pause: None, .. }));
    let ends = transfer.then_some(ScheduledChange { at: None, description: "size ends flows once they are done" });
    let tests = matches!(flow.traffic, Traffic::Rpm(_));
    let tests = tests.then_some(ScheduledChange { at: None, description: "kind adds load at intervals, and ends it" });
    let media = match &flow.traffic {
        Traffic::Media(media) => [media.pause_at, media.resume_at],
        _ => [None, None],
    };
    let change = |description| move |at| ScheduledChange { at: Some(at), description };
    first
        .into_iter()
        .map(change("start begins flows during the run"))
        .chain(starts(flow, 1).map(change("stagger begins flows during the run")))
        .chain(stops.map(change("stop ends flows during the run")))
        .chain(media.into_iter().flatten().map(change("pause_at pauses flows during the run")))
        .chain(ends)
        .chain(tests)
}

/// Earliest starts of a group's flows, from number `from` on. Without a stagger all have the same, which is returned
/// once, for number 0.
fn starts(flow: &FlowSpec, from: u32) -> impl Iterator<Item = Duration> + '_ {
    let count = if flow.stagger.is_some() { flow.count } else { 1 };
    (from..count).map(|i| flow.start + flow.stagger.unwrap_or(Duration::ZERO) * i64::from(i))
}
