//! A node: the driver ring below its queue, and rate control by receiver.

use super::rate::{AnyRateControl, RateControl, RetryChain};
use super::scheduler::StationScheduler;
use super::stats::{Attempt, AttemptOutcome};
use super::tid::{Aggregate, Tid};
use crate::packet::Handle;
use crate::radio::phy::{Bitrate, MAC_OVERHEAD, QOS_OVERHEAD};
use crate::scenario::TxRingSpec;
use sojourn_aqm::{Duration, Instant, Rate, Serializer};
use std::collections::VecDeque;

/// The access point, or a station.
#[derive(Debug)]
pub struct Node {
    ring: VecDeque<Psdu>,
    /// Dequeueing stops at `stop` entries and resumes at `wake`.
    stop: usize,
    wake: usize,
    stopped: bool,
    /// Aggregates in the ring; at most [`MAX_AGGREGATES`].
    aggregates: usize,
    /// When the driver is done with the last packet.
    free_at: Instant,
    /// Time of the driver's next call, as last reported to the caller.
    called_at: Instant,
    cpu_gap: Duration,
    shaper: Option<Serializer>,
    /// Rate controls by receiver: one at a station, one per station at the access point.
    controls: Vec<AnyRateControl>,
    /// Frames above the ring, by receiver; empty if packets enter the ring in the order of the queue.
    pub tids: Vec<Tid>,
    /// Order of the receivers, unless the order of the queue decides.
    pub scheduler: Option<Box<StationScheduler>>,
    /// Empty aggregates, for their allocations.
    spare_aggregates: Vec<Aggregate>,
}

/// The transmission of one channel access.
#[derive(Clone, Debug)]
pub enum Psdu {
    /// A single packet.
    Frame(Frame),
    /// One or more packets (A-MPDU).
    Aggregate(Aggregate),
}

/// A packet in the ring or in a TID.
#[derive(Clone, Debug)]
pub struct Frame {
    pub handle: Handle,
    /// Slot of the flow, and whether this is data of a sender in this host (TSQ).
    pub slot: u32,
    pub is_local_data: bool,
    /// Bytes of IP.
    pub bytes: u32,
    /// The sending or receiving station.
    pub station: usize,
    /// Sequence number within its TID, if it has one.
    pub number: u64,
    pub chain: RetryChain,
    pub attempts: u8,
    /// Whether the channel corrupts the frame in the current attempt.
    pub garbled: bool,
    /// Whether the receiver has the frame and only the acknowledgment is missing.
    pub received: bool,
    /// Whether the frame arrives for the first time in the current attempt.
    pub arrives: bool,
    /// Set if the current attempt completes the frame: whether it is acknowledged.
    pub completed: Option<bool>,
    pub entered: Instant,
    /// When the frame reached the head of the ring.
    pub first: Instant,
}

impl Frame {
    /// A new frame.
    pub fn new(now: Instant, handle: Handle, bytes: u32, station: usize, chain: RetryChain) -> Self {
        let (slot, is_local_data, number, attempts) = (0, false, 0, 0);
        let (garbled, received, arrives, completed) = (false, false, false, None);
        let (entered, first) = (now, now);
        Self {
            handle,
            slot,
            is_local_data,
            bytes,
            station,
            number,
            chain,
            attempts,
            garbled,
            received,
            arrives,
            completed,
            entered,
            first,
        }
    }

    /// The frame reaches the head of the ring; frames that are sent again keep their first time.
    #[inline(always)]
    fn on_head(&mut self, now: Instant) {
        if self.attempts == 0 {
            self.first = now;
        }
    }

    /// Whether the frame was acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.completed == Some(true)
    }

    /// Updates the frame after an attempt: `decoded` is whether the receiver detected the transmission, `acked` whether
    /// the sender received the response.
    #[inline]
    pub fn on_attempt(&mut self, decoded: bool, acked: bool) {
        self.attempts += 1;
        let decoded = decoded && !self.garbled;
        self.arrives = decoded && !self.received;
        self.received |= self.arrives;
        let acknowledged = decoded && acked;
        let is_over = acknowledged || self.chain.rate(self.attempts).is_none();
        self.completed = is_over.then_some(acknowledged);
    }
}

impl Psdu {
    /// The frames.
    pub fn frames(&self) -> &[Frame] {
        match self {
            Self::Frame(frame) => std::slice::from_ref(frame),
            Self::Aggregate(aggregate) => &aggregate.frames,
        }
    }

    /// The frames.
    pub fn frames_mut(&mut self) -> &mut [Frame] {
        match self {
            Self::Frame(frame) => std::slice::from_mut(frame),
            Self::Aggregate(aggregate) => &mut aggregate.frames,
        }
    }

    /// Whether this is an aggregate.
    pub fn is_aggregate(&self) -> bool {
        matches!(self, Self::Aggregate(_))
    }

    /// The sending or receiving station.
    pub fn station(&self) -> usize {
        self.first().station
    }

    /// Rate of the next attempt.
    pub fn rate(&self) -> Bitrate {
        let frame = self.first();
        frame.chain.rate(frame.attempts).expect("a frame without attempts left has been dropped")
    }

    /// Airtime at a rate.
    #[inline(always)]
    pub fn airtime(&self, rate: Bitrate) -> Duration {
        match self {
            Self::Frame(frame) => rate.airtime(frame.bytes + MAC_OVERHEAD),
            Self::Aggregate(aggregate) => rate.airtime(aggregate.bytes),
        }
    }

    /// Airtime of the response to a transmission at `rate`.
    pub fn response_airtime(&self, rate: Bitrate) -> Duration {
        if self.is_aggregate() { rate.block_ack() } else { rate.ack() }
    }

    /// MAC bytes added to each packet.
    pub fn overhead(&self) -> u32 {
        if self.is_aggregate() { QOS_OVERHEAD } else { MAC_OVERHEAD }
    }

    /// Updates and counts the frames after an attempt. Returns whether any arrives, and whether the sender completes
    /// any.
    #[inline(always)]
    pub fn on_attempt(&mut self, attempt: &mut Attempt) -> (bool, bool) {
        let decoded = matches!(attempt.ending, AttemptOutcome::Acknowledged | AttemptOutcome::AckLost);
        let acked = attempt.ending == AttemptOutcome::Acknowledged;
        match self {
            Self::Frame(frame) => {
                frame.on_attempt(decoded, acked);
                attempt.count(frame);
                (frame.arrives, frame.completed.is_some())
            }
            Self::Aggregate(aggregate) => {
                attempt.is_aggregate = true;
                let (mut arrives, mut is_over) = (false, acked);
                for frame in &mut aggregate.frames {
                    frame.on_attempt(decoded, acked);
                    attempt.count(frame);
                    arrives |= frame.arrives;
                    is_over |= frame.completed.is_some();
                }
                (arrives, is_over)
            }
        }
    }

    fn first(&self) -> &Frame {
        &self.frames()[0]
    }

    /// The entry reaches the head of the ring.
    fn on_head(&mut self, now: Instant) {
        match self {
            Self::Frame(frame) => frame.on_head(now),
            Self::Aggregate(aggregate) => aggregate.frames.iter_mut().for_each(|frame| frame.on_head(now)),
        }
    }
}

impl Node {
    /// A node with an empty ring, and one rate control per receiver.
    pub fn new(ring: TxRingSpec, cpu_gap: Duration, htb_rate: Option<Rate>, controls: Vec<AnyRateControl>) -> Self {
        Self {
            ring: VecDeque::new(),
            stop: ring.stop as usize,
            wake: ring.wake as usize,
            stopped: false,
            aggregates: 0,
            free_at: Instant::ZERO,
            called_at: Instant::NEVER,
            cpu_gap,
            shaper: htb_rate.map(Serializer::new),
            controls,
            tids: Vec::new(),
            scheduler: None,
            spare_aggregates: Vec::new(),
        }
    }

    /// Sorts packets by receiver, in the order of a scheduler.
    pub fn set_station_queues(&mut self, tids: Vec<Tid>, scheduler: StationScheduler) {
        (self.tids, self.scheduler) = (tids, Some(Box::new(scheduler)));
    }

    /// Chooses the rates of a frame for `station`.
    pub fn choose(&mut self, now: Instant, station: usize) -> RetryChain {
        self.control(station).choose(now)
    }

    /// The driver has taken a packet of `accounted` bytes.
    pub fn on_packet_taken(&mut self, now: Instant, accounted: u32) {
        let shaped = self.shaper.as_mut().map_or(Duration::ZERO, |shaper| shaper.time_for(accounted));
        self.free_at = now.max(self.free_at) + self.cpu_gap.max(shaped);
    }

    /// Appends to the ring.
    #[inline]
    pub fn push(&mut self, now: Instant, mut psdu: Psdu) {
        if self.ring.is_empty() {
            psdu.on_head(now);
        }
        self.aggregates += usize::from(psdu.is_aggregate());
        self.ring.push_back(psdu);
        self.stopped = self.ring.len() >= self.stop;
    }

    /// Removes the head of the ring. Inlined because callers use only a part of it.
    #[inline(always)]
    pub fn pop(&mut self, now: Instant) -> Psdu {
        let psdu = self.ring.pop_front().expect("a transmitting station has a frame");
        self.aggregates -= usize::from(psdu.is_aggregate());
        if self.ring.len() <= self.wake {
            self.stopped = false;
        }
        if let Some(next) = self.ring.front_mut() {
            next.on_head(now);
        }
        psdu
    }

    /// Reports a completed frame to rate control.
    #[inline(always)]
    pub fn report(&mut self, now: Instant, frame: &Frame) {
        // A copy, so that the frame need not be in memory for a reference.
        let chain = frame.chain;
        self.control(frame.station).report(now, &chain, frame.attempts, frame.is_acknowledged());
    }

    /// Returns an empty aggregate.
    pub fn begin_aggregate(&mut self) -> Aggregate {
        self.spare_aggregates.pop().unwrap_or_default()
    }

    /// Recycles the allocation of a completed aggregate.
    pub fn end_aggregate(&mut self, mut aggregate: Aggregate) {
        aggregate.frames.clear();
        self.spare_aggregates.push(Aggregate { bytes: 0, ..aggregate });
    }

    /// The next transmission.
    pub fn head(&mut self) -> &mut Psdu {
        self.ring.front_mut().expect("a transmitting station has a frame")
    }

    /// Whether the ring is empty.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Time of the driver's next dequeue; `None` until an entry of the ring is completed.
    pub fn next_pull(&self) -> Option<Instant> {
        (!self.stopped && self.aggregates < MAX_AGGREGATES).then_some(self.free_at)
    }

    /// Sets the time of the driver's next call. Returns whether it has changed.
    #[inline(always)]
    pub fn reschedule_call(&mut self, at: Instant) -> bool {
        std::mem::replace(&mut self.called_at, at) != at
    }

    /// Index of a station among the receivers.
    pub fn receiver(&self, station: usize) -> usize {
        station.min(self.controls.len() - 1)
    }

    fn control(&mut self, station: usize) -> &mut AnyRateControl {
        let receiver = self.receiver(station);
        &mut self.controls[receiver]
    }
}

/// One aggregate on the air and the next one ready: ath9k's `ATH_AGGR_MIN_QDEPTH`, per hardware queue. With two per
/// station all rings would be full, and the driver instead of the queue would choose the next station.
const MAX_AGGREGATES: usize = 2;

#[cfg(test)]
pub(super) mod tests {
    use super::super::rate::FixedRate;
    use super::*;
    use crate::scenario::RingUnit;

    /// A packet of `bytes` bytes at 6 Mbit/s.
    pub fn frame(bytes: u32) -> Frame {
        let chain = AnyRateControl::Fixed(FixedRate(Bitrate::SIX)).choose(Instant::ZERO);
        Frame::new(Instant::ZERO, 0, bytes, 0, chain)
    }

    fn node(htb_rate: Option<Rate>) -> Node {
        let ring = TxRingSpec { unit: RingUnit::Packets, stop: 50, wake: 24, bql: None };
        let control = AnyRateControl::Fixed(FixedRate(Bitrate::SIX));
        Node::new(ring, Duration::from_micros(12), htb_rate, vec![control])
    }

    fn push(node: &mut Node, at: Instant) {
        let chain = node.choose(at, 0);
        node.on_packet_taken(at, 1514);
        node.push(at, Psdu::Frame(Frame::new(at, 0, 1500, 0, chain)));
    }

    #[test]
    fn a_full_ring_asks_again_when_fewer_than_25_are_left() {
        let mut node = node(None);
        let mut at = Instant::ZERO;
        while let Some(asks) = node.next_pull() {
            at = asks;
            push(&mut node, at);
        }
        assert_eq!((node.ring.len(), at.as_nanos()), (50, 49 * 12_000), "12 us apart");
        let mut sent = 0;
        while node.next_pull().is_none() {
            node.pop(at);
            sent += 1;
        }
        assert_eq!((sent, node.ring.len()), (26, 24));
    }

    #[test]
    fn a_ring_has_two_aggregates_whatever_else_it_could_hold() {
        let (mut node, now) = (node(None), Instant::ZERO);
        push(&mut node, now);
        (0..2).for_each(|_| node.push(now, Psdu::Aggregate(Aggregate { frames: vec![frame(1500)], bytes: 1544 })));
        assert_eq!(node.next_pull(), None);
        assert!(!node.pop(now).is_aggregate() && node.next_pull().is_none());
        assert!(node.pop(now).is_aggregate() && node.next_pull().is_some());
    }

    #[test]
    fn a_shaper_asks_at_its_rate() {
        let mut node = node(Some(Rate::from_bps(12_112_000)));
        push(&mut node, Instant::ZERO);
        assert_eq!(node.next_pull(), Some(Instant::from_nanos(1_000_000)), "1514 bytes in a millisecond");
    }

    #[test]
    fn the_next_frame_comes_to_the_head_when_the_one_before_it_is_through() {
        let mut node = node(None);
        (0..2).for_each(|i| push(&mut node, Instant::from_nanos(i)));
        node.pop(Instant::from_nanos(700));
        let [head] = node.head().frames() else { unreachable!("it is no aggregate") };
        assert_eq!((head.entered.as_nanos(), head.first.as_nanos()), (1, 700));
    }

    #[test]
    fn what_an_attempt_means_for_a_frame() {
        let attempt = |frame: &mut Frame, garbled, decoded, acked| {
            frame.garbled = garbled;
            frame.on_attempt(decoded, acked);
            (frame.arrives, frame.completed)
        };
        let mut it = frame(1500);
        assert_eq!(attempt(&mut it, false, false, false), (false, None), "collided");
        assert_eq!(attempt(&mut it, true, true, true), (false, None), "others of its aggregate have arrived");
        assert_eq!(attempt(&mut it, false, true, false), (true, None), "the answer was lost");
        assert_eq!(attempt(&mut it, false, true, true), (false, Some(true)), "the receiver has had it");
        let mut it = frame(1500);
        let ends: Vec<_> = (0..7).map(|_| attempt(&mut it, true, true, true).1).collect();
        assert_eq!(ends, [None, None, None, None, None, None, Some(false)]);
    }
}
