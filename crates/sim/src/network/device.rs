//! The devices of hosts in a network: what of their senders waits there.

use super::{Network, Topology};
use crate::devices::Devices;
use crate::link::Left;
use crate::probe::Probe;
use crate::wlan::{Air, Place};
use sojourn_aqm::Instant;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Makes the devices of hosts known, before there are flows: `links`, by their numbers, are such.
    pub fn count_in_devices(&mut self, links: &[usize]) {
        if T::HAS_DEVICES && !links.is_empty() {
            let mut devices = Devices::new(self.ends.len());
            for &number in links {
                let Place::Link(link) = self.air.place(number) else { continue };
                devices.add(number, self.links[link].splits(), self.links[link].paces());
            }
            self.packets.devices = Some(Box::new(devices));
        }
    }

    /// Memory of what the sender at the source of a slot has waiting in its host's device, where others may send there; none
    /// if that is not so.
    #[inline(always)]
    pub fn waits_below(&self, slot: u32) -> Option<u64> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_ref().and_then(|devices| devices.waiting(slot))
    }

    /// Whether that device lets packets go at their departure times.
    pub fn paces(&self, slot: u32) -> bool {
        T::HAS_DEVICES && self.packets.devices.as_ref().is_some_and(|devices| devices.paces(slot))
    }

    /// What that sender sends next is to leave the device at `at`.
    pub fn departs(&mut self, at: Instant) {
        if let Some(devices) = &mut self.packets.devices {
            devices.departs(at);
        }
    }

    /// That sender waits until something of it has left.
    pub fn hold(&mut self, slot: u32) {
        if let Some(devices) = &mut self.packets.devices {
            devices.hold(slot);
        }
    }

    /// A sender of which something has left its host's device since it was held.
    #[inline(always)]
    pub fn next_to_go_on(&mut self) -> Option<u32> {
        if !T::HAS_DEVICES {
            return None;
        }
        self.packets.devices.as_mut().and_then(|devices| devices.next_to_go_on())
    }

    /// Books what a call of a link has led to in the device of a host, if it is one.
    #[inline(never)]
    pub(super) fn leave_device(&mut self, l: usize, left: Option<&Left>) {
        let Place::Link(link) = self.air.place(l) else { return };
        if self.packets.devices.as_ref().is_some_and(|devices| devices.has(l)) {
            let rest = self.links[link].rest();
            self.packets.cut_in_device(l, rest);
            if let Some(left) = left {
                self.packets.leave_device(l, left.handle);
            }
        }
    }
}
