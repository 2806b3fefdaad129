//! A link without its server: the queue, the driver ring below it, the framing, the medium.

use super::medium::Medium;
use super::tx_ring::TxRing;
use super::{Departure, LinkContext, Queue};
use crate::packet::{Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::{Framing, LinkSpec, LossSpec};
use crate::window::Window;
use sojourn_aqm::{DequeueResult, Duration, Instant, Meta, Rng};

/// A link without its server and its pipe.
pub(crate) struct LinkCore {
    pub queue: Queue,
    /// One-way propagation delay.
    delay: Duration,
    framing: Framing,
    /// Loss, delay steps and the tick; `None` for a lossless medium of constant delay.
    medium: Option<Box<Medium>>,
    /// The driver ring between the queue and the server.
    tx_ring: Option<TxRing>,
    /// Whether super-packets may arrive.
    has_super_packets: bool,
    /// The super-packet in transmission: its metadata and its unsent segments.
    cut_super_packet: Option<(Meta, Handle)>,
}

/// `PLAIN` instances serve plain links and skip the checks for features that those lack.
impl LinkCore {
    /// The core of link `index` in a run with `seed`; it `cuts` super-packets if any may arrive.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window, has_super_packets: bool) -> Self {
        Self {
            queue: Queue::new(spec, index, seed, window),
            delay: spec.delay,
            framing: spec.framing,
            medium: Medium::new(spec, index, seed),
            tx_ring: spec.below.map(TxRing::new),
            has_super_packets,
            cut_super_packet: None,
        }
    }

    /// Replaces the loss model.
    pub fn set_loss(&mut self, loss: LossSpec, rng: Rng) {
        if let Some(medium) = &mut self.medium {
            medium.set_loss(loss, rng);
        }
    }

    /// Whether delay is constant, without loss, driver ring and super-packets, and framing is at most an overhead.
    pub fn is_plain(&self) -> bool {
        self.has_constant_delay() && self.tx_ring.is_none() && self.framing.is_plain() && !self.has_super_packets
    }

    /// Whether the medium has a constant delay and no loss.
    pub fn has_constant_delay(&self) -> bool {
        self.medium.is_none()
    }

    /// One-way propagation delay, if it is constant and there is no loss.
    pub fn constant_delay(&self) -> Option<Duration> {
        self.has_constant_delay().then_some(self.delay)
    }

    /// Bytes that plain framing adds to each packet; they are not negative.
    #[inline(always)]
    pub fn overhead(&self) -> u32 {
        self.framing.overhead as u32
    }

    /// Bytes that the queue accounts for a packet.
    pub fn accounted(&self, ip_bytes: u32) -> u32 {
        self.framing.accounted(ip_bytes)
    }

    /// Bytes that the queue accounts for a packet or a whole super-packet, and its number of segments.
    pub fn accounted_whole(&self, handle: Handle, packets: &Packets) -> (u32, u16) {
        let (count, each, last) = packets.segments(handle);
        ((count - 1) * self.accounted(each) + self.accounted(last), count as u16)
    }

    /// Bytes on the medium of a packet with `accounted` bytes.
    pub fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }

    /// Bytes on the medium of a packet or a super-packet, whose segments are taken to be of equal size.
    pub fn wire_of(&self, meta: &Meta) -> u32 {
        let (before, each) = (u32::from(meta.segments) - 1, meta.len / u32::from(meta.segments));
        before * self.wire(each) + self.wire(meta.len - before * each)
    }

    /// Bytes that the server transmits for a packet.
    #[inline(always)]
    pub fn to_send<const PLAIN: bool>(&self, accounted: u32) -> u32 {
        if PLAIN { accounted } else { self.wire(accounted) }
    }

    /// Whether there is a driver ring below the queue.
    #[inline(always)]
    pub fn is_buffered<const PLAIN: bool>(&self) -> bool {
        !PLAIN && self.tx_ring.is_some()
    }

    /// Unsent segments of the super-packet in transmission.
    pub fn cut_remainder(&self) -> Option<Handle> {
        self.cut_super_packet.map(|(_, remainder)| remainder)
    }

    /// Whether a packet waits for the server.
    #[inline(always)]
    pub fn waits<const PLAIN: bool>(&self) -> bool {
        self.queue.tally.waiting() > 0
            || (!PLAIN && (self.cut_super_packet.is_some() || self.tx_ring.as_ref().is_some_and(TxRing::is_waiting)))
    }

    /// Takes the next packet; the server must be idle.
    #[inline(always)]
    pub fn take<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        cx: &mut LinkContext<P>,
    ) -> DequeueResult<Handle> {
        if PLAIN {
            return self.queue.dequeue(now, cx);
        }
        if self.cut_super_packet.is_none() {
            let dequeued = match &mut self.tx_ring {
                Some(ring) => ring.take(now, &mut self.queue, cx),
                None => self.queue.dequeue(now, cx),
            };
            match dequeued {
                DequeueResult::Packet(meta, handle) if cx.packets.packet(handle).segment > 0 => {
                    self.cut_super_packet = Some((meta, handle));
                }
                other => return other,
            }
        }
        self.take_segment(cx)
    }

    /// Takes the next segment of the super-packet in transmission.
    #[inline(never)]
    fn take_segment<P: Probe>(&mut self, cx: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let (meta, remainder) = self.cut_super_packet.expect("a super-packet is being sent");
        let segment = cx.packets.take_segment(remainder);
        if segment == remainder {
            self.cut_super_packet = None;
        }
        let len = self.accounted(cx.packets.packet(segment).len);
        DequeueResult::Packet(Meta { len, ..meta }.with_segments(1), segment)
    }

    /// Refills the driver ring after an enqueue.
    #[inline(always)]
    pub fn fill_below<const PLAIN: bool, P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) {
        if let Some(ring) = self.tx_ring.as_mut().filter(|_| !PLAIN) {
            ring.refill(now, &mut self.queue, cx);
        }
    }

    /// Completes a transmission when the next packet is taken later, if at all.
    pub fn on_sent<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) {
        if let Some(ring) = self.tx_ring.as_mut().filter(|_| self.cut_super_packet.is_none()) {
            ring.sent(now, &mut self.queue, cx);
        }
    }

    /// Sends a packet whose last bit leaves the server at `end` into the medium; `None` if it is lost.
    #[inline(always)]
    pub fn leave<const PLAIN: bool, P: Probe>(
        &mut self,
        end: Instant,
        handle: Handle,
        packet: Packet,
        cx: &mut LinkContext<P>,
    ) -> Option<Departure> {
        match &mut self.medium {
            Some(medium) if !PLAIN => match medium.arrival(end) {
                Some(at) => Some(Departure { at, handle, packet, overtakes: true }),
                None => {
                    self.queue.tally.loss(end);
                    cx.packets.drop_in_link(cx.link, handle);
                    None
                }
            },
            _ => Some(Departure { at: end + self.delay, handle, packet, overtakes: false }),
        }
    }
}
