//! The dumbbell: per-flow access links, the two directions of the bottleneck, and what travels in them.

use crate::event::{EventSet, HOT, Slot};
use crate::fingerprint::{Fate, Fingerprint};
use crate::link::{Link, Opportunities, Server};
use crate::packet::{Handle, Packet, Packets};
use crate::probe::Probe;
use crate::scenario::{Direction, FlowSpec};
use crate::summary::Tally;
use crate::tcp::Header;
use sojourn_aqm::{Dequeued, DropReason, Duration, Ecn, Enqueued, Instant, Meta, Qdisc, Rate, Serializer, Sink};
use std::collections::VecDeque;

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

/// Where the components have their slots: classes in the order of simultaneous events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    flows: u32,
}

/// A component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// A link's transmitter: departures.
    Server(usize),
    /// A link's pipe: arrivals at the far end.
    Pipe(usize),
    /// The end of the access links of all flows: arrivals at a link's queue.
    Entry(usize),
    /// A flow's access link towards the bottleneck, for what overtook the others.
    Up(u32),
    /// A flow's access link back from the bottleneck, for what overtook the others.
    Down(u32),
    /// The timer of a flow's source.
    Source(u32),
    /// The timer of a flow's sink.
    Sink(u32),
    /// A sampler.
    Sampler(usize),
}

impl Layout {
    pub const fn new(flows: u32) -> Self {
        Self { flows }
    }

    #[inline]
    pub fn slot(self, component: Component) -> Slot {
        let flows = self.flows;
        match component {
            Component::Server(link) => link as u32,
            Component::Pipe(link) => L + link as u32,
            Component::Entry(link) => 2 * L + link as u32,
            Component::Up(flow) => FIRST_FLOW + flow,
            Component::Down(flow) => FIRST_FLOW + flows + flow,
            Component::Source(flow) => FIRST_FLOW + 2 * flows + flow,
            Component::Sink(flow) => FIRST_FLOW + 3 * flows + flow,
            Component::Sampler(i) => FIRST_FLOW + 4 * flows + i as u32,
        }
    }

    #[inline]
    pub fn component(self, slot: Slot) -> Component {
        match slot {
            _ if slot < L => Component::Server(slot as usize),
            _ if slot < 2 * L => Component::Pipe((slot - L) as usize),
            _ if slot < FIRST_FLOW => Component::Entry((slot - 2 * L) as usize),
            _ => self.flow_component(slot - FIRST_FLOW),
        }
    }

    pub fn slots(self, samplers: usize) -> usize {
        FIRST_FLOW as usize + 4 * self.flows as usize + samplers
    }

    fn flow_component(self, slot: u32) -> Component {
        let (class, flow) = (slot / self.flows, slot % self.flows);
        match class {
            0 => Component::Up(flow),
            1 => Component::Down(flow),
            2 => Component::Source(flow),
            3 => Component::Sink(flow),
            _ => Component::Sampler((slot - 4 * self.flows) as usize),
        }
    }
}

const L: u32 = LINKS as u32;

/// The links' components have the hot slots to themselves.
const FIRST_FLOW: u32 = HOT as u32;

/// How a flow's packets travel.
struct Route {
    /// The link that carries its data; acknowledgments take the other one.
    data_link: usize,
    up: Access,
    down: Access,
}

/// One direction of an access link: an unbounded queue before a transmitter that nobody else uses, so that
/// the arrival at its end is known when a packet enters.
struct Access {
    serializer: Option<Serializer>,
    delay: Duration,
    free_at: Instant,
    /// What overtook, or was overtaken, on the way to the common pipe.
    in_flight: InFlight,
}

impl Access {
    fn new(rate: Option<Rate>, delay: Duration) -> Self {
        let serializer = rate.map(Serializer::new);
        Self { serializer, delay, free_at: Instant::ZERO, in_flight: VecDeque::new() }
    }

    /// Whether packets pass without taking time.
    #[inline]
    fn is_transparent(&self) -> bool {
        self.serializer.is_none() && self.delay == Duration::ZERO
    }

    #[inline]
    fn arrival(&mut self, now: Instant, bytes: u32) -> Instant {
        let start = now.max(self.free_at);
        self.free_at = match &mut self.serializer {
            Some(serializer) => start + serializer.time_for(bytes),
            None => start,
        };
        self.free_at + self.delay
    }
}

/// Packets under way, with the times of their arrival, in order.
pub(crate) type InFlight = VecDeque<(Instant, Handle)>;

/// Whether a packet that arrives at `at` can travel in the common pipe: behind all others there, and with
/// none of its flow still in the flow's `own`.
#[inline(always)]
fn takes(pipe: &InFlight, own: &InFlight, at: Instant) -> bool {
    own.is_empty() && pipe.back().is_none_or(|&(last, _)| last <= at)
}

#[inline(always)]
fn push(events: &mut EventSet, slot: Slot, pipe: &mut InFlight, at: Instant, handle: Handle) {
    if pipe.is_empty() {
        events.set(slot, at);
    }
    pipe.push_back((at, handle));
}

#[inline(always)]
fn pop(events: &mut EventSet, slot: Slot, pipe: &mut InFlight) -> Handle {
    let (_, handle) = pipe.pop_front().expect("the event of a pipe has a packet");
    events.set(slot, pipe.front().map_or(Instant::NEVER, |&(at, _)| at));
    handle
}

impl<P: Probe> Network<P> {
    pub fn new(links: [Link; LINKS], flows: &[&FlowSpec], samplers: usize) -> Self {
        let layout = Layout::new(flows.len() as u32);
        let route = |flow: &&FlowSpec| Route {
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

    /// A packet reaches the far end of a link (and its source, for one on its way back).
    #[inline]
    pub fn on_pipe(&mut self, link: usize) -> Handle {
        pop(&mut self.events, self.layout.slot(Component::Pipe(link)), &mut self.links[link].pipe)
    }

    /// A link's transmitter is free, or an opportunity is due.
    pub fn on_server(&mut self, now: Instant, link: usize) {
        match self.links[link].server {
            Server::Fixed(_) => self.serve_fixed(now, link),
            Server::Opportunities(_) => self.serve_opportunity(now, link),
        }
    }

    /// A packet arrives at a link's queue.
    #[inline]
    fn arrive(&mut self, now: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let meta = Meta { ecn: packet.ecn, ..Meta::new(packet.len + link.overhead, packet.flow) };
        if let Server::Fixed(server) = &link.server
            && server.busy_until <= now
            && !server.pending
        {
            if let Some(meta) = link.qdisc.pass(now, meta) {
                self.pass(now, l, meta, handle, packet);
                return;
            }
            self.poll_if_owed(now, l);
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

    /// A packet goes straight through an empty queue to an idle transmitter.
    #[inline]
    fn pass(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let Server::Fixed(server) = &mut link.server else { unreachable!("only a fixed rate lets pass") };
        let end = now + server.start(now, meta.len);
        server.owes_poll = false;
        link.tally.passage(now, &meta);
        link.tally.transmission(now, end);
        self.fingerprint.record(now, l, meta.flow, meta.len, Fate::Passed);
        self.probe.sent(now, l, &meta, false);
        self.leave(end, l, handle, packet);
    }

    /// Something waits: sees to it that it is served.
    #[inline]
    fn wake(&mut self, now: Instant, l: usize) {
        match &mut self.links[l].server {
            Server::Fixed(server) if server.pending => {}
            Server::Fixed(server) if server.busy_until > now => {
                server.pending = true;
                let at = server.busy_until;
                self.events.set(self.layout.slot(Component::Server(l)), at);
            }
            Server::Fixed(_) => self.serve_fixed(now, l),
            Server::Opportunities(server) => {
                if !server.awake {
                    server.awake = true;
                    server.skip_past(now);
                    let at = server.next_at();
                    self.events.set(self.layout.slot(Component::Server(l)), at);
                }
            }
        }
    }

    /// The transmitter is free: starts the next transmission.
    #[inline(always)]
    fn serve_fixed(&mut self, now: Instant, l: usize) {
        let next = self.dequeue(now, l);
        let link = &mut self.links[l];
        let Server::Fixed(server) = &mut link.server else { unreachable!("a link keeps its kind") };
        let slot = self.layout.slot(Component::Server(l));
        let (meta, handle) = match next {
            Dequeued::Packet(meta, handle) => (meta, handle),
            Dequeued::Empty => {
                (server.pending, server.owes_poll) = (false, false);
                self.events.set(slot, Instant::NEVER);
                return;
            }
            Dequeued::NotBefore(at) => {
                server.pending = true;
                self.events.set(slot, at);
                return;
            }
        };
        let end = now + server.start(now, meta.len);
        let waiting = link.tally.waiting() > 0;
        // With an empty queue there is nothing to wake up for; the poll is made up for on the next arrival.
        server.owes_poll = !waiting;
        if waiting || server.pending {
            self.events.set(slot, if waiting { end } else { Instant::NEVER });
            server.pending = waiting;
        }
        link.tally.transmission(now, end);
        self.leave(end, l, handle, *self.packets.packet(handle));
    }

    /// An opportunity is due: sends what fits.
    fn serve_opportunity(&mut self, now: Instant, l: usize) {
        let mut in_transit = {
            let server = self.opportunities(l);
            server.begin();
            server.in_transit.take()
        };
        let budget = self.opportunities(l).budget;
        while self.opportunities(l).budget > 0 {
            let (handle, left) = match in_transit.take() {
                Some(part) => part,
                None => match self.dequeue(now, l) {
                    Dequeued::Packet(meta, handle) => (handle, meta.len),
                    Dequeued::Empty | Dequeued::NotBefore(_) => break,
                },
            };
            let left = self.opportunities(l).serve(left);
            if left == 0 {
                self.leave(now, l, handle, *self.packets.packet(handle));
            } else {
                in_transit = Some((handle, left));
            }
        }
        let used = budget - self.opportunities(l).budget;
        let link = &mut self.links[l];
        link.tally.opportunity(now, used);
        let waiting = in_transit.is_some() || link.tally.waiting() > 0;
        let server = self.opportunities(l);
        server.in_transit = in_transit;
        server.awake = waiting;
        let at = if waiting { server.next_at() } else { Instant::NEVER };
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    fn opportunities(&mut self, l: usize) -> &mut Opportunities {
        match &mut self.links[l].server {
            Server::Opportunities(server) => server,
            Server::Fixed(_) => unreachable!("a link keeps its kind"),
        }
    }

    /// A transmitter that fell idle has asked its queue once more, when it did: some disciplines take note.
    #[inline]
    fn poll_if_owed(&mut self, now: Instant, l: usize) {
        let Server::Fixed(server) = &mut self.links[l].server else { return };
        debug_assert!(server.busy_until <= now);
        if !std::mem::take(&mut server.owes_poll) {
            return;
        }
        let idle_since = server.busy_until;
        let (qdisc, mut drops) = self.split(idle_since, l, NONE);
        let polled = qdisc.dequeue(idle_since, &mut drops);
        debug_assert_eq!(polled, Dequeued::Empty, "the queue was empty when the transmitter fell idle");
    }

    /// Asks the queue for the next packet and books its departure.
    #[inline(always)]
    fn dequeue(&mut self, now: Instant, l: usize) -> Dequeued<Handle> {
        let (qdisc, mut drops) = self.split(now, l, NONE);
        let dequeued = qdisc.dequeue(now, &mut drops);
        if let Dequeued::Packet(meta, handle) = &dequeued {
            let packet = self.packets.packet_mut(*handle);
            let newly_marked = meta.ecn == Ecn::Ce && packet.ecn != Ecn::Ce;
            packet.ecn = meta.ecn;
            self.links[l].tally.departure(now, meta, newly_marked);
            let fate = if newly_marked { Fate::DepartedMarked } else { Fate::Departed };
            self.fingerprint.record(now, l, meta.flow, meta.len, fate);
            self.probe.sent(now, l, meta, newly_marked);
        }
        dequeued
    }

    /// The last bit of a packet leaves the transmitter at `end`.
    #[inline(always)]
    fn leave(&mut self, end: Instant, l: usize, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let mut at = end + link.delay;
        if !packet.to_sink {
            let down = &mut self.routes[packet.flow as usize].down;
            if !down.is_transparent() {
                at = down.arrival(at, packet.len);
                if !takes(&link.pipe, &down.in_flight, at) {
                    let slot = self.layout.slot(Component::Down(packet.flow));
                    push(&mut self.events, slot, &mut down.in_flight, at, handle);
                    return;
                }
            }
        }
        push(&mut self.events, self.layout.slot(Component::Pipe(l)), &mut link.pipe, at, handle);
    }

    /// A link's queue, and where it hands back what it drops.
    #[inline(always)]
    fn split(&mut self, now: Instant, l: usize, arriving: Handle) -> (&mut (dyn Qdisc<Handle> + Send), Drops<'_, P>) {
        let link = &mut self.links[l];
        let tally = &mut link.tally;
        let (packets, fingerprint, probe) = (&mut self.packets, &mut self.fingerprint, &mut self.probe);
        (&mut *link.qdisc, Drops { now, arriving, link: l, packets, tally, fingerprint, probe })
    }
}

/// No packet.
const NONE: Handle = Handle::MAX;

/// Books dropped packets and frees their places.
struct Drops<'a, P> {
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
        self.probe.dropped(self.now, self.link, &meta, reason);
    }
}
