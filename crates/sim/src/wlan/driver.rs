//! Drivers move packets from the queues into their rings.

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
    /// Handles an arrival at the queue of a node.
    pub fn arrive<P: Probe>(&mut self, now: Instant, arrival: Arrival, cx: &mut LinkContext<P>) {
        let Arrival { handle, packet, origin } = arrival;
        let node = cx.link - self.first;
        let bytes = self.interfaces[node].accounted(packet.len);
        let meta = packet.meta(bytes, origin);
        cx.probe.arrived(QueueEvent { at: now, link: cx.link, packet: handle, meta: &meta }, cx.packets);
        if is_counted(node != ACCESS_POINT, cx.packets, handle) {
            self.sockets.on_enqueue(packet.slot);
        }
        if self.interfaces[node].is_by_station() {
            let station = self.station_of(node, meta.hosts.1);
            let scheduler = self.nodes[node].scheduler.as_mut();
            scheduler.expect("queues of stations take turns").has_packet(station);
        }
        self.interfaces[node].enqueue(Meta { enqueued: now, ..meta }, handle, cx, &mut self.sockets);
        self.pull(now, node, cx);
    }

    /// Lets a driver take packets until its ring is full or its queue empty.
    #[inline(always)]
    pub fn pull<P: Probe>(&mut self, now: Instant, l: usize, cx: &mut LinkContext<P>) {
        let node = &mut self.nodes[l];
        if node.next_pull().is_some() {
            self.run_driver(now, Instant::ZERO, l, cx);
        } else if node.reschedule_call(Instant::NEVER) {
            self.calls.drivers.push((self.first + l, Instant::NEVER));
        }
    }

    /// Handles the event of a driver, which the caller has removed from the event set; no other event is due before
    /// `until`. The driver is called again directly, with the time of the event that it would have scheduled, as long
    /// as its effects stay within the node; each such call counts as that event. Returns the time of the last call, and
    /// the number of calls after the first.
    #[inline]
    pub fn on_driver<P: Probe>(
        &mut self,
        now: Instant,
        until: Instant,
        l: usize,
        cx: &mut LinkContext<P>,
    ) -> (Instant, u64) {
        self.nodes[l].reschedule_call(Instant::NEVER);
        self.run_driver(now, until, l, cx)
    }

    /// Calls the driver of node `l` at `now`, and again as in [`Self::on_driver`].
    #[inline(never)]
    fn run_driver<P: Probe>(
        &mut self,
        now: Instant,
        until: Instant,
        l: usize,
        cx: &mut LinkContext<P>,
    ) -> (Instant, u64) {
        cx.link = self.first + l;
        let (mut last, mut more) = (now, 0);
        let at = match self.nodes[l].scheduler.take() {
            None => self.pull_frames((&mut last, &mut more), until, l, cx),
            Some(mut scheduler) => {
                let at = self.pull_scheduled((&mut last, &mut more), until, (l, &mut scheduler), cx);
                self.nodes[l].scheduler = Some(scheduler);
                at
            }
        };
        if self.nodes[l].reschedule_call(at) {
            self.calls.drivers.push((self.first + l, at));
        }
        (last, more)
    }

    /// Moves packets into the ring in the order of the queue. Returns the time of the driver's next call; `now` is the
    /// time of its last one.
    #[inline(always)]
    fn pull_frames<P: Probe>(
        &mut self,
        (now, more): (&mut Instant, &mut u64),
        until: Instant,
        l: usize,
        cx: &mut LinkContext<P>,
    ) -> Instant {
        let mut driver = self.driver(l);
        loop {
            match driver.next_pull(*now, until) {
                Err(at) => return at,
                Ok(at) => (*now, *more) = (at, *more + u64::from(at > *now)),
            }
            match driver.take_packet(*now, cx) {
                Err(at) => return at,
                Ok(frame) => driver.push_to_ring(*now, Psdu::Frame(frame)),
            }
        }
    }

    /// [`Self::pull_frames`] for receivers that are served in turn.
    #[inline(never)]
    fn pull_scheduled<P: Probe>(
        &mut self,
        (now, more): (&mut Instant, &mut u64),
        until: Instant,
        (l, scheduler): (usize, &mut StationScheduler),
        cx: &mut LinkContext<P>,
    ) -> Instant {
        loop {
            match self.driver(l).next_pull(*now, until) {
                Err(at) => return at,
                Ok(at) => (*now, *more) = (at, *more + u64::from(at > *now)),
            }
            match self.next_psdu(*now, l, scheduler, cx) {
                Err(at) => return at,
                Ok(psdu) => self.driver(l).push_to_ring(*now, psdu),
            }
        }
    }

    /// The next frame or aggregate, for the receiver whose turn it is.
    #[inline(never)]
    fn next_psdu<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        scheduler: &mut StationScheduler,
        cx: &mut LinkContext<P>,
    ) -> Result<Psdu, Instant> {
        let receiver = self.next_receiver(now, l, scheduler, cx)?;
        scheduler.served(receiver);
        let node = &mut self.nodes[l];
        if !node.tids[receiver].aggregates() {
            return Ok(Psdu::Frame(node.tids[receiver].pop()));
        }
        let mut aggregate = node.begin_aggregate();
        while self.nodes[l].tids[receiver].fill(&mut aggregate) {
            let sorted = self.sort_packet(now, l, scheduler, cx);
            if !sorted.is_ok_and(|enough| enough.is_none_or(|other| other == receiver)) {
                break;
            }
        }
        Ok(Psdu::Aggregate(aggregate))
    }

    /// The receiver to serve now, with a frame that can be sent; otherwise when to try again.
    fn next_receiver<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        scheduler: &mut StationScheduler,
        cx: &mut LinkContext<P>,
    ) -> Result<usize, Instant> {
        let mut is_enough = self.interfaces[l].is_by_station();
        loop {
            let mut later = None;
            let next = scheduler.next(|receiver| {
                self.availability(now, l, receiver, cx).unwrap_or_else(|at| {
                    // The receiver keeps its turn: it has a packet that its queue does not yet release.
                    later = Some(at);
                    Availability::Now
                })
            });
            match (next, later) {
                (_, Some(at)) => return Err(at),
                (Some(receiver), None) => return Ok(receiver),
                (None, None) if is_enough => return Err(Instant::NEVER),
                // One queue for all: the driver sorts until one station has enough for an access, so a slow station
                // decides how long all aggregates are.
                (None, None) => is_enough = self.sort_packet(now, l, scheduler, cx)?.is_some(),
            }
        }
    }

    /// Availability of frames for a receiver. Takes a packet from the receiver's own queue, if it has one, when no
    /// frame waits.
    fn availability<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        receiver: usize,
        cx: &mut LinkContext<P>,
    ) -> Result<Availability, Instant> {
        self.interfaces[l].select_station(receiver);
        if let Some(offer) = self.nodes[l].tids[receiver].offers() {
            return Ok(offer);
        }
        if !self.interfaces[l].is_by_station() {
            return Ok(Availability::Nothing);
        }
        match self.take_packet(now, l, cx) {
            Ok(frame) => {
                self.nodes[l].tids[receiver].push(frame);
                Ok(Availability::Now)
            }
            Err(Instant::NEVER) => Ok(Availability::Nothing),
            Err(at) => Err(at),
        }
    }

    /// Takes a packet and queues it for its receiver; returns the receiver if that has enough for an access now.
    fn sort_packet<P: Probe>(
        &mut self,
        now: Instant,
        l: usize,
        scheduler: &mut StationScheduler,
        cx: &mut LinkContext<P>,
    ) -> Result<Option<usize>, Instant> {
        let frame = self.take_packet(now, l, cx)?;
        let node = &mut self.nodes[l];
        let receiver = node.receiver(frame.station);
        node.tids[receiver].push(frame);
        scheduler.has_packet(receiver);
        Ok(node.tids[receiver].is_full().then_some(receiver))
    }

    /// Takes a packet from the queue of node `l`. Without one, the error is when to try again.
    fn take_packet<P: Probe>(&mut self, now: Instant, l: usize, cx: &mut LinkContext<P>) -> Result<Frame, Instant> {
        self.driver(l).take_packet(now, cx)
    }

    /// The driver of node `l`.
    #[inline(always)]
    fn driver(&mut self, l: usize) -> Driver<'_> {
        let Self { nodes, interfaces, rtts, sockets, dcf, calls, first_host, .. } = self;
        let (node, interface) = (&mut nodes[l], &mut interfaces[l]);
        Driver { l, first_host: *first_host, node, interface, rtts, sockets, dcf, calls }
    }

    /// The station that sends or receives a packet for host `to`, sent over the channel by `node`.
    #[inline(always)]
    fn station_of(&self, node: usize, to: u32) -> usize {
        station_of(self.first_host, node, to)
    }
}

/// A driver with its node and the shared state. Built once for all packets of a call.
struct Driver<'a> {
    /// Node index.
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
    /// Time of the driver's next dequeue, if that is now or before `until` with nothing else to do before it; otherwise
    /// the error is the time of the next call.
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

    /// Takes a packet from the queue. Without one, the error is when to try again.
    #[inline(always)]
    fn take_packet<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> Result<Frame, Instant> {
        if let Some((meta, handle)) = self.interface.try_dequeue_head(now, cx) {
            let (len, to) = (meta.len, meta.hosts.1);
            return Ok(self.frame_of(now, (len, to), handle, cx));
        }
        if self.interface.is_dequeue_noop() {
            return Err(Instant::NEVER);
        }
        match self.interface.dequeue(now, cx, self.sockets) {
            DequeueResult::Packet(meta, handle) => Ok(self.frame_of(now, (meta.len, meta.hosts.1), handle, cx)),
            DequeueResult::Empty => Err(Instant::NEVER),
            DequeueResult::NotBefore(at) => Err(at),
        }
    }

    /// Makes the frame of a packet for host `to` with `len` accounted bytes.
    #[inline(always)]
    fn frame_of<P>(&mut self, now: Instant, (len, to): (u32, u32), handle: Handle, cx: &LinkContext<P>) -> Frame {
        let (packet, is_station) = (cx.packets.packet(handle), self.l != ACCESS_POINT);
        let station = station_of(self.first_host, self.l, to);
        if is_station && packet.to_sink {
            self.rtts.tapped(now, packet.slot, &cx.packets.header(handle));
        }
        // As in mac80211, the rate is chosen on entry to the ring, not on transmission: up to a ring of frames uses
        // older statistics.
        let chain = self.node.choose(now, station);
        self.node.on_packet_taken(now, len);
        let mut frame = Frame::new(now, handle, packet.len, station, chain);
        (frame.slot, frame.is_local_data) = (packet.slot, is_counted(is_station, cx.packets, handle));
        frame
    }

    /// Appends to the ring, and starts contention if the node was idle.
    #[inline(always)]
    fn push_to_ring(&mut self, now: Instant, psdu: Psdu) {
        self.node.push(now, psdu);
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
