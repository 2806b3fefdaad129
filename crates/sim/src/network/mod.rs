//! Per-flow access links, the bottlenecks with their two directions, and what travels in them.
//!
//! Link 2i is the forward direction of hop i, link 2i + 1 the reverse direction.

mod access;
mod layout;
mod links;

pub(crate) use access::InFlight;
pub(crate) use layout::{Component, Layout};
pub(crate) use links::{Cell, LinkList};

use crate::event::EventSet;
use crate::fingerprint::{Fate, Fingerprint};
use crate::packet::{Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::FlowSpec;
use crate::summary::Tally;
use crate::traffic::Ledger;
use crate::wlan::{ACCESS_POINT, Air, Hosts};
use access::{Access, Route, insert, pop, push, takes};
use sojourn_aqm::{Dequeued, DropReason, Duration, Ecn, Enqueued, Instant, Meta, Qdisc, Sink, TcpView};
use sojourn_tcp::Header;

/// Everything between the endpoints.
pub(crate) struct Network<P: Probe> {
    pub events: EventSet,
    pub layout: Layout<P::Links>,
    pub links: P::Links,
    pub packets: Packets,
    pub fingerprint: Fingerprint,
    pub probe: P,
    /// What the ends of the flows have to tell.
    pub ledger: Ledger,
    /// What the links share besides the packets.
    pub air: AirOf<P>,
    routes: Vec<Route>,
}

/// What the links of a run share besides the packets.
pub(crate) type AirOf<P> = <<P as Probe>::Links as LinkList>::Air;

impl<P: Probe> Network<P> {
    /// Links without flows.
    pub fn new(links: P::Links, layout: Layout<P::Links>, ledger: Ledger, probe: P, air: AirOf<P>) -> Self {
        Self {
            events: EventSet::new(layout.slots() as usize),
            layout,
            links,
            packets: Packets::default(),
            fingerprint: Fingerprint::default(),
            probe,
            ledger,
            air,
            routes: Vec::with_capacity(layout.flows() as usize),
        }
    }

    /// Adds a slot for flow number `place` of a group, which is one host at either end, and returns its number.
    pub fn add_slot(&mut self, (group, place): (u32, u32), spec: &FlowSpec) -> u32 {
        let slot = self.routes.len() as u32;
        if slot == self.layout.flows() {
            self.make_room(2 * slot);
        }
        let access_delay = spec.access_delay + spec.rtt_stagger.unwrap_or(Duration::ZERO) * i64::from(place) / 2;
        let ((data_link, ack_link), hosts) = match AirOf::<P>::PRESENT {
            true => self.air.wlan().place(group, spec),
            false => {
                let first = |path: &[u16]| usize::from(path[0]);
                ((first(&spec.paths.data), first(&spec.paths.acks)), (2 * group, 2 * group + 1))
            }
        };
        self.routes.push(Route {
            data_link,
            ack_link,
            paths: spec.paths.clone(),
            flow: NOBODY,
            group,
            hosts,
            up: Access::new(spec.access_rate, access_delay),
            down: Access::new(spec.access_rate, access_delay),
        });
        slot
    }

    /// Gives a slot to a new flow, or to [`NOBODY`]: what belongs to the one before is no longer delivered.
    pub fn assign(&mut self, slot: u32, flow: u32) {
        if AirOf::<P>::PRESENT {
            self.air.wlan().rtts.forget(slot);
        }
        self.routes[slot as usize].flow = flow;
    }

    /// The flow that has a slot now, and its group.
    #[inline]
    pub fn tenant(&self, slot: u32) -> (u32, u32) {
        let route = &self.routes[slot as usize];
        (route.flow, route.group)
    }

    /// Lays the components out anew, with room for `flows` flows.
    fn make_room(&mut self, flows: u32) {
        let (old, new) = (self.layout, self.layout.with_flows(flows));
        let mut events = EventSet::new(new.slots() as usize);
        for slot in 0..old.slots() {
            events.set(new.slot(old.component(slot)), self.events.at(slot));
        }
        (self.layout, self.events) = (new, events);
    }

    /// A source sends towards its sink.
    #[inline]
    pub fn send_from_source(&mut self, now: Instant, slot: u32, header: &Header, len: u32, ecn: Ecn) {
        if AirOf::<P>::PRESENT {
            self.air.wlan().rtts.sent(now, slot, header);
        }
        self.send(now, slot, header, (len, ecn), true);
    }

    /// A sink sends back to its source; it sits at the bottleneck, but for one behind an access point.
    #[inline]
    pub fn send_from_sink(&mut self, now: Instant, slot: u32, header: &Header, len: u32, ecn: Ecn) {
        self.send(now, slot, header, (len, ecn), false);
    }

    #[inline(always)]
    fn send(&mut self, now: Instant, slot: u32, header: &Header, (len, ecn): (u32, Ecn), to_sink: bool) {
        let route = &mut self.routes[slot as usize];
        let more = if P::Links::IS_ROW { route.path(to_sink).len() as u8 - 1 } else { 0 };
        let packet = Packet { flow: route.flow, slot, len, ecn, more, to_sink };
        let handle = self.packets.insert(packet, header);
        let link = if to_sink { route.data_link } else { route.ack_link };
        // The source has an access link; in a cell whoever is behind the access point.
        let has_access_link = if AirOf::<P>::PRESENT { link == ACCESS_POINT } else { to_sink };
        if !has_access_link || route.up.is_transparent() {
            self.arrive(now, link, handle, packet);
            return;
        }
        let (at, own) = (route.up.arrival(now, len), &mut route.up.in_flight);
        let (queue, component) = match &mut self.links[link].entry {
            entry if takes(entry, own, at) => (entry, Component::Entry(link)),
            _ => (own, Component::Up(slot)),
        };
        push(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// A packet reaches the bottleneck, in the order of the others.
    #[inline]
    pub fn on_entry(&mut self, now: Instant, link: usize) {
        let handle = pop(&mut self.events, self.layout.slot(Component::Entry(link)), &mut self.links[link].entry);
        self.arrive(now, link, handle, *self.packets.packet(handle));
    }

    /// A packet reaches the bottleneck over its access link.
    pub fn on_up(&mut self, now: Instant, slot: u32) {
        let route = &mut self.routes[slot as usize];
        let link = if AirOf::<P>::PRESENT { ACCESS_POINT } else { route.data_link };
        let handle = pop(&mut self.events, self.layout.slot(Component::Up(slot)), &mut route.up.in_flight);
        self.arrive(now, link, handle, *self.packets.packet(handle));
    }

    /// A packet reaches its source over the access link.
    pub fn on_down(&mut self, slot: u32) -> Handle {
        let down = &mut self.routes[slot as usize].down;
        pop(&mut self.events, self.layout.slot(Component::Down(slot)), &mut down.in_flight)
    }

    /// A packet reaches its source, in the order of the others.
    #[inline]
    pub fn on_exit(&mut self, link: usize) -> Handle {
        pop(&mut self.events, self.layout.slot(Component::Exit(link)), &mut self.links[link].exit)
    }

    /// A packet reaches the far end of a link: the next link, or the end of its way.
    #[inline]
    pub fn on_pipe(&mut self, now: Instant, link: usize) -> Option<Handle> {
        let handle = pop(&mut self.events, self.layout.slot(Component::Pipe(link)), &mut self.links[link].pipe);
        if !P::Links::IS_ROW || self.packets.packet(handle).more == 0 {
            return Some(handle);
        }
        self.cross_next(now, handle);
        None
    }

    fn cross_next(&mut self, now: Instant, handle: Handle) {
        let packet = self.packets.packet_mut(handle);
        packet.more -= 1;
        let packet = *packet;
        let path = self.routes[packet.slot as usize].path(packet.to_sink);
        let next = path[path.len() - 1 - usize::from(packet.more)];
        self.arrive(now, usize::from(next), handle, packet);
    }

    /// A packet arrives at a link's queue.
    #[inline]
    fn arrive(&mut self, now: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &self.links[l];
        let (source, sink) = self.routes[packet.slot as usize].hosts;
        let hosts = if packet.to_sink { (source, sink) } else { (sink, source) };
        let meta = Meta { ecn: packet.ecn, hosts, ..Meta::new(link.accounted(packet.len), packet.flow) };
        self.probe.arrived(now, l, handle, &meta, &self.packets);
        if AirOf::<P>::PRESENT {
            self.enters_host(l, handle, packet.slot);
        } else if self.passes(now, l, meta, handle, packet) {
            return;
        }
        let enqueued = {
            let (qdisc, mut drops) = self.split(now, l, handle);
            qdisc.enqueue(now, meta, handle, &mut drops)
        };
        let fate = match enqueued {
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
        let dequeued = {
            let (qdisc, mut drops) = self.split(now, l, NONE);
            qdisc.dequeue(now, &mut drops)
        };
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
        let down = &mut self.routes[packet.slot as usize].down;
        if packet.to_sink || down.is_transparent() || (P::Links::IS_ROW && packet.more > 0) {
            push(&mut self.events, self.layout.slot(Component::Pipe(l)), &mut link.pipe, at, handle);
            return;
        }
        let (at, own) = (down.arrival(at, packet.len), &mut down.in_flight);
        let (queue, component) = match &mut link.exit {
            exit if takes(exit, own, at) => (exit, Component::Exit(l)),
            _ => (own, Component::Down(packet.slot)),
        };
        push(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// A packet arrives over the channel: at its station, or at the access point, behind which its wired host lies.
    #[inline(always)]
    pub fn leave_channel(&mut self, now: Instant, l: usize, handle: Handle) {
        let packet = *self.packets.packet(handle);
        let (link, down) = (&mut self.links[l], &mut self.routes[packet.slot as usize].down);
        if l == ACCESS_POINT || down.is_transparent() {
            push(&mut self.events, self.layout.slot(Component::Pipe(l)), &mut link.pipe, now, handle);
            return;
        }
        let (at, own) = (down.arrival(now, packet.len), &mut down.in_flight);
        let (queue, component) = match &mut link.exit {
            exit if takes(exit, own, at) => (exit, Component::Exit(l)),
            _ => (own, Component::Down(packet.slot)),
        };
        push(&mut self.events, self.layout.slot(component), queue, at, handle);
    }

    /// Whether the source in `slot` is in a station, else its sink is.
    pub fn source_is_station(&self, slot: u32) -> bool {
        self.routes[slot as usize].data_link != ACCESS_POINT
    }

    /// The station at either end of a packet's way over the channel.
    pub fn station_of(&self, packet: &Packet) -> usize {
        let route = &self.routes[packet.slot as usize];
        route.data_link.max(route.ack_link) - 1
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
        let down = &mut self.routes[packet.slot as usize].down;
        let passes_on = P::Links::IS_ROW && packet.more > 0;
        let (queue, component, at) = if packet.to_sink || down.is_transparent() || passes_on {
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
        let hosts = self.air.hosts();
        (&mut *link.qdisc, Drops { now, arriving, link: l, packets, tally, fingerprint, probe, hosts })
    }
}

/// No flow: nothing is delivered.
pub(crate) const NOBODY: u32 = u32::MAX;

/// No packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// Books dropped packets and frees their places.
pub(crate) struct Drops<'a, P: Probe> {
    now: Instant,
    /// The packet that is being offered, which does not wait yet; [`NONE`] on a dequeue.
    arriving: Handle,
    link: usize,
    packets: &'a mut Packets,
    tally: &'a mut Tally,
    fingerprint: &'a mut Fingerprint,
    probe: &'a mut P,
    hosts: <AirOf<P> as Air>::Hosts<'a>,
}

impl<P: Probe> Sink<Handle> for Drops<'_, P> {
    fn dropped(&mut self, meta: Meta, handle: Handle, reason: DropReason) {
        if AirOf::<P>::PRESENT {
            self.hosts.dropped(self.link, self.packets.packet(handle), self.packets.header(handle));
        }
        self.packets.remove(handle);
        self.tally.drop(self.now, reason, handle != self.arriving);
        self.fingerprint.record(self.now, self.link, meta.flow, meta.len, Fate::Dropped(reason));
        self.probe.dropped(self.now, self.link, handle, &meta, reason);
    }

    fn tcp(&self, handle: &Handle) -> Option<TcpView> {
        self.packets.header(*handle).view()
    }
}
