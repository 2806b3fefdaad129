//! How drivers take packets from the queues into their rings.

use super::dcf::Dcf;
use super::interface::Interface;
use super::node::{Frame, Node, Psdu};
use super::rtt::RttTracker;
use super::scheduler::{Availability, StationScheduler};
use super::sockets::{Sockets, is_counted};
use super::{ACCESS_POINT, PendingCalls, Wlan};
use crate::link::{LinkContext, MeteredQueue};
use crate::packet::{Arrival, Handle};
use crate::probe::Probe;
use crate::queue_event::QueueEvent;
use sojourn_aqm::{DequeueResult, Instant, Meta};

impl Wlan {
    /// A packet arrives at the queue of a node.
    pub fn arrive<P: Probe>(&mut self, now: Instant, arrival: Arrival, books: &mut LinkContext<P>) {
        let Arrival { handle, packet, origin } = arrival;
        let node = books.link - self.first;
        let bytes = self.interfaces[node].accounted(packet.len);
        let meta = packet.meta(bytes, origin);
        books.probe.arrived(QueueEvent { at: now, link: books.link, packet: handle, meta: &meta }, books.packets);
        if is_counted(node != ACCESS_POINT, books.packets, handle) {
            self.sockets.on_enqueue(packet.slot);
        }
        if self.interfaces[node].is_by_station() {
            let station = self.station_of(node, meta.hosts.1);
            let turns = self.nodes[node].scheduler.as_mut();
            turns.expect("queues of stations take turns").has_packet(station);
        }
        self.interfaces[node].enqueue(Meta { enqueued: now, ..meta }, handle, books, &mut self.sockets);
        self.pull(now, node, books);
    }

    /// A driver asks its queue for packets until its ring is full or the queue empty.
    #[inline(always)]
    pub fn pull<P: Probe>(&mut self, now: Instant, l: usize, books: &mut LinkContext<P>) {
        let node = &mut self.nodes[l];
        if node.next_pull().is_some() {
            self.pull_some(now, Instant::ZERO, l, books);
        } else if node.reschedule_call(Instant::NEVER) {
            self.calls.drivers.push((self.first + l, Instant::NEVER));
        }
    }

    /// The time has come for which a driver asked; who calls it has no time for it any more, and nothing else happens before
    /// `until`. So it is called again at once for as long as what it does concerns nobody else. Returns when the last call
    /// was, and how many there were after the first.
    #[inline]
    pub fn on_driver<P: Probe>(
        &mut self,
        now: Instant,
        until: Instant,
        l: usize,
        books: &mut LinkContext<P>,
    ) -> (Instant, u64) {
        self.nodes[l].reschedule_call(Instant::NEVER);
        self.pull_some(now, until, l, books)
    }

    /// Calls the driver at the queue of `l` at `now`, and again as [`Self::on_driver`] says.
    #[inline(never)]
    fn pull_some<P: Probe>(
        &mut self,
        now: Instant,
        until: Instant,
        l: usize,
        books: &mut LinkContext<P>,
    ) -> (Instant, u64) {
        books.link = self.first + l;
        let (mut last, mut more) = (now, 0);
        let at = match self.nodes[l].scheduler.take() {
            None => self.pull_frames((&mut last, &mut more), until, l, books),
            Some(mut turns) => {
                let at = self.pull_scheduled((&mut last, &mut more), until, (l, &mut turns), books);
                self.nodes[l].scheduler = Some(turns);
                at
            }
        };
        if self.nodes[l].reschedule_call(at) {
            self.calls.drivers.push((self.first + l, at));
        }
        (last, more)
    }

    /// Puts packets into the ring as they come out of the queue. Returns when the driver is to be called next; `now` is when it
    /// was called last.
    #[inline(always)]
    fn pull_frames<P: Probe>(
        &mut self,
        (now, more): (&mut Instant, &mut u64),
        until: Instant,
        l: usize,
        books: &mut LinkContext<P>,
    ) -> Instant {
        let mut driver = self.driver(l);
        loop {
            match driver.next_pull(*now, until) {
                Err(at) => return at,
                Ok(at) => (*now, *more) = (at, *more + u64::from(at > *now)),
            }
            match driver.take_packet(*now, books) {
                Err(at) => return at,
                Ok(frame) => driver.push_to_ring(*now, Psdu::Frame(frame)),
            }
        }
    }

    /// The same with what the receivers get by turns.
    #[inline(never)]
    fn pull_scheduled<P: Probe>(
        &mut self,
        (now, more): (&mut Instant, &mut u64),
        until: Instant,
        (l, turns): (usize, &mut StationScheduler),
        books: &mut LinkContext<P>,
    ) -> Instant {
        loop {
            match self.driver(l).next_pull(*now, until) {
                Err(at) => return at,
                Ok(at) => (*now, *more) = (at, *more + u64::from(at > *now)),
            }
            match self.next_psdu(*now, l, turns, books) {
                Err(at) => return at,
                Ok(load) => self.driver(l).push_to_ring(*now, load),
            }
        }
    }

    /// What is sent to the receiver whose turn it is.
    #[inline(never)]
    fn next_psdu<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        turns: &mut StationScheduler,
        books: &mut LinkContext<P>,
    ) -> Result<Psdu, Instant> {
        let receiver = self.next_receiver(now, l, turns, books)?;
        turns.served(receiver);
        let node = &mut self.nodes[l];
        if !node.tids[receiver].aggregates() {
            return Ok(Psdu::Frame(node.tids[receiver].pop()));
        }
        let mut aggregate = node.begin_aggregate();
        while self.nodes[l].tids[receiver].fill(&mut aggregate) {
            let sorted = self.sort_packet(now, l, turns, books);
            if !sorted.is_ok_and(|enough| enough.is_none_or(|other| other == receiver)) {
                break;
            }
        }
        Ok(Psdu::Aggregate(aggregate))
    }

    /// Who is served now; there is something to send to it.
    fn next_receiver<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        turns: &mut StationScheduler,
        books: &mut LinkContext<P>,
    ) -> Result<usize, Instant> {
        let mut is_enough = self.interfaces[l].is_by_station();
        loop {
            let mut later = None;
            let next = turns.next(|receiver| {
                self.availability(now, l, receiver, books).unwrap_or_else(|at| {
                    // It keeps its turn: there is a packet, which its queue does not yet let go.
                    later = Some(at);
                    Availability::Now
                })
            });
            match (next, later) {
                (_, Some(at)) => return Err(at),
                (Some(receiver), None) => return Ok(receiver),
                (None, None) if is_enough => return Err(Instant::NEVER),
                // One queue for all: what is next in it decides.
                (None, None) => is_enough = self.sort_packet(now, l, turns, books)?.is_some(),
            }
        }
    }

    /// What can be sent to a receiver; takes a packet from its own queue if it has one and nothing else is there.
    fn availability<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        receiver: usize,
        books: &mut LinkContext<P>,
    ) -> Result<Availability, Instant> {
        self.interfaces[l].select_station(receiver);
        if let Some(offer) = self.nodes[l].tids[receiver].offers() {
            return Ok(offer);
        }
        if !self.interfaces[l].is_by_station() {
            return Ok(Availability::Nothing);
        }
        match self.take_packet(now, l, books) {
            Ok(frame) => {
                self.nodes[l].tids[receiver].push(frame);
                Ok(Availability::Now)
            }
            Err(Instant::NEVER) => Ok(Availability::Nothing),
            Err(at) => Err(at),
        }
    }

    /// Takes a packet and lays it to the others for its receiver; which receiver that is, if it has enough now.
    fn sort_packet<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        turns: &mut StationScheduler,
        books: &mut LinkContext<P>,
    ) -> Result<Option<usize>, Instant> {
        let frame = self.take_packet(now, l, books)?;
        let node = &mut self.nodes[l];
        let receiver = node.receiver(frame.station);
        node.tids[receiver].push(frame);
        turns.has_packet(receiver);
        Ok(node.tids[receiver].is_full().then_some(receiver))
    }

    /// Takes a packet from the queue of `l`. If there is none, tells when there may be.
    fn take_packet<P: Probe>(&mut self, now: Instant, l: usize, books: &mut LinkContext<P>) -> Result<Frame, Instant> {
        self.driver(l).take_packet(now, books)
    }

    /// What the driver of node `l` has to do with.
    #[inline(always)]
    fn driver(&mut self, l: usize) -> Driver<'_> {
        let Self { nodes, interfaces, rtts, sockets, dcf, calls, first_host, .. } = self;
        let (node, interface) = (&mut nodes[l], &mut interfaces[l]);
        Driver { l, first_host: *first_host, node, interface, rtts, sockets, dcf, calls }
    }

    /// The station at either end of the way over the channel of a packet to a host, which crosses it from `node`.
    #[inline(always)]
    fn station_of(&self, node: usize, to: u32) -> usize {
        station_of(self.first_host, node, to)
    }
}

/// A driver, and what it has to do with. It is looked up once for all packets that it takes together.
struct Driver<'a> {
    /// The number of its node.
    l: usize,
    first_host: u32,
    node: &'a mut Node,
    interface: &'a mut Interface,
    rtts: &'a mut RttTracker,
    sockets: &'a mut Sockets,
    dcf: &'a mut Dcf,
    calls: &'a mut PendingCalls,
}

impl Driver<'_> {
    /// When it asks its queue next, if that is now or before `until`, and nobody else has to act before; else when it is to be
    /// called.
    #[inline(always)]
    fn next_pull(&self, now: Instant, until: Instant) -> Result<Instant, Instant> {
        match self.node.next_pull() {
            None => Err(Instant::NEVER),
            Some(at) if at > now && self.interface.tally().waiting() > 0 => {
                let others = at >= until || self.calls.channel || !self.sockets.resumable.is_empty();
                if others { Err(at) } else { Ok(at) }
            }
            Some(_) => Ok(now),
        }
    }

    /// Takes a packet from the queue. If there is none, tells when there may be.
    #[inline(always)]
    fn take_packet<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> Result<Frame, Instant> {
        if let Some((meta, handle)) = self.interface.try_dequeue_head(now, books) {
            let (len, to) = (meta.len, meta.hosts.1);
            return Ok(self.frame_of(now, (len, to), handle, books));
        }
        if self.interface.is_dequeue_noop() {
            return Err(Instant::NEVER);
        }
        match self.interface.dequeue(now, books, self.sockets) {
            DequeueResult::Packet(meta, handle) => Ok(self.frame_of(now, (meta.len, meta.hosts.1), handle, books)),
            DequeueResult::Empty => Err(Instant::NEVER),
            DequeueResult::NotBefore(at) => Err(at),
        }
    }

    /// The frame of a packet to a host, which its queue counts as `len` bytes.
    #[inline(always)]
    fn frame_of<P>(&mut self, now: Instant, (len, to): (u32, u32), handle: Handle, books: &LinkContext<P>) -> Frame {
        let (packet, is_station) = (books.packets.packet(handle), self.l != ACCESS_POINT);
        let station = station_of(self.first_host, self.l, to);
        if is_station && packet.to_sink {
            self.rtts.tapped(now, packet.slot, &books.packets.header(handle));
        }
        let chain = self.node.choose(now, station);
        self.node.on_packet_taken(now, len);
        let mut frame = Frame::new(now, handle, packet.len, station, chain);
        (frame.slot, frame.is_local_data) = (packet.slot, is_counted(is_station, books.packets, handle));
        frame
    }

    /// Something comes into the ring.
    #[inline(always)]
    fn push_to_ring(&mut self, now: Instant, load: Psdu) {
        self.node.push(now, load);
        if !self.dcf.is_contending(self.l) {
            self.dcf.on_frame(now, self.l);
            self.calls.channel = true;
        }
    }
}

/// See [`Wlan::station_of`].
#[inline(always)]
fn station_of(first_host: u32, node: usize, to: u32) -> usize {
    match node {
        ACCESS_POINT => (to - first_host) as usize,
        station => station - 1,
    }
}
