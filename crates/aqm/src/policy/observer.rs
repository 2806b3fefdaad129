//! Observations of a step: numbers of about one, computed from information that a queue manager can have.

use super::action::ActionKind;
use super::shared_state::{Counters, NEVER, SharedState};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// Contents of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationSpec {
    /// The entries in order, each at most once.
    pub entries: Vec<Feature>,
    /// Number of steps shown, oldest first; at least 1.
    pub stack: usize,
    /// Kind of the current action.
    pub action: ActionKind,
}

crate::entries! {
    /// Mean sojourn time of the packets sent in the step, over 20 ms; the last value if none was sent.
    Sojourn = "sojourn",
    /// Waiting time of the head packet, over 20 ms; zero if the queue is empty.
    SojournNow = "sojourn_now",
    /// Maximum sojourn time in the step, over 20 ms.
    SojournMax = "sojourn_max",
    /// Backlog, over the bytes that the link carries in 20 ms at its nominal rate.
    Backlog = "backlog",
    /// Bytes that arrived, over the bytes that the link carries in the step at the last measured rate.
    InRate = "in_rate",
    /// Bytes sent, over the same.
    OutRate = "out_rate",
    /// Packets dropped, over packets that arrived; zero if none arrived.
    Drops = "drops",
    /// Packets marked, over packets that arrived.
    Marks = "marks",
    /// ECN-capable arrivals, over all arrivals.
    EctShare = "ect_share",
    /// ECT(1) arrivals, over all arrivals.
    Ect1Share = "ect1_share",
    /// log2(1 + flows seen in the last 100 ms), out of 1024 that are distinguished.
    Flows = "flows",
    /// Share of the step in which the queue was empty.
    Idle = "idle",
    /// Last measured departure rate of a backlogged queue, over the nominal rate; 1 before the first measurement.
    Capacity = "capacity",
    /// Current action: the probability, or the target over 100 ms.
    Action = "action",
}

impl Feature {
    /// The default entries.
    pub const DEFAULT: [Self; 8] = [
        Self::Sojourn,
        Self::SojournNow,
        Self::Backlog,
        Self::InRate,
        Self::OutRate,
        Self::Drops,
        Self::Marks,
        Self::Action,
    ];
}

impl ObservationSpec {
    /// Length of an observation.
    pub fn len(&self) -> usize {
        self.entries.len() * self.stack
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it contains an entry.
    pub fn has(&self, entry: Feature) -> bool {
        self.entries.contains(&entry)
    }
}

/// Statistics of a step; counts are those of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepStats {
    /// Its length in seconds.
    pub span_s: f64,
    /// Packets that arrived, and their bytes.
    pub arrived: u64,
    /// See `arrived`.
    pub arrived_bytes: u64,
    /// ECN-capable arrivals, and those with ECT(1).
    pub ect: u64,
    /// See `ect`.
    pub ect1: u64,
    /// Packets sent, and their bytes.
    pub departed: u64,
    /// See `departed`.
    pub departed_bytes: u64,
    /// Sum of their sojourn times, in seconds.
    pub sojourn_s: f64,
    /// Maximum of them.
    pub longest_s: f64,
    /// Their 95th percentile, if the shared state counts it; rounded up to 0.5 ms, at most 200 ms.
    pub p95_s: f64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
    /// Drops by the limits.
    pub overflowed: u64,
    /// Packets newly marked.
    pub marked: u64,
    /// Seconds during which the queue was empty.
    pub empty_s: f64,
    /// Packets queued at its end, and their bytes.
    pub waiting: u64,
    /// See `waiting`.
    pub waiting_bytes: u64,
    /// Time the head packet has been queued, in seconds.
    pub head_s: f64,
}

impl StepStats {
    /// Mean sojourn time of the packets sent; if none was sent, the delay of the head. In seconds.
    pub fn delay_s(&self) -> f64 {
        if self.departed > 0 { self.sojourn_s / self.departed as f64 } else { self.head_s }
    }

    /// Packets dropped, over packets that arrived; zero if none arrived.
    pub fn loss(&self) -> f64 {
        share(self.dropped, self.arrived)
    }
}

/// Computes steps and their observations.
#[derive(Clone, Debug)]
pub struct Observer {
    spec: ObservationSpec,
    at: Instant,
    previous: Option<Counters>,
    step: StepStats,
    /// Mean sojourn time of the last step in which packets were sent.
    sojourn_s: f64,
    /// Last measurement, in bit/s.
    capacity_bps: Option<f64>,
    /// The last steps, oldest first.
    frames: Vec<f32>,
}

/// Seconds of delay that map to 1 in an observation.
pub const REFERENCE: f64 = 0.02;
/// Time after its last packet for which a flow counts.
const RECENT: Duration = Duration::from_millis(100);

impl Observer {
    /// An observer before its first step.
    pub fn new(spec: ObservationSpec) -> Self {
        let frames = alloc::vec![0.0; spec.len()];
        let step = StepStats::default();
        Self { spec, at: Instant::ZERO, previous: None, step, sojourn_s: 0.0, capacity_bps: None, frames }
    }

    /// Its observation spec.
    pub fn spec(&self) -> &ObservationSpec {
        &self.spec
    }

    /// Resets to the initial state.
    pub fn clear(&mut self) {
        let sight = core::mem::replace(
            &mut self.spec,
            ObservationSpec { entries: Vec::new(), stack: 1, action: ActionKind::Probability },
        );
        *self = Self::new(sight);
    }

    /// Ends the current step, which began at the previous sample.
    pub fn sample(&mut self, now: Instant, state: &SharedState) -> &StepStats {
        let counts = state.counts();
        let span_ns = (now - self.at).as_nanos().max(0) as u64;
        let empty = |counts: &Counters, at: u64| {
            counts.empty_ns + if counts.empty_since == NEVER { 0 } else { at - counts.empty_since }
        };
        let at = self.at.as_nanos();
        // Before the first sample the queue was empty since the start.
        let before = self.previous.unwrap_or(Counters::START);
        if counts.busy_ns > before.busy_ns {
            let bits = 8.0 * (counts.busy_bytes - before.busy_bytes) as f64;
            self.capacity_bps = Some(bits / seconds(counts.busy_ns - before.busy_ns));
        }
        self.step = StepStats {
            span_s: seconds(span_ns),
            arrived: counts.arrived - before.arrived,
            arrived_bytes: counts.arrived_bytes - before.arrived_bytes,
            ect: counts.ect - before.ect,
            ect1: counts.ect1 - before.ect1,
            departed: counts.departed - before.departed,
            departed_bytes: counts.departed_bytes - before.departed_bytes,
            sojourn_s: seconds(counts.sojourn_ns - before.sojourn_ns),
            longest_s: seconds(counts.longest_ns),
            p95_s: state.sojourn_quantile(0.95).as_secs_f64(),
            dropped: counts.dropped - before.dropped,
            overflowed: counts.overflowed - before.overflowed,
            marked: counts.marked - before.marked,
            empty_s: seconds(empty(&counts, now.as_nanos()) - empty(&before, at)),
            waiting: counts.waiting,
            waiting_bytes: counts.waiting_bytes,
            head_s: if counts.head == NEVER { 0.0 } else { seconds(now.as_nanos() - counts.head) },
        };
        if self.step.departed > 0 {
            self.sojourn_s = self.step.delay_s();
        }
        state.reset_sojourns();
        (self.at, self.previous) = (now, Some(counts));
        self.remember(now, state);
        &self.step
    }

    /// Clears the observation.
    pub fn forget(&mut self) {
        self.frames.fill(0.0);
    }

    /// The last completed step.
    pub fn step(&self) -> &StepStats {
        &self.step
    }

    /// Writes the observation of the last steps.
    pub fn write(&self, into: &mut [f32]) {
        into.copy_from_slice(&self.frames);
    }

    fn remember(&mut self, now: Instant, state: &SharedState) {
        let width = self.spec.entries.len();
        self.frames.copy_within(width.., 0);
        let first = self.frames.len() - width;
        for i in 0..width {
            self.frames[first + i] = self.value(self.spec.entries[i], now, state) as f32;
        }
    }

    fn value(&self, entry: Feature, now: Instant, state: &SharedState) -> f64 {
        let (step, rate) = (&self.step, state.rate_bps() as f64);
        let capacity = self.capacity_bps.unwrap_or(rate);
        let over_capacity = |bytes: u64| over(8.0 * bytes as f64, capacity * step.span_s);
        match entry {
            Feature::Sojourn => self.sojourn_s / REFERENCE,
            Feature::SojournNow => step.head_s / REFERENCE,
            Feature::SojournMax => step.longest_s / REFERENCE,
            Feature::Backlog => over(8.0 * step.waiting_bytes as f64, rate * REFERENCE),
            Feature::InRate => over_capacity(step.arrived_bytes),
            Feature::OutRate => over_capacity(step.departed_bytes),
            Feature::Drops => step.loss(),
            Feature::Marks => share(step.marked, step.arrived),
            Feature::EctShare => share(step.ect, step.arrived),
            Feature::Ect1Share => share(step.ect1, step.arrived),
            Feature::Flows => libm::log2(1.0 + f64::from(state.flows(now, RECENT))),
            Feature::Idle => over(step.empty_s, step.span_s),
            Feature::Capacity => over(capacity, rate),
            Feature::Action => self.spec.action.in_force(state),
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    over(part as f64, whole as f64)
}

fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
