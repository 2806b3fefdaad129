//! Delivery opportunities, with Mahimahi's semantics.
//!
//! Source: mahimahi `link_queue.cc`. One opportunity carries up to one MTU of bytes, of several packets or of a
//! part of one; a packet is taken from its queue when its first byte is served and leaves with the
//! opportunity that carries its last byte; what an opportunity does not carry is lost.

use super::{Seat, Server};
use crate::network::{Component, Network};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::window::Window;
use sojourn_aqm::{Dequeued, Instant};

/// Where opportunities come from: the same ones in every run with the same seed, whoever uses them.
pub(crate) trait Source: Send {
    /// When the next opportunity is due; [`Instant::NEVER`] if there is none.
    fn next_at(&self) -> Instant;
    /// Goes on to the one after it.
    fn step(&mut self);
    /// Passes over the opportunities up to and including `now`; returns their number.
    fn pass(&mut self, now: Instant) -> u64 {
        let mut passed = 0;
        while self.next_at() <= now {
            self.step();
            passed += 1;
        }
        passed
    }
}

/// A link that serves in opportunities.
pub(crate) struct Opportunities {
    source: Box<dyn Source>,
    /// The same opportunities, counted whether they are used or not.
    meter: Meter,
    mtu: u32,
    /// Bytes left in the opportunity that is being used.
    budget: u32,
    /// The packet of which a part is sent, and the bytes that are not.
    in_transit: Option<(Handle, u32)>,
    /// Whether an event is pending for the next opportunity.
    awake: bool,
}

/// Counts opportunities.
struct Meter {
    source: Box<dyn Source>,
    count: u64,
    window: Window,
    /// The opportunities until each instant at which the statistics can begin, once it has come.
    before: Vec<u64>,
}

impl Opportunities {
    /// The opportunities of `source`, for a link at `seat`.
    pub fn new(source: impl Source + Clone + 'static, seat: &Seat) -> Self {
        let (source_of_meter, window) = (Box::new(source.clone()), seat.window.clone());
        let meter = Meter { source: source_of_meter, count: 0, window, before: Vec::new() };
        Self { source: Box::new(source), meter, mtu: seat.mtu, budget: 0, in_transit: None, awake: false }
    }

    /// Bytes of the opportunities up to and including `now`, which never goes back.
    pub fn bytes_until(&mut self, now: Instant) -> u64 {
        self.meter.advance(now);
        self.meter.count * self.mtu as u64
    }

    /// Bytes of the opportunities in the statistics that begin at instant `number` of the window.
    pub fn bytes_in_window(&mut self, number: usize) -> u64 {
        self.meter.advance(self.meter.window.end);
        (self.meter.count - self.meter.before[number]) * self.mtu as u64
    }

    /// Where they come from.
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Where they come from.
    pub fn source_mut(&mut self) -> &mut dyn Source {
        &mut *self.source
    }

    /// Serves up to the budget of a packet of which `left` bytes remain; returns what remains then.
    fn serve(&mut self, left: u32) -> u32 {
        let served = left.min(self.budget);
        self.budget -= served;
        left - served
    }
}

impl Meter {
    fn advance(&mut self, now: Instant) {
        while let Some(&start) = self.window.starts().get(self.before.len()).filter(|&&start| now >= start) {
            self.count += self.source.pass(start);
            self.before.push(self.count);
        }
        self.count += self.source.pass(now);
    }
}

impl<P: Probe> Network<P> {
    /// An opportunity is due: sends what fits.
    pub fn serve_opportunity(&mut self, now: Instant, l: usize) {
        let mut in_transit = {
            let server = self.opportunities(l);
            server.source.step();
            server.budget = server.mtu;
            server.in_transit.take()
        };
        let budget = self.opportunities(l).budget;
        while self.opportunities(l).budget > 0 {
            let (handle, left) = match in_transit.take() {
                Some(part) => part,
                None => match self.take(now, l) {
                    Dequeued::Packet(meta, handle) => (handle, self.links[l].wire(meta.len)),
                    Dequeued::Empty | Dequeued::NotBefore(_) => break,
                },
            };
            let left = self.opportunities(l).serve(left);
            if left == 0 {
                self.leave_over_medium(now, l, handle, *self.packets.packet(handle));
                self.sent_from_below(now, l);
            } else {
                in_transit = Some((handle, left));
            }
        }
        let used = budget - self.opportunities(l).budget;
        let link = &mut self.links[l];
        link.tally.opportunity(now, used);
        let waiting = in_transit.is_some() || link.waits();
        let server = self.opportunities(l);
        server.in_transit = in_transit;
        server.awake = waiting;
        let at = if waiting { server.source.next_at() } else { Instant::NEVER };
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    /// Something waits: the next opportunity is for it.
    pub fn wake_opportunities(&mut self, now: Instant, l: usize) {
        self.fill_below(now, l);
        let server = self.opportunities(l);
        if server.awake {
            return;
        }
        server.awake = true;
        // Nothing was there to be sent.
        server.source.pass(now);
        let at = server.source.next_at();
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    fn opportunities(&mut self, l: usize) -> &mut Opportunities {
        match &mut self.links[l].server {
            Server::Opportunities(server) => server,
            _ => unreachable!("a link keeps its kind"),
        }
    }
}
