//! A queue and the link that serves it, in virtual time.
//!
//! What happens at one instant is in the simulator's order: the link asks for its next packet, then packets arrive; a
//! link that falls idle asks once more, in vain. So the queue sees exactly what it would see in a simulation with these
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
    /// What was used of [`Transmitter::usable`].
    used_capacity: u64,
    /// A super-packet of which segments are still to be sent.
    partial_superframe: Option<u32>,
    /// The packet in transmission, of a link that sends one by one.
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
    /// Whether it is going to be lost, where that was decided before its end.
    lost: Option<bool>,
}

enum ServiceMode {
    /// One packet after the other: when the next can be taken, unless the link is idle; it may be idle until then because
    /// what waits may not go earlier.
    OneByOne { free: Instant, idle: bool, throttled: bool },
    /// In opportunities: the packet of which a part is sent, with the bytes that are not, and whether anything waits.
    Opportunities { part: Option<(u32, u32)>, awake: bool },
}

/// What a transmitter gets that asks for something to send.
enum NextPacket {
    /// A packet or a segment: its bytes on the medium, and its handle.
    Packet(u32, u32),
    /// Nothing is queued.
    Empty,
    /// Something is queued that may not go before.
    NotBefore(Instant),
}

/// Loses what the queue drops, and shows it TCP headers.
struct DropSink<'a> {
    now: Instant,
    /// The packet that is being offered.
    arriving: Option<u32>,
    /// Whether TCP headers are kept in the log.
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

    fn damaged(&mut self, handle: &mut u32, byte: u32, bit: u8) {
        self.datapath.packets.get_mut(*handle).flip = Some(BitFlip { byte, bit });
    }

    fn tcp_header(&self, handle: &u32) -> Option<TcpView> {
        self.datapath.packets.tcp(*handle)
    }
}

/// Another discipline for a link.
pub struct QueueChange<'a> {
    /// The link that has it.
    pub spec: &'a LinkSpec,
    /// Whether what waits stays, as after `tc qdisc change`; else it is dropped, as after `tc qdisc replace`.
    pub keeps: bool,
    /// Its random stream.
    pub rng: Rng,
}

impl QueuedLink {
    /// The station of link `index` in a run with `seed`, with the random streams of the simulator's.
    pub fn new(spec: &LinkSpec, seed: u64, index: usize) -> Self {
        let transmitter = Transmitter::new(&spec.service, spec.mtu, seed, index);
        let transmitter = transmitter.expect("a shell refuses the channel of a wireless LAN");
        let host = Host { link: spec.nominal_link(), rng: stream_of_queue(seed, index, 0) };
        let serves = match transmitter.opportunity() {
            Some(_) => ServiceMode::Opportunities { part: None, awake: false },
            None => ServiceMode::OneByOne { free: Instant::ZERO, idle: true, throttled: false },
        };
        let qdisc = spec.aqm.queue(spec.limits, host);
        Self {
            qdisc,
            transmitter,
            framing: spec.framing,
            mtu: spec.mtu,
            mode: serves,
            used_capacity: 0,
            partial_superframe: None,
            in_transmission: None,
        }
    }

    /// Serves until `until`, what is due then included.
    pub fn advance(&mut self, until: Instant, course: &mut Datapath) {
        while let Some(at) = self.next().filter(|&at| at <= until) {
            self.step(at, course);
        }
    }

    /// What is due at `at`: a transmission ends, or the link asks for a packet.
    fn step(&mut self, at: Instant, course: &mut Datapath) {
        if let Some(sending) = self.in_transmission.take() {
            self.used_capacity += self.transmitter.used(sending.start, sending.sent.free, sending.bytes);
            course.on_link_exit(sending.sent.end, sending.handle, sending.lost);
            return;
        }
        match self.mode {
            ServiceMode::OneByOne { .. } => self.serve(at, course),
            ServiceMode::Opportunities { .. } => self.serve_opportunity(at, course),
        }
    }

    /// Whether the queue takes segments: super-packets are cut before it.
    pub fn splits_gso(&self) -> bool {
        self.qdisc.splits_gso()
    }

    /// A packet, or a super-packet whole, arrives at `now`; the station has advanced to then. The length in `meta` is not
    /// known yet.
    pub fn arrive(&mut self, now: Instant, meta: Meta, handle: u32, course: &mut Datapath) {
        let packet = course.packets.get(handle);
        let (each, last) = course.packets.page(packet.page).sizes(packet);
        let before = u32::from(packet.segments - 1) * self.framing.accounted(each);
        let meta = Meta { len: before + self.framing.accounted(last), ..meta };
        let with_tcp = self.qdisc.needs_tcp_headers();
        course.arrived(now, &meta, handle, with_tcp);
        let enqueued = self.qdisc.enqueue(
            now,
            meta,
            handle,
            &mut DropSink { now, arriving: Some(handle), with_tcp, datapath: course },
        );
        if !matches!(enqueued, EnqueueResult::Dropped(_)) {
            course.counters.backlog = self.qdisc.backlog().packets as u64;
        }
        match &mut self.mode {
            // What comes may go before what waits.
            ServiceMode::OneByOne { free, idle, throttled } if *idle || *throttled => {
                (*free, *idle, *throttled) = (now, false, false);
            }
            ServiceMode::Opportunities { awake, .. } if !*awake => {
                *awake = true;
                // Nothing was there to be sent.
                self.transmitter.pass(now);
            }
            _ => {}
        }
    }

    /// When a transmission ends, or the link asks for a packet; nothing for an idle link.
    pub fn next(&self) -> Option<Instant> {
        match self.mode {
            // It is not free before that.
            ServiceMode::OneByOne { .. } if self.in_transmission.is_some() => {
                self.in_transmission.map(|sending| sending.sent.end)
            }
            ServiceMode::OneByOne { free, idle, .. } => Some(free).filter(|_| !idle),
            ServiceMode::Opportunities { awake, .. } => self.transmitter.opportunity().filter(|_| awake),
        }
    }

    /// Whether anything waits, so that [`Self::next`] will send it.
    pub fn is_backlogged(&self) -> bool {
        self.qdisc.backlog().packets > 0
            || self.partial_superframe.is_some()
            || self.in_transmission.is_some()
            || matches!(self.mode, ServiceMode::Opportunities { part: Some(_), .. })
    }

    /// The rate is another one from `at` on, to which the station has advanced; nothing happens where it sends in
    /// opportunities.
    pub fn change_rate(&mut self, at: Instant, rate: Rate) {
        let last = self.transmitter.change_rate(at, rate);
        if let (Some(sending), Some(sent)) = (&mut self.in_transmission, last) {
            sending.sent = sent;
            if let ServiceMode::OneByOne { free, .. } = &mut self.mode {
                *free = sent.free;
            }
        }
    }

    /// Decides now whether the packet in transmission is going to be lost: it began before the law of losses changes.
    pub fn decide_loss(&mut self, course: &mut Datapath) {
        if let Some(sending) = &mut self.in_transmission {
            let end = sending.sent.end;
            sending.lost.get_or_insert_with(|| course.is_lost(end));
        }
    }

    /// The queue is about to change at `now`, to which the station has not advanced: a link that falls idle at that instant
    /// asks the old one.
    pub fn prepare_change(&mut self, now: Instant, course: &mut Datapath) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let is_idle = self.qdisc.backlog().packets == 0 && self.partial_superframe.is_none();
            if !is_idle || matches!(self.mode, ServiceMode::Opportunities { .. }) {
                break;
            }
            self.step(at, course);
        }
    }

    /// Another discipline takes the place of the present one at `now`.
    pub fn change_queue(&mut self, now: Instant, change: QueueChange<'_>, course: &mut Datapath) {
        let QueueChange { spec, keeps, rng } = change;
        let mut new = spec.aqm.queue(spec.limits, Host { link: spec.nominal_link(), rng });
        let mut drops = DropSink { now, arriving: None, with_tcp: false, datapath: course };
        match self.qdisc.as_any().filter(|_| keeps) {
            Some(old) => new.inherit(old, now, &mut drops).expect("the change was tried before it was taken"),
            None => drop_all(&mut *self.qdisc, now, &mut drops),
        }
        self.qdisc = new;
        course.counters.backlog = self.qdisc.backlog().packets as u64;
        // What waits may go earlier than the old queue had said.
        if let ServiceMode::OneByOne { free, throttled, .. } = &mut self.mode {
            if std::mem::take(throttled) {
                *free = now;
            }
        }
    }

    /// The share of what the link could have sent until `now` that it did send.
    pub fn utilisation(&mut self, now: Instant) -> f64 {
        let usable = self.transmitter.usable(Instant::ZERO, now);
        if usable == 0 { 0.0 } else { self.used_capacity as f64 / usable as f64 }
    }

    fn serve(&mut self, at: Instant, course: &mut Datapath) {
        let (free, idle, throttled) = match self.next_packet(at, course) {
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

    /// Sends what fits into an opportunity; what it does not carry is lost.
    fn serve_opportunity(&mut self, at: Instant, course: &mut Datapath) {
        let ServiceMode::Opportunities { mut part, .. } = self.mode else { return };
        self.transmitter.step();
        let mut budget = self.mtu;
        while budget > 0 {
            let (handle, left) = match part.take() {
                Some(part) => part,
                None => match self.next_packet(at, course) {
                    NextPacket::Packet(bytes, handle) => (handle, bytes),
                    NextPacket::Empty | NextPacket::NotBefore(_) => break,
                },
            };
            let served = left.min(budget);
            budget -= served;
            self.used_capacity += self.transmitter.used(at, at, served);
            if left == served {
                course.on_link_exit(at, handle, None);
            } else {
                part = Some((handle, left - served));
            }
        }
        let awake = part.is_some() || self.partial_superframe.is_some() || self.qdisc.backlog().packets > 0;
        self.mode = ServiceMode::Opportunities { part, awake };
    }

    /// What the transmitter sends next: a packet or the next segment of a super-packet, with its bytes on the medium.
    fn next_packet(&mut self, at: Instant, course: &mut Datapath) -> NextPacket {
        if self.partial_superframe.is_none() {
            match self.dequeue(at, course) {
                DequeueResult::Packet(meta, handle) if meta.segments == 1 => {
                    return NextPacket::Packet(self.wire(meta.len), handle);
                }
                DequeueResult::Packet(_, handle) => self.partial_superframe = Some(handle),
                DequeueResult::NotBefore(later) => return NextPacket::NotBefore(later),
                DequeueResult::Empty => return NextPacket::Empty,
            }
        }
        let whole = self.partial_superframe.expect("a super-packet is being sent");
        let handle = course.cut(at, whole);
        if handle == whole {
            self.partial_superframe = None;
        }
        let packet = course.packets.get(handle);
        let bytes = course.packets.page(packet.page).ip_bytes(packet);
        NextPacket::Packet(self.wire(self.framing.accounted(bytes)), handle)
    }

    fn dequeue(&mut self, at: Instant, course: &mut Datapath) -> DequeueResult<u32> {
        let next = self.qdisc.dequeue(at, &mut DropSink { now: at, arriving: None, with_tcp: false, datapath: course });
        match &next {
            DequeueResult::Packet(meta, handle) => course.sent(at, meta, *handle),
            DequeueResult::Empty | DequeueResult::NotBefore(_) => course.on_idle_poll(at),
        }
        course.counters.backlog = self.qdisc.backlog().packets as u64;
        next
    }

    /// Bytes on the medium of a packet that the queue counts as so many.
    fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }
}
