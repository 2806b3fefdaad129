//! Compares two disciplines on the same arrivals, or one with a recording: the first difference, and the agreement.
//!
//! The first difference is the earliest in time, not in the order of arrival: up to it both queues have had the same
//! calls at the same instants, so their states can be compared.

use super::{Arrival, DropNotification, Fate, FateKind, Replay};
use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::qdisc::Qdisc;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Recorded fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedFate {
    /// Transmitted.
    Sent {
        /// Start of the transmission.
        at: Instant,
        /// Whether it was newly marked.
        marked: bool,
    },
    /// Dropped; the time was not recorded.
    Dropped {
        /// Whether the sender was notified on arrival.
        notified: bool,
    },
    /// Dropped.
    DroppedAt {
        /// Time of the drop.
        at: Instant,
        /// Reason, if recorded.
        reason: Option<DropReason>,
    },
    /// Still queued at the end of the recording.
    Waiting {
        /// End of the recording.
        until: Instant,
    },
    /// Nothing comparable.
    Unknown,
}

impl RecordedFate {
    fn agrees(self, fate: Fate, notification: DropNotification) -> bool {
        match (self, fate) {
            (Self::Sent { at, marked }, fate) => fate == Fate::Sent { at, marked },
            // A drop on arrival agrees, whatever the sender is notified of.
            (Self::Dropped { notified: at_once }, Fate::Dropped { arriving: true, .. })
                if at_once || notification != DropNotification::ALL =>
            {
                true
            }
            (Self::Dropped { notified: at_once }, fate) => fate.kind(notification) == drop_kind(at_once),
            (Self::DroppedAt { at, reason }, Fate::Dropped { at: when, reason: why, .. }) => {
                at == when && reason.is_none_or(|reason| reason == why)
            }
            (Self::Waiting { until }, fate) => fate.at().is_none_or(|at| at > until),
            (Self::Unknown, _) => true,
            (Self::DroppedAt { .. }, _) => false,
        }
    }

    /// The kind of fate of a packet that arrived at `arrival`.
    pub fn kind(self, arrival: Instant) -> FateKind {
        match self {
            Self::Sent { marked: false, .. } => FateKind::Pass,
            Self::Sent { marked: true, .. } => FateKind::Mark,
            Self::Dropped { notified } => drop_kind(notified),
            Self::DroppedAt { at, reason } => {
                drop_kind(at == arrival && matches!(reason, None | Some(DropReason::Limit | DropReason::Early)))
            }
            Self::Waiting { .. } | Self::Unknown => FateKind::Waiting,
        }
    }

    /// Time of the decision on a packet that arrived at `arrival`, if known.
    fn at(self, arrival: Instant) -> Option<Instant> {
        match self {
            Self::Sent { at, .. } | Self::DroppedAt { at, .. } => Some(at),
            Self::Dropped { notified: true } => Some(arrival),
            Self::Dropped { notified: false } | Self::Waiting { .. } | Self::Unknown => None,
        }
    }
}

/// Recorded fates of all packets.
#[derive(Clone, Debug)]
pub struct Recording {
    fates: Vec<RecordedFate>,
    notification: DropNotification,
    /// Packets whose decision time is known, with that time, in order.
    order: Vec<(Instant, u32)>,
}

impl Recording {
    /// Recorded fates of `arrivals`, one each; for `notification` see [`Fate::kind`]. `drops_on_arrival`: no queued packet was
    /// ever dropped.
    pub fn new(
        arrivals: &[Arrival],
        fates: Vec<RecordedFate>,
        notification: DropNotification,
        drops_on_arrival: bool,
    ) -> Self {
        assert_eq!(arrivals.len(), fates.len(), "a recorded fate per arrival");
        let at = |i: usize| match fates[i] {
            RecordedFate::Dropped { .. } if drops_on_arrival => Some(arrivals[i].at),
            fate => fate.at(arrivals[i].at),
        };
        let mut order: Vec<_> = (0..fates.len()).filter_map(|i| Some((at(i)?, i as u32))).collect();
        order.sort();
        Self { fates, notification, order }
    }
}

/// Reference for the first discipline.
pub enum Reference<'a, Q: Qdisc<u32> + ?Sized> {
    /// Another discipline on the same arrivals.
    Replay(Box<Replay<'a, Q>>),
    /// A recording.
    Recording(Recording),
}

/// State of a queue before a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Its backlog.
    pub backlog: Backlog,
    /// State variables by name, times in seconds of the queue's clock.
    pub variables: Vec<(&'static str, f64)>,
}

impl State {
    /// The state on arrival of packet `i`, in a replay from its beginning.
    pub fn before_arrival<Q: Qdisc<u32> + ?Sized>(mut replay: Replay<'_, Q>, i: usize) -> Self {
        let mut state = Self::default();
        while let Some(at) = replay.next_at() {
            if replay.arrived() == i {
                state.capture(&mut replay, at);
            }
            if replay.arrived() > i || !replay.step() {
                break;
            }
        }
        state
    }

    /// Captures the state before the step at `at`, after the updates due by then.
    fn capture<Q: Qdisc<u32> + ?Sized>(&mut self, replay: &mut Replay<'_, Q>, at: Instant) {
        let queue = replay.settled_before(at);
        self.backlog = queue.backlog();
        self.variables.clear();
        queue.observe(&mut |name, value| self.variables.push((name, value)));
    }
}

/// The first packet with different fates.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its index among the arrivals.
    pub packet: usize,
    /// Time of the step in which the two diverged.
    pub at: Instant,
    /// State of the first queue before that step.
    pub a: State,
    /// State of the other queue, unless it is a recording.
    pub b: Option<State>,
}

/// Two queues in lockstep. Until they diverge, each step is the same arrival or service in both.
pub struct Comparison<'a, Q: Qdisc<u32> + ?Sized> {
    arrivals: &'a [Arrival],
    a: Replay<'a, Q>,
    b: Reference<'a, Q>,
    /// States before the last step.
    before: (State, State),
    /// Number of entries of [`Recording::order`] that have passed.
    passed: usize,
    first: Option<Difference>,
}

impl<'a, Q: Qdisc<u32> + ?Sized> Comparison<'a, Q> {
    /// Compares `a` with `b`, both before the first of `arrivals`.
    pub fn new(arrivals: &'a [Arrival], a: Replay<'a, Q>, b: Reference<'a, Q>) -> Self {
        Self { arrivals, a, b, before: Default::default(), passed: 0, first: None }
    }

    /// Runs one step of both. Returns whether there was anything left to do.
    pub fn step(&mut self) -> bool {
        if self.first.is_some() {
            let other = match &mut self.b {
                Reference::Replay(b) => b.step(),
                Reference::Recording(_) => false,
            };
            return self.a.step() || other;
        }
        let Some(at) = self.a.next_at() else {
            self.first = self.undecided();
            return self.first.is_some();
        };
        self.before.0.capture(&mut self.a, at);
        self.a.step();
        let packet = match &mut self.b {
            Reference::Replay(b) => {
                self.before.1.capture(b, at);
                b.step();
                first_difference(&self.a, b)
            }
            Reference::Recording(b) => b.first_difference(&self.a, &mut self.passed),
        };
        self.first = packet.map(|packet| self.difference(packet, at));
        true
    }

    /// Share of the arrivals that the first queue has processed, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.a.arrived() as f64 / self.arrivals.len().max(1) as f64
    }

    /// The first packet with different fates, once found.
    pub fn first(&self) -> Option<&Difference> {
        self.first.as_ref()
    }

    /// Number of comparable packets.
    pub fn compared(&self) -> usize {
        self.known().count()
    }

    /// Number of packets with the same fate; valid at the end.
    pub fn agreeing(&self) -> usize {
        self.known().filter(|&i| self.agrees(i)).count()
    }

    /// Number of packets with the same kind of fate, at any time; valid at the end.
    pub fn same_kinds(&self) -> usize {
        let alike = |i: usize| match &self.b {
            Reference::Replay(b) => {
                self.a.fates()[i].kind(DropNotification::ALL) == b.fates()[i].kind(DropNotification::ALL)
            }
            Reference::Recording(b) => b.same_kind(i, self.a.fates()[i]),
        };
        self.known().filter(|&i| alike(i)).count()
    }

    /// The comparable packets.
    fn known(&self) -> impl Iterator<Item = usize> {
        (0..self.arrivals.len()).filter(|&i| match &self.b {
            Reference::Replay(_) => true,
            Reference::Recording(b) => b.fates[i] != RecordedFate::Unknown,
        })
    }

    /// Fate of packet `i` in the first queue.
    pub fn fate_a(&self, i: usize) -> Fate {
        self.a.fates()[i]
    }

    /// Fate of packet `i` in the other queue, or in the recording.
    pub fn fate_b(&self, i: usize) -> Result<Fate, RecordedFate> {
        match &self.b {
            Reference::Replay(b) => Ok(b.fates()[i]),
            Reference::Recording(b) => Err(b.fates[i]),
        }
    }

    fn agrees(&self, i: usize) -> bool {
        match &self.b {
            Reference::Replay(b) => same(self.a.fates()[i], b.fates()[i]),
            Reference::Recording(b) => b.agrees(i, self.a.fates()[i]),
        }
    }

    /// Number of packets that both dropped on arrival, but with different notifications of the sender.
    pub fn differing_labels(&self) -> usize {
        let Reference::Recording(b) = &self.b else { return 0 };
        let differs = |&i: &usize| {
            matches!((b.fates[i], self.a.fates()[i]),
            (RecordedFate::Dropped { notified }, fate @ Fate::Dropped { arriving: true, .. })
                if fate.kind(b.notification) != drop_kind(notified))
        };
        self.known().filter(differs).count()
    }

    /// The packet of the first difference, if it was judged on arrival but differs only later: marked by one of two
    /// queues that mark arrivals, or dropped in a recording without drop times.
    pub fn judged_before(&self) -> Option<usize> {
        let first = self.first.as_ref()?;
        let (packet, judges) = (first.packet, |replay: &Replay<Q>| replay.judges_arrivals());
        let (other, judges_too) = match &self.b {
            Reference::Replay(b) => (b.fates()[packet].kind(DropNotification::ALL), judges(b)),
            Reference::Recording(b) => (b.fates[packet].kind(self.arrivals[packet].at), false),
        };
        let notification = match &self.b {
            Reference::Replay(_) => DropNotification::ALL,
            Reference::Recording(b) => b.notification,
        };
        let differ = self.a.fates()[packet].kind(notification) != other;
        let later = first.at > self.arrivals[packet].at;
        (differ && later && (judges(&self.a) || judges_too)).then_some(packet)
    }

    /// A packet that only one of the two decided.
    fn undecided(&self) -> Option<Difference> {
        let packet = (0..self.arrivals.len()).find(|&i| !self.agrees(i))?;
        Some(self.difference(packet, self.arrivals[packet].at))
    }

    fn difference(&self, packet: usize, at: Instant) -> Difference {
        let b = matches!(self.b, Reference::Replay(_)).then(|| self.before.1.clone());
        Difference { packet, at, a: self.before.0.clone(), b }
    }
}

impl Recording {
    fn agrees(&self, i: usize, fate: Fate) -> bool {
        self.fates[i].agrees(fate, self.notification)
    }

    fn same_kind(&self, i: usize, fate: Fate) -> bool {
        match (self.fates[i], fate) {
            (RecordedFate::Sent { marked, .. }, Fate::Sent { marked: here, .. }) => marked == here,
            (RecordedFate::DroppedAt { .. }, Fate::Dropped { .. }) => true,
            _ => self.agrees(i, fate),
        }
    }

    /// The packet on which the last step of `a` differs from the recording: decided otherwise, or not decided by the
    /// recorded time.
    fn first_difference<Q: Qdisc<u32> + ?Sized>(&self, a: &Replay<Q>, passed: &mut usize) -> Option<usize> {
        let differs = |&i: &u32| !self.agrees(i as usize, a.fates()[i as usize]);
        if let Some(&i) = a.decided().iter().find(|&i| differs(i)) {
            return Some(i as usize);
        }
        let next = a.next_decision().unwrap_or(Instant::NEVER);
        while let Some((_, i)) = self.order.get(*passed).filter(|&&(at, _)| at < next) {
            *passed += 1;
            if differs(i) {
                return Some(*i as usize);
            }
        }
        None
    }
}

/// The packet that only one of two queues decided in its last step, or that they decided differently.
fn first_difference<Q: Qdisc<u32> + ?Sized>(a: &Replay<Q>, b: &Replay<Q>) -> Option<usize> {
    let longest = a.decided().len().max(b.decided().len());
    (0..longest).find_map(|place| {
        let (of_a, of_b) = (a.decided().get(place), b.decided().get(place));
        let first = *of_a.into_iter().chain(of_b).min()? as usize;
        let agree = of_a == of_b && same(a.fates()[first], b.fates()[first]);
        (!agree).then_some(first)
    })
}

/// Whether two queues decided a packet alike and at the same instant, regardless of the drop reason.
fn same(a: Fate, b: Fate) -> bool {
    a.kind(DropNotification::ALL) == b.kind(DropNotification::ALL) && a.at() == b.at()
}

const fn drop_kind(on_arrival: bool) -> FateKind {
    if on_arrival { FateKind::DropOnArrival } else { FateKind::Drop }
}
