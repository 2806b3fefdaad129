//! Invariants of every queue discipline, for the tests of this crate and of others.
//!
//! [`check`] runs a sequence of operations on a queue discipline, on a model of its contents, and on a second, equal
//! discipline. After every operation, packets in = out + dropped + backlog, in the backlog and in the counters;
//! returned packets are the host's own, in order, within the limits and marked legally. Order is required per flow and
//! ECN field: a dual queue may reorder a flow that changes its codepoint. [`case::Case`] builds the discipline and the
//! operations from bytes.

pub mod case;

use crate::aqm::DropReason;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{Count, DequeueResult, EnqueueResult, Qdisc, Sink, Stats};
use crate::registry::{AnyConfig, QueueLayout};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// An operation of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Advances time.
    Wait(Duration),
    /// Offers a packet.
    Enqueue(Meta),
    /// Requests a packet.
    Dequeue,
    /// Runs due updates.
    Settle,
}

/// Order of departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Order of arrival.
    Fifo,
    /// Order of arrival within each flow.
    PerFlow,
    /// Order of arrival within each flow, among packets that arrived with the same ECN field.
    PerFlowAndEcn,
    /// Order of arrival within each flow, among packets that arrived with the same DSCP and class.
    PerFlowAndDscp,
    /// Order of arrival within each flow, among packets that arrived with the same ECN field, DSCP and class.
    PerFlowEcnAndDscp,
    /// Any order.
    Any,
}

impl Order {
    /// The order that a discipline guarantees.
    pub fn of(config: &AnyConfig) -> Self {
        if config.effects().reorders {
            return Self::Any;
        }
        match config.algorithm().queues {
            QueueLayout::One => Self::Fifo,
            QueueLayout::PerFlow => Self::PerFlow,
            QueueLayout::Two => Self::PerFlowAndEcn,
            QueueLayout::PerFlowAndClass => Self::PerFlowAndDscp,
            // The children are not visible here.
            QueueLayout::Tree | QueueLayout::Any => Self::PerFlowEcnAndDscp,
        }
    }
}

/// An invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The backlog is the arrivals minus departures and drops.
    Conservation,
    /// The counters match the events.
    Counters,
    /// Packets leave in order.
    Order,
    /// The backlog stays within the limits.
    Limits,
    /// Only ECN-capable packets are marked, and each mark is counted once.
    Marks,
    /// The ECN field changes in no other way; a mark stays.
    EcnKept,
    /// A packet leaves or is returned once, with its own metadata.
    Returned,
    /// The result of `enqueue` is the fate of the packet.
    Result,
    /// A discipline is empty only without a backlog; otherwise it returns a later instant.
    WorkConserving,
    /// The same operations give the same results.
    Determinism,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub rule: Rule,
    /// Index of the operation in the sequence; the sequence's length for the final drain.
    pub step: usize,
    /// Details.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} broken at step {}: {}", self.rule, self.step, self.detail)
    }
}

/// Runs `ops` from time zero on two disciplines created by `make`, then drains them. Returns the final counters, or the
/// first violation. `limits` bounds their backlog ([`AnyConfig::max_backlog`]); `link` is the link of their host.
pub fn check(
    mut make: impl FnMut() -> Box<dyn Qdisc<u32>>,
    limits: &Limits,
    link: Link,
    order: Order,
    ops: &[Op],
) -> Result<Stats, Violation> {
    let mut subject = Subject::new(make(), *limits, link, order);
    let mut twin = make();
    let mut now = Instant::ZERO;
    for (step, op) in ops.iter().enumerate() {
        if let Op::Wait(span) = op {
            now += *span;
            continue;
        }
        let id = step as u32;
        let answer = apply(&mut *subject.qdisc, now, op, id);
        let detailed = |(rule, detail)| Violation { rule, step, detail: format!("{detail} ({op:?} at {now:?})") };
        if answer != apply(&mut *twin, now, op, id) {
            return Err(detailed((Rule::Determinism, "an identical discipline returned a different result".into())));
        }
        subject.judge(now, op, id, &answer).map_err(detailed)?;
    }
    subject.drain(now).map_err(|(rule, detail)| Violation { rule, step: ops.len(), detail })
}

type Fault = (Rule, String);

/// Results of an operation.
#[derive(Clone, Debug, PartialEq)]
struct OpResult {
    enqueued: Option<EnqueueResult>,
    dequeued: Option<DequeueResult<u32>>,
    dropped: Vec<(Meta, u32, DropReason)>,
    duplicated: Vec<(Meta, u32)>,
    /// State variables by name, as bits: NaN equals itself.
    state: Vec<(&'static str, u64)>,
}

fn apply(qdisc: &mut dyn Qdisc<u32>, now: Instant, op: &Op, id: u32) -> OpResult {
    let (mut enqueued, mut dequeued, mut sink) = (None, None, CollectingSink::default());
    match op {
        Op::Wait(_) => {}
        Op::Enqueue(meta) => enqueued = Some(qdisc.enqueue(now, *meta, id, &mut sink)),
        Op::Dequeue => dequeued = Some(qdisc.dequeue(now, &mut sink)),
        Op::Settle => qdisc.settle(now),
    }
    let mut state = Vec::new();
    qdisc.observe(&mut |name, value| state.push((name, value.to_bits())));
    let CollectingSink { dropped, duplicated } = sink;
    OpResult { enqueued, dequeued, dropped, duplicated, state }
}

/// Returned packets, and duplicates.
#[derive(Default)]
struct CollectingSink {
    dropped: Vec<(Meta, u32, DropReason)>,
    duplicated: Vec<(Meta, u32)>,
}

impl Sink<u32> for CollectingSink {
    fn dropped(&mut self, meta: Meta, id: u32, reason: DropReason) {
        self.dropped.push((meta, id, reason));
    }

    fn duplicated(&mut self, meta: &Meta, id: &u32) -> Option<u32> {
        let copy = id | COPY;
        (copy != *id).then(|| {
            self.duplicated.push((*meta, copy));
            copy
        })
    }
}

/// Flag in the number of a duplicate; a sequence has fewer operations.
const COPY: u32 = 1 << 31;

/// The discipline under test and its model.
struct Subject {
    qdisc: Box<dyn Qdisc<u32>>,
    limits: Limits,
    link: Link,
    order: Order,
    waiting: VecDeque<(u32, Meta)>,
    waiting_bytes: u64,
    expected: Stats,
    /// Marks on packets that departed.
    marks_out: Count,
}

impl Subject {
    fn new(qdisc: Box<dyn Qdisc<u32>>, limits: Limits, link: Link, order: Order) -> Self {
        let (waiting, waiting_bytes, expected, marks_out) = Default::default();
        Self { qdisc, limits, link, order, waiting, waiting_bytes, expected, marks_out }
    }

    fn judge(&mut self, now: Instant, op: &Op, id: u32, answer: &OpResult) -> Result<(), Fault> {
        if let Op::Enqueue(meta) = op {
            self.expected.arrived.add(meta.len);
            self.waiting.push_back((id, Meta { enqueued: now, ..*meta }));
            self.waiting_bytes += meta.len as u64;
        }
        for &(meta, copy) in &answer.duplicated {
            self.expected.arrived.add(meta.len);
            // A duplicate precedes its original, which is the last one.
            self.waiting.insert(self.waiting.len() - 1, (copy, Meta { enqueued: now, ..meta }));
            self.waiting_bytes += meta.len as u64;
        }
        for (meta, id, reason) in &answer.dropped {
            self.expected.dropped[*reason as usize].add(meta.len);
            self.leave(*id, meta)?;
        }
        if let (Some(enqueued), Op::Enqueue(meta)) = (answer.enqueued, op) {
            self.judge_enqueued(enqueued, id, meta.ecn, answer)?;
        }
        if let Some(dequeued) = &answer.dequeued {
            self.judge_dequeued(now, dequeued)?;
        }
        self.judge_backlog()?;
        self.judge_counters()
    }

    fn judge_enqueued(&self, enqueued: EnqueueResult, id: u32, ecn: Ecn, answer: &OpResult) -> Result<(), Fault> {
        let waits = self.waiting.iter().rev().any(|&(waiting, _)| waiting == id);
        match enqueued {
            EnqueueResult::Dropped(reason) => {
                let handed_back = answer.dropped.iter().any(|&(_, _, r)| r == reason);
                ensure(handed_back, Rule::Result, || format!("no packet was returned as dropped for {reason:?}"))
            }
            EnqueueResult::Marked if !matches!(ecn, Ecn::Ect0 | Ecn::Ect1) => {
                Err((Rule::Marks, format!("a packet that arrived as {ecn:?} is reported as newly marked")))
            }
            EnqueueResult::Queued | EnqueueResult::Marked => {
                ensure(waits, Rule::Result, || format!("packet {id} was dropped but is reported as queued"))
            }
        }
    }

    fn judge_dequeued(&mut self, now: Instant, dequeued: &DequeueResult<u32>) -> Result<(), Fault> {
        let backlog = self.qdisc.backlog();
        match dequeued {
            DequeueResult::Packet(meta, id) => {
                if let Some(&(_, original)) = self.waiting.iter().find(|(waiting, _)| waiting == id) {
                    let before = |&&(waiting, other): &&(u32, Meta)| match self.order {
                        Order::Any => waiting == *id,
                        Order::Fifo => true,
                        Order::PerFlow => other.flow == original.flow,
                        Order::PerFlowAndEcn => (other.flow, other.ecn) == (original.flow, original.ecn),
                        Order::PerFlowAndDscp => {
                            (other.flow, other.dscp, other.class) == (original.flow, original.dscp, original.class)
                        }
                        Order::PerFlowEcnAndDscp => {
                            let kind = |meta: &Meta| (meta.flow, meta.ecn, meta.dscp, meta.class);
                            kind(&other) == kind(&original)
                        }
                    };
                    let first = self.waiting.iter().find(before).map(|&(first, _)| first);
                    ensure(first == Some(*id), Rule::Order, || format!("packet {id} left before packet {first:?}"))?;
                }
                self.expected.departed.add(meta.len);
                self.leave(*id, meta)
            }
            DequeueResult::Empty => {
                ensure(backlog.packets == 0, Rule::WorkConserving, || format!("reports idle with {backlog:?}"))
            }
            DequeueResult::NotBefore(at) => ensure(*at > now && backlog.packets > 0, Rule::WorkConserving, || {
                format!("requests a wait until {at:?} with {backlog:?}")
            }),
        }
    }

    /// Packet `id` leaves the discipline as `meta`, sent or dropped.
    fn leave(&mut self, id: u32, meta: &Meta) -> Result<(), Fault> {
        let index = self.waiting.iter().position(|&(waiting, _)| waiting == id);
        let index = index.ok_or_else(|| (Rule::Returned, format!("packet {id} was not queued")))?;
        let (_, original) = self.waiting.remove(index).expect("the packet was found there");
        self.waiting_bytes -= original.len as u64;
        // A discipline may clear the DSCP.
        let dscp = if meta.dscp == 0 { original.dscp } else { meta.dscp };
        // A delayed packet enters the next queue later.
        let enqueued = if self.order == Order::Any { meta.enqueued.min(original.enqueued) } else { meta.enqueued };
        let same = Meta { ecn: original.ecn, dscp, enqueued, ..*meta } == original;
        ensure(same, Rule::Returned, || format!("packet {id} arrived as {original:?} and left as {meta:?}"))?;
        match (original.ecn, meta.ecn) {
            (before, after) if before == after => {}
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => self.marks_out.add(meta.len),
            (Ecn::NotEct, Ecn::Ce) => return Err((Rule::Marks, format!("packet {id} is marked but not ECN-capable"))),
            (before, after) => {
                return Err((Rule::EcnKept, format!("packet {id} changed from {before:?} to {after:?}")));
            }
        }
        Ok(())
    }

    fn judge_backlog(&self) -> Result<(), Fault> {
        let backlog = self.qdisc.backlog();
        let packets = self.waiting.len() as u32;
        let bytes = self.waiting_bytes;
        let conserved = (backlog.packets, backlog.bytes) == (packets, bytes);
        ensure(conserved, Rule::Conservation, || {
            format!("reports {backlog:?}, but {packets} packets, {bytes} bytes are queued")
        })?;
        let within = self.limits.packets.is_none_or(|most| packets <= most)
            && self.limits.bytes.is_none_or(|most| bytes <= most)
            && self.limits.time.is_none_or(|most| self.link.rate.time_for(bytes) <= most);
        ensure(within, Rule::Limits, || format!("{backlog:?} exceeds the limit of {}", self.limits))
    }

    fn judge_counters(&self) -> Result<(), Fault> {
        let stats = self.qdisc.stats();
        let expected = Stats { marked: stats.marked, ..self.expected };
        ensure(*stats == expected, Rule::Counters, || format!("{stats:?}; expected {expected:?}"))?;
        // A queued packet's mark is visible only when it leaves.
        let possible = self.marks_out.packets..=self.marks_out.packets + self.waiting.len() as u64;
        ensure(possible.contains(&stats.marked.packets), Rule::Marks, || {
            format!("counts {} marks; {possible:?} are possible", stats.marked.packets)
        })
    }

    /// Dequeues the remainder: every packet must leave, and every mark be accounted for.
    fn drain(mut self, mut now: Instant) -> Result<Stats, Fault> {
        let patience = 1000 + 100 * self.waiting.len();
        for _ in 0..patience {
            let answer = apply(&mut *self.qdisc, now, &Op::Dequeue, u32::MAX);
            self.judge(now, &Op::Dequeue, u32::MAX, &answer)?;
            match answer.dequeued {
                Some(DequeueResult::NotBefore(at)) => now = at,
                Some(DequeueResult::Packet(..)) => now += Duration::from_millis(1),
                _ => {
                    let stats = *self.qdisc.stats();
                    return ensure(stats.marked == self.marks_out, Rule::Marks, || {
                        format!("counts {:?} marks, but {:?} departed", stats.marked, self.marks_out)
                    })
                    .map(|()| stats);
                }
            }
        }
        Err((Rule::WorkConserving, format!("does not drain: {:?}", self.qdisc.backlog())))
    }
}

fn ensure(holds: bool, rule: Rule, detail: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err((rule, detail())) }
}
