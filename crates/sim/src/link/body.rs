//! What a server serves from and sends into: the queue, the buffer below it, the framing, the medium.

use super::below::Below;
use super::medium::Medium;
use super::{Books, Left, Queue};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::scenario::{Framing, LinkSpec};
use crate::window::Window;
use sojourn_aqm::{Dequeued, Duration, Instant};

/// All of a link but its server and its pipe.
pub(crate) struct Body {
    pub queue: Queue,
    /// One-way propagation delay.
    delay: Duration,
    framing: Framing,
    /// Loss and changes of the delay, where there are any.
    medium: Option<Box<Medium>>,
    /// The buffer between the queue and the server.
    below: Option<Below>,
}

/// `PLAIN` code is for links that are plain: it does not look for what they do not have.
impl Body {
    /// That of link `index` in a run with `seed`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window) -> Self {
        Self {
            queue: Queue::new(spec, index, seed, window),
            delay: spec.delay,
            framing: spec.framing,
            medium: Medium::new(spec, index, seed),
            below: spec.below.map(Below::new),
        }
    }

    /// Whether the delay is constant, nothing is below the queue and framing is an overhead at most.
    pub fn is_plain(&self) -> bool {
        self.medium.is_none() && self.below.is_none() && self.framing.is_plain()
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

    /// Bytes on the medium of a packet that the queue counts as so many.
    pub fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }

    /// Bytes that a server has to send for a packet.
    #[inline(always)]
    pub fn to_send<const PLAIN: bool>(&self, accounted: u32) -> u32 {
        if PLAIN { accounted } else { self.wire(accounted) }
    }

    /// Whether there is a buffer below the queue.
    #[inline(always)]
    pub fn is_buffered<const PLAIN: bool>(&self) -> bool {
        !PLAIN && self.below.is_some()
    }

    /// Whether a packet waits for the server.
    #[inline(always)]
    pub fn waits<const PLAIN: bool>(&self) -> bool {
        self.queue.tally.waiting() > 0 || (!PLAIN && self.below.as_ref().is_some_and(Below::waits))
    }

    /// The next packet for the server, which has nothing in transmission.
    #[inline(always)]
    pub fn take<const PLAIN: bool, P: Probe>(&mut self, now: Instant, books: &mut Books<P>) -> Dequeued<Handle> {
        match &mut self.below {
            Some(below) if !PLAIN => below.take(now, &mut self.queue, books),
            _ => self.queue.dequeue(now, books),
        }
    }

    /// A packet has come to the queue: hands down what the buffer takes.
    #[inline(always)]
    pub fn fill_below<const PLAIN: bool, P: Probe>(&mut self, now: Instant, books: &mut Books<P>) {
        if let Some(below) = self.below.as_mut().filter(|_| !PLAIN) {
            below.refill(now, &mut self.queue, books);
        }
    }

    /// The last byte of a packet has gone, and the next is taken later if at all.
    pub fn sent<P: Probe>(&mut self, now: Instant, books: &mut Books<P>) {
        if let Some(below) = &mut self.below {
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
        books: &mut Books<P>,
    ) -> Option<Left> {
        match &mut self.medium {
            Some(medium) if !PLAIN => match medium.arrival(end) {
                Some(at) => Some(Left { at, handle, packet, overtakes: true }),
                None => {
                    self.queue.tally.loss(end);
                    books.packets.remove(handle);
                    None
                }
            },
            _ => Some(Left { at: end + self.delay, handle, packet, overtakes: false }),
        }
    }
}
