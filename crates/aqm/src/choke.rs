//! CHOKe: each arrival is compared with a random packet from the queue, and both are dropped if they belong to the same
//! flow (R. Pan, B. Prabhakar, K. Psounis, INFOCOM 2000); otherwise it is RED with thresholds in packets.
//!
//! Follows Linux 6.1 (`sch_choke.c`), whose queue is an array: a packet dropped from the middle leaves a hole. Holes
//! are drawn as well, and after three of them the head is used.
//!
//! # When to use
//!
//! To limit unresponsive flows without per-flow state: a flow with many packets in the queue often draws itself. It
//! does not equalise responsive flows; flow queueing does.

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Lifecycle, PoppedPacket, Verdict};
use crate::config;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::rate::Rate;
use crate::red::linux::{Action, IdleTable, Params, Vars, random32};
use crate::red::tc::{check_burst, wlog};
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::time::Duration;
use alloc::collections::VecDeque;
use alloc::format;

config! {
    /// CHOKe's configuration; the defaults are tc's.
    pub struct Config {
        /// Average backlog in packets above which arrivals are compared with a drawn packet; zero is a third of max.
        min: u64 = 0, in Value::Count(0) => Value::Count(1 << 17);
        /// Average backlog in packets above which every arrival is dropped; zero is a quarter of the queue's limit.
        max: u64 = 0, in Value::Count(0) => Value::Count(1 << 17);
        /// Mean packet size.
        avpkt: Bytes = Bytes(1000), in Value::Bytes(1) => Value::Bytes(1 << 20);
        /// Burst in packets that the averaging weight lets pass; zero is (2 min + max)/3.
        burst: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Rate at which packets are assumed to leave during an idle time; zero is the link's rate.
        bandwidth: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Maximum probability below max (max_P).
        probability: f64 = 0.02, in Value::Number(1e-6) => Value::Number(1.0);
        /// Marks ECN-capable packets instead of dropping them, unless the drawn packet is of the same flow.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Drops ECN-capable packets too above max.
        harddrop: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "linux", "Linux 6.1 with tc's parameters" => |_| {}; }
    validate |c| {
        let (min, max) = match (c.min, c.max) {
            (0, 0) => return Ok(()),
            // tc derives max from the limit; both are known here only if max is given.
            (_, 0) => return Err(format!("min ({}) needs max too; write e.g. min 20 max 80", c.min).into()),
            (0, max) => (max / 3, max),
            given => given,
        };
        if min >= max {
            return Err(format!("min ({min}) must be below max ({max}); write e.g. min 20 max 80").into());
        }
        let burst = burst(c, min, max);
        if weight(c, min, burst).is_none() {
            return Err(format!("no averaging weight lets a burst of {burst} packets pass below min ({min}); tc refuses it too; write e.g. min 20 max 80 burst 50").into());
        }
        check(c, (min, max), burst)
    }
}

/// State of a CHOKe-managed queue.
#[derive(Clone, Debug)]
pub struct Choke {
    config: Config,
    params: Params,
    idle: IdleTable,
    vars: Vars,
    slots: Slots,
    /// Arrivals dropped together with a queued packet of their flow.
    matched: u64,
}

impl Choke {
    /// State of an idle queue; attaching derives its thresholds from the limit.
    pub fn new(config: &Config) -> Self {
        let (params, idle) = params(config, USUAL_LIMIT, UNATTACHED);
        Self { params, idle, vars: Vars::new(), slots: Slots::default(), matched: 0, config: config.clone() }
    }

    /// Drops the drawn packet if it belongs to the arrival's flow.
    fn drop_match(&mut self, meta: &Meta, queue: &mut dyn Fifo, rng: &mut Rng) -> bool {
        let Some(slot) = self.slots.draw(rng) else { return false };
        let i = self.slots.index(slot);
        if queue.meta(i).is_none_or(|drawn| drawn.flow != meta.flow) {
            return false;
        }
        self.matched += 1;
        self.slots.remove(slot);
        queue.drop(i, DropReason::Early);
        true
    }

    fn verdict(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if self.vars.qavg <= self.params.qth_min {
            self.vars.qcount = -1;
            return Verdict::Accept;
        }
        if self.drop_match(meta, queue, cx.rng) {
            return Verdict::Drop;
        }
        let mark = if self.vars.qavg > self.params.qth_max {
            self.vars.qcount = -1;
            self.config.ecn && !self.config.harddrop
        } else if self.vars.draw(&self.params, cx.rng) == Action::ProbMark {
            self.config.ecn
        } else {
            return Verdict::Accept;
        };
        if mark { Verdict::Mark } else { Verdict::Drop }
    }
}

impl Aqm for Choke {
    fn attach(&mut self, limits: &Limits, link: Link) {
        (self.params, self.idle) = params(&self.config, limit(limits, link), link);
        // One hole per queued packet; bounds the allocation.
        self.slots.holes.reserve(limits.packets.map_or(MAX_PREALLOCATED, |most| MAX_PREALLOCATED.min(most as usize)));
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.slots.keep(queue.len());
        self.vars.average(&self.params, &self.idle, cx.backlog.packets as u64, cx.now);
        let verdict = self.verdict(cx, meta, queue);
        if verdict == Verdict::Accept || verdict == Verdict::Mark && meta.ecn.is_ect() {
            self.slots.push();
        }
        verdict
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        self.slots.keep(queue.len());
        let popped = queue.pop();
        match popped {
            Some(_) => self.slots.remove(self.slots.head),
            None => self.vars.fall_idle(cx.now),
        }
        popped
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("avg", self.vars.qavg as f64 / (1u64 << self.params.wlog) as f64);
        see("count", self.vars.qcount as f64);
        see("matched", self.matched as f64);
    }
}

impl Lifecycle for Choke {
    /// As many holes as packets; the next one squeezes them out.
    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        let most = packets.max(MAX_PREALLOCATED);
        self.slots.most_holes = Some(most);
        memory.deque(&mut self.slots.holes, most)
    }

    /// Linux checks the limit last.
    fn judges_overflow(&mut self) -> bool {
        true
    }
}

/// Linux's packet array as slots: occupied, or holes. Slots are numbered from the first packet.
#[derive(Clone, Debug, Default)]
struct Slots {
    head: u64,
    tail: u64,
    /// Holes between head and tail, in order.
    holes: VecDeque<u64>,
    /// Room for holes; `None` if it grows. Differs: Linux's array has the limit's next power of two of slots, and wraps.
    most_holes: Option<usize>,
}

impl Slots {
    fn push(&mut self) {
        self.tail += 1;
    }

    /// Aligns with the `packets` in the queue: frees the slot of an accepted packet that did not fit, and adds slots
    /// for packets that a flow discipline queued in spite of the verdict or moved here.
    fn keep(&mut self, packets: usize) {
        while (self.tail - self.head) as usize - self.holes.len() > packets {
            self.tail -= 1;
        }
        while (self.tail - self.head) as usize - self.holes.len() < packets {
            self.push();
        }
    }

    /// A slot with a packet, drawn as Linux does; `None` if the queue is empty.
    fn draw(&self, rng: &mut Rng) -> Option<u64> {
        let len = self.tail - self.head;
        if len == 0 {
            return None;
        }
        let drawn = (0..3).map(|_| self.head + ((random32(rng) as u64 * len) >> 32));
        let found = drawn.into_iter().find(|slot| self.holes.binary_search(slot).is_err());
        Some(found.unwrap_or(self.head))
    }

    /// Queue index of the packet in a slot.
    fn index(&self, slot: u64) -> usize {
        (slot - self.head) as usize - self.holes.partition_point(|&hole| hole < slot)
    }

    /// Empties a slot. Holes at the head vanish; one at the tail stays, as in Linux.
    fn remove(&mut self, mut slot: u64) {
        if slot != self.head {
            if self.most_holes == Some(self.holes.len()) {
                slot = self.squeeze(slot);
            }
            let at = self.holes.partition_point(|&hole| hole < slot);
            self.holes.insert(at, slot);
            return;
        }
        self.head += 1;
        while self.holes.front() == Some(&self.head) {
            self.holes.pop_front();
            self.head += 1;
        }
    }
}

impl Slots {
    /// Renumbers the slots without holes. Returns the new number of slot `slot`.
    #[cold]
    fn squeeze(&mut self, slot: u64) -> u64 {
        let at = self.head + self.index(slot) as u64;
        self.tail -= self.holes.len() as u64;
        self.holes.clear();
        at
    }
}

impl Config {
    /// Rejects a burst that does not fit the thresholds derived from a queue's limit.
    pub(crate) fn check_link(&self, limits: &Limits, link: Link) -> Result<(), ConfigError> {
        if self.burst == 0 || self.max > 0 {
            return Ok(());
        }
        check(self, thresholds(self, limit(limits, link)), self.burst)
    }
}

fn thresholds(config: &Config, limit: u64) -> (u64, u64) {
    let max = if config.max > 0 { config.max } else { (limit / 4).max(1) };
    (if config.min > 0 { config.min } else { max / 3 }, max)
}

fn params(config: &Config, limit: u64, link: Link) -> (Params, IdleTable) {
    let (min, max) = thresholds(config, limit);
    // tc rejects thresholds without a weight; those from a limit cannot be rejected here, so they follow the queue.
    let wlog = weight(config, min, burst(config, min, max)).unwrap_or(1);
    let bandwidth = if config.bandwidth.as_bps() > 0 { config.bandwidth } else { link.rate };
    let Bytes(avpkt) = config.avpkt;
    (Params::in_units(avpkt, min, max, wlog, config.probability), IdleTable::new(wlog, avpkt, bandwidth))
}

fn burst(config: &Config, min: u64, max: u64) -> u64 {
    if config.burst > 0 { config.burst } else { (2 * min + max) / 3 }
}

/// Rejects a burst that the kernel rejects.
fn check(config: &Config, (min, max): (u64, u64), burst: u64) -> Result<(), ConfigError> {
    // tc computes the weight in bytes; the kernel checks the thresholds in packets.
    let avpkt = config.avpkt.0;
    check_burst((min * avpkt, max), burst, avpkt, " packets")
}

fn weight(config: &Config, min: u64, burst: u64) -> Option<u32> {
    wlog(min * config.avpkt.0, burst, config.avpkt.0)
}

/// The queue's limit in packets; tc requires one, and 1000 is usual.
fn limit(limits: &Limits, link: Link) -> u64 {
    let in_time = limits.time.map(|time: Duration| link.rate.bytes_in(time));
    let bytes = [limits.bytes, in_time].into_iter().flatten().map(|bytes| bytes / link.mtu as u64);
    bytes.chain(limits.packets.map(u64::from)).min().unwrap_or(USUAL_LIMIT)
}

const USUAL_LIMIT: u64 = 1000;
const MAX_PREALLOCATED: usize = 1024;
/// Link before the queue is attached.
const UNATTACHED: Link = Link::new(Rate::from_bps(10_000_000), 1500);

#[cfg(test)]
mod tests;
