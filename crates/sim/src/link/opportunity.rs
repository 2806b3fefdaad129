//! Delivery opportunities, with Mahimahi's semantics.
//!
//! Source: mahimahi `link_queue.cc`. One opportunity carries up to one MTU of bytes, of several packets or of a
//! part of one; a packet is taken from its queue when its first byte is served and leaves with the
//! opportunity that carries its last byte; what an opportunity does not carry is lost.

use super::core::LinkCore;
use super::server::{OpportunitySource, Server, ServerParams, TransmissionTimes};
use super::{LinkContext, NextCall, QueueEntry, ServiceResult};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{DequeueResult, Instant};

/// A link that serves in opportunities.
pub(crate) struct Opportunities {
    source: Box<dyn OpportunitySource>,
    /// The same opportunities, counted whether they are used or not.
    meter: Meter,
    mtu: u32,
    /// Bytes left in the opportunity that is being used.
    budget: u32,
    /// The packet of which a part is sent, and the bytes that are not.
    in_transit: Option<(Handle, u32)>,
    /// Whether an event is pending for the next opportunity.
    awake: bool,
    /// Whether an opportunity is being used: more packets may leave with it.
    serving: bool,
}

/// Counts opportunities.
struct Meter {
    source: Box<dyn OpportunitySource>,
    count: u64,
    window: Window,
    /// The opportunities until each instant at which the statistics can begin, once it has come.
    before: Vec<u64>,
}

impl Opportunities {
    /// The opportunities of `source`, for a link at `seat`.
    pub fn new(source: impl OpportunitySource + Clone + 'static, seat: &ServerParams) -> Self {
        let (source_of_meter, window) = (Box::new(source.clone()), seat.window.clone());
        let meter = Meter { source: source_of_meter, count: 0, window, before: Vec::new() };
        Self {
            source: Box::new(source),
            meter,
            mtu: seat.mtu,
            budget: 0,
            in_transit: None,
            awake: false,
            serving: false,
        }
    }

    /// Serves up to the budget of a packet of which `left` bytes remain; returns what remains then.
    fn spend_budget(&mut self, left: u32) -> u32 {
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

impl Server for Opportunities {
    /// The next opportunity is for it and for what is before it.
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        entry: QueueEntry,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        body.queue.enqueue(now, entry.meta, entry.handle, books);
        body.fill_below::<false, P>(now, books);
        if self.awake {
            return ServiceResult::nothing(NextCall::Unchanged);
        }
        self.awake = true;
        // Nothing was there to be sent.
        self.source.pass(now);
        ServiceResult::nothing(NextCall::At(self.source.next_at()))
    }

    /// An opportunity is due: sends what fits, one packet with each call.
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, books: &mut LinkContext<P>) -> ServiceResult {
        if !self.serving {
            self.source.step();
            (self.budget, self.serving) = (self.mtu, true);
        }
        while self.budget > 0 {
            let (handle, left) = match self.in_transit.take() {
                Some(part) => part,
                None => match body.take::<false, P>(now, books) {
                    DequeueResult::Packet(meta, handle) => (handle, body.wire(meta.len)),
                    DequeueResult::Empty | DequeueResult::NotBefore(_) => break,
                },
            };
            let left = self.spend_budget(left);
            if left > 0 {
                self.in_transit = Some((handle, left));
                continue;
            }
            let packet = *books.packets.packet(handle);
            let leaves = body.leave::<false, P>(now, handle, packet, books);
            body.on_sent(now, books);
            if leaves.is_some() {
                return ServiceResult { departure: leaves, next_call: NextCall::Now };
            }
        }
        self.serving = false;
        body.queue.tally.opportunity(now, self.mtu - self.budget);
        self.awake = self.in_transit.is_some() || body.waits::<false>();
        ServiceResult::nothing(NextCall::At(if self.awake { self.source.next_at() } else { Instant::NEVER }))
    }

    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally) {
        tally.opportunity(now, bytes);
    }

    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64) {
        (used, self.usable(Instant::ZERO, now))
    }

    fn usable_from(&mut self, _window: &Window, number: usize) -> u64 {
        self.meter.advance(self.meter.window.end);
        (self.meter.count - self.meter.before[number]) * self.mtu as u64
    }

    /// Bytes of the opportunities up to and including `to`.
    fn usable(&mut self, _from: Instant, to: Instant) -> u64 {
        self.meter.advance(to);
        self.meter.count * self.mtu as u64
    }

    fn used(&mut self, _start: Instant, _free: Instant, bytes: u32) -> u64 {
        bytes as u64
    }

    /// With as many opportunities after `start` as it takes.
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        self.source.pass(start);
        let mut end = start;
        for _ in 0..bytes.div_ceil(self.mtu) {
            end = self.source.next_at();
            self.source.step();
        }
        TransmissionTimes { end, free: end }
    }

    fn opportunity(&self) -> Option<Instant> {
        Some(self.source.next_at())
    }

    fn opportunities(&mut self) -> Option<&mut dyn OpportunitySource> {
        Some(&mut *self.source)
    }
}
