//! netem, Linux's network emulator: delay, jitter, loss, duplication, corruption, reordering, a rate and slots
//! (`sch_netem.c` of 6.1.192, whose arithmetic this follows, with the syntax of tc's `q_netem.c`).
//!
//! An arriving packet is duplicated, lost or corrupted at random, and gets a departure time: `delay` and `jitter` from
//! now on, and with a `rate` not before the latest departure time plus its own transmission time. Packets leave in the
//! order of these times, so that jitter reorders them; `reorder` sends some at once, ahead of all. With a discipline in
//! braces, `netem delay 20ms { fq_codel }`, packets enter it at their departure times.
//!
//! Probabilities and correlations are tc's, in percent. A correlation averages random numbers, so that they concentrate
//! around the middle and small probabilities become far smaller, as in the kernel; `loss gemodel` and `loss state` are
//! not affected. The tables of `distribution normal`, `pareto` and `paretonormal` are computed as iproute2 computes its
//! files. Any other word names a file with a table in tc's format, with or without its suffix `.dist`: integers from
//! -32768 to 32767 separated by white space, at most 16384, in units of the jitter over 8192, in steps of equal
//! probability; lines that start with `#` are comments. Its path is relative to the scenario's folder; a blank or a
//! bracket in it is written `%20`, `%28`, ….
//!
//! Differs: random numbers come from the run's streams, so tc's `seed` is ignored. A duplicate re-enters this
//! discipline, not the root of the tree. With `corrupt`, all super-packets are split before the queue; Linux splits
//! only corrupted ones. The limit of the link and `limit` apply to the packets here and in the braces together. A
//! packet keeps its age when it enters the braces.
//!
//! # When to use
//!
//! To reuse a testbed's netem line unchanged, or for impairments that the simulator's links do not have: jitter that
//! reorders, duplicates, corruption. For plain delay and loss of a link use `delay` and `loss` of a scenario, which do
//! not occupy its queue.

mod config;
mod crandom;
pub(crate) mod distribution;
mod loss;
mod rate;
mod slot;
pub(crate) mod table;
mod tc_args;
#[cfg(test)]
mod tests;
mod tfifo;

pub use config::{Config, LossModel, Settings};
pub use distribution::Distribution;
pub use table::Table;

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::params::WordsParser;
use crate::parent::ChildConfig;
use crate::parent::leaf::{Accounting, Leaf};
use crate::parent::statistics::{of_class, of_parent};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::reservation::{Reservation, ReservationError, move_to_larger};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use crandom::{Crandom, RandomEvent};
use distribution::DelayDistribution;
use loss::LossState;
use rate::RateParams;
use slot::Slots;
use tfifo::Tfifo;

/// netem queue discipline.
// A queue discipline and not a stage of a link, so that one implementation serves simulator, emulator and hosts in C.
pub struct Netem<P> {
    impairments: Impairments,
    rate: Option<RateParams>,
    slots: Option<Slots>,
    /// Packets to send at once, the last one first, with their arrival times.
    front: Vec<(i64, Meta, P)>,
    waiting: Tfifo<(Meta, P)>,
    child: Option<Leaf<P>>,
    accounting: Accounting,
    /// Maximum packets, including those in the braces.
    limit: u32,
    limits: Limits,
    link: Link,
    rng: Rng,
    /// Number of packets sent ahead of all others.
    requeues: u64,
}

/// Random impairments of packets.
#[derive(Clone, Debug)]
struct Impairments {
    duplicate: RandomEvent,
    loss: LossState,
    ecn: bool,
    corrupt: RandomEvent,
    reorder: RandomEvent,
    /// Zero disables reordering.
    gap: u32,
    /// Packets delayed since the last one that was sent at once.
    counter: u32,
    delay: DelayDistribution,
    delays: Crandom,
}

impl Impairments {
    fn new(c: &Settings, rng: &mut Rng) -> Self {
        // tc sends the correlations of delay, loss and duplicates together, and only if a correlation other than that
        // of duplicates is given; the kernel then draws a number for each (`get_correlation`).
        let sent = [c.delay_corr, c.loss_corr, c.reorder_corr, c.corrupt_corr].iter().any(|&percent| percent > 0.0);
        let mut numbers = |sent: bool, percent: f64| {
            if sent { Crandom::new(percent, rng.next_u32()) } else { Crandom::new(0.0, 0) }
        };
        let delays = numbers(sent, c.delay_corr);
        let losses = numbers(sent, c.loss_corr);
        let duplicate = RandomEvent::new(c.duplicate, numbers(sent, c.duplicate_corr));
        let reorder = RandomEvent::new(c.reorder, numbers(c.reorder > 0.0, c.reorder_corr));
        let corrupt = RandomEvent::new(c.corrupt, numbers(c.corrupt > 0.0, c.corrupt_corr));
        let gap = if c.reorder > 0.0 { c.gap.max(1) as u32 } else { 0 };
        let delay = DelayDistribution::new(c.delay.as_nanos(), c.jitter.as_nanos() as i32, c.distribution);
        Self {
            duplicate,
            loss: LossState::new(c, losses),
            ecn: c.ecn,
            corrupt,
            reorder,
            gap,
            counter: 0,
            delay,
            delays,
        }
    }

    /// Whether a packet is sent at once.
    #[inline]
    fn reorders(&mut self, rng: &mut Rng) -> bool {
        self.gap > 0 && self.counter >= self.gap - 1 && self.reorder.probability >= self.reorder.numbers.next(rng)
    }
}

impl<P: Send + 'static> Netem<P> {
    /// Empty queue.
    pub fn new<H: ChildConfig>(config: &Config<H>, limits: Limits, host: Host) -> Self {
        let (settings, link) = (&config.settings, host.link);
        let child = config.children.0.as_deref().map(|child| {
            let host = Host { rng: Rng::stream(host.rng.state(), "leaf", 0), ..host.clone() };
            Leaf::new(Some(child), limits, host)
        });
        let mut rng = host.rng;
        let most = limits.packets.map_or(settings.limit, |most| settings.limit.min(most.into())) as usize;
        let room = |needed: bool| if needed { most.min(ROOM) } else { 0 };
        Self {
            impairments: Impairments::new(settings, &mut rng),
            rate: RateParams::new(settings),
            slots: Slots::new(settings),
            front: Vec::with_capacity(room(settings.reorder > 0.0)),
            waiting: Tfifo::with_room(room(settings.jitter > Duration::ZERO)),
            child,
            accounting: Accounting::default(),
            limit: settings.limit as u32,
            limits,
            link,
            rng,
            requeues: 0,
        }
    }
}

impl<P> Netem<P> {
    /// Enqueues a packet that has been counted as arrived (`netem_enqueue`); a duplicate is not duplicated again.
    fn admit(&mut self, now: Instant, arrival: Arrival<P>, is_copy: bool, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let Arrival { mut meta, mut packet } = arrival;
        let (chances, rng) = (&mut self.impairments, &mut self.rng);
        let mut count = 1;
        if !is_copy && chances.duplicate.occurs(rng) {
            count += 1;
        }
        let mut marked = false;
        if chances.loss.loses(rng) {
            if chances.ecn && meta.ecn.is_ect() {
                marked = meta.ecn != Ecn::Ce;
                meta.ecn = Ecn::Ce;
            } else {
                count -= 1;
            }
        }
        if count == 0 {
            return self.accounting.drop_arrival(now, Arrival { meta, packet }, DropReason::Early, sink);
        }
        if marked {
            self.accounting.marked(meta.len);
        }
        let is_full = self.accounting.total.packets >= self.limit
            || !self.limits.admit(self.accounting.total, meta.len, self.link);
        // If there is no room, no copy is made. Otherwise it is made before this packet is corrupted, and queued first,
        // as in Debian's 6.1.192.
        let copy = if count == 2 && !is_full { sink.duplicated(&meta, &packet) } else { None };
        if chances.corrupt.occurs(rng) {
            // The byte is drawn before the bit; Linux leaves the order to the compiler.
            let byte = below(meta.len, rng);
            sink.corrupt(&mut packet, byte, below(8, rng) as u8);
        }
        if is_full {
            return self.accounting.refuse(now, Arrival { meta, packet }, sink);
        }
        if let Some(copy) = copy {
            self.admit_copy(now, meta, copy, sink);
            // The kernel admits both packets if there is room for one; here the queue's own limits apply to each.
            if !self.limits.admit(self.accounting.total, meta.len, self.link) {
                return self.accounting.refuse(now, Arrival { meta, packet }, sink);
            }
        }
        meta.enqueued = now;
        self.accounting.queued(meta.len);
        self.schedule(now.as_nanos() as i64, meta, packet);
        if marked { EnqueueResult::Marked } else { EnqueueResult::Queued }
    }

    /// Enqueues the copy.
    #[cold]
    fn admit_copy(&mut self, now: Instant, meta: Meta, copy: P, sink: &mut dyn Sink<P>) {
        self.accounting.arrived(meta.len);
        self.admit(now, Arrival { meta, packet: copy }, true, sink);
    }

    /// Schedules a packet.
    fn schedule(&mut self, now: i64, meta: Meta, packet: P) {
        let (chances, rng) = (&mut self.impairments, &mut self.rng);
        if chances.reorders(rng) {
            chances.counter = 0;
            self.requeues += 1;
            self.front.push((now, meta, packet));
            return;
        }
        let delay = chances.delay.next(&mut chances.delays, rng);
        chances.counter = chances.counter.wrapping_add(1);
        let time = match self.rate {
            None => now + delay,
            Some(pace) => {
                // The bottom of the front arrived first and is the tail of Linux's list.
                let front = self.front.first().map(|&(time, ..)| time);
                let last = front.max(self.waiting.last());
                // The remaining wait of the last packet counts as part of the delay.
                let (from, delay) = last.map_or((now, delay), |last| (last, (delay - (last - now)).max(0)));
                from + delay + pace.time_for(meta.len)
            }
        };
        self.waiting.push(time, (meta, packet));
    }

    /// Removes the packet that is due. Otherwise returns the time of the next one, if any (`netem_dequeue`).
    fn due(&mut self, now: i64) -> Result<(Meta, P), Option<i64>> {
        let Some(time) = self.waiting.first() else { return Err(None) };
        let slot = match &mut self.slots {
            Some(slots) => slots.begins(now, time, &mut self.rng),
            None => now,
        };
        if time > now || slot > now {
            return Err(Some(time.max(slot)));
        }
        let (meta, packet) = self.waiting.pop().expect("it has a first time");
        if let Some(slots) = &mut self.slots {
            slots.sent(now, meta.len, &mut self.rng);
        }
        Ok((meta, packet))
    }
}

impl<P: 'static> Qdisc<P> for Netem<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let packets = memory.bound(&mut self.limits, self.link).min(self.limit as usize);
        let front = if self.impairments.gap > 0 { packets } else { 0 };
        memory.vec(&mut self.front, front)?;
        self.waiting.reserve(packets, memory)?;
        self.child.as_mut().map_or(Ok(()), |child| child.reserve(memory))
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accounting.arrived(meta.len);
        self.admit(now, Arrival { meta, packet }, false, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        // Packets at the front bypass the braces too.
        let next = loop {
            if let Some((_, meta, packet)) = self.front.pop() {
                self.accounting.departed(meta.len);
                return DequeueResult::Packet(meta, packet);
            }
            match (self.due(now.as_nanos() as i64), &mut self.child) {
                (Ok((meta, packet)), None) => {
                    self.accounting.departed(meta.len);
                    return DequeueResult::Packet(meta, packet);
                }
                (Ok((meta, packet)), Some(child)) => {
                    self.accounting.removed(meta.len);
                    child.enqueue(now, Arrival { meta, packet }, &mut self.accounting, sink);
                }
                (Err(next), _) => break next.map(|nanos| Instant::from_nanos(nanos as u64)),
            }
        };
        let inside =
            self.child.as_mut().map_or(DequeueResult::Empty, |child| child.dequeue(now, &mut self.accounting, sink));
        match (inside, next) {
            (DequeueResult::Empty, Some(at)) => DequeueResult::NotBefore(at),
            (DequeueResult::NotBefore(inside), Some(at)) => DequeueResult::NotBefore(inside.min(at)),
            (inside, _) => inside,
        }
    }

    /// Linux splits only super-packets that it corrupts (`netem_segment`).
    fn splits_gso(&self) -> bool {
        self.impairments.corrupt.probability > 0 || self.child.as_ref().is_some_and(Leaf::splits_gso)
    }

    fn needs_tcp_headers(&self) -> bool {
        self.child.as_ref().is_some_and(Leaf::needs_tcp_headers)
    }

    /// `netem_change`: queued packets keep their times and nothing is dropped, chains and correlations restart, and
    /// packets that are due do not wait for a new slot.
    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let old: &mut Self = old.downcast_mut().ok_or(ConfigError::Immutable)?;
        match (&mut self.child, &mut old.child) {
            (Some(new), Some(held)) => new.inherit(held, now, &mut old.accounting, sink)?,
            (None, None) => {}
            _ => return Err(ConfigError::Immutable),
        }
        core::mem::swap(&mut self.accounting, &mut old.accounting);
        move_to_larger(&mut self.front, &mut old.front);
        self.waiting.take_over(&mut old.waiting);
        core::mem::swap(&mut self.rng, &mut old.rng);
        self.requeues = old.requeues;
        if let Some(slots) = &mut self.slots {
            slots.begin(now.as_nanos() as i64);
        }
        Ok(())
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let Some(child) = &mut self.child else { return };
        while let Some((_, meta, packet)) = self.front.pop() {
            self.accounting.drop_queued(meta, packet, DropReason::Replaced, sink);
        }
        while let Some((meta, packet)) = self.waiting.pop() {
            self.accounting.drop_queued(meta, packet, DropReason::Replaced, sink);
        }
        child.drop_delayed(now, &mut self.accounting, sink);
    }

    fn settle(&mut self, now: Instant) {
        if let Some(child) = &mut self.child {
            child.settle(now);
        }
    }

    fn backlog(&self) -> Backlog {
        self.accounting.total
    }

    fn stats(&self) -> &Stats {
        &self.accounting.stats
    }

    fn statistics(&self) -> Option<String> {
        // The handle is assigned by the host.
        let class = self.child.as_ref().map(|child| of_class("netem", ":1", child));
        Some(of_parent("netem", "", &self.accounting, 0, class.as_slice()))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("waiting", (self.front.len() + self.waiting.len()) as f64);
        see("reordered", self.requeues as f64);
        if let Some(child) = &self.child {
            child.observe(see);
        }
    }

    fn queues(&self) -> Vec<String> {
        self.child.as_ref().map_or_else(Vec::new, |child| child.qdisc().queues())
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.child.as_ref().map_or(0, |child| child.qdisc().queue_of(meta))
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        if let Some(child) = &self.child {
            child.qdisc().subqueues(see);
        }
    }
}

impl<P> fmt::Debug for Netem<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Netem")
            .field("chances", &self.impairments)
            .field("books", &self.accounting)
            .finish_non_exhaustive()
    }
}

/// Random number below `n` (`get_random_u32_below`).
fn below(n: u32, rng: &mut Rng) -> u32 {
    ((rng.next_u32() as u64 * n as u64) >> 32) as u32
}

/// Initial capacity for packets that overtake others.
const ROOM: usize = 1000;

pub(crate) const WORDS: Option<WordsParser> = Some(tc_args::words);
