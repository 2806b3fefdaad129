//! What a server serves from and sends into: the queue, the buffer below it, the framing, the medium.

use super::medium::Medium;
use super::tx_ring::TxRing;
use super::{Departure, LinkContext, Queue};
use crate::packet::{Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::{Framing, LinkSpec, LossSpec};
use crate::window::Window;
use sojourn_aqm::{DequeueResult, Duration, Instant, Meta, Rng};

/// All of a link but its server and its pipe.
pub(crate) struct LinkCore {
    pub queue: Queue,
    /// One-way propagation delay.
    delay: Duration,
    framing: Framing,
    /// Loss and changes of the delay, where there are any.
    medium: Option<Box<Medium>>,
    /// The buffer between the queue and the server.
    tx_ring: Option<TxRing>,
    /// Super-packets may come.
    has_super_packets: bool,
    /// The super-packet whose segments the server sends one after the other: those that are left of it.
    cut_super_packet: Option<(Meta, Handle)>,
}

/// `PLAIN` code is for links that are plain: it does not look for what they do not have.
impl LinkCore {
    /// That of link `index` in a run with `seed`; one to which super-packets may come `cuts` them.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window, cuts: bool) -> Self {
        Self {
            queue: Queue::new(spec, index, seed, window),
            delay: spec.delay,
            framing: spec.framing,
            medium: Medium::new(spec, index, seed),
            tx_ring: spec.below.map(TxRing::new),
            has_super_packets: cuts,
            cut_super_packet: None,
        }
    }

    /// From now on the medium loses packets so.
    pub fn set_loss(&mut self, loss: LossSpec, rng: Rng) {
        if let Some(medium) = &mut self.medium {
            medium.set_loss(loss, rng);
        }
    }

    /// Whether the delay is constant, nothing is below the queue, framing is an overhead at most and no super-packets come.
    pub fn is_plain(&self) -> bool {
        self.has_constant_delay() && self.tx_ring.is_none() && self.framing.is_plain() && !self.has_super_packets
    }

    /// Whether nothing is lost and the delay never changes.
    pub fn has_constant_delay(&self) -> bool {
        self.medium.is_none()
    }

    /// One-way propagation delay, where nothing is lost and it never changes.
    pub fn constant_delay(&self) -> Option<Duration> {
        self.has_constant_delay().then_some(self.delay)
    }

    /// Bytes that framing adds to each packet, where it is plain.
    #[inline(always)]
    pub fn overhead(&self) -> u32 {
        self.framing.overhead
    }

    /// Bytes of a packet as the queue counts them.
    pub fn accounted(&self, ip_bytes: u32) -> u32 {
        self.framing.accounted(ip_bytes)
    }

    /// Bytes of a packet, or of a super-packet with all of its segments, as the queue counts them, and its segments.
    pub fn accounted_whole(&self, handle: Handle, packets: &Packets) -> (u32, u16) {
        let (count, each, last) = packets.segments(handle);
        ((count - 1) * self.accounted(each) + self.accounted(last), count as u16)
    }

    /// Bytes on the medium of a packet that the queue counts as so many.
    pub fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }

    /// Bytes on the medium of a packet, or of a super-packet whose segments are as good as equal.
    pub fn wire_of(&self, meta: &Meta) -> u32 {
        let (before, each) = (u32::from(meta.segments) - 1, meta.len / u32::from(meta.segments));
        before * self.wire(each) + self.wire(meta.len - before * each)
    }

    /// Bytes that a server has to send for a packet.
    #[inline(always)]
    pub fn to_send<const PLAIN: bool>(&self, accounted: u32) -> u32 {
        if PLAIN { accounted } else { self.wire(accounted) }
    }

    /// Whether there is a buffer below the queue.
    #[inline(always)]
    pub fn is_buffered<const PLAIN: bool>(&self) -> bool {
        !PLAIN && self.tx_ring.is_some()
    }

    /// The super-packet that is being sent: what is left of it.
    pub fn cut_remainder(&self) -> Option<Handle> {
        self.cut_super_packet.map(|(_, rest)| rest)
    }

    /// Whether a packet waits for the server.
    #[inline(always)]
    pub fn waits<const PLAIN: bool>(&self) -> bool {
        self.queue.tally.waiting() > 0
            || (!PLAIN && (self.cut_super_packet.is_some() || self.tx_ring.as_ref().is_some_and(TxRing::is_waiting)))
    }

    /// The next packet for the server, which has nothing in transmission.
    #[inline(always)]
    pub fn take<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        books: &mut LinkContext<P>,
    ) -> DequeueResult<Handle> {
        if PLAIN {
            return self.queue.dequeue(now, books);
        }
        if self.cut_super_packet.is_none() {
            let taken = match &mut self.tx_ring {
                Some(below) => below.take(now, &mut self.queue, books),
                None => self.queue.dequeue(now, books),
            };
            match taken {
                DequeueResult::Packet(meta, handle) if books.packets.packet(handle).segment > 0 => {
                    self.cut_super_packet = Some((meta, handle));
                }
                other => return other,
            }
        }
        self.take_segment(books)
    }

    /// The next segment of the super-packet that is being sent.
    #[inline(never)]
    fn take_segment<P: Probe>(&mut self, books: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let (meta, rest) = self.cut_super_packet.expect("a super-packet is being sent");
        let segment = books.packets.take_segment(rest);
        if segment == rest {
            self.cut_super_packet = None;
        }
        let len = self.accounted(books.packets.packet(segment).len);
        DequeueResult::Packet(Meta { len, ..meta }.with_segments(1), segment)
    }

    /// A packet has come to the queue: hands down what the buffer takes.
    #[inline(always)]
    pub fn fill_below<const PLAIN: bool, P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) {
        if let Some(below) = self.tx_ring.as_mut().filter(|_| !PLAIN) {
            below.refill(now, &mut self.queue, books);
        }
    }

    /// The last byte of a packet has gone, and the next is taken later if at all.
    pub fn on_sent<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) {
        if let Some(below) = self.tx_ring.as_mut().filter(|_| self.cut_super_packet.is_none()) {
            below.sent(now, &mut self.queue, books);
        }
    }

    /// The last bit of a packet leaves the server at `end`; nothing leaves if it gets lost.
    #[inline(always)]
    pub fn leave<const PLAIN: bool, P: Probe>(
        &mut self,
        end: Instant,
        handle: Handle,
        packet: Packet,
        books: &mut LinkContext<P>,
    ) -> Option<Departure> {
        match &mut self.medium {
            Some(medium) if !PLAIN => match medium.arrival(end) {
                Some(at) => Some(Departure { at, handle, packet, overtakes: true }),
                None => {
                    self.queue.tally.loss(end);
                    books.packets.drop_in_link(books.link, handle);
                    None
                }
            },
            _ => Some(Departure { at: end + self.delay, handle, packet, overtakes: false }),
        }
    }
}
