//! Ways that take time but hold nobody up: access links, and packets under way.

use crate::event::{EventSet, Slot};
use crate::packet::Handle;
use crate::scenario::Paths;
use sojourn_aqm::{Duration, Instant, Rate, Serializer};
use std::collections::VecDeque;

/// How a flow's packets travel. When a connection ends, the next one in its slot inherits the access links with
/// what is still under way in them.
pub struct Route {
    /// The flow that travels here now; [`super::NOBODY`] after its end.
    pub flow: u32,
    /// The group that the flow belongs to.
    pub group: u32,
    /// The first link that its data cross, and the first that its acknowledgments cross.
    pub data_link: usize,
    pub ack_link: usize,
    /// All of them in their order; empty in a cell.
    pub paths: Paths,
    /// The hosts of its source and of its sink.
    pub hosts: (u32, u32),
    pub up: Access,
    pub down: Access,
}

impl Route {
    /// The links on one way.
    #[inline]
    pub fn path(&self, to_sink: bool) -> &[u16] {
        if to_sink { &self.paths.data } else { &self.paths.acks }
    }
}

/// One direction of an access link: an unbounded queue before a transmitter that nobody else uses, so that
/// the arrival at its end is known when a packet enters.
pub struct Access {
    serializer: Option<Serializer>,
    delay: Duration,
    free_at: Instant,
    /// What overtook, or was overtaken, on the way to the common pipe.
    pub in_flight: InFlight,
}

impl Access {
    pub fn new(rate: Option<Rate>, delay: Duration) -> Self {
        let serializer = rate.map(Serializer::new);
        Self { serializer, delay, free_at: Instant::ZERO, in_flight: InFlight::new() }
    }

    /// Whether packets pass without taking time.
    #[inline]
    pub fn is_transparent(&self) -> bool {
        self.serializer.is_none() && self.delay == Duration::ZERO
    }

    #[inline]
    pub fn arrival(&mut self, now: Instant, bytes: u32) -> Instant {
        let Some(serializer) = &mut self.serializer else { return now + self.delay };
        self.free_at = now.max(self.free_at) + serializer.time_for(bytes);
        self.free_at + self.delay
    }
}

/// Packets under way, with the times of their arrival, in order.
pub type InFlight = VecDeque<(Instant, Handle)>;

/// Whether a packet that arrives at `at` can travel in the common pipe: behind all others there, and with
/// none of its flow still in the flow's `own`.
#[inline(always)]
pub fn takes(pipe: &InFlight, own: &InFlight, at: Instant) -> bool {
    own.is_empty() && pipe.back().is_none_or(|&(last, _)| last <= at)
}

#[inline(always)]
pub fn push(events: &mut EventSet, slot: Slot, pipe: &mut InFlight, at: Instant, handle: Handle) {
    debug_assert!(pipe.back().is_none_or(|&(last, _)| last <= at), "a pipe keeps the order of time");
    if pipe.is_empty() {
        events.set(slot, at);
    }
    pipe.push_back((at, handle));
}

/// Like [`push`], for packets that overtake others.
pub fn insert(events: &mut EventSet, slot: Slot, pipe: &mut InFlight, at: Instant, handle: Handle) {
    let place = pipe.partition_point(|&(other, _)| other <= at);
    pipe.insert(place, (at, handle));
    if place == 0 {
        events.set(slot, at);
    }
}

#[inline(always)]
pub fn pop(events: &mut EventSet, slot: Slot, pipe: &mut InFlight) -> Handle {
    let (_, handle) = pipe.pop_front().expect("the event of a pipe has a packet");
    events.set(slot, pipe.front().map_or(Instant::NEVER, |&(at, _)| at));
    handle
}
