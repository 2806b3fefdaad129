//! Slots: per flow its route, its access links and its paths over the links.

use super::access::{AccessLink, NO_FLOW, Route, RouteDetail, cell_number};
use super::path_table::PathTable;
use crate::packet::{Origin, Packet};
use crate::scenario::{FlowSpec, Middlebox};
use crate::wlan::StationPlacement;
use std::collections::BTreeMap;

/// The slots of all flows, by number.
#[derive(Default)]
pub(super) struct Slots {
    pub routes: Vec<Route>,
    pub details: Vec<RouteDetail>,
    pub paths: PathTable,
    /// By slot of an endpoint with several paths: the slot of the first of its `paths`, and the one that it uses now.
    pub path_slots: BTreeMap<u32, (u32, u32)>,
    /// Whether any flow has a middlebox; otherwise routes are not checked for one.
    pub has_middleboxes: bool,
    /// Whether any flow has a middlebox or a link flips bits; otherwise packets are not checked at the end of their
    /// paths.
    pub changes_packets: bool,
}

impl Slots {
    /// No slots, with room for `flows`.
    pub fn with_capacity(flows: usize) -> Self {
        Self { routes: Vec::with_capacity(flows), details: Vec::with_capacity(flows), ..Self::default() }
    }

    /// Adds a slot, still without a flow, for flow number `index` of a group. Returns whether its access link takes no
    /// time.
    pub fn add(&mut self, (group, index): (u32, u32), spec: &FlowSpec, placement: &StationPlacement) -> bool {
        let StationPlacement { paths, hosts, cells } = placement;
        let access = || AccessLink::new(spec.access_rate, spec.access_delay_of(index));
        let (up, down) = (access(), access());
        let transparent = up.is_transparent();
        self.has_middleboxes |= spec.middlebox.is_some();
        self.changes_packets |= self.has_middleboxes;
        self.routes.push(Route {
            flow: NO_FLOW,
            hosts: *hosts,
            dscp: spec.dscp.unwrap_or_default().0,
            class: spec.class.unwrap_or_default(),
            middlebox: spec.middlebox,
            data_link: paths.data[0],
            ack_link: paths.acks[0],
            cells: (cell_number(cells.0), cell_number(cells.1)),
            paths: self.paths.number_of(paths),
            transparent,
        });
        self.details.push(RouteDetail { group, uplink: up, downlink: down });
        transparent
    }

    /// The slot of the path that packets of a slot take now.
    #[inline]
    pub fn path_of(&self, slot: u32) -> u32 {
        if self.path_slots.is_empty() {
            return slot;
        }
        self.path_slots.get(&slot).map_or(slot, |&(_, current)| current)
    }

    #[inline(always)]
    pub fn route(&self, slot: u32) -> &Route {
        &self.routes[slot as usize]
    }

    #[inline(always)]
    pub fn detail(&mut self, slot: u32) -> &mut RouteDetail {
        &mut self.details[slot as usize]
    }

    /// The current flow of a slot, and its group.
    #[inline]
    pub fn current_flow(&self, slot: u32) -> (u32, u32) {
        (self.route(slot).flow, self.details[slot as usize].group)
    }

    /// Whether the ECN field of a slot's packets is cleared after the last link.
    #[inline(always)]
    pub fn is_bleached(&self, slot: u32) -> bool {
        self.route(slot).middlebox == Some(Middlebox::Bleach)
    }

    /// The number that queues use for a packet of `flow`: its own, or that of its tunnel. The sources of a group are in
    /// one tunnel, but each station has its own.
    #[cold]
    pub fn visible_flow(&self, slot: u32, flow: u32) -> u32 {
        let route = self.route(slot);
        if route.middlebox != Some(Middlebox::Tunnel) {
            return flow;
        }
        // Tunnels count down from the maximum and flows up from 0, so no flow has a tunnel's number and no fingerprint
        // changes.
        let tunnel = route.cell_at(true).map_or(2 * self.details[slot as usize].group, |_| route.hosts.0);
        NO_FLOW - 1 - tunnel
    }

    /// Properties of a packet that a queue gets from its flow.
    #[inline(always)]
    pub fn origin(&self, packet: &Packet) -> Origin {
        let route = self.route(packet.slot);
        let visible_flow = if self.has_middleboxes { self.visible_flow(packet.slot, packet.flow) } else { packet.flow };
        route.origin(packet.to_sink, visible_flow)
    }
}
