//! Delivery opportunities from a trace, with Mahimahi's semantics.
//!
//! Source: mahimahi `link_queue.cc`. One opportunity carries up to one MTU of bytes, of several packets or of a
//! part of one; a packet is taken from its queue when its first byte is served and leaves with the
//! opportunity that carries its last byte; what an opportunity does not carry is lost. After its last line
//! the trace starts again, shifted by the last timestamp.

use super::Server;
use crate::network::{Component, Network};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::trace::Trace;
use sojourn_aqm::{Dequeued, Instant};
use std::sync::Arc;

/// A trace at work.
#[derive(Debug)]
pub(crate) struct Opportunities {
    trace: Arc<Trace>,
    once: bool,
    mtu: u32,
    /// Number of the next opportunity, over all laps.
    next: u64,
    /// Bytes left in the opportunity that is being used.
    pub budget: u32,
    /// The packet of which a part is sent, and the bytes that are not.
    pub in_transit: Option<(Handle, u32)>,
    /// Whether an event is pending for the next opportunity.
    pub awake: bool,
}

impl Opportunities {
    pub fn new(trace: Arc<Trace>, once: bool, mtu: u32) -> Self {
        Self { trace, once, mtu, next: 0, budget: 0, in_transit: None, awake: false }
    }

    /// Begins the next opportunity.
    pub fn begin(&mut self) {
        self.next += 1;
        self.budget = self.mtu;
    }

    /// When the next opportunity is due.
    pub fn next_at(&self) -> Instant {
        self.at(self.next)
    }

    /// Gives up the opportunities up to and including `now`: nothing was there to be sent.
    pub fn skip_past(&mut self, now: Instant) {
        self.next = self.next.max(self.count_until(now));
    }

    /// Serves up to the budget of a packet of which `left` bytes remain; returns what remains then.
    pub fn serve(&mut self, left: u32) -> u32 {
        let served = left.min(self.budget);
        self.budget -= served;
        left - served
    }

    /// Bytes of the opportunities after `from`, up to and including `to`.
    pub fn capacity_bytes(&self, from: Instant, to: Instant) -> u64 {
        (self.count_until(to) - self.count_until(from)) * self.mtu as u64
    }

    /// Opportunities at or before `now`.
    fn count_until(&self, now: Instant) -> u64 {
        let times = &self.trace.opportunities_ms;
        let period = self.trace.period_ms() as u64;
        let now_ms = now.as_nanos() / NANOS_PER_MS;
        let (lap, within) = (now_ms / period, (now_ms % period) as u32);
        if self.once && lap > 0 {
            return times.len() as u64;
        }
        lap * times.len() as u64 + times.partition_point(|&t| t <= within) as u64
    }

    fn at(&self, number: u64) -> Instant {
        let times = &self.trace.opportunities_ms;
        let (lap, i) = (number / times.len() as u64, (number % times.len() as u64) as usize);
        if self.once && lap > 0 {
            return Instant::NEVER;
        }
        let ms = lap * self.trace.period_ms() as u64 + times[i] as u64;
        Instant::from_nanos(ms * NANOS_PER_MS)
    }
}

impl<P: Probe> Network<P> {
    /// An opportunity is due: sends what fits.
    pub fn serve_opportunity(&mut self, now: Instant, l: usize) {
        let mut in_transit = {
            let server = self.opportunities(l);
            server.begin();
            server.in_transit.take()
        };
        let budget = self.opportunities(l).budget;
        while self.opportunities(l).budget > 0 {
            let (handle, left) = match in_transit.take() {
                Some(part) => part,
                None => match self.dequeue(now, l) {
                    Dequeued::Packet(meta, handle) => (handle, meta.len),
                    Dequeued::Empty | Dequeued::NotBefore(_) => break,
                },
            };
            let left = self.opportunities(l).serve(left);
            if left == 0 {
                self.leave(now, l, handle, *self.packets.packet(handle));
            } else {
                in_transit = Some((handle, left));
            }
        }
        let used = budget - self.opportunities(l).budget;
        let link = &mut self.links[l];
        link.tally.opportunity(now, used);
        let waiting = in_transit.is_some() || link.tally.waiting() > 0;
        let server = self.opportunities(l);
        server.in_transit = in_transit;
        server.awake = waiting;
        let at = if waiting { server.next_at() } else { Instant::NEVER };
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    /// Something waits: the next opportunity is for it.
    pub fn wake_opportunities(&mut self, now: Instant, l: usize) {
        let server = self.opportunities(l);
        if server.awake {
            return;
        }
        server.awake = true;
        server.skip_past(now);
        let at = server.next_at();
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    fn opportunities(&mut self, l: usize) -> &mut Opportunities {
        match &mut self.links[l].server {
            Server::Opportunities(server) => server,
            Server::Fixed(_) => unreachable!("a link keeps its kind"),
        }
    }
}

const NANOS_PER_MS: u64 = 1_000_000;
