//! The conformance suite detects violations: one broken queue discipline per rule.

use sojourn_aqm::conformance::{Op, Order, Rule, Violation, check};
use sojourn_aqm::qdisc::Count;
use sojourn_aqm::{
    Aqm, Backlog, Cx, DequeueResult, DropReason, Duration, Ecn, EnqueueResult, Fifo, Host, Instant, Limits, Link, Meta,
    PoppedPacket, Qdisc, Rate, Rng, SingleQueue, Sink, Stats,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

const LINK: Link = Link::new(Rate::from_bps(8_000_000), 1500);
const LIMIT: u32 = 4;

/// Fault of a [`Queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    SwallowsAPacket,
    DuplicatesAPacket,
    MiscountsBytes,
    MiscountsAReason,
    LastInFirstOut,
    SwapsHandles,
    HoldsOneTooMany,
    MarksNotEct,
    CountsNoMarks,
    ClearsMarks,
    SwapsEctCodepoints,
    HandsBackTwice,
    HandsBackNothing,
    ForgetsItsStamp,
    DropsWhatItSaysWaits,
    SaysMarkedOfCe,
    IdlesWithABacklog,
    WaitsInThePast,
    IsNotRepeatable,
    NeverDrains,
}

const FAULTS: &[(Fault, Rule)] = &[
    (Fault::SwallowsAPacket, Rule::Conservation),
    (Fault::DuplicatesAPacket, Rule::Conservation),
    (Fault::MiscountsBytes, Rule::Counters),
    (Fault::MiscountsAReason, Rule::Counters),
    (Fault::LastInFirstOut, Rule::Order),
    (Fault::SwapsHandles, Rule::Order),
    (Fault::HoldsOneTooMany, Rule::Limits),
    (Fault::MarksNotEct, Rule::Marks),
    (Fault::CountsNoMarks, Rule::Marks),
    (Fault::SaysMarkedOfCe, Rule::Marks),
    (Fault::ClearsMarks, Rule::EcnKept),
    (Fault::SwapsEctCodepoints, Rule::EcnKept),
    (Fault::HandsBackTwice, Rule::Returned),
    (Fault::ForgetsItsStamp, Rule::Returned),
    (Fault::HandsBackNothing, Rule::Result),
    (Fault::DropsWhatItSaysWaits, Rule::Result),
    (Fault::IdlesWithABacklog, Rule::WorkConserving),
    (Fault::WaitsInThePast, Rule::WorkConserving),
    (Fault::NeverDrains, Rule::WorkConserving),
    (Fault::IsNotRepeatable, Rule::Determinism),
];

#[test]
fn every_rule_can_be_broken() {
    assert!(run(Fault::None).is_ok());
    for &(fault, rule) in FAULTS {
        let broken = run(fault).expect_err(&format!("{fault:?} passes"));
        assert_eq!(broken.rule, rule, "{fault:?}: {broken}");
    }
}

/// An algorithm that never releases its packets.
struct HoardingAqm;

impl Aqm for HoardingAqm {
    fn dequeue(&mut self, _: &mut Cx, _: &mut dyn Fifo) -> Option<PoppedPacket> {
        None
    }
}

#[test]
fn an_algorithm_that_never_pops_is_caught() {
    let host = || Host { link: LINK, rng: Rng::from_state(1) };
    let make = || Box::new(SingleQueue::new(HoardingAqm, Limits::packets(LIMIT), host())) as Box<dyn Qdisc<u32>>;
    let broken = check(make, &Limits::packets(LIMIT), LINK, Order::Fifo, &ops()).unwrap_err();
    assert_eq!(broken.rule, Rule::WorkConserving, "{broken}");
}

#[test]
fn order_is_judged_by_flow_where_flows_are_queued_apart() {
    // Two flows: a LIFO over both keeps the order within flows of one packet.
    let two = [Op::Enqueue(Meta::new(100, 1)), Op::Enqueue(Meta::new(100, 2)), Op::Dequeue, Op::Dequeue];
    let one = [Op::Enqueue(Meta::new(100, 1)), Op::Enqueue(Meta::new(100, 1)), Op::Dequeue, Op::Dequeue];
    // One flow whose ECN fields select two queues.
    let l4s = Meta::new(100, 1).with_ecn(Ecn::Ect1);
    let mixed = [Op::Enqueue(Meta::new(100, 1)), Op::Enqueue(l4s), Op::Dequeue, Op::Dequeue];
    for (ops, order, passes) in [
        (&two, Order::PerFlow, true),
        (&two, Order::Fifo, false),
        (&one, Order::PerFlow, false),
        (&mixed, Order::PerFlow, false),
        (&mixed, Order::PerFlowAndEcn, true),
        (&one, Order::PerFlowAndEcn, false),
        (&two, Order::PerFlowAndEcn, true),
    ] {
        let result = run_with(Fault::LastInFirstOut, order, ops);
        assert_eq!(result.is_ok(), passes, "{order:?}: {result:?}");
    }
}

fn run(fault: Fault) -> Result<Stats, Violation> {
    run_with(fault, Order::Fifo, &ops())
}

fn run_with(fault: Fault, order: Order, ops: &[Op]) -> Result<Stats, Violation> {
    let made = Rc::new(Cell::new(0));
    let make = || {
        made.set(made.get() + 1);
        Box::new(Queue { fault, number: made.get(), ..Queue::default() }) as Box<dyn Qdisc<u32>>
    };
    check(make, &Limits::packets(LIMIT), LINK, order, ops)
}

/// Fills the queue beyond its limit with packets of every kind, empties it, and leaves some for the final drain.
fn ops() -> Vec<Op> {
    let mut ops = vec![Op::Wait(Duration::from_millis(5)), Op::Settle, Op::Dequeue];
    for round in 0..3 {
        for (i, ecn) in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::NotEct].into_iter().enumerate() {
            ops.push(Op::Enqueue(Meta::new(100 + i as u32, round).with_ecn(ecn)));
            ops.push(Op::Wait(Duration::from_millis(1)));
        }
        ops.extend([Op::Dequeue, Op::Wait(Duration::from_millis(1)), Op::Dequeue]);
    }
    ops
}

/// Tail drop that marks every ECN-capable packet on arrival, independent of the crate's queue.
#[derive(Debug)]
struct Queue {
    fault: Fault,
    /// Index of the created discipline: the twin is the second.
    number: u32,
    packets: VecDeque<(Meta, u32)>,
    stats: Stats,
}

impl Default for Queue {
    fn default() -> Self {
        Self { fault: Fault::None, number: 1, packets: VecDeque::new(), stats: Stats::default() }
    }
}

impl Queue {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

fn add(count: &mut Count, len: u32) {
    count.packets += 1;
    count.bytes += len as u64;
}

impl Qdisc<u32> for Queue {
    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: u32, sink: &mut dyn Sink<u32>) -> EnqueueResult {
        meta.enqueued = if self.is(Fault::ForgetsItsStamp) { Instant::ZERO } else { now };
        let miscounted = u32::from(self.is(Fault::MiscountsBytes));
        add(&mut self.stats.arrived, meta.len + miscounted);
        if self.packets.len() as u32 >= LIMIT + u32::from(self.is(Fault::HoldsOneTooMany)) {
            let reason = if self.is(Fault::MiscountsAReason) { DropReason::Early } else { DropReason::Limit };
            add(&mut self.stats.dropped[reason as usize], meta.len);
            if !self.is(Fault::HandsBackNothing) {
                sink.dropped(meta, packet, DropReason::Limit);
            }
            if self.is(Fault::HandsBackTwice) {
                sink.dropped(meta, packet, DropReason::Limit);
            }
            return match self.fault {
                Fault::DropsWhatItSaysWaits => EnqueueResult::Queued,
                _ => EnqueueResult::Dropped(DropReason::Limit),
            };
        }
        let marks = matches!(meta.ecn, Ecn::Ect0 | Ecn::Ect1) || self.is(Fault::MarksNotEct);
        let result = if marks || self.is(Fault::SaysMarkedOfCe) && meta.ecn == Ecn::Ce {
            EnqueueResult::Marked
        } else {
            EnqueueResult::Queued
        };
        if marks {
            meta.ecn = Ecn::Ce;
            if !self.is(Fault::CountsNoMarks) {
                add(&mut self.stats.marked, meta.len);
            }
        }
        match self.fault {
            Fault::ClearsMarks if meta.ecn == Ecn::Ce && !marks => meta.ecn = Ecn::NotEct,
            Fault::SwapsEctCodepoints if meta.ecn == Ecn::NotEct => meta.ecn = Ecn::Ect0,
            Fault::SwallowsAPacket if meta.ecn == Ecn::NotEct => return result,
            Fault::DuplicatesAPacket if meta.ecn == Ecn::NotEct => self.packets.push_back((meta, packet)),
            _ => {}
        }
        self.packets.push_back((meta, packet));
        result
    }

    fn dequeue(&mut self, now: Instant, _: &mut dyn Sink<u32>) -> DequeueResult<u32> {
        match self.fault {
            Fault::IdlesWithABacklog if self.packets.len() == 3 => return DequeueResult::Empty,
            Fault::WaitsInThePast if self.packets.len() == 3 => return DequeueResult::NotBefore(now),
            Fault::NeverDrains if !self.packets.is_empty() => {
                return DequeueResult::NotBefore(now + Duration::from_millis(1));
            }
            Fault::IsNotRepeatable if self.number == 2 && self.packets.len() == 3 => return DequeueResult::Empty,
            Fault::SwapsHandles if self.packets.len() > 1 => {
                let (head, second) = (self.packets[0].1, self.packets[1].1);
                (self.packets[0].1, self.packets[1].1) = (second, head);
            }
            _ => {}
        }
        let out = if self.is(Fault::LastInFirstOut) { self.packets.pop_back() } else { self.packets.pop_front() };
        let Some((meta, packet)) = out else { return DequeueResult::Empty };
        add(&mut self.stats.departed, meta.len);
        DequeueResult::Packet(meta, packet)
    }

    fn settle(&mut self, _: Instant) {}

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u32,
            bytes: self.packets.iter().map(|(meta, _)| meta.len as u64).sum(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}
