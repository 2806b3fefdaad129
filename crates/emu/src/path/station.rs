//! A queue and the link that serves it, in virtual time.
//!
//! What happens at one instant is in the simulator's order: the link asks for its next packet, then packets arrive; a
//! link that falls idle asks once more, in vain. So the queue sees exactly what it would see in a simulation with these
//! arrivals.

use super::course::Course;
use super::packets::Flip;
use crate::log::{Fate, Kind as Logged};
use sojourn_aqm::qdisc::drop_all;
use sojourn_aqm::{Dequeued, DropReason, Duration, Enqueued, Host, Instant, Meta, Qdisc, Rate, Rng, Sink, TcpView};
use sojourn_sim::scenario::{Framing, LinkSpec};
use sojourn_sim::{Sent, Transmitter, stream_of_queue};

/// A queue discipline above a transmitter.
pub struct Station {
    qdisc: Box<dyn Qdisc<u32> + Send>,
    transmitter: Transmitter,
    framing: Framing,
    mtu: u32,
    serves: Serves,
    /// What was used of [`Transmitter::usable`].
    used: u64,
    /// A super-packet of which segments are still to be sent.
    cut: Option<u32>,
    /// The packet in transmission, of a link that sends one by one.
    sending: Option<Sending>,
}

/// A packet in transmission.
#[derive(Clone, Copy)]
struct Sending {
    handle: u32,
    start: Instant,
    sent: Sent,
    /// Bytes on the medium.
    bytes: u32,
    /// Whether it is going to be lost, where that was decided before its end.
    lost: Option<bool>,
}

enum Serves {
    /// One packet after the other: when the next can be taken, unless the link is idle; it may be idle until then because
    /// what waits may not go earlier.
    OneByOne { free: Instant, idle: bool, throttled: bool },
    /// In opportunities: the packet of which a part is sent, with the bytes that are not, and whether anything waits.
    Opportunities { part: Option<(u32, u32)>, awake: bool },
}

/// What a transmitter gets that asks for something to send.
enum Taken {
    /// A packet or a segment: its bytes on the medium, and its handle.
    Packet(u32, u32),
    /// Nothing is queued.
    Empty,
    /// Something is queued that may not go before.
    NotBefore(Instant),
}

/// Loses what the queue drops, and shows it TCP headers.
struct Drops<'a> {
    now: Instant,
    /// The packet that is being offered.
    arriving: Option<u32>,
    /// Whether TCP headers are kept in the log.
    with_tcp: bool,
    course: &'a mut Course,
}

impl Sink<u32> for Drops<'_> {
    fn dropped(&mut self, meta: Meta, handle: u32, reason: DropReason) {
        let waited = self.arriving != Some(handle);
        let sojourn = if waited { self.now - meta.enqueued } else { Duration::ZERO };
        self.course.dropped(Fate { at: self.now, kind: Logged::dropped(reason), sojourn }, &meta, handle);
    }

    fn duplicated(&mut self, meta: &Meta, handle: &u32) -> Option<u32> {
        Some(self.course.duplicated(self.now, meta, *handle, self.with_tcp))
    }

    fn damaged(&mut self, handle: &mut u32, byte: u32, bit: u8) {
        self.course.packets.get_mut(*handle).flip = Some(Flip { byte, bit });
    }

    fn tcp(&self, handle: &u32) -> Option<TcpView> {
        self.course.packets.tcp(*handle)
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

impl Station {
    /// The station of link `index` in a run with `seed`, with the random streams of the simulator's.
    pub fn new(spec: &LinkSpec, seed: u64, index: usize) -> Self {
        let transmitter = Transmitter::new(&spec.service, spec.mtu, seed, index);
        let transmitter = transmitter.expect("a shell refuses the channel of a wireless LAN");
        let host = Host { link: spec.told(), rng: stream_of_queue(seed, index, 0) };
        let serves = match transmitter.opportunity() {
            Some(_) => Serves::Opportunities { part: None, awake: false },
            None => Serves::OneByOne { free: Instant::ZERO, idle: true, throttled: false },
        };
        let qdisc = spec.aqm.queue(spec.limits, host);
        Self { qdisc, transmitter, framing: spec.framing, mtu: spec.mtu, serves, used: 0, cut: None, sending: None }
    }

    /// Serves until `until`, what is due then included.
    pub fn advance(&mut self, until: Instant, course: &mut Course) {
        while let Some(at) = self.next().filter(|&at| at <= until) {
            self.step(at, course);
        }
    }

    /// What is due at `at`: a transmission ends, or the link asks for a packet.
    fn step(&mut self, at: Instant, course: &mut Course) {
        if let Some(sending) = self.sending.take() {
            self.used += self.transmitter.used(sending.start, sending.sent.free, sending.bytes);
            course.left(sending.sent.end, sending.handle, sending.lost);
            return;
        }
        match self.serves {
            Serves::OneByOne { .. } => self.serve(at, course),
            Serves::Opportunities { .. } => self.serve_opportunity(at, course),
        }
    }

    /// Whether the queue takes segments: super-packets are cut before it.
    pub fn splits(&self) -> bool {
        self.qdisc.splits()
    }

    /// A packet, or a super-packet whole, arrives at `now`; the station has advanced to then. The length in `meta` is not
    /// known yet.
    pub fn arrive(&mut self, now: Instant, meta: Meta, handle: u32, course: &mut Course) {
        let packet = course.packets.get(handle);
        let (each, last) = course.packets.page(packet.page).sizes(packet);
        let before = u32::from(packet.segments - 1) * self.framing.accounted(each);
        let meta = Meta { len: before + self.framing.accounted(last), ..meta };
        let with_tcp = self.qdisc.looks_at_tcp();
        course.arrived(now, &meta, handle, with_tcp);
        let enqueued =
            self.qdisc.enqueue(now, meta, handle, &mut Drops { now, arriving: Some(handle), with_tcp, course });
        if !matches!(enqueued, Enqueued::Dropped(_)) {
            course.counters.backlog = self.qdisc.backlog().packets as u64;
        }
        match &mut self.serves {
            // What comes may go before what waits.
            Serves::OneByOne { free, idle, throttled } if *idle || *throttled => {
                (*free, *idle, *throttled) = (now, false, false);
            }
            Serves::Opportunities { awake, .. } if !*awake => {
                *awake = true;
                // Nothing was there to be sent.
                self.transmitter.pass(now);
            }
            _ => {}
        }
    }

    /// When a transmission ends, or the link asks for a packet; nothing for an idle link.
    pub fn next(&self) -> Option<Instant> {
        match self.serves {
            // It is not free before that.
            Serves::OneByOne { .. } if self.sending.is_some() => self.sending.map(|sending| sending.sent.end),
            Serves::OneByOne { free, idle, .. } => Some(free).filter(|_| !idle),
            Serves::Opportunities { awake, .. } => self.transmitter.opportunity().filter(|_| awake),
        }
    }

    /// Whether anything waits, so that [`Self::next`] will send it.
    pub fn waits(&self) -> bool {
        self.qdisc.backlog().packets > 0
            || self.cut.is_some()
            || self.sending.is_some()
            || matches!(self.serves, Serves::Opportunities { part: Some(_), .. })
    }

    /// The rate is another one from `at` on, to which the station has advanced; nothing happens where it sends in
    /// opportunities.
    pub fn change_rate(&mut self, at: Instant, rate: Rate) {
        let last = self.transmitter.change_rate(at, rate);
        if let (Some(sending), Some(sent)) = (&mut self.sending, last) {
            sending.sent = sent;
            if let Serves::OneByOne { free, .. } = &mut self.serves {
                *free = sent.free;
            }
        }
    }

    /// Decides now whether the packet in transmission is going to be lost: it began before the law of losses changes.
    pub fn decide_loss(&mut self, course: &mut Course) {
        if let Some(sending) = &mut self.sending {
            let end = sending.sent.end;
            sending.lost.get_or_insert_with(|| course.loses(end));
        }
    }

    /// The queue is about to change at `now`, to which the station has not advanced: a link that falls idle at that instant
    /// asks the old one.
    pub fn before_change(&mut self, now: Instant, course: &mut Course) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let is_idle = self.qdisc.backlog().packets == 0 && self.cut.is_none();
            if !is_idle || matches!(self.serves, Serves::Opportunities { .. }) {
                break;
            }
            self.step(at, course);
        }
    }

    /// Another discipline takes the place of the present one at `now`.
    pub fn change_queue(&mut self, now: Instant, change: QueueChange<'_>, course: &mut Course) {
        let QueueChange { spec, keeps, rng } = change;
        let mut new = spec.aqm.queue(spec.limits, Host { link: spec.told(), rng });
        let mut drops = Drops { now, arriving: None, with_tcp: false, course };
        match self.qdisc.as_any().filter(|_| keeps) {
            Some(old) => new.succeed(old, now, &mut drops).expect("the change was tried before it was taken"),
            None => drop_all(&mut *self.qdisc, now, &mut drops),
        }
        self.qdisc = new;
        course.counters.backlog = self.qdisc.backlog().packets as u64;
        // What waits may go earlier than the old queue had said.
        if let Serves::OneByOne { free, throttled, .. } = &mut self.serves {
            if std::mem::take(throttled) {
                *free = now;
            }
        }
    }

    /// The share of what the link could have sent until `now` that it did send.
    pub fn utilisation(&mut self, now: Instant) -> f64 {
        let usable = self.transmitter.usable(Instant::ZERO, now);
        if usable == 0 { 0.0 } else { self.used as f64 / usable as f64 }
    }

    fn serve(&mut self, at: Instant, course: &mut Course) {
        let (free, idle, throttled) = match self.take(at, course) {
            Taken::Packet(bytes, handle) => {
                let sent = self.transmitter.send(at, bytes);
                self.sending = Some(Sending { handle, start: at, sent, bytes, lost: None });
                (sent.free, false, false)
            }
            Taken::NotBefore(later) if later < Instant::NEVER => (later, false, true),
            Taken::Empty | Taken::NotBefore(_) => (at, true, false),
        };
        self.serves = Serves::OneByOne { free, idle, throttled };
    }

    /// Sends what fits into an opportunity; what it does not carry is lost.
    fn serve_opportunity(&mut self, at: Instant, course: &mut Course) {
        let Serves::Opportunities { mut part, .. } = self.serves else { return };
        self.transmitter.step();
        let mut budget = self.mtu;
        while budget > 0 {
            let (handle, left) = match part.take() {
                Some(part) => part,
                None => match self.take(at, course) {
                    Taken::Packet(bytes, handle) => (handle, bytes),
                    Taken::Empty | Taken::NotBefore(_) => break,
                },
            };
            let served = left.min(budget);
            budget -= served;
            self.used += self.transmitter.used(at, at, served);
            if left == served {
                course.left(at, handle, None);
            } else {
                part = Some((handle, left - served));
            }
        }
        let awake = part.is_some() || self.cut.is_some() || self.qdisc.backlog().packets > 0;
        self.serves = Serves::Opportunities { part, awake };
    }

    /// What the transmitter sends next: a packet or the next segment of a super-packet, with its bytes on the medium.
    fn take(&mut self, at: Instant, course: &mut Course) -> Taken {
        if self.cut.is_none() {
            match self.dequeue(at, course) {
                Dequeued::Packet(meta, handle) if meta.segments == 1 => {
                    return Taken::Packet(self.wire(meta.len), handle);
                }
                Dequeued::Packet(_, handle) => self.cut = Some(handle),
                Dequeued::NotBefore(later) => return Taken::NotBefore(later),
                Dequeued::Empty => return Taken::Empty,
            }
        }
        let whole = self.cut.expect("a super-packet is being sent");
        let handle = course.cut(at, whole);
        if handle == whole {
            self.cut = None;
        }
        let packet = course.packets.get(handle);
        let bytes = course.packets.page(packet.page).ip_bytes(packet);
        Taken::Packet(self.wire(self.framing.accounted(bytes)), handle)
    }

    fn dequeue(&mut self, at: Instant, course: &mut Course) -> Dequeued<u32> {
        let next = self.qdisc.dequeue(at, &mut Drops { now: at, arriving: None, with_tcp: false, course });
        match &next {
            Dequeued::Packet(meta, handle) => course.sent(at, meta, *handle),
            Dequeued::Empty | Dequeued::NotBefore(_) => course.asked_in_vain(at),
        }
        course.counters.backlog = self.qdisc.backlog().packets as u64;
        next
    }

    /// Bytes on the medium of a packet that the queue counts as so many.
    fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }
}
