//! State shared by a queue under a policy and its agent: the queue's counters and the agent's actions.
//!
//! There is one writer at a time: the queue during a call, the agent between calls. Relaxed loads and stores therefore
//! suffice, and cost as much as a struct's.

use super::backlog_snapshot::BacklogSnapshot;
use crate::aqm::{PoppedPacket, Verdict};
use crate::backlog::Backlog;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! shared_state {
    ($( $(#[doc = $doc:literal])+ $name:ident, )+) => {
        /// Counters since the start, and the state of the queue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Counters { $( $(#[doc = $doc])+ pub $name: u64, )+ }

        impl Counters {
            /// Counters of an empty queue before any event.
            pub const START: Self = Self { busy_since: NEVER, head: NEVER, ..Self { $( $name: 0, )+ } };
        }

        /// The counters, and the current action.
        #[derive(Debug)]
        pub struct SharedState {
            $( $name: AtomicU64, )+
            /// The probability, as bits.
            probability: AtomicU64,
            target_ns: AtomicU64,
            verdict: AtomicU64,
            rate_bps: AtomicU64,
            /// By the lower bits of the flow number: time of its last packet plus one, or zero.
            flows: Box<[AtomicU64]>,
            /// Departures of the step by sojourn time, if counted.
            sojourns: Box<[AtomicU64]>,
        }

        impl SharedState {
            /// The current counters.
            pub fn counts(&self) -> Counters {
                Counters { $( $name: self.$name.load(Relaxed), )+ }
            }

            fn set(&self, counts: &Counters) {
                $( self.$name.store(counts.$name, Relaxed); )+
            }

            fn unset(flows: Box<[AtomicU64]>) -> Self {
                Self {
                    $( $name: AtomicU64::new(0), )+
                    probability: AtomicU64::new(0),
                    target_ns: AtomicU64::new(0),
                    verdict: AtomicU64::new(0),
                    rate_bps: AtomicU64::new(0),
                    flows,
                    sojourns: Box::new([]),
                }
            }
        }
    };
}

shared_state! {
    /// Packets that arrived.
    arrived,
    /// Their bytes.
    arrived_bytes,
    /// ECN-capable packets that arrived.
    ect,
    /// ECT(1) packets that arrived.
    ect1,
    /// Packets sent.
    departed,
    /// Their bytes.
    departed_bytes,
    /// Sum of their sojourn times, in nanoseconds.
    sojourn_ns,
    /// Maximum sojourn time in the step.
    longest_ns,
    /// Packets dropped, for any reason.
    dropped,
    /// Those of them that the limits refused.
    overflowed,
    /// Packets newly marked.
    marked,
    /// Idle time in nanoseconds, up to the end of the last idle period.
    empty_ns,
    /// Start of the current idle period; `u64::MAX` while packets are queued.
    empty_since,
    /// Nanoseconds between consecutive departures of a backlogged queue.
    busy_ns,
    /// Bytes transmitted in that time.
    busy_bytes,
    /// Departure time of the packet in transmission if it left others behind, else `u64::MAX`.
    busy_since,
    /// Its bytes.
    busy_len,
    /// Packets that wait.
    waiting,
    /// Their bytes.
    waiting_bytes,
    /// Arrival time of the head packet; `u64::MAX` while the queue is empty.
    head,
}

/// Sentinel: no time.
pub(super) const NEVER: u64 = u64::MAX;

/// Flows that are distinguished: more than a queue on a slow link sees at a time.
const FLOWS: usize = 1024;

/// Width of the histogram bins of sojourn times: 0.5 ms, up to 200 ms.
const BIN: Duration = Duration::from_micros(500);
const BINS: usize = 400;

impl SharedState {
    /// State of an empty queue; `flows`: flows are counted.
    pub fn new(flows: bool) -> Self {
        let flows = (0..if flows { FLOWS } else { 0 }).map(|_| AtomicU64::new(0)).collect();
        let state = Self::unset(flows);
        state.clear();
        state
    }

    /// Enables the histogram of sojourn times, for [`SharedState::sojourn_quantile`].
    pub fn with_sojourns(self) -> Self {
        Self { sojourns: (0..BINS).map(|_| AtomicU64::new(0)).collect(), ..self }
    }

    /// Resets to the state of [`SharedState::new`].
    pub fn clear(&self) {
        self.set(&Counters::START);
        self.probability.store(0, Relaxed);
        self.target_ns.store(crate::codel::Config::default().target.as_nanos() as u64, Relaxed);
        self.verdict.store(0, Relaxed);
        self.flows.iter().chain(&self.sojourns).for_each(|count| count.store(0, Relaxed));
    }

    /// Verdict on the next packet, encoded as in [`ActionKind::Packet`](super::ActionKind::Packet).
    #[inline]
    pub fn verdict(&self) -> u64 {
        self.verdict.load(Relaxed)
    }

    /// Sets [`SharedState::verdict`].
    pub fn set_verdict(&self, verdict: u64) {
        self.verdict.store(verdict, Relaxed);
    }

    /// Starts the sojourn times of a new step.
    pub fn reset_sojourns(&self) {
        self.longest_ns.store(0, Relaxed);
        self.sojourns.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Quantile `share` of the step's sojourn times, in steps of 0.5 ms, at most 200 ms; zero if nothing was sent or
    /// they are not counted.
    pub fn sojourn_quantile(&self, share: f64) -> Duration {
        let counts = || self.sojourns.iter().map(|count| count.load(Relaxed));
        let least = share * counts().sum::<u64>() as f64;
        let mut below = 0;
        let bin = counts().position(|count| {
            below += count;
            below > 0 && below as f64 >= least
        });
        bin.map_or(Duration::ZERO, |bin| BIN * (bin as i64 + 1))
    }

    /// Probability of marking an arrival, or of dropping it if it is not ECN-capable.
    #[inline]
    pub fn probability(&self) -> f64 {
        f64::from_bits(self.probability.load(Relaxed))
    }

    /// Sets [`SharedState::probability`], from 0 to 1.
    pub fn set_probability(&self, p: f64) {
        self.probability.store(p.to_bits(), Relaxed);
    }

    /// Target of the CoDel below, if there is one.
    pub fn target(&self) -> Duration {
        Duration::from_nanos(self.target_ns.load(Relaxed) as i64)
    }

    /// Sets [`SharedState::target`].
    pub fn set_target(&self, target: Duration) {
        self.target_ns.store(target.as_nanos() as u64, Relaxed);
    }

    /// Nominal rate of the link in bit/s; zero before there is a queue.
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps.load(Relaxed)
    }

    /// Flows seen in the last `span`, out of 1024 distinguished by the lower bits of their numbers; zero if they are
    /// not counted.
    pub fn flows(&self, now: Instant, span: Duration) -> u32 {
        let since = now.as_nanos().saturating_sub(span.as_nanos() as u64);
        let recent = |seen: &&AtomicU64| seen.load(Relaxed).checked_sub(1).is_some_and(|at| at >= since);
        self.flows.iter().filter(recent).count() as u32
    }

    pub(super) fn attach(&self, link: Link) {
        self.rate_bps.store(link.rate.as_bps(), Relaxed);
    }

    #[inline]
    pub(super) fn arrival(&self, now: Instant, meta: &Meta) {
        add(&self.arrived, 1);
        add(&self.arrived_bytes, meta.len.into());
        add(&self.ect, meta.ecn.is_ect().into());
        add(&self.ect1, (meta.ecn == Ecn::Ect1).into());
        if let Some(seen) = self.flows.get(meta.flow as usize % FLOWS) {
            seen.store(now.as_nanos() + 1, Relaxed);
        }
    }

    /// A packet bypassed the queue.
    pub(super) fn passed(&self, now: Instant, meta: &Meta) {
        self.arrival(now, meta);
        add(&self.departed, 1);
        add(&self.departed_bytes, meta.len.into());
        if let Some(count) = self.sojourns.first() {
            add(count, 1);
        }
    }

    /// Counts the verdict on an arrival; `standing` does not contain it.
    #[inline]
    pub(super) fn judged(&self, now: Instant, meta: &Meta, verdict: Verdict, standing: BacklogSnapshot) {
        let marks = verdict == Verdict::Mark && meta.ecn.is_ect();
        let queued = verdict == Verdict::Accept || marks;
        add(&self.marked, (marks && meta.ecn != Ecn::Ce).into());
        add(&self.dropped, (!queued).into());
        self.waiting.store(standing.packets + u64::from(queued), Relaxed);
        self.waiting_bytes.store(standing.bytes + if queued { meta.len.into() } else { 0 }, Relaxed);
        let head = standing.head.or(queued.then_some(now));
        self.head.store(head.map_or(NEVER, Instant::as_nanos), Relaxed);
        if head.is_some() {
            let since = self.empty_since.swap(NEVER, Relaxed);
            if since != NEVER {
                add(&self.empty_ns, now.as_nanos() - since);
            }
        }
    }

    /// The queue was polled; `standing` does not contain the departing packet.
    #[inline]
    pub(super) fn departure(&self, now: Instant, popped: Option<PoppedPacket>, standing: BacklogSnapshot) {
        let now_ns = now.as_nanos();
        let since = self.busy_since.load(Relaxed);
        if since != NEVER && popped.is_some() {
            add(&self.busy_ns, now_ns - since);
            add(&self.busy_bytes, self.busy_len.load(Relaxed));
        }
        if let Some(PoppedPacket { meta }) = popped {
            let sojourn = (now - meta.enqueued).as_nanos().max(0) as u64;
            add(&self.departed, 1);
            add(&self.departed_bytes, meta.len.into());
            add(&self.sojourn_ns, sojourn);
            self.longest_ns.store(self.longest_ns.load(Relaxed).max(sojourn), Relaxed);
            if let Some(last) = self.sojourns.len().checked_sub(1) {
                add(&self.sojourns[last.min((sojourn / BIN.as_nanos() as u64) as usize)], 1);
            }
            self.busy_len.store(meta.len.into(), Relaxed);
        }
        self.waiting.store(standing.packets, Relaxed);
        self.waiting_bytes.store(standing.bytes, Relaxed);
        match standing.head {
            Some(head) => {
                self.head.store(head.as_nanos(), Relaxed);
                if popped.is_some() {
                    self.busy_since.store(now_ns, Relaxed);
                }
            }
            None => {
                self.head.store(NEVER, Relaxed);
                self.busy_since.store(NEVER, Relaxed);
                if self.empty_since.load(Relaxed) == NEVER {
                    self.empty_since.store(now_ns, Relaxed);
                }
            }
        }
    }

    pub(super) fn overflowed(&self, now: Instant, meta: &Meta, was_judged: bool, waiting: Backlog) {
        if !was_judged {
            self.arrival(now, meta);
        }
        add(&self.dropped, 1);
        add(&self.overflowed, 1);
        self.waiting.store(waiting.packets.into(), Relaxed);
        self.waiting_bytes.store(waiting.bytes, Relaxed);
    }

    /// Arrival time of the head packet.
    pub(super) fn head(&self) -> Option<Instant> {
        Some(self.head.load(Relaxed)).filter(|&head| head != NEVER).map(Instant::from_nanos)
    }

    pub(super) fn shed(&self, n: u32) {
        add(&self.dropped, n.into());
        add(&self.overflowed, n.into());
    }

    pub(super) fn dropped(&self) {
        add(&self.dropped, 1);
    }

    pub(super) fn marked(&self) {
        add(&self.marked, 1);
    }
}

#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}
