//! DualPI2: the Dual-Queue Coupled AQM of RFC 9332 with PI2 (its Appendix A) and with the decisions of Linux's
//! sch_dualpi2.c (since 6.17). L4S packets wait in a queue of their own, are served first within bounds, and are marked
//! with k p' where classic packets are dropped or marked with p'², so that both kinds of flows get about the same rate.
//!
//! Differs: the delay that the controller sees is the greater one of both queues, as in Linux; with the classic one
//! alone, as in the RFC's first listing, unresponsive L4S traffic would never be dropped. The RFC leaves scheduler and
//! weights open: they are Linux's in both profiles. Splitting of segments joined by a sender does not arise here.
//!
//! # When to use
//!
//! At a bottleneck that carries scalable congestion controls (TCP Prague, L4S) beside classic ones and cannot queue
//! flows apart: scalable traffic waits about a millisecond, classic traffic the usual `target`, and both get about
//! the same rates. Without any ECT(1) traffic it is a PI2.

use crate::aqm::{Cx, Verdict};
use crate::coupled::{Controller, Coupling, Dice, Judged};
use crate::dual::{Both, DualAqm, Side};
use crate::link::Link;
use crate::packet::Meta;
use crate::params::Value;
use crate::time::{Duration, Instant};
use crate::{choice, config};

config! {
    /// DualPI2's configuration; the default is RFC 9332's. Names are tc-dualpi2's.
    pub struct Config {
        /// The most waiting packets of both queues; the host's own limit holds as well.
        limit: u64 = 10_000, in Value::Count(1) => Value::Count(1_000_000_000);
        /// The delay that the controller steers to.
        target: Duration = Duration::from_millis(15), in MICROSECOND => MINUTE;
        /// How often the probability is updated (Tupdate).
        tupdate: Duration = Duration::from_millis(16), in Value::Time(Duration::from_micros(100)) => MINUTE;
        /// Gain of the deviation from the target, per second.
        alpha: f64 = 0.16, in Value::Number(0.0) => Value::Number(1000.0);
        /// Gain of the delay's change between two updates, per second.
        beta: f64 = 3.2, in Value::Number(0.0) => Value::Number(1000.0);
        /// k: what p' is multiplied by for L4S packets.
        coupling_factor: f64 = 2.0, in Value::Number(0.01) => Value::Number(100.0);
        /// Sojourn time from which on L4S packets are marked by their own queue (minTh).
        step_thresh: Duration = Duration::from_micros(800), in Value::Time(Duration::ZERO) => MINUTE;
        /// Over how much more sojourn time the probability of these marks rises to 1 (range); zero is a step.
        ramp: Duration = Duration::from_micros(400), in Value::Time(Duration::ZERO) => MINUTE;
        /// Marks by the length of the L4S queue instead: where more packets are left behind. Zero: by sojourn time.
        step_packets: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Packets that an L4S packet must leave behind to be marked by its own queue.
        min_qlen_step: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Backlog of both queues, in packets of the link's largest size, below which p' has no effect.
        min_backlog: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Drops where k times p' is above one; otherwise p' ends there, and ECN-capable packets are always marked.
        drop_on_overload: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Decides by p' on arrival (tc's drop_enqueue) instead of on departure.
        drop_enqueue: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Which packets join the L4S queue.
        classify: Classify = Classify::L4sEct, in WORD => WORD, choices Classify::WORDS;
        /// Which queue is served where both have packets.
        scheduler: Scheduler = Scheduler::Wrr, in WORD => WORD, choices Scheduler::WORDS;
        /// wrr: per cent of the bytes that the classic queue gets.
        classic_protection: u64 = 10, in Value::Count(0) => Value::Count(99);
        /// ts-fifo: how much sooner an L4S packet is served than a classic one that came at the same time.
        tshift: Duration = Duration::from_millis(30), in Value::Time(Duration::ZERO) => MINUTE;
        /// How packets are picked with a probability.
        marking: Marking = Marking::Recur, in WORD => WORD, choices Marking::WORDS;
    }
    profiles {
        "rfc9332", "RFC 9332 (2023), Appendix A: a ramp in the L4S queue, evenly spaced marks" => |_| {};
        "linux", "Linux since 6.17: a step at 1 ms, random marks, none below a backlog of two packets" => linux;
    }
    validate |_| Ok(())
}

choice! {
    /// Which packets join the L4S queue.
    pub enum Classify {
        /// Those with ECT(1) or CE.
        L4sEct = "l4s-ect",
        /// All that are ECN-capable.
        AnyEct = "any-ect",
    }
}

choice! {
    /// Which queue is served where both have packets.
    pub enum Scheduler {
        /// The L4S one, but for a share of the bytes (weighted round robin by credit).
        Wrr = "wrr",
        /// That of the packet that came first, L4S packets taken to have come sooner (time-shifted FIFO).
        TsFifo = "ts-fifo",
    }
}

choice! {
    /// How packets are picked with a probability.
    pub enum Marking {
        /// Probabilities add up, and a packet is picked where the sum passes one (recur).
        Recur = "recur",
        /// At random; with p'² by two draws.
        Random = "random",
    }
}

fn linux(c: &mut Config) {
    c.alpha = 41.0 / 256.0;
    c.beta = 819.0 / 256.0;
    c.step_thresh = Duration::from_millis(1);
    c.ramp = Duration::ZERO;
    c.min_backlog = 2;
    c.marking = Marking::Random;
}

/// The state of two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: Config,
    controller: Controller,
    coupling: Coupling,
    next_update: Instant,
    /// What the classic queue has been given in advance, in bytes times per cent; L4S is served while it is not positive.
    /// `None` when both queues have run empty.
    credit: Option<i64>,
    /// The sums of probabilities by queue.
    counts: [f64; 2],
}

impl DualPi2 {
    /// The state of two empty queues.
    pub fn new(config: &Config) -> Self {
        let coupling = Coupling { k: config.coupling_factor, drop_overload: config.drop_on_overload };
        Self {
            controller: Controller::new(config.target, config.alpha, config.beta, coupling.most()),
            coupling,
            next_update: Instant::ZERO + config.tupdate,
            credit: None,
            counts: [0.0; 2],
            config: config.clone(),
        }
    }

    /// What becomes of a packet at p', its own queue asking for a mark with probability `native`.
    fn decide(&mut self, p: f64, native: f64, cx: &mut Cx, meta: &Meta, side: Side) -> Verdict {
        let packet = Judged { ect: meta.ecn.is_ect(), scalable: side == Side::L4s, native };
        match self.config.marking {
            Marking::Random => self.coupling.judge(p, packet, cx.rng),
            Marking::Recur => self.coupling.judge(p, packet, &mut Recur(&mut self.counts[side as usize])),
        }
    }

    /// p', or nothing for a short backlog.
    fn p(&self, cx: &Cx) -> f64 {
        let enough = cx.total_backlog.bytes >= self.config.min_backlog * cx.link.mtu as u64;
        if enough { self.controller.p } else { 0.0 }
    }

    /// The probability that the L4S queue asks for (laqm), for a packet that leaves `behind` packets there.
    fn native(&self, sojourn: Duration, behind: u64) -> f64 {
        if behind < self.config.min_qlen_step {
            return 0.0;
        }
        if self.config.step_packets > 0 {
            return if behind > self.config.step_packets { 1.0 } else { 0.0 };
        }
        let above = sojourn - self.config.step_thresh;
        match (above > Duration::ZERO, above >= self.config.ramp) {
            (false, _) => 0.0,
            (true, true) => 1.0,
            (true, false) => above.as_nanos() as f64 / self.config.ramp.as_nanos() as f64,
        }
    }

    /// The shares of both queues in per cent.
    fn weights(&self) -> (i64, i64) {
        let classic = self.config.classic_protection as i64;
        (classic, 100 - classic)
    }
}

impl DualAqm for DualPi2 {
    fn classify(&self, meta: &Meta) -> Side {
        let is_l4s = match self.config.classify {
            Classify::L4sEct => meta.ecn.is_l4s(),
            Classify::AnyEct => meta.ecn.is_ect(),
        };
        if is_l4s { Side::L4s } else { Side::Classic }
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: Side) -> Verdict {
        let p = self.p(cx);
        if !self.config.drop_enqueue || p == 0.0 {
            return Verdict::Accept;
        }
        self.decide(p, 0.0, cx, meta, side)
    }

    fn choose(&mut self, _: Instant, link: Link, queues: &Both) -> Option<Side> {
        let (Some(classic), Some(l4s)) = (queues.classic.since, queues.l4s.since) else {
            let side = queues.l4s.since.map(|_| Side::L4s).or(queues.classic.since.map(|_| Side::Classic));
            if side.is_none() {
                self.credit = None;
            }
            return side;
        };
        let (classic_weight, l4s_weight) = self.weights();
        let l4s_first = match self.config.scheduler {
            Scheduler::TsFifo => l4s <= classic + self.config.tshift,
            // After a pause the L4S queue is ahead by a packet of the largest size.
            Scheduler::Wrr => *self.credit.get_or_insert((classic_weight - l4s_weight) * link.mtu as i64) <= 0,
        };
        Some(if l4s_first { Side::L4s } else { Side::Classic })
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: Side) -> Verdict {
        let native = match side {
            Side::L4s => self.native(cx.now - meta.enqueued, cx.backlog.packets as u64),
            Side::Classic => 0.0,
        };
        let p = if self.config.drop_enqueue { 0.0 } else { self.p(cx) };
        if p == 0.0 && native == 0.0 {
            return Verdict::Accept;
        }
        self.decide(p, native, cx, meta, side)
    }

    fn sent(&mut self, side: Side, len: u32, queues: &Both) {
        let (classic_weight, l4s_weight) = self.weights();
        let Some(credit) = &mut self.credit else { return };
        match side {
            Side::L4s if queues.classic.since.is_some() => *credit += classic_weight * len as i64,
            Side::Classic if queues.l4s.since.is_some() => *credit -= l4s_weight * len as i64,
            _ => {}
        }
    }

    fn next_update(&self) -> Instant {
        self.next_update
    }

    fn update(&mut self, at: Instant, queues: &Both) {
        self.next_update = at + self.config.tupdate;
        self.controller.update(queues.classic.delay(at).max(queues.l4s.delay(at)));
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.observe(see);
        see("p_c", self.controller.p * self.controller.p);
        see("p_cl", (self.coupling.k * self.controller.p).min(1.0));
        see("credit", self.credit.unwrap_or(0) as f64 / 100.0);
    }
}

/// Evenly spaced decisions (recur of RFC 9332, Appendix A): the sum of the probabilities since the last one.
struct Recur<'a>(&'a mut f64);

impl Dice for Recur<'_> {
    fn once(&mut self, p: f64) -> bool {
        *self.0 += p;
        let passes = *self.0 > 1.0;
        if passes {
            *self.0 -= 1.0;
        }
        passes
    }
    fn squared(&mut self, p: f64) -> bool {
        self.once(p * p)
    }
}

const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const MINUTE: Value = Value::Time(Duration::from_secs(60));
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests;
