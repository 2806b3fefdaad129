//! The dumbbell: per-flow access links, the two directions of the bottleneck, and what travels in them.

mod access;
mod layout;

pub(crate) use access::InFlight;
pub(crate) use layout::{Component, Layout};

use crate::event::EventSet;
use crate::fingerprint::{Fate, Fingerprint};
use crate::link::Link;
use crate::packet::{Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::{Direction, FlowSpec};
use crate::summary::Tally;
use crate::tcp::Header;
use access::{Access, Route, insert, pop, push, takes};
use sojourn_aqm::{Dequeued, DropReason, Ecn, Enqueued, Instant, Meta, Qdisc, Sink};

/// Number of links: the two directions of the bottleneck.
pub(crate) const LINKS: usize = 2;

/// Everything between the endpoints.
pub(crate) struct Network<P> {
    pub events: EventSet,
    pub layout: Layout,
    pub links: [Link; LINKS],
    pub packets: Packets,
    pub fingerprint: Fingerprint,
    pub probe: P,
    routes: Vec<Route>,
}

impl<P: Probe> Network<P> {
    /// `flows` with the number of the group that each belongs to: a group is one host at either end.
    pub fn new(links: [Link; LINKS], flows: &[(u32, &FlowSpec)], samplers: usize) -> Self {
        let layout = Layout::new(flows.len() as u32);
        let route = |&(group, flow): &(u32, &FlowSpec)| Route {
            hosts: (2 * group, 2 * group + 1),
            data_link: (flow.direction == Direction::Reverse) as usize,
            up: Access::new(flow.access_rate, flow.access_delay),
            down: Access::new(flow.access_rate, flow.access_delay),
        };
        Self {
            events: EventSet::new(layout.slots(samplers)),
            layout,
            links,
            packets: Packets::default(),
            fingerprint: Fingerprint::default(),
            probe: P::default(),
            routes: flows.iter().map(route).collect(),
        }
    }

    /// A source sends towards its sink.
    #[inline]
    pub fn send_from_source(&mut self, now: Instant, flow: u32, header: &Header, len: u32, ecn: Ecn) {
        let packet = Packet { flow, len, ecn, to_sink: true };
        let handle = self.packets.insert(packet, header);
        let route = &mut self.routes[flow as usize];
        if route.up.is_transparent() {
            let link = route.data_link;
            self.arrive(now, link, handle, packet);
            return;
        }
        let (at, own, link) = (route.up.arrival(now, len), &mut route.up.in_flight, route.data_link);
        let (queue, component) = match &mut self.links[link].entry {
            entry if takes(entry, own, at) => (entry, Component::Entry(link)),
            _ => (own, Component::Up(flow)),
        };
        push(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// A sink sends back to its source; it sits at the bottleneck.
    #[inline]
    pub fn send_from_sink(&mut self, now: Instant, flow: u32, header: &Header, len: u32, ecn: Ecn) {
        let packet = Packet { flow, len, ecn, to_sink: false };
        let handle = self.packets.insert(packet, header);
        let link = 1 - self.routes[flow as usize].data_link;
        self.arrive(now, link, handle, packet);
    }

    /// A packet reaches the bottleneck, in the order of the others.
    #[inline]
    pub fn on_entry(&mut self, now: Instant, link: usize) {
        let handle = pop(&mut self.events, self.layout.slot(Component::Entry(link)), &mut self.links[link].entry);
        self.arrive(now, link, handle, *self.packets.packet(handle));
    }

    /// A packet reaches the bottleneck over its access link.
    pub fn on_up(&mut self, now: Instant, flow: u32) {
        let route = &mut self.routes[flow as usize];
        let link = route.data_link;
        let handle = pop(&mut self.events, self.layout.slot(Component::Up(flow)), &mut route.up.in_flight);
        self.arrive(now, link, handle, *self.packets.packet(handle));
    }

    /// A packet reaches its source over the access link.
    pub fn on_down(&mut self, flow: u32) -> Handle {
        let down = &mut self.routes[flow as usize].down;
        pop(&mut self.events, self.layout.slot(Component::Down(flow)), &mut down.in_flight)
    }

    /// A packet reaches its source, in the order of the others.
    #[inline]
    pub fn on_exit(&mut self, link: usize) -> Handle {
        pop(&mut self.events, self.layout.slot(Component::Exit(link)), &mut self.links[link].exit)
    }

    /// A packet reaches the far end of a link.
    #[inline]
    pub fn on_pipe(&mut self, link: usize) -> Handle {
        pop(&mut self.events, self.layout.slot(Component::Pipe(link)), &mut self.links[link].pipe)
    }

    /// A packet arrives at a link's queue.
    #[inline]
    fn arrive(&mut self, now: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &self.links[l];
        let (source, sink) = self.routes[packet.flow as usize].hosts;
        let hosts = if packet.to_sink { (source, sink) } else { (sink, source) };
        let meta = Meta { ecn: packet.ecn, hosts, ..Meta::new(link.accounted(packet.len), packet.flow) };
        self.probe.arrived(now, l, handle, &meta);
        if self.passes(now, l, meta, handle, packet) {
            return;
        }
        let (qdisc, mut drops) = self.split(now, l, handle);
        let fate = match qdisc.enqueue(now, meta, handle, &mut drops) {
            Enqueued::Queued => Some(Fate::Queued),
            Enqueued::Marked => Some(Fate::Marked),
            // The sink has recorded it.
            Enqueued::Dropped(_) => None,
        };
        self.links[l].tally.arrival(now, fate.is_some());
        if let Some(fate) = fate {
            self.fingerprint.record(now, l, packet.flow, meta.len, fate);
        }
        self.wake(now, l);
    }

    /// Asks the queue for the next packet and books its departure.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Instant, l: usize) -> Dequeued<Handle> {
        let (qdisc, mut drops) = self.split(now, l, NONE);
        let dequeued = qdisc.dequeue(now, &mut drops);
        if let Dequeued::Packet(meta, handle) = &dequeued {
            let packet = self.packets.packet_mut(*handle);
            let newly_marked = meta.ecn == Ecn::Ce && packet.ecn != Ecn::Ce;
            packet.ecn = meta.ecn;
            self.links[l].tally.departure(now, meta, newly_marked);
            let fate = if newly_marked { Fate::DepartedMarked } else { Fate::Departed };
            self.fingerprint.record(now, l, meta.flow, meta.len, fate);
            self.probe.sent(now, l, *handle, meta, newly_marked);
        }
        dequeued
    }

    /// The last bit of a packet leaves the transmitter at `end`.
    #[inline(always)]
    pub fn leave(&mut self, end: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let at = end + link.delay;
        let down = &mut self.routes[packet.flow as usize].down;
        if packet.to_sink || down.is_transparent() {
            push(&mut self.events, self.layout.slot(Component::Pipe(l)), &mut link.pipe, at, handle);
            return;
        }
        let (at, own) = (down.arrival(at, packet.len), &mut down.in_flight);
        let (queue, component) = match &mut link.exit {
            exit if takes(exit, own, at) => (exit, Component::Exit(l)),
            _ => (own, Component::Down(packet.flow)),
        };
        push(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// The same over a medium that may lose the packet or change its delay, in which case others may be overtaken.
    pub fn leave_over_medium(&mut self, end: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let Some(medium) = &mut link.medium else { return self.leave(end, l, handle, packet) };
        let Some(at) = medium.arrival(end) else {
            link.tally.loss(end);
            self.packets.remove(handle);
            return;
        };
        let down = &mut self.routes[packet.flow as usize].down;
        let (queue, component, at) = if packet.to_sink || down.is_transparent() {
            (&mut link.pipe, Component::Pipe(l), at)
        } else {
            (&mut link.exit, Component::Exit(l), down.arrival(at, packet.len))
        };
        insert(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// A link's queue, and where it hands back what it drops.
    #[inline(always)]
    pub fn split(
        &mut self,
        now: Instant,
        l: usize,
        arriving: Handle,
    ) -> (&mut (dyn Qdisc<Handle> + Send), Drops<'_, P>) {
        let link = &mut self.links[l];
        let tally = &mut link.tally;
        let (packets, fingerprint, probe) = (&mut self.packets, &mut self.fingerprint, &mut self.probe);
        (&mut *link.qdisc, Drops { now, arriving, link: l, packets, tally, fingerprint, probe })
    }
}

/// No packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// Books dropped packets and frees their places.
pub(crate) struct Drops<'a, P> {
    now: Instant,
    /// The packet that is being offered, which does not wait yet; [`NONE`] on a dequeue.
    arriving: Handle,
    link: usize,
    packets: &'a mut Packets,
    tally: &'a mut Tally,
    fingerprint: &'a mut Fingerprint,
    probe: &'a mut P,
}

impl<P: Probe> Sink<Handle> for Drops<'_, P> {
    fn dropped(&mut self, meta: Meta, handle: Handle, reason: DropReason) {
        self.packets.remove(handle);
        self.tally.drop(self.now, reason, handle != self.arriving);
        self.fingerprint.record(self.now, self.link, meta.flow, meta.len, Fate::Dropped(reason));
        self.probe.dropped(self.now, self.link, handle, &meta, reason);
    }
}
