//! Helpers shared by the tests of CoDel's versions.

use super::Codel;
use super::Config;
use crate::aqm::{Aqm, DropReason, Fifo, PoppedPacket};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, Qdisc};
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::testing::{LINK, cx, queue_under};
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

pub fn ms(millis: f64) -> Instant {
    Instant::from_nanos(libm::round(millis * 1e6) as u64)
}

pub fn state<A: Aqm>(aqm: &A, name: &str) -> f64 {
    let mut value = f64::NAN;
    aqm.observe(&mut |n, x| {
        if n == name {
            value = x
        }
    });
    value
}

/// Saturated link: all packets arrived at time 0, and one is sent each millisecond.
pub struct SaturatedLink {
    pub queue: SingleQueue<Codel, u32>,
    ecn: Ecn,
}

impl SaturatedLink {
    pub fn new(config: &Config, ecn: Ecn) -> Self {
        let mut queue = queue_under(Codel::new(config), Limits::default(), LINK);
        for id in 0..3000 {
            queue.enqueue(Instant::ZERO, Meta::new(1500, 0).with_ecn(ecn), id, &mut |_, _, _| {});
        }
        Self { queue, ecn }
    }

    /// Dequeues once. Returns the number of drops, and whether the delivered packet was marked.
    pub fn dequeue(&mut self, now: Instant) -> (usize, bool) {
        let mut drops = 0;
        let out = self.queue.dequeue(now, &mut |_, _, _| drops += 1);
        let DequeueResult::Packet(meta, _) = out else { panic!("the queue is long") };
        (drops, meta.ecn != self.ecn)
    }

    /// Times in milliseconds, up to `until`, of drops and marks.
    pub fn signals(&mut self, until: u64) -> Vec<u64> {
        let mut times = vec![];
        for t in 0..=until {
            let (drops, marked) = self.dequeue(ms(t as f64));
            times.extend(core::iter::repeat_n(t, drops + usize::from(marked)));
        }
        times
    }
}

/// Hand-made queue at one instant, with the bytes of other flows beside it.
#[derive(Default)]
pub struct MockFifo {
    pub packets: VecDeque<Meta>,
    pub others: u64,
    pub dropped: Vec<DropReason>,
}

impl MockFifo {
    pub fn of(enqueued_ms: &[f64]) -> Self {
        let packet = |&t| Meta { enqueued: ms(t), ..Meta::new(1500, 0) };
        Self { packets: enqueued_ms.iter().map(packet).collect(), ..Self::default() }
    }
}

impl Fifo for MockFifo {
    fn len(&self) -> usize {
        self.packets.len()
    }
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|p| p.len as u64).sum()
    }
    fn total_backlog(&self) -> Backlog {
        Backlog { packets: self.len() as u32, bytes: self.bytes() + self.others }
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        self.packets.get(i).copied()
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let is_ect = self.packets[i].ecn.is_ect();
        if is_ect {
            self.packets[i].ecn = Ecn::Ce
        } else {
            self.drop(i, reason)
        }
        is_ect
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        self.packets.remove(i);
        self.dropped.push(reason);
    }
    fn pop(&mut self) -> Option<PoppedPacket> {
        self.packets.pop_front().map(|meta| PoppedPacket { meta })
    }
}

/// Dequeues from `line` at `now_ms`.
pub fn dequeue<A: Aqm>(codel: &mut A, now_ms: f64, line: &mut MockFifo) -> Option<Meta> {
    let mut rng = Rng::from_state(1);
    let mut cx = cx(ms(now_ms), &mut rng, line.total_backlog(), LINK);
    codel.dequeue(&mut cx, line).map(|popped| popped.meta)
}
