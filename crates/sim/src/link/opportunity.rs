//! Delivery opportunities, with Mahimahi's semantics.
//!
//! Source: mahimahi `link_queue.cc`. An opportunity carries up to one MTU of bytes, of several packets or of a part of
//! one. A packet is dequeued when its first byte is served, which ends its sojourn time, and leaves with the
//! opportunity that carries its last byte. The unused rest of an opportunity is lost. The MTU counts bytes of IP;
//! Mahimahi's 1,504 include its tunnel header.

use super::core::LinkCore;
use super::server::{OpportunitySource, Server, ServerParams, TransmissionTimes};
use super::{LinkContext, NextCall, QueueEntry, ServiceResult};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{DequeueResult, Instant};

/// A server in delivery opportunities.
pub(crate) struct Opportunities {
    source: Box<dyn OpportunitySource>,
    /// Counts the same opportunities, used or not.
    meter: Meter,
    mtu: u32,
    /// Bytes left in the current opportunity.
    budget: u32,
    /// The partially sent packet and its unsent bytes.
    in_transit: Option<(Handle, u32)>,
    /// Whether an event is scheduled for the next opportunity.
    awake: bool,
    /// Whether an opportunity is in use: more packets may leave in it.
    serving: bool,
}

/// Counts opportunities.
struct Meter {
    source: Box<dyn OpportunitySource>,
    count: u64,
    window: Window,
    /// Opportunities up to each past instant at which statistics may begin.
    before: Vec<u64>,
}

impl Opportunities {
    /// Serves in the opportunities of `source`.
    pub fn new(source: impl OpportunitySource + Clone + 'static, params: &ServerParams) -> Self {
        let (metered, window) = (Box::new(source.clone()), params.window.clone());
        let meter = Meter { source: metered, count: 0, window, before: Vec::new() };
        Self {
            source: Box::new(source),
            meter,
            mtu: params.mtu,
            budget: 0,
            in_transit: None,
            awake: false,
            serving: false,
        }
    }

    /// Serves `left` bytes of a packet as far as the budget goes; returns the unsent bytes.
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
    /// Enqueues, and waits for the next opportunity.
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        entry: QueueEntry,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        body.queue.enqueue(now, entry.meta, entry.handle, cx);
        body.fill_below::<false, P>(now, cx);
        if self.awake {
            return ServiceResult::nothing(NextCall::Unchanged);
        }
        self.awake = true;
        // Opportunities up to `now` were lost: there was nothing to send.
        self.source.pass(now);
        ServiceResult::nothing(NextCall::At(self.source.next_at()))
    }

    /// Serves an opportunity that is due; returns one departing packet per call.
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        if !self.serving {
            self.source.step();
            (self.budget, self.serving) = (self.mtu, true);
        }
        while self.budget > 0 {
            let (handle, left) = match self.in_transit.take() {
                Some(part) => part,
                None => match body.take::<false, P>(now, cx) {
                    DequeueResult::Packet(meta, handle) => (handle, body.wire(meta.len)),
                    DequeueResult::Empty | DequeueResult::NotBefore(_) => break,
                },
            };
            let left = self.spend_budget(left);
            if left > 0 {
                self.in_transit = Some((handle, left));
                continue;
            }
            let packet = *cx.packets.packet(handle);
            let leaves = body.leave::<false, P>(now, handle, packet, cx);
            body.on_sent(now, cx);
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

    /// Uses as many opportunities after `start` as the bytes need.
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
