//! Wireless LANs in a network: what their caller does for them.

use super::{Component, Layout, Network, Topology, books};
use crate::event::EventSet as _;
use crate::link::Departure;
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::wlan::{QueueOwner, Wlan, WlanSet};
use sojourn_aqm::{Duration, Instant};
use sojourn_tcp::Header;

impl<P: Probe, T: Topology> Network<P, T> {
    /// The first event of every channel.
    pub fn arm_channels(&mut self) {
        for (number, wlan) in self.air.cells_mut().iter_mut().enumerate() {
            apply_calls(wlan, number, &mut self.events, self.layout);
        }
    }

    /// On a channel an access starts, or one ends that has consequences. What has arrived then is there to be
    /// [taken](Self::next_over_channel).
    #[inline(always)]
    pub fn on_channel(&mut self, now: Instant, cell: usize) {
        let wlan = &mut self.air.cells_mut()[cell];
        let mut books = books!(self, wlan.first);
        wlan.on_channel(now, &mut books);
        apply_calls(wlan, cell, &mut self.events, self.layout);
    }

    /// The wireless LAN whose driver asks the queue of this number, if it is of one.
    #[inline(always)]
    pub fn cell_of(&self, queue: usize) -> Option<usize> {
        match self.air.owner(queue) {
            QueueOwner::Link(_) => None,
            QueueOwner::Cell(cell) => Some(cell),
        }
    }

    /// The time has come for which the driver below a queue asked, and goes on to those that follow up to `last`, as long as
    /// nothing else happens before. Returns when it was called last, and how many calls there were after the first.
    #[inline(always)]
    pub fn on_driver(&mut self, now: Instant, cell: usize, queue: usize, last: Instant) -> (Instant, u64) {
        self.set(Component::Server(queue), Instant::NEVER);
        let until = self.events.due().min(last + Duration::from_nanos(1));
        let mut books = books!(self, queue);
        let wlan = &mut self.air.cells_mut()[cell];
        let calls = wlan.on_driver(now, until, queue - wlan.first, &mut books);
        apply_calls(wlan, cell, &mut self.events, self.layout);
        calls
    }

    /// Of what has arrived over a channel at `now`, and was not yet looked at, the next packet that is at the far end of its
    /// queue's link now, in the order of the queues. It would come out of that link's pipe at once, as nothing else is due at
    /// this instant; where something is, what has arrived waits for its turn in the pipe, and what has an access link before
    /// it enters that.
    #[inline(always)]
    pub fn next_over_channel(&mut self, now: Instant, cell: usize) -> Option<Handle> {
        if self.air.cells()[cell].calls.arrived.is_empty() { None } else { self.take_arrived(now, cell) }
    }

    #[inline(always)]
    fn take_arrived(&mut self, now: Instant, cell: usize) -> Option<Handle> {
        loop {
            let (queue, handle) = self.air.cells_mut()[cell].calls.next_arrived()?;
            if self.events.due() > now && self.enters_pipe(self.packets.packet(handle)) {
                return Some(handle);
            }
            self.schedule_arrivals(now, queue, handle);
        }
    }

    /// What has arrived over a channel waits for its turn, or enters an access link.
    #[inline(never)]
    fn schedule_arrivals(&mut self, now: Instant, queue: usize, handle: Handle) {
        let packet = *self.packets.packet(handle);
        self.on_departure(queue, Departure { at: now, handle, packet, overtakes: false });
    }

    /// Tells the wireless LANs at the ends of the flow in `slot`.
    #[inline(always)]
    pub(super) fn for_each_cell(&mut self, slot: u32, mut apply: impl FnMut(&mut Wlan)) {
        let route = self.slots.route(slot);
        for cell in [route.cell_at(true), route.cell_at(false)].into_iter().flatten() {
            apply(&mut self.air.cells_mut()[cell]);
        }
    }

    /// Whether an end of the flow in `slot` may hand down another packet.
    #[inline(always)]
    pub fn has_room(&self, slot: u32, at_source: bool) -> bool {
        if !T::HAS_CELLS {
            return true;
        }
        let cell = self.slots.route(slot).cell_at(at_source);
        cell.is_none_or(|cell| self.air.cells()[cell].sockets.has_room(slot))
    }

    /// Whether there is a flow for [`Self::next_with_room`].
    #[inline(always)]
    pub fn any_with_room(&self) -> bool {
        self.air.cells().iter().any(|cell| !cell.sockets.resumable.is_empty())
    }

    /// A flow whose sender in a station has room again below it, and whether that is its source.
    pub fn next_with_room(&mut self) -> Option<(u32, bool)> {
        let mut cells = self.air.cells_mut().iter_mut().enumerate();
        let (cell, slot) = cells.find_map(|(number, cell)| Some((number, cell.sockets.resumable.pop()?)))?;
        Some((slot, self.slots.route(slot).cell_at(true) == Some(cell)))
    }

    /// A packet has reached its source.
    #[inline(always)]
    pub fn on_source_packet(&mut self, now: Instant, packet: &Packet, header: &Header) {
        if !T::HAS_CELLS {
            return;
        }
        let (tenant, group) = self.tenant(packet.slot);
        if tenant == packet.flow {
            self.for_each_cell(packet.slot, |cell| cell.rtts.on_ack(now, packet.slot, group, header));
        }
    }
}

/// Does what wireless LAN `number` has asked for.
#[inline(always)]
pub(super) fn apply_calls<T: Topology>(wlan: &mut Wlan, number: usize, events: &mut T::Events, layout: Layout<T>) {
    if let Some(at) = wlan.take_channel_change() {
        events.set(layout.slot(Component::Channel(number)), at);
    }
    while let Some((queue, at)) = wlan.calls.drivers.pop() {
        events.set(layout.slot(Component::Server(queue)), at);
    }
}
