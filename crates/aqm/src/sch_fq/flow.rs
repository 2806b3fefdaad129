//! Flows with their queues, the round-robin lists, and the heap of throttled flows.

use crate::flow::packet_list::{PacketList, Slab};
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::{Index, IndexMut};

/// Flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Packets, sorted by departure time.
    pub queue: PacketList,
    pub credit: i64,
    band: usize,
    /// Next flow in its list.
    next: u32,
    state: State,
    /// Earliest time of its next packet by pacing.
    pub time_next_packet: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In no list, since this time.
    Detached(Instant),
    /// In a list.
    Scheduled,
    /// Waiting for its departure time.
    Throttled,
}

/// Credit refill after an idle time.
pub(super) struct Refill {
    /// Minimum idle time in jiffies.
    pub delay: u64,
    /// Credit in bytes.
    pub quantum: i64,
}

/// Packet with its departure time.
#[derive(Debug)]
pub(super) struct TimedPacket<P> {
    pub packet: P,
    pub time_to_send: Instant,
    /// Whether the sender set the time.
    pub has_time: bool,
    pub band: usize,
}

/// Identifies a list of flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowListId {
    band: usize,
    /// New flows; otherwise old flows.
    pub is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// All flows; the first one, [`INTERNAL`], precedes all others.
pub(super) struct Flows<P> {
    flows: Vec<Flow>,
    by_key: BTreeMap<u32, u32>,
    packets: Slab<TimedPacket<P>>,
    new: [List; BANDS],
    old: [List; BANDS],
    /// Throttled flows by time, ties in order of arrival.
    delayed: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    delays: u64,
    inactive: usize,
    /// Packets per band, without those of [`INTERNAL`].
    waiting: [u64; BANDS],
}

impl<P> Index<usize> for Flows<P> {
    type Output = Flow;
    fn index(&self, f: usize) -> &Flow {
        &self.flows[f]
    }
}

impl<P> IndexMut<usize> for Flows<P> {
    fn index_mut(&mut self, f: usize) -> &mut Flow {
        &mut self.flows[f]
    }
}

impl<P> Flows<P> {
    pub fn new(packets: usize) -> Self {
        let (new, old) = ([EMPTY; BANDS], [EMPTY; BANDS]);
        Self {
            flows: vec![Flow::new(0)],
            by_key: BTreeMap::new(),
            packets: Slab::with_capacity(packets),
            new,
            old,
            delayed: BinaryHeap::new(),
            delays: 0,
            inactive: 0,
            waiting: [0; BANDS],
        }
    }

    /// Number of flows, without [`INTERNAL`].
    pub fn len(&self) -> usize {
        self.flows.len() - 1
    }

    /// Number of flows without packets.
    pub fn inactive(&self) -> usize {
        self.inactive
    }

    pub fn throttled(&self) -> usize {
        self.delayed.len()
    }

    /// Number of flows with packets that are not throttled.
    pub fn eligible(&self) -> usize {
        self.len() - self.inactive - self.delayed.len()
    }

    /// Number of packets of a band.
    pub fn waiting(&self, band: usize) -> u64 {
        self.waiting[band]
    }

    /// Time of the first throttled flow.
    pub fn next_delayed(&self) -> Option<Instant> {
        self.delayed.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Flow of a key, created if necessary.
    pub fn find(&mut self, key: u32, now: Instant, initial_quantum: i64) -> usize {
        if let Some(&f) = self.by_key.get(&key) {
            return f as usize;
        }
        let f = self.flows.len();
        self.flows.push(Flow { state: State::Detached(now), ..Flow::new(initial_quantum) });
        self.by_key.insert(key, f as u32);
        self.inactive += 1;
        f
    }

    /// Activates flow `f` for a packet of `band`: a detached flow joins the list of new flows. As in the kernel, the
    /// jiffy since which it is idle has its lowest bit set.
    pub fn activate(&mut self, f: usize, band: usize, now: Instant, refill: Refill) {
        let flow = &mut self.flows[f];
        if let State::Detached(since) = flow.state {
            flow.state = State::Scheduled;
            if jiffies(now) > (jiffies(since) | 1) + refill.delay {
                flow.credit = flow.credit.max(refill.quantum);
            }
            // The list is that of the flow's previous band; the packet's band applies from the next list on, as in
            // Linux.
            let id = FlowListId { band: flow.band, is_new: true };
            self.push(id, f);
        }
        self.flows[f].band = band;
        self.inactive -= usize::from(self.flows[f].queue.is_empty());
    }

    /// Queues a packet by its departure time (`flow_queue_add`).
    pub fn queue(&mut self, f: usize, meta: Meta, timed: TimedPacket<P>) {
        let TimedPacket { band, time_to_send, .. } = timed;
        if f != INTERNAL {
            self.waiting[band] += 1;
        }
        let line = &mut self.flows[f].queue;
        let mut behind = line.tail();
        while let Some(at) = behind.filter(|&at| self.packets.packet(at).time_to_send > time_to_send) {
            behind = self.packets.previous_of(line, at);
        }
        self.packets.insert(line, behind, meta, timed);
    }

    /// Departure time of the first packet of a flow.
    pub fn time_to_send(&self, f: usize) -> Option<Instant> {
        self.flows[f].queue.head().map(|head| self.packets.packet(head).time_to_send)
    }

    /// Removes the first packet of a flow, which must have one.
    pub fn pop(&mut self, f: usize) -> (Meta, TimedPacket<P>) {
        let line = &mut self.flows[f].queue;
        let head = line.head().expect("a packet was seen");
        let (meta, timed) = self.packets.pop(line, head);
        if f != INTERNAL {
            self.inactive += usize::from(line.is_empty());
            self.waiting[timed.band] -= 1;
        }
        (meta, timed)
    }

    /// List of a band to serve: new flows, otherwise old ones.
    pub fn first_list(&self, band: usize) -> Option<FlowListId> {
        let id = |is_new| FlowListId { band, is_new };
        [id(true), id(false)].into_iter().find(|&id| self.list(id).first != NONE)
    }

    /// First flow of a non-empty list.
    pub fn first(&self, id: FlowListId) -> usize {
        self.list(id).first as usize
    }

    /// Whether a band has old flows.
    pub fn has_old(&self, band: usize) -> bool {
        self.old[band].first != NONE
    }

    /// Moves the first flow of a list to the end of the old ones.
    pub fn move_to_old(&mut self, id: FlowListId) {
        let f = self.take(id);
        let band = self.flows[f].band;
        self.push(FlowListId { band, is_new: false }, f);
    }

    /// Detaches the first flow of a list, which has no packets.
    pub fn detach(&mut self, id: FlowListId, now: Instant) {
        let f = self.take(id);
        self.flows[f].state = State::Detached(now);
    }

    /// Throttles the first flow of a list until `at`.
    pub fn throttle(&mut self, id: FlowListId, at: Instant) {
        let f = self.take(id);
        let flow = &mut self.flows[f];
        (flow.state, flow.time_next_packet) = (State::Throttled, Some(at));
        self.delays += 1;
        self.delayed.push(Reverse((at, self.delays, f as u32)));
    }

    /// Puts throttled flows whose time has come back into the lists (`fq_check_throttled`).
    pub fn release(&mut self, now: Instant) {
        while let Some(Reverse((at, _, f))) = self.delayed.peek().copied() {
            if at > now {
                return;
            }
            self.delayed.pop();
            let flow = &mut self.flows[f as usize];
            flow.state = State::Scheduled;
            let id = FlowListId { band: flow.band, is_new: false };
            self.push(id, f as usize);
        }
    }

    fn list(&self, id: FlowListId) -> &List {
        if id.is_new { &self.new[id.band] } else { &self.old[id.band] }
    }

    fn list_mut(&mut self, id: FlowListId) -> &mut List {
        if id.is_new { &mut self.new[id.band] } else { &mut self.old[id.band] }
    }

    fn push(&mut self, id: FlowListId, f: usize) {
        self.flows[f].next = NONE;
        let list = self.list_mut(id);
        let last = core::mem::replace(&mut list.last, f as u32);
        if list.first == NONE {
            list.first = f as u32;
        } else {
            self.flows[last as usize].next = f as u32;
        }
    }

    fn take(&mut self, id: FlowListId) -> usize {
        let f = self.list(id).first;
        let next = self.flows[f as usize].next;
        self.list_mut(id).first = next;
        f as usize
    }
}

impl Flow {
    fn new(credit: i64) -> Self {
        let state = State::Detached(Instant::ZERO);
        Self { queue: PacketList::default(), credit, band: 0, next: NONE, state, time_next_packet: None }
    }
}

/// Clock of the kernel in whole jiffies.
fn jiffies(now: Instant) -> u64 {
    now.as_nanos() / JIFFY
}

/// Span in whole jiffies, rounded up (`usecs_to_jiffies`).
pub(super) fn in_jiffies(span: Duration) -> u64 {
    (span.as_nanos() as u64).div_ceil(JIFFY)
}

/// Flow that precedes all others.
pub(super) const INTERNAL: usize = 0;
/// `FQ_BANDS`.
pub(super) const BANDS: usize = 3;
/// Bytes per flow.
pub(super) const FLOW_BYTES: usize = size_of::<Flow>();
/// Nanoseconds per jiffy, with 1000 jiffies per second.
const JIFFY: u64 = 1_000_000;
const EMPTY: List = List { first: NONE, last: NONE };
const NONE: u32 = u32::MAX;
