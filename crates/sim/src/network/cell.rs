//! A wireless LAN in a network: what its caller does for it.

use super::{Component, Network, Topology, books};
use crate::link::Left;
use crate::packet::Packet;
use crate::probe::Probe;
use crate::wlan::Air;
use sojourn_aqm::Instant;
use sojourn_tcp::Header;

impl<P: Probe, T: Topology> Network<P, T> {
    /// The first event of the channel, if there is one.
    pub fn expect_channel(&mut self) {
        self.after_cell(Instant::ZERO);
    }

    /// An access to the channel starts, or one ends that has consequences.
    pub fn on_channel(&mut self, now: Instant) {
        let mut books = books!(self, 0);
        if let Some(cell) = self.air.cell_mut() {
            cell.on_channel(now, &mut books);
        }
        self.after_cell(now);
    }

    /// Does what the cell has asked for.
    pub(super) fn after_cell(&mut self, now: Instant) {
        let Some(cell) = self.air.cell_mut() else { return };
        let channel = cell.channel_moved();
        let mut calls = std::mem::take(&mut cell.calls);
        if let Some(at) = channel {
            self.set(Component::Channel, at);
        }
        for (node, at) in calls.drivers.drain(..) {
            self.set(Component::Server(node), at);
        }
        for (node, handle) in calls.arrived.drain(..) {
            let packet = *self.packets.packet(handle);
            self.leave(node, Left { at: now, handle, packet, overtakes: false });
        }
        if let Some(cell) = self.air.cell_mut() {
            cell.calls = calls;
        }
    }

    /// Whether an end of the flow in `slot` may hand down another packet.
    #[inline(always)]
    pub fn has_room(&self, slot: u32, at_source: bool) -> bool {
        // The end without the access link is in a station.
        let in_station = |slot: u32| at_source != self.routes[slot as usize].access_at_source;
        self.air.cell().is_none_or(|cell| !in_station(slot) || cell.sockets.has_room(slot))
    }

    /// A flow whose sender in a station has room again below it, and whether that is its source.
    #[inline(always)]
    pub fn next_with_room(&mut self) -> Option<(u32, bool)> {
        let slot = self.air.cell_mut()?.sockets.roomy.pop()?;
        Some((slot, !self.routes[slot as usize].access_at_source))
    }

    /// A packet has reached its source.
    #[inline(always)]
    pub fn answered(&mut self, now: Instant, packet: &Packet, header: &Header) {
        if self.air.cell().is_none() {
            return;
        }
        let (tenant, group) = self.tenant(packet.slot);
        if let Some(cell) = self.air.cell_mut().filter(|_| tenant == packet.flow) {
            cell.rtts.answered(now, packet.slot, group, header);
        }
    }
}
