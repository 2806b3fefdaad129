//! What a queue under a policy has counted, and what it is told: shared by the queue and whoever steers it.
//!
//! One writes at a time: the queue while it is called, its agent between two calls. So plain loads and stores suffice,
//! which cost what those of a struct do.

use super::backlog_snapshot::BacklogSnapshot;
use crate::aqm::{PoppedPacket, Verdict};
use crate::backlog::Backlog;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! board {
    ($( $(#[doc = $doc:literal])+ $name:ident, )+) => {
        /// What has been counted since the start, and how the queue stands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Counters { $( $(#[doc = $doc])+ pub $name: u64, )+ }

        impl Counters {
            /// Those of an empty queue before anything happens.
            pub const START: Self = Self { busy_since: NEVER, head: NEVER, ..Self { $( $name: 0, )+ } };
        }

        /// The counters, and what is in force.
        #[derive(Debug)]
        pub struct SharedState {
            $( $name: AtomicU64, )+
            /// The probability, as bits.
            probability: AtomicU64,
            target_ns: AtomicU64,
            verdict: AtomicU64,
            rate_bps: AtomicU64,
            /// By the lower bits of a flow's number: one more than when it was seen last, or zero.
            flows: Box<[AtomicU64]>,
            /// Departures of the step by their sojourn time, where they are counted.
            sojourns: Box<[AtomicU64]>,
        }

        impl SharedState {
            /// The counters as they are.
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

board! {
    /// Packets that arrived.
    arrived,
    /// Their bytes.
    arrived_bytes,
    /// Those of them that understand marks.
    ect,
    /// Those of them with ECT(1).
    ect1,
    /// Packets sent.
    departed,
    /// Their bytes.
    departed_bytes,
    /// Sum of their sojourn times, in nanoseconds.
    sojourn_ns,
    /// The longest of these in the step.
    longest_ns,
    /// Packets dropped, for any reason.
    dropped,
    /// Those of them that the limits refused.
    overflowed,
    /// Packets that were newly marked.
    marked,
    /// Nanoseconds in which nothing waited, until something did.
    empty_ns,
    /// Since when nothing waits; `u64::MAX` while something does.
    empty_since,
    /// Nanoseconds between two departures with a queue in between.
    busy_ns,
    /// Bytes whose transmission took these.
    busy_bytes,
    /// When a packet left others behind and is being sent, else `u64::MAX`.
    busy_since,
    /// Its bytes.
    busy_len,
    /// Packets that wait.
    waiting,
    /// Their bytes.
    waiting_bytes,
    /// When the first of them came; `u64::MAX` while nothing waits.
    head,
}

/// No time.
pub(super) const NEVER: u64 = u64::MAX;

/// Flows that are told apart: more than queues on slow links see at a time.
const FLOWS: usize = 1024;

/// What sojourn times are counted by: 0.5 ms, up to 200 ms.
const BIN: Duration = Duration::from_micros(500);
const BINS: usize = 400;

impl SharedState {
    /// The board of an empty queue; `flows` are counted or not.
    pub fn new(flows: bool) -> Self {
        let flows = (0..if flows { FLOWS } else { 0 }).map(|_| AtomicU64::new(0)).collect();
        let board = Self::unset(flows);
        board.clear();
        board
    }

    /// The same, and sojourn times are counted, for [`SharedState::sojourn_quantile`].
    pub fn with_sojourns(self) -> Self {
        Self { sojourns: (0..BINS).map(|_| AtomicU64::new(0)).collect(), ..self }
    }

    /// Begins anew, as [`SharedState::new`] does.
    pub fn clear(&self) {
        self.set(&Counters::START);
        self.probability.store(0, Relaxed);
        self.target_ns.store(crate::codel::Config::default().target.as_nanos() as u64, Relaxed);
        self.verdict.store(0, Relaxed);
        self.flows.iter().chain(&self.sojourns).for_each(|count| count.store(0, Relaxed));
    }

    /// What becomes of the next packet, as [`Law::Packet`](super::Law::Packet) numbers it.
    #[inline]
    pub fn verdict(&self) -> u64 {
        self.verdict.load(Relaxed)
    }

    /// Sets [`SharedState::verdict`].
    pub fn set_verdict(&self, verdict: u64) {
        self.verdict.store(verdict, Relaxed);
    }

    /// Lets the sojourn times be those of a new step.
    pub fn reset_sojourns(&self) {
        self.longest_ns.store(0, Relaxed);
        self.sojourns.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// The sojourn time that a `share` of the step's departures did not exceed, in steps of 0.5 ms and 200 ms at most;
    /// zero where nothing was sent, or where they are not counted.
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

    /// The probability with which an arrival is marked, or dropped if it does not understand marks.
    #[inline]
    pub fn probability(&self) -> f64 {
        f64::from_bits(self.probability.load(Relaxed))
    }

    /// Sets [`SharedState::probability`], from 0 to 1.
    pub fn set_probability(&self, p: f64) {
        self.probability.store(p.to_bits(), Relaxed);
    }

    /// The target of the CoDel below, if there is one.
    pub fn target(&self) -> Duration {
        Duration::from_nanos(self.target_ns.load(Relaxed) as i64)
    }

    /// Sets [`SharedState::target`].
    pub fn set_target(&self, target: Duration) {
        self.target_ns.store(target.as_nanos() as u64, Relaxed);
    }

    /// The link's nominal rate in bit/s; zero before there is a queue.
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps.load(Relaxed)
    }

    /// Flows that have been seen in the last `span`, of 1024 that are told apart by the lower bits of their numbers; zero
    /// where they are not counted.
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

    /// A packet went straight through.
    pub(super) fn passed(&self, now: Instant, meta: &Meta) {
        self.arrival(now, meta);
        add(&self.departed, 1);
        add(&self.departed_bytes, meta.len.into());
        if let Some(count) = self.sojourns.first() {
            add(count, 1);
        }
    }

    /// An arrival was judged; `standing` is without it.
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

    /// The queue was asked for a packet; `standing` is without the one that leaves.
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

    /// When the first packet that waits has come.
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
