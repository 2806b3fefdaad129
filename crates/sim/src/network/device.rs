//! Devices of hosts in a network.

use super::{Network, Topology};
use crate::devices::Devices;
use crate::link::Departure;
use crate::probe::Probe;
use crate::wlan::{QueueOwner, WlanSet};
use sojourn_aqm::Instant;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Registers the devices of hosts, before there are flows: `links` are their numbers.
    pub fn count_in_devices(&mut self, links: &[usize]) {
        if T::HAS_DEVICES && !links.is_empty() {
            let mut devices = Devices::new(self.ends.len());
            for &number in links {
                let QueueOwner::Link(link) = self.air.owner(number) else { continue };
                devices.add(number, self.links[link].splits(), self.links[link].paces());
            }
            self.packets.devices = Some(Box::new(devices));
        }
    }

    /// Memory of the packets that the source of a slot has in its host's device; none if it has no shared device.
    #[inline(always)]
    pub fn backlog_bytes(&self, slot: u32) -> Option<u64> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_ref().and_then(|devices| devices.backlog_bytes(slot))
    }

    /// Whether that device releases packets at their departure times.
    pub fn paces(&self, slot: u32) -> bool {
        T::HAS_DEVICES && self.packets.devices.as_ref().is_some_and(|devices| devices.paces(slot))
    }

    /// Sets the departure time of the sender's next packet.
    pub fn set_next_departure(&mut self, at: Instant) {
        if let Some(devices) = &mut self.packets.devices {
            devices.set_next_departure(at);
        }
    }

    /// Blocks the sender in `slot` until one of its packets has left the device.
    pub fn block_sender(&mut self, slot: u32) {
        if let Some(devices) = &mut self.packets.devices {
            devices.block(slot);
        }
    }

    /// A blocked sender with a departure from its host's device since.
    #[inline(always)]
    pub fn next_resumable(&mut self) -> Option<u32> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_mut().and_then(|devices| devices.next_resumable())
    }

    /// Updates the backlog of a host's device after a call of link `l`, if it is one.
    #[inline(never)]
    pub(super) fn leave_device(&mut self, l: usize, left: Option<&Departure>) {
        let QueueOwner::Link(link) = self.air.owner(l) else { return };
        if self.packets.devices.as_ref().is_some_and(|devices| devices.has(l)) {
            let remainder = self.links[link].cut_remainder();
            self.packets.cut_in_device(l, remainder);
            if let Some(left) = left {
                self.packets.leave_device(l, left.handle);
            }
        }
    }
}
