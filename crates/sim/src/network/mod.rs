//! A graph of links, the paths of the flows over it, their access links, and what travels there.
//!
//! Queues are numbered in the order of the scenario's links: of each the forward direction, then the reverse direction,
//! which in a wireless LAN has a queue for every station. Links and wireless LANs are called, and say what leaves and when to
//! call them next; where a packet goes then is decided here.

mod access;
mod ahead;
mod cell;
mod device;
mod hop;
mod joined;
mod layout;
mod scheduled;
mod slots;
mod topology;
mod ways;

pub(crate) use access::NOBODY;
pub(crate) use layout::{Component, Layout};
#[cfg(feature = "engines")]
pub(crate) use topology::Graph;
pub(crate) use topology::{Dumbbell, List, Topology, WithCells};

use crate::counters::LinkCounters;
use crate::event::EventSet as _;
use crate::ledger::Ledger;
use crate::link::{Again, Left, Link, Metered, Pipe, Planned, Served, metered};
use crate::packet::{Arrival, Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::FlowSpec;
use crate::wlan::{Air, Place, Settled, Wlan};
use access::{Ends, Way};
use ahead::Ahead;
use hop::{Hop, link_of};
use slots::Slots;
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::Header;
use std::collections::VecDeque;

/// Everything between the endpoints.
pub(crate) struct Network<P, T: Topology> {
    pub events: T::Events,
    pub layout: Layout<T>,
    links: T::List<Link>,
    ends: T::List<Ends>,
    /// What there is besides links.
    pub air: T::Air,
    pub packets: Packets,
    pub probe: P,
    /// What the ends of the flows have to tell.
    pub ledger: Ledger,
    slots: Slots,
    /// Empty, but while a link is polled.
    polled: Vec<Handle>,
    pub ahead: Ahead,
    /// What has arrived at the first link and is to be judged, in its order; empty unless the topology holds it.
    pub held: VecDeque<(Handle, Packet)>,
    /// The events of one instant come in the order in which ns-2 has them.
    as_scheduled: bool,
}

/// What an end of a flow sends: `len` IP bytes, and the payload of each segment but the last of a super-packet.
struct Datagram<'a> {
    header: &'a Header,
    len: u32,
    ecn: Ecn,
    segment: u16,
}

/// What a link may use of the run while it is called. A macro, because the rest of the network stays free for use.
macro_rules! books {
    ($network:expr, $link:expr) => {
        $crate::link::Books { link: $link, packets: &mut $network.packets, probe: &mut $network.probe }
    };
}
use books;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Links without flows.
    pub fn new(links: Vec<Link>, air: T::Air, layout: Layout<T>, ledger: Ledger, probe: P) -> Self {
        let count = links.len() + air.cells().iter().map(Wlan::len).sum::<usize>();
        Self {
            events: layout.events(),
            layout,
            links: List::of(links),
            ends: List::of((0..count).map(|_| Ends::default()).collect()),
            air,
            packets: Packets::default(),
            probe,
            ledger,
            slots: Slots::with_capacity(layout.flows() as usize),
            polled: Vec::new(),
            ahead: Ahead::NONE,
            held: VecDeque::new(),
            as_scheduled: false,
        }
    }

    /// Adds a slot for flow number `place` of a group, which is one host at either end, and returns its number.
    pub fn add_slot(&mut self, (group, place): (u32, u32), spec: &FlowSpec) -> u32 {
        let slot = self.slots.routes.len() as u32;
        if slot == self.layout.flows() {
            self.make_room(2 * slot);
        }
        let wired = || Settled { paths: spec.paths.clone(), hosts: (2 * group, 2 * group + 1), cells: (None, None) };
        let settled = self.air.settle(group, spec).unwrap_or_else(wired);
        let transparent = self.slots.add((group, place), spec, &settled);
        if !transparent {
            self.events.use_all();
        }
        if let Some(devices) = &mut self.packets.devices {
            devices.add_sender(settled.paths.data[0], transparent && settled.cells.0.is_none());
        }
        slot
    }

    /// Gives a slot to a new flow, or to [`NOBODY`]: what belongs to the one before is no longer delivered.
    pub fn assign(&mut self, slot: u32, flow: u32) {
        self.air.cells_mut().iter_mut().for_each(|cell| cell.rtts.forget(slot));
        self.slots.routes[slot as usize].flow = flow;
        if let Some(devices) = &mut self.packets.devices {
            devices.assign(slot, flow);
        }
    }

    /// The flow that has a slot now, and its group.
    #[inline]
    pub fn tenant(&self, slot: u32) -> (u32, u32) {
        self.slots.tenant(slot)
    }

    /// Links flip bits of packets.
    pub fn expect_damage(&mut self) {
        self.slots.changes_packets = true;
    }

    /// Whether packets may be changed on their way.
    #[inline(always)]
    pub fn changes_packets(&self) -> bool {
        self.slots.changes_packets
    }

    /// Whether the ECN field of a slot's packets is cleared behind the last link.
    #[inline(always)]
    pub fn is_bleached(&self, slot: u32) -> bool {
        self.slots.is_bleached(slot)
    }

    /// Lays the components out anew, with room for `flows` flows.
    fn make_room(&mut self, flows: u32) {
        let (old, new) = (self.layout, self.layout.with_flows(flows));
        let mut events = new.events();
        if self.events.uses_all() {
            events.use_all();
        }
        for slot in 0..old.slots() {
            events.set(new.slot(old.component(slot)), self.events.at(slot));
        }
        (self.layout, self.events) = (new, events);
    }

    /// Every queue by its number.
    pub fn queues(&mut self) -> impl Iterator<Item = &mut dyn Metered> {
        self.air.with_links(metered(&mut self.links))
    }

    /// Every queue by its number.
    pub fn counters(&self) -> Vec<LinkCounters> {
        let of = |queue| match self.air.place(queue) {
            Place::Link(link) => LinkCounters::of(&self.links[link]),
            Place::Cell(cell) => {
                let cell = &self.air.cells()[cell];
                LinkCounters::of(&cell.interfaces[queue - cell.first])
            }
        };
        (0..self.ends.len()).map(of).collect()
    }

    /// The link of a number.
    #[cfg(test)]
    pub fn link(&mut self, number: usize) -> &mut Link {
        &mut self.links[number]
    }

    /// When a component is to act next.
    #[inline(always)]
    pub fn set(&mut self, component: Component, at: Instant) {
        self.events.set(self.layout.slot(component), at);
    }

    /// A packet entered a pipe: if it is the first one there, the pipe's event is when it arrives.
    #[inline(always)]
    fn set_first(&mut self, pipe: Component, first: Option<Instant>) {
        if let Some(at) = first {
            self.set(pipe, at);
        }
    }

    /// A source sends towards its sink.
    #[inline(always)]
    pub fn send_from_source(&mut self, now: Instant, slot: u32, header: &Header, (len, ecn): (u32, Ecn)) {
        if T::HAS_CELLS {
            self.tell_cells(slot, |cell| cell.rtts.sent(now, slot, header));
        }
        self.send(now, slot, Datagram { header, len, ecn, segment: 0 }, true);
    }

    /// A sink sends back to its source; it sits at the last link of the path, but for one behind an access point.
    #[inline(always)]
    pub fn send_from_sink(&mut self, now: Instant, slot: u32, header: &Header, (len, ecn): (u32, Ecn)) {
        self.send(now, slot, Datagram { header, len, ecn, segment: 0 }, false);
    }

    #[inline(always)]
    fn send(&mut self, now: Instant, slot: u32, datagram: Datagram<'_>, to_sink: bool) {
        let Datagram { header, len, ecn, segment } = datagram;
        let route = self.slots.route(slot);
        let more = if T::HAS_PATHS { self.slots.ways.len(route.paths, to_sink) - 1 } else { 0 };
        let (ecn, seen_as) = match self.slots.has_middleboxes {
            false => (ecn, route.flow),
            true => (route.rewritten(ecn), route.seen_as(route.flow)),
        };
        let packet = Packet { flow: route.flow, slot, len, ecn, dscp: route.dscp, more, segment, to_sink };
        let link = usize::from(if to_sink { route.data_link } else { route.ack_link });
        let over_access_link = if T::HAS_CELLS { to_sink == route.access_at_source() } else { to_sink };
        let is_there = !over_access_link || route.transparent;
        let origin = route.origin(to_sink, seen_as);
        let handle = self.packets.insert(packet, header);
        if T::HAS_DEVICES && to_sink && self.packets.devices.is_some() {
            self.packets.enter_device(handle);
        }
        if is_there {
            return self.arrive(now, link, Arrival { handle, packet, origin });
        }
        let up = &mut self.slots.detail(slot).up;
        match up.enter(now, (len, handle), &mut self.ends[link].entry, self.as_scheduled) {
            Way::Common(first) => self.set_first(Component::Entry(link), first),
            Way::Own(first) => self.set_first(Component::Up(slot), first),
        }
    }

    /// When the access link of a slot will have sent all that one end has given it; in the past where that takes no time.
    #[inline]
    pub fn leaves(&self, slot: u32, from_source: bool) -> Instant {
        let route = self.slots.route(slot);
        let over_access_link = if T::HAS_CELLS { from_source == route.access_at_source() } else { from_source };
        let is_there = !over_access_link || route.transparent;
        if is_there { Instant::ZERO } else { self.slots.details[slot as usize].up.free_at() }
    }

    /// A packet reaches its first link, in the order of the others.
    #[inline]
    pub fn on_entry(&mut self, now: Instant, link: usize) {
        let (handle, next) = self.ends[link].entry.pop();
        self.set(Component::Entry(link), next);
        self.arrive_from(now, link, handle);
    }

    /// A packet reaches its first link over its access link.
    pub fn on_up(&mut self, now: Instant, slot: u32) {
        let route = self.slots.route(slot);
        let link = if route.access_at_source() { route.data_link } else { route.ack_link };
        let (handle, next) = self.slots.detail(slot).up.pipe.pop();
        self.set(Component::Up(slot), next);
        self.arrive_from(now, link.into(), handle);
    }

    /// A packet reaches its source over the access link.
    pub fn on_down(&mut self, slot: u32) -> Handle {
        let (handle, next) = self.slots.detail(slot).down.pipe.pop();
        self.set(Component::Down(slot), next);
        handle
    }

    /// A packet reaches its source, in the order of the others.
    #[inline]
    pub fn on_exit(&mut self, link: usize) -> Handle {
        let (handle, next) = self.ends[link].exit.pop();
        self.set(Component::Exit(link), next);
        handle
    }

    /// A packet reaches the far end of a link: the next link, or the end of its path.
    #[inline]
    pub fn on_pipe(&mut self, now: Instant, link: usize) -> Option<Handle> {
        let (handle, next) = self.pipe(link).pop();
        self.set(Component::Pipe(link), next);
        self.at_far_end(now, handle)
    }

    /// A packet is at the far end of a link: it goes on over the next one, if it is not at the end of its path.
    #[inline]
    pub fn at_far_end(&mut self, now: Instant, handle: Handle) -> Option<Handle> {
        if !T::HAS_PATHS {
            return Some(handle);
        }
        let mut packet = *self.packets.packet(handle);
        if packet.more == 0 {
            return Some(handle);
        }
        let paths = self.slots.route(packet.slot).paths;
        let next = self.slots.ways.link(paths, packet.to_sink, packet.more);
        packet.more -= 1;
        *self.packets.packet_mut(handle) = packet;
        let origin = self.slots.origin(&packet);
        self.arrive(now, next.into(), Arrival { handle, packet, origin });
        None
    }

    #[inline(always)]
    fn pipe(&mut self, link: usize) -> &mut Pipe {
        match self.air.place(link) {
            Place::Link(link) => &mut self.links[link].pipe,
            Place::Cell(cell) => {
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

    /// A packet in flight, as it arrives at its next queue.
    #[inline(always)]
    fn arrival_of(&self, handle: Handle) -> Arrival {
        let packet = *self.packets.packet(handle);
        Arrival { handle, packet, origin: self.slots.origin(&packet) }
    }

    /// A packet arrives at a link's queue.
    #[inline(always)]
    fn arrive(&mut self, now: Instant, l: usize, arrival: Arrival) {
        if T::HOLDS && l == 0 {
            return self.held.push_back((arrival.handle, arrival.packet));
        }
        self.admit(now, l, arrival);
    }

    /// Lets the first packet in that is held.
    pub fn admit_held(&mut self, now: Instant) {
        if let Some((handle, packet)) = self.held.pop_front() {
            let origin = self.slots.origin(&packet);
            self.admit(now, 0, Arrival { handle, packet, origin });
        }
    }

    #[inline(always)]
    fn admit(&mut self, now: Instant, l: usize, arrival: Arrival) {
        let mut books = books!(self, l);
        match Hop::of(l, &mut self.links, &mut self.air) {
            Hop::Plain(mut plain) => match plain.arrive(now, arrival, &mut books) {
                Some(served) => self.follow(l, served),
                None => self.judge(now, l, arrival.handle),
            },
            Hop::Any => self.arrive_any(now, l, arrival.handle),
            Hop::Cell(cell, wlan) => {
                wlan.arrive(now, arrival, &mut books);
                cell::obey(wlan, cell, &mut self.events, self.layout);
            }
        }
    }

    /// The discipline of a plain link decides about a packet. It is looked up again, so that it need not be in memory for the
    /// others.
    #[inline(never)]
    fn judge(&mut self, now: Instant, l: usize, handle: Handle) {
        let arrival = self.arrival_of(handle);
        let Hop::Plain(mut plain) = Hop::of(l, &mut self.links, &mut self.air) else { unreachable!("it was plain") };
        let served = plain.judge(now, &arrival, &mut books!(self, l));
        self.follow(l, served);
    }

    /// The packet is looked up again, as by [`Self::judge`].
    #[inline(never)]
    fn arrive_any(&mut self, now: Instant, l: usize, handle: Handle) {
        if link_of(l, &mut self.links, &self.air).joins() {
            return self.receive(now, l, handle);
        }
        self.offer(now, l, self.arrival_of(handle));
    }

    /// The time has come for which a link's server asked.
    #[inline(always)]
    pub fn on_server(&mut self, now: Instant, l: usize) {
        match Hop::of(l, &mut self.links, &mut self.air) {
            // What follows a packet that needs no judgement is compiled by itself: both in one cost 6 % of a run.
            Hop::Plain(mut plain) => match plain.goes_on(now, &mut books!(self, l)) {
                Some(served) => self.follow(l, served),
                None => {
                    let served = plain.on_server(now, &mut books!(self, l));
                    self.follow(l, served);
                }
            },
            Hop::Any => self.on_server_any(now, l),
            Hop::Cell(..) => unreachable!("a driver is no server"),
        }
    }

    /// Something changes in a link, before anything else happens at `now`.
    pub fn change(&mut self, now: Instant, change: &Planned) {
        // A scenario has no changes of a wireless LAN's queues.
        let link = link_of(change.link, &mut self.links, &self.air);
        let served = link.change(now, change, &mut books!(self, change.link));
        self.follow(change.link, served);
    }

    /// A link with opportunities is called until it has used one up.
    #[inline(never)]
    fn on_server_any(&mut self, now: Instant, l: usize) {
        loop {
            let served = link_of(l, &mut self.links, &self.air).on_server(now, &mut books!(self, l));
            let again = served.again;
            self.follow(l, served);
            if again != Again::Now {
                return;
            }
        }
    }

    /// Does what a call of a link has led to.
    #[inline(always)]
    fn follow(&mut self, l: usize, served: Served) {
        if let Again::At(at) = served.again {
            self.set(Component::Server(l), at);
        }
        if T::HAS_DEVICES && self.packets.devices.is_some() {
            self.leave_device(l, served.left.as_ref());
        }
        if let Some(left) = served.left {
            self.leave(l, left);
        }
    }

    /// Whether a packet that leaves a server reaches the far end over the link's pipe alone, and not over an access link.
    #[inline(always)]
    fn enters_pipe(&self, packet: &Packet) -> bool {
        let ends_here = !T::HAS_PATHS || packet.more == 0;
        let route = || self.slots.route(packet.slot);
        let to_access_link = if T::HAS_CELLS { packet.to_sink != route().access_at_source() } else { !packet.to_sink };
        !to_access_link || !ends_here || route().transparent
    }

    /// A packet has left a server.
    #[inline(always)]
    fn leave(&mut self, l: usize, left: Left) {
        let Left { at, handle, packet, overtakes } = left;
        if self.enters_pipe(&packet) {
            if !overtakes && self.leaves_ahead(l, at, handle) {
                return;
            }
            let pipe = self.pipe(l);
            let first = if overtakes { pipe.insert(at, handle) } else { pipe.push(at, handle) };
            self.set_first(Component::Pipe(l), first);
            return;
        }
        let down = &mut self.slots.detail(packet.slot).down;
        if overtakes {
            let first = self.ends[l].exit.insert(down.arrival(at, packet.len), handle);
            self.set_first(Component::Exit(l), first);
        } else {
            match down.enter(at, (packet.len, handle), &mut self.ends[l].exit, self.as_scheduled) {
                Way::Common(first) => self.set_first(Component::Exit(l), first),
                Way::Own(first) => self.set_first(Component::Down(packet.slot), first),
            }
        }
    }
}
