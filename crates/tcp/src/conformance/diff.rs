//! Comparison of two congestion controls: both get the calls of one connection, and the first difference is reported.
//!
//! Control A runs in random connections. B gets the same calls with the views that A had before them, so that a
//! difference does not accumulate. A pacing rate that only A sets shows as a difference when A changes it. The burst is
//! B's own: the host never changes it, so B sees the one that its own last call left.

use super::connection::Transport;
use super::recording::{CallRecord, RESULTS, call_beside, is_called, locked, view_beside};
use super::words;
use super::world::World;
use crate::cc::Needs;
use crate::cc::foreign::{
    Call, CallKind, CallSet, ControlDefinition, ControlHost, Fault, FlightView, ForeignControl, SsthreshCause,
};
use sojourn_aqm::Instant;
use sojourn_aqm::params::unknown;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A comparison in progress.
#[derive(Debug)]
pub struct Diff {
    a: Arc<dyn ControlDefinition>,
    b: Arc<dyn ControlDefinition>,
    target_calls: u64,
    seed: u64,
    transports: Vec<Transport>,
    differing_needs: Vec<String>,
    connections: u64,
    comparison: Arc<Mutex<Comparison>>,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffReport {
    /// Differences between faces and needs, one per line. Calls are compared only if the faces agree.
    pub differing_needs: Vec<String>,
    /// Connections that A carried, and its calls in them.
    pub connections: u64,
    /// Compared calls.
    pub calls: u64,
    /// The first difference.
    pub first: Option<Difference>,
    /// Failure of A, which ended the comparison.
    pub fault: Option<String>,
}

/// A call after which two controls differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the call, from 1.
    pub number: u64,
    /// Number of the connection, from 0, and its stack.
    pub connection: u64,
    /// Stack of the connection.
    pub stack: &'static str,
    /// Time in the connection, in nanoseconds.
    pub time_ns: i64,
    /// The call with its arguments, and the connection before it.
    pub call: String,
    /// The field that differs, `value` or `fault`.
    pub field: &'static str,
    /// The field after A's call.
    pub a: String,
    /// The field after B's call.
    pub b: String,
    /// The calls before this one, with A's changes, the last one last.
    pub earlier: Vec<String>,
}

impl Diff {
    /// Compares `b` with `a` over `events` calls, in connections that `seed` selects.
    pub fn new(a: Arc<dyn ControlDefinition>, b: Arc<dyn ControlDefinition>, events: u64, seed: u64) -> Self {
        let (of_a, of_b) = (Transport::all(&*a), Transport::all(&*b));
        let transports = of_a.into_iter().filter(|transport| of_b.contains(transport)).collect();
        let differing_needs = differing_needs(&*a, &*b);
        let comparison = Arc::default();
        Self { a, b, target_calls: events, seed, transports, differing_needs, connections: 0, comparison }
    }

    /// Limits the connections to these stacks.
    ///
    /// # Errors
    /// The names to choose from, if a stack is none of theirs.
    pub fn over(mut self, stacks: &[String]) -> Result<Self, String> {
        let known: Vec<&str> = self.transports.iter().map(|transport| transport.name()).collect();
        if let Some(name) = stacks.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown("stack of the comparison", name, known.into_iter()));
        }
        self.transports.retain(|transport| stacks.is_empty() || stacks.iter().any(|name| name == transport.name()));
        Ok(self)
    }

    /// Plays a connection; returns the share done, or none at the end.
    pub fn step(&mut self) -> Option<f64> {
        let calls = locked(&self.comparison).calls;
        if self.a.needs().steers != self.b.needs().steers || calls >= self.target_calls || self.is_decided() {
            return None;
        }
        let transport = self.transports[self.connections as usize % self.transports.len()];
        locked(&self.comparison).begin(self.connections, transport);
        let [a, b] = [&self.a, &self.b].map(Arc::clone);
        let pair = Arc::new(PairDefinition { a, b, comparison: Arc::clone(&self.comparison) });
        let (ends, rng) = transport.draw(pair, self.seed, self.connections);
        self.connections += 1;
        let (mut world, mut event) = World::random(ends, rng);
        for _ in 0..EVENTS_PER_CONNECTION {
            world.carry_out(event);
            if world.is_over() || self.is_decided() || locked(&self.comparison).calls >= self.target_calls {
                break;
            }
            event = world.next_event(Instant::NEVER).expect("there is a next event until the end of time");
        }
        let calls = locked(&self.comparison).calls;
        // A control that gets no calls in so many connections gets none at all.
        let is_silent = calls == 0 && self.connections > 100;
        (!is_silent).then(|| (calls as f64 / self.target_calls as f64).min(1.0))
    }

    /// The result so far.
    pub fn report(&self) -> DiffReport {
        let comparison = locked(&self.comparison);
        DiffReport {
            differing_needs: self.differing_needs.clone(),
            connections: self.connections,
            calls: comparison.calls,
            first: comparison.first.clone(),
            fault: comparison.fault.clone(),
        }
    }

    fn is_decided(&self) -> bool {
        let comparison = locked(&self.comparison);
        comparison.first.is_some() || comparison.fault.is_some()
    }
}

/// Compares `b` with `a` at once.
pub fn diff(a: Arc<dyn ControlDefinition>, b: Arc<dyn ControlDefinition>, events: u64, seed: u64) -> DiffReport {
    let mut diff = Diff::new(a, b, events, seed);
    while diff.step().is_some() {}
    diff.report()
}

/// Name of a need, and whether it is requested.
type Need = (&'static str, fn(&Needs) -> bool);

/// Lines about faces, needs and transports that differ.
fn differing_needs(a: &dyn ControlDefinition, b: &dyn ControlDefinition) -> Vec<String> {
    let face = |steers: bool| if steers { "steer" } else { "window" };
    let [of_a, of_b] = [a, b].map(|definition| definition.needs());
    let mut lines = Vec::new();
    if of_a.steers != of_b.steers {
        lines.push(format!("face: {} and {}", face(of_a.steers), face(of_b.steers)));
    }
    // `flight` selects fields of the view, and both controls see the whole view here.
    let needs: [Need; 14] = [
        ("samples", |needs| needs.samples),
        ("reports", |needs| needs.reports),
        ("losses", |needs| needs.losses),
        ("paces", |needs| needs.paces),
        ("ecn", |needs| needs.ecn),
        ("ect1", |needs| needs.ect1),
        ("accurate_ecn", |needs| needs.accurate_ecn),
        ("echo_per_packet", |needs| needs.echo_per_packet),
        ("sent", |needs| needs.sent),
        ("grows_unlimited", |needs| needs.grows_unlimited),
        ("partial_ack_ends", |needs| needs.partial_ack_ends_recovery),
        ("ect_on_control", |needs| needs.ect_on_control),
        ("wide_buffer", |needs| needs.wide_buffer),
        ("long_recovery", |needs| needs.long_recovery),
    ];
    for (name, of) in needs {
        if of(&of_a) != of(&of_b) {
            lines.push(format!("need {name}: only {}", if of(&of_a) { "A" } else { "B" }));
        }
    }
    if a.fits_quic() != b.fits_quic() {
        lines.push(format!("QUIC: only {}", if a.fits_quic() { "A" } else { "B" }));
    }
    lines
}

/// State of a comparison over connections.
#[derive(Debug, Default)]
struct Comparison {
    calls: u64,
    connection: u64,
    stack: &'static str,
    earlier: VecDeque<CallRecord>,
    first: Option<Difference>,
    fault: Option<String>,
}

impl Comparison {
    fn begin(&mut self, connection: u64, transport: Transport) {
        (self.connection, self.stack) = (connection, transport.name());
        self.earlier.clear();
    }

    /// Counts a call of A, and keeps the first field that differs.
    fn count(&mut self, record: &CallRecord, differing: Option<(&'static str, String, String)>) {
        self.calls += 1;
        if let Some((field, a, b)) = differing {
            self.first = Some(Difference {
                number: self.calls,
                connection: self.connection,
                stack: self.stack,
                time_ns: record.before.now,
                call: words::record(record),
                field,
                a,
                b,
                earlier: self.earlier.iter().map(words::record).collect(),
            });
        }
        if self.earlier.len() == EARLIER_CALLS {
            self.earlier.pop_front();
        }
        self.earlier.push_back(*record);
    }
}

/// A control that makes each call to A and to B; A's results count.
#[derive(Debug)]
struct PairDefinition {
    a: Arc<dyn ControlDefinition>,
    b: Arc<dyn ControlDefinition>,
    comparison: Arc<Mutex<Comparison>>,
}

impl ControlDefinition for PairDefinition {
    fn spelling(&self) -> &str {
        self.a.spelling()
    }

    /// The needs of A, and those of B that only add calls.
    fn needs(&self) -> Needs {
        let (a, b) = (self.a.needs(), self.b.needs());
        Needs {
            flight: true,
            samples: a.samples || b.samples,
            sent: a.sent || b.sent,
            losses: a.losses || b.losses,
            grows_unlimited: a.grows_unlimited || b.grows_unlimited,
            ..a
        }
    }

    fn calls(&self) -> CallSet {
        let [a, b] = [self.a.calls(), self.b.calls()];
        CallSet::of(CallKind::ALL.iter().copied().filter(|&kind| a.has(kind) || b.has(kind)))
    }

    fn distinguishes_causes(&self) -> bool {
        self.a.distinguishes_causes() || self.b.distinguishes_causes()
    }

    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        let [a, b] = [&self.a, &self.b].map(|definition| Half::new(definition, host));
        let mut comparison = locked(&self.comparison);
        let b = b.inspect_err(|fault| comparison.fault = Some(format!("create of B: {}", text(fault))))?;
        let comparison = Arc::clone(&self.comparison);
        Ok(Box::new(PairControl { a: a?, b, timeout_of_b: None, comparison }))
    }

    fn record_fault(&self, text: String) {
        locked(&self.comparison).fault.get_or_insert_with(|| text.clone());
        self.a.record_fault(text);
    }
}

/// One of two controls.
#[derive(Debug)]
struct Half {
    definition: Arc<dyn ControlDefinition>,
    control: Box<dyn ForeignControl>,
    /// The view that its last call left.
    own: FlightView,
}

impl Half {
    fn new(definition: &Arc<dyn ControlDefinition>, host: &ControlHost) -> Result<Self, Fault> {
        let control = definition.create(host)?;
        Ok(Self { definition: Arc::clone(definition), control, own: FlightView::EMPTY })
    }

    /// Makes the call if the control takes it; otherwise the result is the default.
    fn call(&mut self, call: Call, before: &FlightView) -> Result<(FlightView, u32), Fault> {
        let definition = &*self.definition;
        let is_asked = match call {
            Call::Ssthresh(SsthreshCause::Loss | SsthreshCause::TimeOut) => definition.distinguishes_causes(),
            _ => true,
        };
        let (after, mut value) = match is_asked && is_called(definition, &call) {
            true => call_beside(&mut *self.control, call, before, &self.own)?,
            false => (view_beside(before, &self.own), call.default_value(before, definition.needs().steers)),
        };
        if call == Call::Ssthresh(SsthreshCause::Reduction) && value == 0 {
            value = call.default_value(before, definition.needs().steers);
        }
        self.own = after;
        Ok((after, value))
    }
}

#[derive(Debug)]
struct PairControl {
    a: Half,
    b: Half,
    /// B's threshold after a time-out if A has none of its own: A is asked next as for a reduction.
    timeout_of_b: Option<u32>,
    comparison: Arc<Mutex<Comparison>>,
}

impl PairControl {
    /// Results of B to compare with those of A, `(after, value)`.
    fn call_b(&mut self, call: Call, before: &FlightView, value_of_a: u32) -> Result<(FlightView, u32), Fault> {
        let reduction = Call::Ssthresh(SsthreshCause::Reduction);
        if let (Some(value), true) = (self.timeout_of_b.take(), call == reduction) {
            return Ok((view_beside(before, &self.b.own), value));
        }
        let (after, value) = self.b.call(call, before)?;
        if call != Call::Ssthresh(SsthreshCause::TimeOut) {
            return Ok((after, value));
        }
        // 0 means as for a reduction.
        match (value_of_a, value) {
            (0, 1..) => {
                self.timeout_of_b = Some(value);
                Ok((after, 0))
            }
            (1.., 0) => self.b.call(reduction, before),
            _ => Ok((after, value)),
        }
    }
}

impl ForeignControl for PairControl {
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault> {
        let before = *view;
        let (after, value) = self.a.call(call, &before)?;
        *view = after;
        if locked(&self.comparison).first.is_some() {
            return Ok(value);
        }
        let of_b = self.call_b(call, &before, value);
        // The threshold of a control that steers has no effect.
        let has_value = !(matches!(call, Call::Ssthresh(_)) && self.a.definition.needs().steers);
        let differing = match of_b {
            Err(fault) => Some(("fault", "none".to_string(), text(&fault))),
            Ok((_, of_b)) if has_value && of_b != value => Some(("value", value.to_string(), of_b.to_string())),
            Ok((of_b, _)) => RESULTS.iter().find(|(_, of)| of(&after) != of(&of_b)).map(|&(name, of)| {
                let [a, b] = [after, of_b].map(|view| words::field(name, of(&view)));
                (name, a, b)
            }),
        };
        locked(&self.comparison).count(&CallRecord { call, before, after, value }, differing);
        Ok(value)
    }

    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault> {
        Err(Fault::Text("a comparison is not copied".to_string()))
    }
}

fn text(fault: &Fault) -> String {
    match fault {
        Fault::Text(text) => text.clone(),
        Fault::Pending => "raised an exception".to_string(),
    }
}

/// Events of a sender per connection.
pub(super) const EVENTS_PER_CONNECTION: u64 = 3_000;
/// Calls before the first difference that are reported.
const EARLIER_CALLS: usize = 5;
