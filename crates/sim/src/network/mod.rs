//! A graph of links, the flows' paths over it, their access links, and the packets in flight.
//!
//! Queues are numbered in the order of the scenario's links: per link the forward direction, then the reverse
//! direction, which in a wireless LAN has a queue per station. A link or wireless LAN is called and returns at most one
//! departure and the time of its next call, so that it can be tested, measured and replaced without a network; routing
//! is decided here.

mod access;
mod cell;
mod device;
mod hop;
mod layout;
mod lookahead;
mod path_table;
mod scheduled;
mod slots;
mod super_packets;
mod topology;

pub(crate) use access::NO_FLOW;
pub(crate) use layout::{Component, Layout};
#[cfg(feature = "engines")]
pub(crate) use topology::Graph;
pub(crate) use topology::{CellGraph, Dumbbell, LinkList, Topology};

use crate::counters::LinkCounters;
use crate::event::EventSet as _;
use crate::hosts::Hosts;
use crate::ledger::Ledger;
use crate::link::{Departure, Link, MeteredQueue, NextCall, Pipe, PlannedChange, ServiceResult, metered};
use crate::packet::{Arrival, Handle, Packet, Packets};
use crate::payload::PayloadPacket;
use crate::probe::Probe;
use crate::scenario::{FlowSpec, HostTable};
use crate::wlan::{QueueOwner, StationPlacement, Wlan, WlanSet};
use access::{AccessPipes, PipeChoice};
use hop::{HopKind, link_of};
use lookahead::Lookahead;
use slots::Slots;
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::Header;
use std::collections::VecDeque;

/// The network between the endpoints.
pub(crate) struct Network<P, T: Topology> {
    pub events: T::Events,
    pub layout: Layout<T>,
    links: T::List<Link>,
    ends: T::List<AccessPipes>,
    /// The wireless LANs.
    pub air: T::Air,
    pub packets: Packets,
    pub probe: P,
    /// Counters of groups, and events of connections.
    pub ledger: Ledger,
    slots: Slots,
    /// Empty except while a link is polled.
    polled: Vec<Handle>,
    pub ahead: Lookahead,
    /// Arrivals at the first link that wait for a decision, in order; empty unless the topology holds them.
    pub awaiting_verdict: VecDeque<(Handle, Packet)>,
    /// Whether simultaneous events are ordered as in ns-2.
    ns2_order: bool,
    /// The hosts of endpoints, if the scenario has any.
    pub hosts: Option<Box<Hosts>>,
    /// Numbers of the hosts of all flows.
    pub host_table: HostTable,
    /// Number of the next flow.
    pub next_flow: u32,
    /// Events that the current step may still handle.
    pub left: u64,
    /// Events that a paused step has left unhandled.
    pub unused: u64,
}

/// A packet as an endpoint sends it: `len` IP bytes; `segment` is the payload of each segment but the last of a
/// super-packet.
struct Datagram<'a> {
    header: &'a Header,
    len: u32,
    ecn: Ecn,
    segment: u16,
}

/// The parts of the run that a link may use during a call. A macro, because it borrows fields, not the whole network.
macro_rules! link_context {
    ($network:expr, $link:expr) => {
        $crate::link::LinkContext { link: $link, packets: &mut $network.packets, probe: &mut $network.probe }
    };
}
use link_context;

impl<P: Probe, T: Topology> Network<P, T> {
    /// A network without flows.
    pub fn new(links: Vec<Link>, air: T::Air, layout: Layout<T>, ledger: Ledger, probe: P) -> Self {
        let count = links.len() + air.cells().iter().map(Wlan::len).sum::<usize>();
        Self {
            events: layout.events(),
            layout,
            links: LinkList::of(links),
            ends: LinkList::of((0..count).map(|_| AccessPipes::default()).collect()),
            air,
            packets: Packets::default(),
            probe,
            ledger,
            slots: Slots::with_capacity(layout.flows() as usize),
            polled: Vec::new(),
            ahead: Lookahead::NONE,
            awaiting_verdict: VecDeque::new(),
            ns2_order: false,
            hosts: None,
            host_table: HostTable::default(),
            next_flow: 0,
            left: 0,
            unused: 0,
        }
    }

    /// Adds a slot for flow number `index` of a group and returns it.
    pub fn add_slot(&mut self, (group, index): (u32, u32), spec: &FlowSpec) -> u32 {
        let slot = self.slots.routes.len() as u32;
        if slot == self.layout.flows() {
            self.make_room(2 * slot);
        }
        let pair = self.host_table.pair(group, index);
        if let Some(hosts) = &mut self.hosts {
            hosts.add(slot, (group, index), pair);
        }
        let wired = || StationPlacement { paths: spec.paths.clone(), hosts: pair, cells: (None, None) };
        let placement = self.air.place_flow(group, spec, pair).unwrap_or_else(wired);
        let transparent = self.slots.add((group, index), spec, &placement);
        if !transparent {
            self.events.enable_all();
        }
        if let Some(devices) = &mut self.packets.devices {
            devices.add_sender(placement.paths.data[0], transparent && placement.cells.0.is_none());
        }
        slot
    }

    /// Adds a slot per further path of a group for its flow number `index`, which has `slot`.
    pub fn add_paths(&mut self, slot: u32, (group, index): (u32, u32), spec: &FlowSpec) {
        let slots = spec.other_paths.iter().map(|paths| {
            let spec = FlowSpec { paths: paths.clone(), ..spec.clone() };
            self.add_slot((group, index), &spec)
        });
        if let Some(first) = slots.min() {
            self.slots.path_slots.insert(slot, (first, slot));
        }
    }

    /// Moves a slot of a closed connection to the hosts of flow number `index` of its group. Stations stay.
    pub fn move_slot(&mut self, slot: u32, (group, index): (u32, u32)) {
        let (source, sink) = self.host_table.pair(group, index);
        let route = &mut self.slots.routes[slot as usize];
        if route.cell_at(true).is_none() {
            route.hosts.0 = source;
        }
        if route.cell_at(false).is_none() {
            route.hosts.1 = sink;
        }
    }

    /// Lets later packets of a slot take path number `path` of its group.
    pub fn switch_path(&mut self, slot: u32, path: u32) {
        if let Some((first, current)) = self.slots.path_slots.get_mut(&slot) {
            *current = *first + path;
        }
    }

    /// Assigns a slot to a new flow, or to [`NO_FLOW`]; packets of the previous flow are no longer delivered.
    pub fn assign(&mut self, slot: u32, flow: u32) {
        self.air.cells_mut().iter_mut().for_each(|cell| cell.rtts.reset_slot(slot));
        self.slots.routes[slot as usize].flow = flow;
        if let Some(devices) = &mut self.packets.devices {
            devices.assign(slot, flow);
        }
    }

    /// The current flow of a slot, and its group.
    #[inline]
    pub fn current_flow(&self, slot: u32) -> (u32, u32) {
        self.slots.current_flow(slot)
    }

    /// Notes that links flip bits of packets.
    pub fn expect_damage(&mut self) {
        self.slots.changes_packets = true;
    }

    /// Whether packets may be changed in transit.
    #[inline(always)]
    pub fn changes_packets(&self) -> bool {
        self.slots.changes_packets
    }

    /// Whether the ECN field of a slot's packets is cleared after the last link.
    #[inline(always)]
    pub fn is_bleached(&self, slot: u32) -> bool {
        self.slots.is_bleached(slot)
    }

    /// Rebuilds the layout and the event set with room for `flows` flows.
    fn make_room(&mut self, flows: u32) {
        let (old, new) = (self.layout, self.layout.with_flows(flows));
        let mut events = new.events();
        if self.events.is_all_enabled() {
            events.enable_all();
        }
        for slot in 0..old.slots() {
            events.set(new.slot(old.component(slot)), self.events.at(slot));
        }
        (self.layout, self.events) = (new, events);
    }

    /// Every queue, in the order of their numbers.
    pub fn queues(&mut self) -> impl Iterator<Item = &mut dyn MeteredQueue> {
        self.air.with_links(metered(&mut self.links))
    }

    /// Counters of every queue, in the order of their numbers.
    pub fn counters(&self) -> Vec<LinkCounters> {
        let of = |queue| match self.air.owner(queue) {
            QueueOwner::Link(link) => LinkCounters::of(&self.links[link]),
            QueueOwner::Cell(cell) => {
                let cell = &self.air.cells()[cell];
                LinkCounters::of(&cell.interfaces[queue - cell.first])
            }
        };
        (0..self.ends.len()).map(of).collect()
    }

    /// The link with this number.
    #[cfg(test)]
    pub fn link(&mut self, number: usize) -> &mut Link {
        &mut self.links[number]
    }

    /// Sets the time of a component's next event.
    #[inline(always)]
    pub fn set(&mut self, component: Component, at: Instant) {
        self.events.set(self.layout.slot(component), at);
    }

    /// Sets the event of a pipe if a packet has become the first in it.
    #[inline(always)]
    fn arm_pipe(&mut self, pipe: Component, first: Option<Instant>) {
        if let Some(at) = first {
            self.set(pipe, at);
        }
    }

    /// Sends a packet from a source towards its sink.
    #[inline(always)]
    pub fn send_from_source(&mut self, now: Instant, slot: u32, header: &Header, (len, ecn): (u32, Ecn)) {
        if T::HAS_CELLS {
            self.for_each_cell(slot, |cell| cell.rtts.sent(now, slot, header));
        }
        self.send(now, slot, Datagram { header, len, ecn, segment: 0 }, true);
    }

    /// Sends a packet from a sink back to its source. The sink is at the last link of the path, unless it is behind an
    /// access point.
    #[inline(always)]
    pub fn send_from_sink(&mut self, now: Instant, slot: u32, header: &Header, (len, ecn): (u32, Ecn)) {
        self.send(now, slot, Datagram { header, len, ecn, segment: 0 }, false);
    }

    /// Sends a packet that carries a program's payload.
    #[inline(never)]
    pub fn send_payload(&mut self, now: Instant, (slot, from_source): (u32, bool), packet: &PayloadPacket) {
        let &PayloadPacket { ref header, len, segment, ecn, dscp, flow } = packet;
        let slot = self.slots.path_of(slot);
        self.send_of(now, slot, Datagram { header, len, ecn, segment }, (from_source, Some((flow, dscp))));
    }

    /// Whether the access link of a slot has a rate: it sends segments, not super-packets.
    pub fn has_access_rate(&self, slot: u32) -> bool {
        self.slots.details[slot as usize].uplink.has_rate()
    }

    /// Ends the current step of the run after this event.
    pub fn pause(&mut self) {
        self.unused += std::mem::take(&mut self.left);
    }

    /// Whether an event of an endpoint waits for its program.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| !hosts.events.is_empty() || hosts.fault.is_some())
    }

    #[inline(always)]
    fn send(&mut self, now: Instant, slot: u32, datagram: Datagram<'_>, to_sink: bool) {
        self.send_of(now, slot, datagram, (to_sink, None));
    }

    /// Sends a packet; with a flow number of its own, and perhaps a DSCP, it carries a program's payload.
    #[inline(always)]
    fn send_of(
        &mut self,
        now: Instant,
        slot: u32,
        datagram: Datagram<'_>,
        (to_sink, own): (bool, Option<(u32, Option<u8>)>),
    ) {
        let Datagram { header, len, ecn, segment } = datagram;
        let route = self.slots.route(slot);
        let (flow, dscp) = own.unwrap_or((route.flow, None));
        let hops_left = if T::HAS_PATHS { self.slots.paths.len(route.paths, to_sink) - 1 } else { 0 };
        let (ecn, visible_flow) = match self.slots.has_middleboxes {
            false => (ecn, flow),
            true => (route.rewrite_ecn(ecn), self.slots.visible_flow(slot, flow)),
        };
        let dscp = dscp.unwrap_or(route.dscp);
        let packet = Packet { flow, slot, len, ecn, dscp, hops_left, segment, to_sink };
        let link = usize::from(if to_sink { route.data_link } else { route.ack_link });
        let over_access_link = if T::HAS_CELLS { to_sink == route.access_at_source() } else { to_sink };
        let is_direct = !over_access_link || route.transparent;
        let origin = route.origin(to_sink, visible_flow);
        let handle = match own {
            None => self.packets.insert(packet, header),
            Some(_) => self.packets.insert_with_payload(packet, header),
        };
        if T::HAS_DEVICES && to_sink && self.packets.devices.is_some() {
            self.packets.enter_device(handle);
        }
        if is_direct {
            return self.arrive(now, link, Arrival { handle, packet, origin });
        }
        let up = &mut self.slots.detail(slot).uplink;
        match up.enter(now, (len, handle), &mut self.ends[link].entry, self.ns2_order) {
            PipeChoice::Shared(first) => self.arm_pipe(Component::Entry(link), first),
            PipeChoice::Private(first) => self.arm_pipe(Component::Up(slot), first),
        }
    }

    /// When a slot's access link will have sent everything that one end has given it; in the past if transmission takes
    /// no time.
    #[inline]
    pub fn drain_time(&self, slot: u32, from_source: bool) -> Instant {
        let slot = self.slots.path_of(slot);
        let route = self.slots.route(slot);
        let over_access_link = if T::HAS_CELLS { from_source == route.access_at_source() } else { from_source };
        let is_direct = !over_access_link || route.transparent;
        if is_direct { Instant::ZERO } else { self.slots.details[slot as usize].uplink.free_at() }
    }

    /// A packet reaches its first link through the shared pipe of access links.
    #[inline]
    pub fn on_entry(&mut self, now: Instant, link: usize) {
        let (handle, next) = self.ends[link].entry.pop();
        self.set(Component::Entry(link), next);
        self.arrive_from(now, link, handle);
    }

    /// A packet reaches its first link over the flow's own access link.
    pub fn on_up(&mut self, now: Instant, slot: u32) {
        let route = self.slots.route(slot);
        let link = if route.access_at_source() { route.data_link } else { route.ack_link };
        let (handle, next) = self.slots.detail(slot).uplink.pipe.pop();
        self.set(Component::Up(slot), next);
        self.arrive_from(now, link.into(), handle);
    }

    /// A packet reaches its source over the flow's own access link.
    pub fn on_down(&mut self, slot: u32) -> Handle {
        let (handle, next) = self.slots.detail(slot).downlink.pipe.pop();
        self.set(Component::Down(slot), next);
        handle
    }

    /// A packet reaches its source through the shared pipe of access links.
    #[inline]
    pub fn on_exit(&mut self, link: usize) -> Handle {
        let (handle, next) = self.ends[link].exit.pop();
        self.set(Component::Exit(link), next);
        handle
    }

    /// A packet reaches the far end of a link. Returns it if that is the end of its path.
    #[inline]
    pub fn on_pipe(&mut self, now: Instant, link: usize) -> Option<Handle> {
        let (handle, next) = self.pipe(link).pop();
        self.set(Component::Pipe(link), next);
        self.forward_or_deliver(now, handle)
    }

    /// Forwards a packet at the far end of a link to the next link; returns it if it is at the end of its path.
    #[inline]
    pub fn forward_or_deliver(&mut self, now: Instant, handle: Handle) -> Option<Handle> {
        if !T::HAS_PATHS {
            return Some(handle);
        }
        let mut packet = *self.packets.packet(handle);
        if packet.hops_left == 0 {
            return Some(handle);
        }
        let paths = self.slots.route(packet.slot).paths;
        let next = self.slots.paths.link(paths, packet.to_sink, packet.hops_left);
        packet.hops_left -= 1;
        *self.packets.packet_mut(handle) = packet;
        let origin = self.slots.origin(&packet);
        self.arrive(now, next.into(), Arrival { handle, packet, origin });
        None
    }

    #[inline(always)]
    fn pipe(&mut self, link: usize) -> &mut Pipe {
        match self.air.owner(link) {
            QueueOwner::Link(link) => &mut self.links[link].pipe,
            QueueOwner::Cell(cell) => {
                let cell = &mut self.air.cells_mut()[cell];
                &mut cell.interfaces[link - cell.first].pipe
            }
        }
    }

    /// A packet arrives at a link's queue over an access link.
    #[inline(always)]
    fn arrive_from(&mut self, now: Instant, l: usize, handle: Handle) {
        let arrival = self.arrival_of(handle);
        self.arrive(now, l, arrival);
    }

    /// A packet in flight as its next queue gets it.
    #[inline(always)]
    fn arrival_of(&self, handle: Handle) -> Arrival {
        let packet = *self.packets.packet(handle);
        Arrival { handle, packet, origin: self.slots.origin(&packet) }
    }

    /// A packet arrives at a link's queue.
    #[inline(always)]
    fn arrive(&mut self, now: Instant, l: usize, arrival: Arrival) {
        if T::HOLDS && l == 0 {
            return self.awaiting_verdict.push_back((arrival.handle, arrival.packet));
        }
        self.admit(now, l, arrival);
    }

    /// Admits the first packet that is held.
    pub fn admit_held(&mut self, now: Instant) {
        if let Some((handle, packet)) = self.awaiting_verdict.pop_front() {
            let origin = self.slots.origin(&packet);
            self.admit(now, 0, Arrival { handle, packet, origin });
        }
    }

    #[inline(always)]
    fn admit(&mut self, now: Instant, l: usize, arrival: Arrival) {
        let mut context = link_context!(self, l);
        match HopKind::of(l, &mut self.links, &mut self.air) {
            HopKind::Plain(mut plain) => match plain.arrive(now, arrival, &mut context) {
                Some(served) => self.apply_result(l, served),
                None => self.enqueue_plain(now, l, arrival.handle),
            },
            HopKind::Any => self.arrive_any(now, l, arrival.handle),
            HopKind::Cell(cell, wlan) => {
                wlan.arrive(now, arrival, &mut context);
                cell::apply_calls(wlan, cell, &mut self.events, self.layout);
            }
        }
    }

    /// The discipline of a plain link decides on a packet. The packet is looked up again, so that the fast path need
    /// not keep it in memory.
    #[inline(never)]
    fn enqueue_plain(&mut self, now: Instant, l: usize, handle: Handle) {
        let arrival = self.arrival_of(handle);
        let HopKind::Plain(mut plain) = HopKind::of(l, &mut self.links, &mut self.air) else {
            unreachable!("it was plain")
        };
        let served = plain.enqueue_and_serve(now, &arrival, &mut link_context!(self, l));
        self.apply_result(l, served);
    }

    /// The packet is looked up again, as in [`Self::enqueue_plain`].
    #[inline(never)]
    fn arrive_any(&mut self, now: Instant, l: usize, handle: Handle) {
        if link_of(l, &mut self.links, &self.air).has_gro() {
            return self.receive(now, l, handle);
        }
        self.offer(now, l, self.arrival_of(handle));
    }

    /// The server of a link is due.
    #[inline(always)]
    pub fn on_server(&mut self, now: Instant, l: usize) {
        match HopKind::of(l, &mut self.links, &mut self.air) {
            // Fast path for packets without a verdict, with its own copy of `apply_result`: sharing one costs 6 % of a
            // run.
            HopKind::Plain(mut plain) => match plain.try_serve(now, &mut link_context!(self, l)) {
                Some(served) => self.apply_result(l, served),
                None => {
                    let served = plain.on_server(now, &mut link_context!(self, l));
                    self.apply_result(l, served);
                }
            },
            HopKind::Any => self.on_server_any(now, l),
            HopKind::Cell(..) => unreachable!("a driver is no server"),
        }
    }

    /// Changes a link, before all other events of `now`.
    pub fn change(&mut self, now: Instant, change: &PlannedChange) {
        // A scenario has no changes of a wireless LAN's queues.
        let link = link_of(change.link, &mut self.links, &self.air);
        let served = link.change(now, change, &mut link_context!(self, change.link));
        self.apply_result(change.link, served);
    }

    /// Calls a link's server; a link with opportunities is called until it has used one up.
    #[inline(never)]
    fn on_server_any(&mut self, now: Instant, l: usize) {
        loop {
            let served = link_of(l, &mut self.links, &self.air).on_server(now, &mut link_context!(self, l));
            let next_call = served.next_call;
            self.apply_result(l, served);
            if next_call != NextCall::Now {
                return;
            }
        }
    }

    /// Applies the result of a call of a link: its next call and its departure.
    #[inline(always)]
    fn apply_result(&mut self, l: usize, served: ServiceResult) {
        if let NextCall::At(at) = served.next_call {
            self.set(Component::Server(l), at);
        }
        if T::HAS_DEVICES && self.packets.devices.is_some() {
            self.leave_device(l, served.departure.as_ref());
        }
        if let Some(left) = served.departure {
            self.on_departure(l, left);
        }
    }

    /// Whether a departure reaches the far end over the link's pipe alone, without an access link.
    #[inline(always)]
    fn enters_pipe(&self, packet: &Packet) -> bool {
        let ends_here = !T::HAS_PATHS || packet.hops_left == 0;
        let route = || self.slots.route(packet.slot);
        let to_access_link = if T::HAS_CELLS { packet.to_sink != route().access_at_source() } else { !packet.to_sink };
        !to_access_link || !ends_here || route().transparent
    }

    /// Puts a departure into the pipe or onto an access link, or delivers it ahead of time.
    #[inline(always)]
    fn on_departure(&mut self, l: usize, left: Departure) {
        let Departure { at, handle, packet, overtakes } = left;
        if self.enters_pipe(&packet) {
            if !overtakes && self.try_deliver_ahead(l, at, handle) {
                return;
            }
            let pipe = self.pipe(l);
            let first = if overtakes { pipe.insert(at, handle) } else { pipe.push(at, handle) };
            self.arm_pipe(Component::Pipe(l), first);
            return;
        }
        let down = &mut self.slots.detail(packet.slot).downlink;
        if overtakes {
            let first = self.ends[l].exit.insert(down.arrival(at, packet.len), handle);
            self.arm_pipe(Component::Exit(l), first);
        } else {
            match down.enter(at, (packet.len, handle), &mut self.ends[l].exit, self.ns2_order) {
                PipeChoice::Shared(first) => self.arm_pipe(Component::Exit(l), first),
                PipeChoice::Private(first) => self.arm_pipe(Component::Down(packet.slot), first),
            }
        }
    }
}
