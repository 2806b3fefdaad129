//! A sender: the driver's ring below its queue, and the rates it chooses for each receiver.

use super::phy::Bitrate;
use super::rate::{AnyControl, Chain, RateControl};
use crate::packet::Handle;
use crate::scenario::BelowSpec;
use sojourn_aqm::{Duration, Instant, Rate, Serializer};
use std::collections::VecDeque;

/// The access point, or a station.
#[derive(Debug)]
pub struct Node {
    ring: VecDeque<Frame>,
    /// The queue is not asked from `stop` frames on until at most `wake` are left.
    stop: usize,
    wake: usize,
    stopped: bool,
    /// The driver is busy with the last packet until then.
    free_at: Instant,
    cpu_gap: Duration,
    shaper: Option<Serializer>,
    /// By receiver: one for a station, those of all stations for the access point.
    controls: Vec<AnyControl>,
}

/// A packet in the ring.
#[derive(Clone, Debug)]
pub struct Frame {
    pub handle: Handle,
    /// The slot of its flow, and whether it is data of a sender in this host.
    pub slot: u32,
    pub counts: bool,
    /// Bytes of IP.
    pub bytes: u32,
    /// The station at either end.
    pub station: usize,
    pub chain: Chain,
    pub attempts: u8,
    /// Whether the receiver has it already, and only the acknowledgment is missing.
    pub received: bool,
    pub entered: Instant,
    /// When it came to the head of the ring.
    pub first: Instant,
}

impl Frame {
    /// The rate of its next attempt.
    pub fn rate(&self) -> Bitrate {
        self.chain.rate(self.attempts).expect("a frame without attempts left has been given up")
    }
}

impl Node {
    /// A sender with an empty ring.
    pub fn new(ring: BelowSpec, cpu_gap: Duration, htb_rate: Option<Rate>, controls: Vec<AnyControl>) -> Self {
        Self {
            ring: VecDeque::new(),
            stop: ring.stop as usize,
            wake: ring.wake as usize,
            stopped: false,
            free_at: Instant::ZERO,
            cpu_gap,
            shaper: htb_rate.map(Serializer::new),
            controls,
        }
    }

    /// Chooses the rates of a frame for `station`.
    pub fn choose(&mut self, now: Instant, station: usize) -> Chain {
        self.control(station).choose(now)
    }

    /// Takes a frame, which its queue counts as so many bytes, into the ring.
    pub fn push(&mut self, now: Instant, frame: Frame, accounted: u32) {
        self.ring.push_back(frame);
        self.stopped = self.ring.len() >= self.stop;
        let shaped = self.shaper.as_mut().map_or(Duration::ZERO, |shaper| shaper.time_for(accounted));
        self.free_at = now + self.cpu_gap.max(shaped);
    }

    /// The head of the ring is through: acknowledged or not.
    pub fn pop(&mut self, now: Instant, acknowledged: bool) -> Frame {
        let frame = self.ring.pop_front().expect("who transmits has a frame");
        if self.ring.len() <= self.wake {
            self.stopped = false;
        }
        if let Some(next) = self.ring.front_mut() {
            next.first = now;
        }
        let (chain, attempts) = (frame.chain, frame.attempts);
        self.control(frame.station).report(now, &chain, attempts, acknowledged);
        frame
    }

    /// The frame that is sent next.
    pub fn head(&mut self) -> &mut Frame {
        self.ring.front_mut().expect("who transmits has a frame")
    }

    /// Whether the ring is.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// When the driver asks the queue again; none before a frame is through.
    pub fn asks_at(&self) -> Option<Instant> {
        (!self.stopped).then_some(self.free_at)
    }

    fn control(&mut self, station: usize) -> &mut AnyControl {
        let last = self.controls.len() - 1;
        &mut self.controls[station.min(last)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Fixed;
    use super::*;
    use crate::scenario::Unit;

    fn node(htb_rate: Option<Rate>) -> Node {
        let ring = BelowSpec { unit: Unit::Packets, stop: 50, wake: 24 };
        let control = AnyControl::Fixed(Fixed(Bitrate::SIX));
        Node::new(ring, Duration::from_micros(12), htb_rate, vec![control])
    }

    fn push(node: &mut Node, at: Instant) {
        let chain = node.choose(at, 0);
        let (handle, slot, counts, bytes, station) = (0, 0, false, 1500, 0);
        let (attempts, received, entered, first) = (0, false, at, at);
        let frame = Frame { handle, slot, counts, bytes, station, chain, attempts, received, entered, first };
        node.push(at, frame, 1514);
    }

    #[test]
    fn a_full_ring_asks_again_when_fewer_than_25_are_left() {
        let mut node = node(None);
        let mut at = Instant::ZERO;
        while let Some(asks) = node.asks_at() {
            at = asks;
            push(&mut node, at);
        }
        assert_eq!((node.ring.len(), at.as_nanos()), (50, 49 * 12_000), "12 us apart");
        let mut sent = 0;
        while node.asks_at().is_none() {
            node.pop(at, true);
            sent += 1;
        }
        assert_eq!((sent, node.ring.len()), (26, 24));
    }

    #[test]
    fn a_shaper_asks_at_its_rate() {
        let mut node = node(Some(Rate::from_bps(12_112_000)));
        push(&mut node, Instant::ZERO);
        assert_eq!(node.asks_at(), Some(Instant::from_nanos(1_000_000)), "1514 bytes in a millisecond");
    }

    #[test]
    fn the_next_frame_comes_to_the_head_when_the_one_before_it_is_through() {
        let mut node = node(None);
        (0..2).for_each(|i| push(&mut node, Instant::from_nanos(i)));
        node.pop(Instant::from_nanos(700), true);
        let head = node.head();
        assert_eq!((head.entered.as_nanos(), head.first.as_nanos()), (1, 700));
    }
}
