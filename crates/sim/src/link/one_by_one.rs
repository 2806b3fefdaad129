//! Servers that send one packet after the other, whatever their pace.

use super::{Link, Server};
use crate::fingerprint::Fate;
use crate::network::{Component, NONE, Network};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::summary::Tally;
use sojourn_aqm::{Dequeued, Instant, Meta, Rate, Serializer};

/// How long a transmission takes.
pub(crate) trait Pace: Sized {
    /// Starts the transmission of `bytes` at `start`, which is never before [`Sent::free`] of the last one.
    fn send(&mut self, start: Instant, bytes: u32) -> Sent;

    /// What a server that is never idle does in a span: nanoseconds where nothing else is said, or bits.
    #[inline]
    fn capacity(&self, from: Instant, to: Instant) -> u64 {
        (to - from).as_nanos() as u64
    }

    /// The server of this pace.
    fn of(server: &mut Server) -> Option<&mut OneByOne<Self>>;
}

/// A transmission that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its last bit leaves.
    pub end: Instant,
    /// When the next packet can be taken; not before `end`.
    pub free: Instant,
}

/// A transmitter with its pace.
#[derive(Debug)]
pub(crate) struct OneByOne<T> {
    pub pace: T,
    /// When the next packet can be taken.
    pub busy_until: Instant,
    /// The queue has not been asked since: a transmitter asks when it falls idle, and learns that there is nothing.
    owes_poll: bool,
    /// Whether an event is pending for when it falls idle.
    pending: bool,
}

impl<T: Pace> OneByOne<T> {
    pub fn new(pace: T) -> Self {
        Self { pace, busy_until: Instant::ZERO, owes_poll: false, pending: false }
    }

    /// Starts a transmission of `bytes` at `now`.
    #[inline]
    fn start(&mut self, now: Instant, bytes: u32) -> Sent {
        let sent = self.pace.send(now, bytes);
        self.busy_until = sent.free;
        sent
    }
}

impl<T: Pace> OneByOne<T> {
    /// Books a transmission of `bytes` from `now` on, after those before it.
    pub fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally) {
        let start = now.max(self.busy_until);
        let free = self.start(start, bytes).free;
        tally.transmission(start, free, |from, to| self.pace.capacity(from, to));
    }
}

/// A constant rate.
impl Pace for Serializer {
    #[inline]
    fn send(&mut self, start: Instant, bytes: u32) -> Sent {
        let end = start + self.time_for(bytes);
        Sent { end, free: end }
    }

    #[inline]
    fn of(server: &mut Server) -> Option<&mut OneByOne<Self>> {
        match server {
            Server::Fixed(server) => Some(server),
            _ => None,
        }
    }
}

impl Server {
    /// A constant rate.
    pub fn fixed(rate: Rate) -> Self {
        Self::Fixed(OneByOne::new(Serializer::new(rate)))
    }
}

impl Link {
    #[inline(always)]
    fn one_by_one<T: Pace>(&mut self) -> &mut OneByOne<T> {
        T::of(&mut self.server).expect("a link keeps its kind")
    }

    /// Books a transmission.
    #[inline]
    fn book_transmission<T: Pace>(&mut self, start: Instant, end: Instant) {
        let server = T::of(&mut self.server).expect("a link keeps its kind");
        self.tally.transmission(start, end, |from, to| server.pace.capacity(from, to));
    }
}

/// `PLAIN` code is for links that are [`Link::plain`]: it does not look for what they do not have.
impl<P: Probe> Network<P> {
    /// The transmitter is free: starts the next transmission.
    #[inline(always)]
    pub fn serve_next<T: Pace, const PLAIN: bool>(&mut self, now: Instant, l: usize) {
        let next = if PLAIN { self.dequeue(now, l) } else { self.take(now, l) };
        let link = &mut self.links[l];
        let slot = self.layout.slot(Component::Server(l));
        let (meta, handle) = match next {
            Dequeued::Packet(meta, handle) => (meta, handle),
            Dequeued::Empty => {
                let server = link.one_by_one::<T>();
                (server.pending, server.owes_poll) = (false, false);
                self.events.set(slot, Instant::NEVER);
                return;
            }
            Dequeued::NotBefore(at) => {
                link.one_by_one::<T>().pending = true;
                self.events.set(slot, at);
                return;
            }
        };
        let bytes = if PLAIN { meta.len } else { link.wire(meta.len) };
        let Sent { end, free } = link.one_by_one::<T>().start(now, bytes);
        let waiting = if PLAIN { link.tally.waiting() > 0 } else { link.waits() };
        // A buffer below has asked the queue until it was full or the queue empty.
        let polled = !PLAIN && link.below.is_some();
        let server = link.one_by_one::<T>();
        // With an empty queue there is nothing to wake up for; the poll is made up for on the next arrival.
        server.owes_poll = !waiting && !polled;
        if waiting || server.pending {
            self.events.set(slot, if waiting { free } else { Instant::NEVER });
            server.pending = waiting;
        }
        link.book_transmission::<T>(now, free);
        let packet = *self.packets.packet(handle);
        if PLAIN { self.leave(end, l, handle, packet) } else { self.leave_over_medium(end, l, handle, packet) }
    }

    /// Something waits: the transmitter starts, or is told to go on when it is free.
    #[inline]
    pub fn wake_next<T: Pace, const PLAIN: bool>(&mut self, now: Instant, l: usize) {
        let server = self.links[l].one_by_one::<T>();
        if server.pending {
            if !PLAIN {
                self.fill_below(now, l);
            }
            return;
        }
        if server.busy_until <= now {
            self.serve_next::<T, PLAIN>(now, l);
            return;
        }
        server.pending = true;
        let at = server.busy_until;
        self.events.set(self.layout.slot(Component::Server(l)), at);
        if !PLAIN {
            self.fill_below(now, l);
        }
    }

    /// Takes an arriving packet straight through if the transmitter is idle and the discipline agrees.
    #[inline]
    pub fn passes_next<T: Pace, const PLAIN: bool>(
        &mut self,
        now: Instant,
        l: usize,
        meta: Meta,
        handle: Handle,
        packet: Packet,
    ) -> bool {
        let link = &mut self.links[l];
        let server = link.one_by_one::<T>();
        if server.busy_until > now || server.pending {
            return false;
        }
        if !PLAIN && link.below.is_some() {
            return false;
        }
        let Some(meta) = link.qdisc.pass(now, meta) else {
            self.poll_if_owed::<T>(now, l);
            return false;
        };
        self.pass::<T, PLAIN>(now, l, meta, handle, packet);
        true
    }

    /// A packet goes straight through an empty queue to an idle transmitter.
    #[inline]
    fn pass<T: Pace, const PLAIN: bool>(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let bytes = if PLAIN { meta.len } else { link.wire(meta.len) };
        let server = link.one_by_one::<T>();
        let Sent { end, free } = server.start(now, bytes);
        server.owes_poll = false;
        link.tally.passage(now, &meta);
        link.book_transmission::<T>(now, free);
        self.fingerprint.record(now, l, meta.flow, meta.len, Fate::Passed);
        self.probe.sent(now, l, handle, &meta, false);
        if PLAIN { self.leave(end, l, handle, packet) } else { self.leave_over_medium(end, l, handle, packet) }
    }

    /// A transmitter that fell idle has asked its queue once more, when it did: some disciplines take note.
    #[inline]
    fn poll_if_owed<T: Pace>(&mut self, now: Instant, l: usize) {
        let server = self.links[l].one_by_one::<T>();
        debug_assert!(server.busy_until <= now);
        if !std::mem::take(&mut server.owes_poll) {
            return;
        }
        let idle_since = server.busy_until;
        let (qdisc, mut drops) = self.split(idle_since, l, NONE);
        let polled = qdisc.dequeue(idle_since, &mut drops);
        debug_assert_eq!(polled, Dequeued::Empty, "the queue was empty when the transmitter fell idle");
    }
}
