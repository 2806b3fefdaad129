//! Flows: where each one's packets wait, whose turn it is, and who waits for a time.

use crate::flow::packet_list::{PacketList, Slab};
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::{Index, IndexMut};

/// A flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Its packets, by the time at which they may go.
    pub queue: PacketList,
    pub credit: i64,
    band: usize,
    /// The next one in its list.
    next: u32,
    state: State,
    /// When its next packet may go by its pace.
    pub time_next_packet: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In no list; since when.
    Detached(Instant),
    /// In a list.
    Scheduled,
    /// It waits for its time.
    Throttled,
}

/// A new credit for flows that have been idle.
pub(super) struct Refill {
    /// Jiffies of idleness.
    pub delay: u64,
    /// The credit in bytes.
    pub quantum: i64,
}

/// A packet with its time.
#[derive(Debug)]
pub(super) struct TimedPacket<P> {
    pub packet: P,
    pub time_to_send: Instant,
    /// Whether its sender gave it that.
    pub has_time: bool,
    pub band: usize,
}

/// A list of flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowListId {
    band: usize,
    /// Of new flows; else of old ones.
    pub is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// All flows; the first one, [`INTERNAL`], goes before all others.
pub(super) struct Flows<P> {
    flows: Vec<Flow>,
    by_key: BTreeMap<u32, u32>,
    packets: Slab<TimedPacket<P>>,
    new: [List; BANDS],
    old: [List; BANDS],
    /// Those that wait for a time, with the order in which they came to it.
    delayed: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    delays: u64,
    inactive: usize,
    /// Packets of each band, those of [`INTERNAL`] apart.
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

    /// Flows, without [`INTERNAL`].
    pub fn len(&self) -> usize {
        self.flows.len() - 1
    }

    /// Those without packets.
    pub fn inactive(&self) -> usize {
        self.inactive
    }

    pub fn throttled(&self) -> usize {
        self.delayed.len()
    }

    /// Flows that have packets and do not wait for a time.
    pub fn eligible(&self) -> usize {
        self.len() - self.inactive - self.delayed.len()
    }

    /// Packets of a band.
    pub fn waiting(&self, band: usize) -> u64 {
        self.waiting[band]
    }

    /// When the first of those that wait for a time may go.
    pub fn next_delayed(&self) -> Option<Instant> {
        self.delayed.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The flow of a key.
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

    /// A packet of `band` comes to flow `f`, which goes into the new flows' list unless it has its turn. The kernel keeps the one in which a flow fell idle with its lowest bit set.
    pub fn activate(&mut self, f: usize, band: usize, now: Instant, refill: Refill) {
        let flow = &mut self.flows[f];
        if let State::Detached(since) = flow.state {
            flow.state = State::Scheduled;
            if jiffies(now) > (jiffies(since) | 1) + refill.delay {
                flow.credit = flow.credit.max(refill.quantum);
            }
            // The list is that of the band that it had; the next one will be that of this packet's, as in Linux.
            let place = FlowListId { band: flow.band, is_new: true };
            self.push(place, f);
        }
        self.flows[f].band = band;
        self.inactive -= usize::from(self.flows[f].queue.is_empty());
    }

    /// Queues a packet by its time (`flow_queue_add`).
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

    /// When the first packet of a flow may go.
    pub fn time_to_send(&self, f: usize) -> Option<Instant> {
        self.flows[f].queue.head().map(|head| self.packets.packet(head).time_to_send)
    }

    /// Takes the first packet of a flow, which has one.
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

    /// The list of a band that is served: of its new flows, else of its old ones.
    pub fn first_list(&self, band: usize) -> Option<FlowListId> {
        let place = |is_new| FlowListId { band, is_new };
        [place(true), place(false)].into_iter().find(|&place| self.list(place).first != NONE)
    }

    /// The first flow of a list that is not empty.
    pub fn first(&self, place: FlowListId) -> usize {
        self.list(place).first as usize
    }

    /// Whether a band has old flows.
    pub fn has_old(&self, band: usize) -> bool {
        self.old[band].first != NONE
    }

    /// The first flow of a list goes behind the old ones.
    pub fn move_to_old(&mut self, place: FlowListId) {
        let f = self.take(place);
        let band = self.flows[f].band;
        self.push(FlowListId { band, is_new: false }, f);
    }

    /// The first flow of a list, which has no packets, leaves it.
    pub fn detach(&mut self, place: FlowListId, now: Instant) {
        let f = self.take(place);
        self.flows[f].state = State::Detached(now);
    }

    /// The first flow of a list waits until `at`.
    pub fn throttle(&mut self, place: FlowListId, at: Instant) {
        let f = self.take(place);
        let flow = &mut self.flows[f];
        (flow.state, flow.time_next_packet) = (State::Throttled, Some(at));
        self.delays += 1;
        self.delayed.push(Reverse((at, self.delays, f as u32)));
    }

    /// Those whose time has come are in turn again (`fq_check_throttled`).
    pub fn release(&mut self, now: Instant) {
        while let Some(Reverse((at, _, f))) = self.delayed.peek().copied() {
            if at > now {
                return;
            }
            self.delayed.pop();
            let flow = &mut self.flows[f as usize];
            flow.state = State::Scheduled;
            let place = FlowListId { band: flow.band, is_new: false };
            self.push(place, f as usize);
        }
    }

    fn list(&self, place: FlowListId) -> &List {
        if place.is_new { &self.new[place.band] } else { &self.old[place.band] }
    }

    fn list_mut(&mut self, place: FlowListId) -> &mut List {
        if place.is_new { &mut self.new[place.band] } else { &mut self.old[place.band] }
    }

    fn push(&mut self, place: FlowListId, f: usize) {
        self.flows[f].next = NONE;
        let list = self.list_mut(place);
        let last = core::mem::replace(&mut list.last, f as u32);
        if list.first == NONE {
            list.first = f as u32;
        } else {
            self.flows[last as usize].next = f as u32;
        }
    }

    fn take(&mut self, place: FlowListId) -> usize {
        let f = self.list(place).first;
        let next = self.flows[f as usize].next;
        self.list_mut(place).first = next;
        f as usize
    }
}

impl Flow {
    fn new(credit: i64) -> Self {
        let state = State::Detached(Instant::ZERO);
        Self { queue: PacketList::default(), credit, band: 0, next: NONE, state, time_next_packet: None }
    }
}

/// The kernel's clock of whole ticks.
fn jiffies(now: Instant) -> u64 {
    now.as_nanos() / JIFFY
}

/// A span in whole ticks, rounded up (`usecs_to_jiffies`).
pub(super) fn in_jiffies(span: Duration) -> u64 {
    (span.as_nanos() as u64).div_ceil(JIFFY)
}

/// The flow that goes before all others.
pub(super) const INTERNAL: usize = 0;
/// `FQ_BANDS`.
pub(super) const BANDS: usize = 3;
/// Bytes of a flow.
pub(super) const FLOW_BYTES: usize = size_of::<Flow>();
/// Of 1000 ticks in a second.
const JIFFY: u64 = 1_000_000;
const EMPTY: List = List { first: NONE, last: NONE };
const NONE: u32 = u32::MAX;
