//! What a policy sees of a step: numbers about one in size, made from what a queue manager can know.

use super::action::ActionKind;
use super::shared_state::{Counters, NEVER, SharedState};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// What an observation consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationSpec {
    /// The entries, in their order; each once.
    pub entries: Vec<Feature>,
    /// How many of the last steps are shown, the oldest first; at least 1.
    pub stack: usize,
    /// What the action means that is in force.
    pub law: ActionKind,
}

crate::entries! {
    /// Mean sojourn time of the packets sent in the step, over 20 ms; the last one where none was sent.
    Sojourn = "sojourn",
    /// How long the first packet in the queue has waited, over 20 ms; zero where nothing waits.
    SojournNow = "sojourn_now",
    /// The longest sojourn time of the step, over 20 ms.
    SojournMax = "sojourn_max",
    /// What waits, over what the link carries in 20 ms at its nominal rate.
    Backlog = "backlog",
    /// Bytes that arrived, over what the link carries in the step at the rate that was measured last.
    InRate = "in_rate",
    /// Bytes sent, over the same.
    OutRate = "out_rate",
    /// Packets dropped, over those that arrived; zero where none did.
    Drops = "drops",
    /// Packets marked, over those that arrived.
    Marks = "marks",
    /// Arrivals that understand marks, over all.
    EctShare = "ect_share",
    /// Arrivals with ECT(1), over all.
    Ect1Share = "ect1_share",
    /// Logarithm to base 2 of one more than the flows seen in the last 100 ms, of 1024 that are told apart.
    Flows = "flows",
    /// Share of the step in which nothing waited.
    Idle = "idle",
    /// The rate between departures with a queue in between, as measured last, over the nominal one; 1 before.
    Capacity = "capacity",
    /// What is in force: the probability, or the target over 100 ms.
    Action = "action",
}

impl Feature {
    /// What is observed where nothing is said.
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
    /// Numbers of an observation.
    pub fn len(&self) -> usize {
        self.entries.len() * self.stack
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an entry is among them.
    pub fn has(&self, entry: Feature) -> bool {
        self.entries.contains(&entry)
    }
}

/// What happened in a step; counts are those of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepStats {
    /// Its length in seconds.
    pub span_s: f64,
    /// Packets that arrived, and their bytes.
    pub arrived: u64,
    /// See `arrived`.
    pub arrived_bytes: u64,
    /// Arrivals that understand marks, and those with ECT(1).
    pub ect: u64,
    /// See `ect`.
    pub ect1: u64,
    /// Packets sent, and their bytes.
    pub departed: u64,
    /// See `departed`.
    pub departed_bytes: u64,
    /// Sum of their sojourn times, in seconds.
    pub sojourn_s: f64,
    /// The longest of them.
    pub longest_s: f64,
    /// What 95 % of them did not exceed, where a board counts them; rounded up to 0.5 ms, 200 ms at most.
    pub p95_s: f64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
    /// Those of them that the limits refused.
    pub overflowed: u64,
    /// Packets newly marked.
    pub marked: u64,
    /// Seconds in which nothing waited.
    pub empty_s: f64,
    /// Packets that wait at its end, and their bytes.
    pub waiting: u64,
    /// See `waiting`.
    pub waiting_bytes: u64,
    /// How long the first of them has waited, in seconds.
    pub head_s: f64,
}

impl StepStats {
    /// Mean sojourn time of what was sent; where nothing was, how long the first packet has waited. In seconds.
    pub fn delay_s(&self) -> f64 {
        if self.departed > 0 { self.sojourn_s / self.departed as f64 } else { self.head_s }
    }

    /// Packets dropped, over those that arrived; zero where none did.
    pub fn loss(&self) -> f64 {
        share(self.dropped, self.arrived)
    }
}

/// Makes steps, and observations of them.
#[derive(Clone, Debug)]
pub struct Observer {
    spec: ObservationSpec,
    at: Instant,
    previous: Option<Counters>,
    step: StepStats,
    /// Mean sojourn time of the last step in which packets were sent.
    sojourn_s: f64,
    /// As measured last, in bit/s.
    capacity_bps: Option<f64>,
    /// The last steps, the oldest first.
    frames: Vec<f32>,
}

/// Seconds of delay that are one in an observation.
pub const REFERENCE: f64 = 0.02;
/// How long a flow counts after its last packet.
const RECENT: Duration = Duration::from_millis(100);

impl Observer {
    /// One that has seen nothing.
    pub fn new(sight: ObservationSpec) -> Self {
        let frames = alloc::vec![0.0; sight.len()];
        let step = StepStats::default();
        Self { spec: sight, at: Instant::ZERO, previous: None, step, sojourn_s: 0.0, capacity_bps: None, frames }
    }

    /// What it sees.
    pub fn sight(&self) -> &ObservationSpec {
        &self.spec
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        let sight = core::mem::replace(
            &mut self.spec,
            ObservationSpec { entries: Vec::new(), stack: 1, law: ActionKind::Probability },
        );
        *self = Self::new(sight);
    }

    /// The step that ends now; it began at the last look.
    pub fn sample(&mut self, now: Instant, board: &SharedState) -> &StepStats {
        let counts = board.counts();
        let span_ns = (now - self.at).as_nanos().max(0) as u64;
        let empty = |counts: &Counters, at: u64| {
            counts.empty_ns + if counts.empty_since == NEVER { 0 } else { at - counts.empty_since }
        };
        let at = self.at.as_nanos();
        // Where it has not looked, the queue was empty from the start on.
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
            p95_s: board.sojourn_quantile(0.95).as_secs_f64(),
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
        board.reset_sojourns();
        (self.at, self.previous) = (now, Some(counts));
        self.remember(now, board);
        &self.step
    }

    /// Shows nothing of what has been looked at.
    pub fn forget(&mut self) {
        self.frames.fill(0.0);
    }

    /// The step that was looked at last.
    pub fn step(&self) -> &StepStats {
        &self.step
    }

    /// The observation of the last steps.
    pub fn write(&self, into: &mut [f32]) {
        into.copy_from_slice(&self.frames);
    }

    fn remember(&mut self, now: Instant, board: &SharedState) {
        let width = self.spec.entries.len();
        self.frames.copy_within(width.., 0);
        let first = self.frames.len() - width;
        for i in 0..width {
            self.frames[first + i] = self.value(self.spec.entries[i], now, board) as f32;
        }
    }

    fn value(&self, entry: Feature, now: Instant, board: &SharedState) -> f64 {
        let (step, rate) = (&self.step, board.rate_bps() as f64);
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
            Feature::Flows => libm::log2(1.0 + f64::from(board.flows(now, RECENT))),
            Feature::Idle => over(step.empty_s, step.span_s),
            Feature::Capacity => over(capacity, rate),
            Feature::Action => self.spec.law.in_force(board),
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
