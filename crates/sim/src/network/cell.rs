//! Wireless LANs in a network.
//!
//! Queues of wireless LANs are numbered in the order of the file with all others; a run without one uses a queue's
//! number as its link's.

use super::{Component, Layout, Network, Topology, link_context};
use crate::event::EventSet as _;
use crate::link::Departure;
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::wlan::{QueueOwner, Wlan, WlanSet};
use sojourn_aqm::{Duration, Instant};
use sojourn_tcp::Header;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Sets the first event of every channel.
    pub fn arm_channels(&mut self) {
        for (number, wlan) in self.air.cells_mut().iter_mut().enumerate() {
            apply_calls(wlan, number, &mut self.events, self.layout);
        }
    }

    /// An access starts on a channel, or one with consequences ends. Its arrivals are then
    /// [taken](Self::next_over_channel).
    #[inline(always)]
    pub fn on_channel(&mut self, now: Instant, cell: usize) {
        let wlan = &mut self.air.cells_mut()[cell];
        let mut context = link_context!(self, wlan.first);
        wlan.on_channel(now, &mut context);
        apply_calls(wlan, cell, &mut self.events, self.layout);
    }

    /// The wireless LAN that owns queue number `queue`, if any.
    #[inline(always)]
    pub fn cell_of(&self, queue: usize) -> Option<usize> {
        match self.air.owner(queue) {
            QueueOwner::Link(_) => None,
            QueueOwner::Cell(cell) => Some(cell),
        }
    }

    /// Polls a queue for the driver below it, whose event is due, and handles its following calls up to `last` while
    /// nothing else happens before. Returns the time of the last call, and the number of calls after the first.
    #[inline(always)]
    pub fn on_driver(&mut self, now: Instant, cell: usize, queue: usize, last: Instant) -> (Instant, u64) {
        self.set(Component::Server(queue), Instant::NEVER);
        let until = self.events.due().min(last + Duration::from_nanos(1));
        let mut context = link_context!(self, queue);
        let wlan = &mut self.air.cells_mut()[cell];
        let calls = wlan.on_driver(now, until, queue - wlan.first, &mut context);
        apply_calls(wlan, cell, &mut self.events, self.layout);
        calls
    }

    /// The next packet, in the order of the queues, that has arrived over a channel at `now` and is at the far end of
    /// its link. Nothing else is due at this instant, so it would leave the link's pipe at once; otherwise it waits in
    /// the pipe. A packet with an access link ahead enters that.
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

    /// Puts an arrival of a channel into the pipe or an access link.
    #[inline(never)]
    fn schedule_arrivals(&mut self, now: Instant, queue: usize, handle: Handle) {
        let packet = *self.packets.packet(handle);
        self.on_departure(queue, Departure { at: now, handle, packet, overtakes: false });
    }

    /// Calls `apply` for the wireless LANs at the ends of the flow in `slot`.
    #[inline(always)]
    pub(super) fn for_each_cell(&mut self, slot: u32, mut apply: impl FnMut(&mut Wlan)) {
        let route = self.slots.route(slot);
        for cell in [route.cell_at(true), route.cell_at(false)].into_iter().flatten() {
            apply(&mut self.air.cells_mut()[cell]);
        }
    }

    /// Whether an end of the flow in `slot` may send another packet down.
    #[inline(always)]
    pub fn has_room(&self, slot: u32, at_source: bool) -> bool {
        if !T::HAS_CELLS {
            return true;
        }
        let cell = self.slots.route(slot).cell_at(at_source);
        cell.is_none_or(|cell| self.air.cells()[cell].sockets.has_room(slot))
    }

    /// Whether [`Self::next_with_room`] has a flow.
    #[inline(always)]
    pub fn any_with_room(&self) -> bool {
        self.air.cells().iter().any(|cell| !cell.sockets.resumable.is_empty())
    }

    /// A flow whose sender in a station has room again, and whether that is the flow's source.
    pub fn next_with_room(&mut self) -> Option<(u32, bool)> {
        let mut cells = self.air.cells_mut().iter_mut().enumerate();
        let (cell, slot) = cells.find_map(|(number, cell)| Some((number, cell.sockets.resumable.pop()?)))?;
        Some((slot, self.slots.route(slot).cell_at(true) == Some(cell)))
    }

    /// Takes an RTT sample from a packet that has reached its source.
    #[inline(always)]
    pub fn on_source_packet(&mut self, now: Instant, packet: &Packet, header: &Header) {
        if !T::HAS_CELLS {
            return;
        }
        let (current, group) = self.current_flow(packet.slot);
        if current == packet.flow {
            self.for_each_cell(packet.slot, |cell| cell.rtts.on_ack(now, packet.slot, group, header));
        }
    }
}

/// Schedules the calls that wireless LAN `number` has requested.
#[inline(always)]
pub(super) fn apply_calls<T: Topology>(wlan: &mut Wlan, number: usize, events: &mut T::Events, layout: Layout<T>) {
    if let Some(at) = wlan.take_channel_change() {
        events.set(layout.slot(Component::Channel(number)), at);
    }
    while let Some((queue, at)) = wlan.calls.drivers.pop() {
        events.set(layout.slot(Component::Server(queue)), at);
    }
}
