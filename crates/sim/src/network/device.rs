//! The devices of hosts in a network: what of their senders waits there.

use super::{Network, Topology};
use crate::devices::Devices;
use crate::link::Departure;
use crate::probe::Probe;
use crate::wlan::{QueueOwner, WlanSet};
use sojourn_aqm::Instant;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Makes the devices of hosts known, before there are flows: `links`, by their numbers, are such.
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

    /// Memory of what the sender at the source of a slot has waiting in its host's device, where others may send there; none
    /// if that is not so.
    #[inline(always)]
    pub fn backlog_bytes(&self, slot: u32) -> Option<u64> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_ref().and_then(|devices| devices.backlog_bytes(slot))
    }

    /// Whether that device lets packets go at their departure times.
    pub fn paces(&self, slot: u32) -> bool {
        T::HAS_DEVICES && self.packets.devices.as_ref().is_some_and(|devices| devices.paces(slot))
    }

    /// What that sender sends next is to leave the device at `at`.
    pub fn set_next_departure(&mut self, at: Instant) {
        if let Some(devices) = &mut self.packets.devices {
            devices.set_next_departure(at);
        }
    }

    /// That sender waits until something of it has left.
    pub fn block_sender(&mut self, slot: u32) {
        if let Some(devices) = &mut self.packets.devices {
            devices.block(slot);
        }
    }

    /// A sender of which something has left its host's device since it was held.
    #[inline(always)]
    pub fn next_resumable(&mut self) -> Option<u32> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_mut().and_then(|devices| devices.next_resumable())
    }

    /// Books what a call of a link has led to in the device of a host, if it is one.
    #[inline(never)]
    pub(super) fn leave_device(&mut self, l: usize, left: Option<&Departure>) {
        let QueueOwner::Link(link) = self.air.owner(l) else { return };
        if self.packets.devices.as_ref().is_some_and(|devices| devices.has(l)) {
            let rest = self.links[link].rest();
            self.packets.cut_in_device(l, rest);
            if let Some(left) = left {
                self.packets.leave_device(l, left.handle);
            }
        }
    }
}
