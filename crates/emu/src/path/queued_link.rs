//! A queue and the link that serves it, in virtual time.
//!
//! Events at one instant have the simulator's order: the link dequeues, then packets arrive; a link that falls idle
//! polls the queue once more and gets no packet. So the queue gets exactly the calls of a simulation with these
//! arrivals.

use super::datapath::Datapath;
use super::packets::BitFlip;
use crate::log::{PacketFate, RecordKind as Logged};
use sojourn_aqm::qdisc::drop_all;
use sojourn_aqm::{
    DequeueResult, DropReason, Duration, EnqueueResult, Host, Instant, Meta, Qdisc, Rate, Rng, Sink, TcpView,
};
use sojourn_sim::scenario::{Framing, LinkSpec};
use sojourn_sim::{TransmissionTimes, Transmitter, stream_of_queue};

/// A queue discipline above a transmitter.
pub struct QueuedLink {
    qdisc: Box<dyn Qdisc<u32> + Send>,
    transmitter: Transmitter,
    framing: Framing,
    mtu: u32,
    mode: ServiceMode,
    /// Capacity used, in the unit of [`Transmitter::usable`].
    used_capacity: u64,
    /// Super-packet with segments still to be sent.
    partial_superframe: Option<u32>,
    /// Packet in transmission, of a link that sends one by one.
    in_transmission: Option<Transmission>,
}

/// A packet in transmission.
#[derive(Clone, Copy)]
struct Transmission {
    handle: u32,
    start: Instant,
    sent: TransmissionTimes,
    /// Bytes on the medium.
    bytes: u32,
    /// Whether the packet will be lost, if decided before the end of its transmission.
    lost: Option<bool>,
}

enum ServiceMode {
    /// One packet after the other. `free`: time of the next dequeue, unless the link is `idle`. `throttled`: the link
    /// waits until `free` because the queue has only packets that must not leave earlier.
    OneByOne { free: Instant, idle: bool, throttled: bool },
    /// In opportunities. `part`: a partly sent packet and its remaining bytes. `awake`: whether any packet waits.
    Opportunities { part: Option<(u32, u32)>, awake: bool },
}

/// Result of polling for a packet to transmit.
enum NextPacket {
    /// A packet or a segment: its bytes on the medium, and its handle.
    Packet(u32, u32),
    /// The queue is empty.
    Empty,
    /// The queued packets must not leave before this time.
    NotBefore(Instant),
}

/// Discards packets that the queue drops, and supplies TCP headers.
struct DropSink<'a> {
    now: Instant,
    /// The packet being enqueued.
    arriving: Option<u32>,
    /// Whether TCP headers are logged.
    with_tcp: bool,
    datapath: &'a mut Datapath,
}

impl Sink<u32> for DropSink<'_> {
    fn dropped(&mut self, meta: Meta, handle: u32, reason: DropReason) {
        let waited = self.arriving != Some(handle);
        let sojourn = if waited { self.now - meta.enqueued } else { Duration::ZERO };
        self.datapath.dropped(PacketFate { at: self.now, kind: Logged::dropped(reason), sojourn }, &meta, handle);
    }

    fn duplicated(&mut self, meta: &Meta, handle: &u32) -> Option<u32> {
        Some(self.datapath.duplicated(self.now, meta, *handle, self.with_tcp))
    }

    fn corrupt(&mut self, handle: &mut u32, byte: u32, bit: u8) {
        self.datapath.packets.get_mut(*handle).flip = Some(BitFlip { byte, bit });
    }

    fn tcp_header(&self, handle: &u32) -> Option<TcpView> {
        self.datapath.packets.tcp(*handle)
    }
}

/// A replacement of a link's queue discipline.
pub struct QueueChange<'a> {
    /// The link with the new discipline.
    pub spec: &'a LinkSpec,
    /// Whether queued packets stay, as after `tc qdisc change`; otherwise they are dropped, as after `tc qdisc
    /// replace`.
    pub keeps: bool,
    /// Random stream of the new discipline.
    pub rng: Rng,
}

impl QueuedLink {
    /// Creates link `index` of a run with `seed`, with the simulator's random streams.
    pub fn new(spec: &LinkSpec, seed: u64, index: usize) -> Self {
        let transmitter = Transmitter::new(&spec.service, spec.mtu, seed, index);
        let transmitter = transmitter.expect("a shell refuses the channel of a wireless LAN");
        let host = Host { link: spec.nominal_link(), rng: stream_of_queue(seed, index, 0) };
        let mode = match transmitter.opportunity() {
            Some(_) => ServiceMode::Opportunities { part: None, awake: false },
            None => ServiceMode::OneByOne { free: Instant::ZERO, idle: true, throttled: false },
        };
        let qdisc = spec.aqm.queue(spec.limits, host);
        Self {
            qdisc,
            transmitter,
            framing: spec.framing,
            mtu: spec.mtu,
            mode,
            used_capacity: 0,
            partial_superframe: None,
            in_transmission: None,
        }
    }

    /// Processes all events up to and including `until`.
    pub fn advance(&mut self, until: Instant, datapath: &mut Datapath) {
        while let Some(at) = self.next().filter(|&at| at <= until) {
            self.step(at, datapath);
        }
    }

    /// Processes the event at `at`: the end of a transmission, or a dequeue.
    fn step(&mut self, at: Instant, datapath: &mut Datapath) {
        if let Some(transmission) = self.in_transmission.take() {
            self.used_capacity += self.transmitter.used(transmission.start, transmission.sent.free, transmission.bytes);
            datapath.on_link_exit(transmission.sent.end, transmission.handle, transmission.lost);
            return;
        }
        match self.mode {
            ServiceMode::OneByOne { .. } => self.serve(at, datapath),
            ServiceMode::Opportunities { .. } => self.serve_opportunity(at, datapath),
        }
    }

    /// Whether super-packets must be split before the queue.
    pub fn splits_gso(&self) -> bool {
        self.qdisc.splits_gso()
    }

    /// Enqueues a packet or a whole super-packet at `now`, after [`Self::advance`] to `now`. Sets the length in `meta`.
    pub fn arrive(&mut self, now: Instant, meta: Meta, handle: u32, datapath: &mut Datapath) {
        let packet = datapath.packets.get(handle);
        let (each, last) = datapath.packets.page(packet.page).sizes(packet);
        let before = u32::from(packet.segments - 1) * self.framing.accounted(each);
        let meta = Meta { len: before + self.framing.accounted(last), ..meta };
        let with_tcp = self.qdisc.needs_tcp_headers();
        datapath.arrived(now, &meta, handle, with_tcp);
        let enqueued =
            self.qdisc.enqueue(now, meta, handle, &mut DropSink { now, arriving: Some(handle), with_tcp, datapath });
        if !matches!(enqueued, EnqueueResult::Dropped(_)) {
            datapath.counters.backlog = self.qdisc.backlog().packets as u64;
        }
        match &mut self.mode {
            // The new packet may leave before those that wait.
            ServiceMode::OneByOne { free, idle, throttled } if *idle || *throttled => {
                (*free, *idle, *throttled) = (now, false, false);
            }
            ServiceMode::Opportunities { awake, .. } if !*awake => {
                *awake = true;
                // Opportunities before `now` passed unused.
                self.transmitter.pass(now);
            }
            _ => {}
        }
    }

    /// Time of the next event, the end of a transmission or a dequeue; `None` for an idle link.
    pub fn next(&self) -> Option<Instant> {
        match self.mode {
            // The link is not free before the end of the transmission.
            ServiceMode::OneByOne { .. } if self.in_transmission.is_some() => {
                self.in_transmission.map(|transmission| transmission.sent.end)
            }
            ServiceMode::OneByOne { free, idle, .. } => Some(free).filter(|_| !idle),
            ServiceMode::Opportunities { awake, .. } => self.transmitter.opportunity().filter(|_| awake),
        }
    }

    /// Whether any packet waits or is in transmission.
    pub fn is_backlogged(&self) -> bool {
        self.qdisc.backlog().packets > 0
            || self.partial_superframe.is_some()
            || self.in_transmission.is_some()
            || matches!(self.mode, ServiceMode::Opportunities { part: Some(_), .. })
    }

    /// Changes the rate at `at`, after [`Self::advance`]; no effect on a link with opportunities. The transmitter
    /// reschedules the packet in transmission from its start, so its end moves as in a simulation.
    pub fn change_rate(&mut self, at: Instant, rate: Rate) {
        let last = self.transmitter.change_rate(at, rate);
        if let (Some(transmission), Some(sent)) = (&mut self.in_transmission, last) {
            transmission.sent = sent;
            if let ServiceMode::OneByOne { free, .. } = &mut self.mode {
                *free = sent.free;
            }
        }
    }

    /// Decides now whether the packet in transmission will be lost, because the loss model at its start applies.
    /// Differs from a simulation: a time-based chain (`step`) whose model changes within the same packet as the rate.
    pub fn decide_loss(&mut self, datapath: &mut Datapath) {
        if let Some(transmission) = &mut self.in_transmission {
            let end = transmission.sent.end;
            transmission.lost.get_or_insert_with(|| datapath.is_lost(end));
        }
    }

    /// Called before the queue changes at `now`, and before [`Self::advance`]: a link that falls idle at `now` polls
    /// the old queue.
    pub fn prepare_change(&mut self, now: Instant, datapath: &mut Datapath) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let is_idle = self.qdisc.backlog().packets == 0 && self.partial_superframe.is_none();
            if !is_idle || matches!(self.mode, ServiceMode::Opportunities { .. }) {
                break;
            }
            self.step(at, datapath);
        }
    }

    /// Replaces the queue discipline at `now`.
    pub fn change_queue(&mut self, now: Instant, change: QueueChange<'_>, datapath: &mut Datapath) {
        let QueueChange { spec, keeps, rng } = change;
        let mut new = spec.aqm.queue(spec.limits, Host { link: spec.nominal_link(), rng });
        let mut drops = DropSink { now, arriving: None, with_tcp: false, datapath };
        match self.qdisc.as_any().filter(|_| keeps) {
            Some(old) => new.inherit(old, now, &mut drops).expect("the change was tried before it was taken"),
            None => drop_all(&mut *self.qdisc, now, &mut drops),
        }
        self.qdisc = new;
        datapath.counters.backlog = self.qdisc.backlog().packets as u64;
        // Waiting packets may leave earlier than the old queue allowed.
        if let ServiceMode::OneByOne { free, throttled, .. } = &mut self.mode {
            if std::mem::take(throttled) {
                *free = now;
            }
        }
    }

    /// Capacity used until `now`, divided by the capacity available.
    pub fn utilisation(&mut self, now: Instant) -> f64 {
        let usable = self.transmitter.usable(Instant::ZERO, now);
        if usable == 0 { 0.0 } else { self.used_capacity as f64 / usable as f64 }
    }

    fn serve(&mut self, at: Instant, datapath: &mut Datapath) {
        let (free, idle, throttled) = match self.next_packet(at, datapath) {
            NextPacket::Packet(bytes, handle) => {
                let sent = self.transmitter.send(at, bytes);
                self.in_transmission = Some(Transmission { handle, start: at, sent, bytes, lost: None });
                (sent.free, false, false)
            }
            NextPacket::NotBefore(later) if later < Instant::NEVER => (later, false, true),
            NextPacket::Empty | NextPacket::NotBefore(_) => (at, true, false),
        };
        self.mode = ServiceMode::OneByOne { free, idle, throttled };
    }

    /// Sends packets in one opportunity; capacity that is left over is lost.
    fn serve_opportunity(&mut self, at: Instant, datapath: &mut Datapath) {
        let ServiceMode::Opportunities { mut part, .. } = self.mode else { return };
        self.transmitter.step();
        let mut budget = self.mtu;
        while budget > 0 {
            let (handle, left) = match part.take() {
                Some(part) => part,
                None => match self.next_packet(at, datapath) {
                    NextPacket::Packet(bytes, handle) => (handle, bytes),
                    NextPacket::Empty | NextPacket::NotBefore(_) => break,
                },
            };
            let served = left.min(budget);
            budget -= served;
            self.used_capacity += self.transmitter.used(at, at, served);
            if left == served {
                datapath.on_link_exit(at, handle, None);
            } else {
                part = Some((handle, left - served));
            }
        }
        let awake = part.is_some() || self.partial_superframe.is_some() || self.qdisc.backlog().packets > 0;
        self.mode = ServiceMode::Opportunities { part, awake };
    }

    /// The next packet, or the next segment of a super-packet, with its bytes on the medium.
    fn next_packet(&mut self, at: Instant, datapath: &mut Datapath) -> NextPacket {
        if self.partial_superframe.is_none() {
            match self.dequeue(at, datapath) {
                DequeueResult::Packet(meta, handle) if meta.segments == 1 => {
                    return NextPacket::Packet(self.wire(meta.len), handle);
                }
                DequeueResult::Packet(_, handle) => self.partial_superframe = Some(handle),
                DequeueResult::NotBefore(later) => return NextPacket::NotBefore(later),
                DequeueResult::Empty => return NextPacket::Empty,
            }
        }
        let whole = self.partial_superframe.expect("a super-packet is being sent");
        let handle = datapath.cut(at, whole);
        if handle == whole {
            self.partial_superframe = None;
        }
        let packet = datapath.packets.get(handle);
        let bytes = datapath.packets.page(packet.page).ip_bytes(packet);
        NextPacket::Packet(self.wire(self.framing.accounted(bytes)), handle)
    }

    fn dequeue(&mut self, at: Instant, datapath: &mut Datapath) -> DequeueResult<u32> {
        let next = self.qdisc.dequeue(at, &mut DropSink { now: at, arriving: None, with_tcp: false, datapath });
        match &next {
            DequeueResult::Packet(meta, handle) => datapath.sent(at, meta, *handle),
            DequeueResult::Empty | DequeueResult::NotBefore(_) => datapath.on_idle_poll(at),
        }
        datapath.counters.backlog = self.qdisc.backlog().packets as u64;
        next
    }

    /// Bytes on the medium of a packet of `accounted` bytes in the queue.
    fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }
}
