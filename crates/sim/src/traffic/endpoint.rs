//! Flows whose ends are programs outside the simulator: attached ones are called here, events of the others wait in the
//! run's [`Hosts`](crate::hosts::Hosts).
//!
//! Header: `seq` is the place of the payload; super-packets have the payload bytes in `len`.

use super::host::{Endpoints, Host, ProgramParts};
use super::udp::DatagramSink;
use crate::endpoint::{Cx, Effect, EndEvent, Endpoint, OtherEvent, Received, SendError, Side, Standing, Transmit};
use crate::hosts::Decision;
use crate::packet::ReceivedPacket;
use crate::payload::{MAX_SEGMENTS, Payload, PayloadPacket, Place};
use crate::scenario::{EndpointSpec, FlowSpec, PathEffect, PathEvent};
use crate::status::{Payload as Delivered, Status};
use sojourn_aqm::{Duration, Ecn, Instant, Rate};
use sojourn_tcp::{Flags, Header};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A pair of ends.
pub(crate) struct EndpointFlow {
    ends: [End; 2],
    start: Instant,
    stop: Instant,
    mtu: u32,
    /// Delay of the message about an oversized packet, if there is one.
    report_delay: Option<Duration>,
    gso: bool,
    tags: usize,
    /// Bytes that the source's host queues, and the rate of its access link.
    socket_buffer: Option<(u32, Rate)>,
    /// Events on the path that are still to come; the next one is last.
    path_events: Vec<PathEvent>,
    /// Packets that would leave their host before this are lost.
    down_until: Instant,
    /// Datagrams that the sink has received.
    sink: DatagramSink,
    arrived: u64,
    /// Memory for the bytes that a program sends.
    buffer: Vec<u8>,
}

/// One end of the pair.
struct End {
    drive: Drive,
    /// Its own address and its peer's, once they were asked for.
    addresses: Option<[SocketAddr; 2]>,
    has_begun: bool,
    has_stopped: bool,
    /// When its program wants to be woken.
    wake: Instant,
    /// When its host has room again; never unless it had none.
    room_at: Instant,
    /// Wake-ups at the instant of the last one.
    wakes: (Instant, u32),
    /// Messages about oversized packets, in the order of their arrival.
    messages: VecDeque<(Instant, OtherEvent)>,
    /// Datagrams that wait for their departure time, in its order.
    timed: VecDeque<(Instant, Transmit, Vec<u8>)>,
    /// Datagrams sent, and the highest number received from the peer.
    sent: u64,
    highest: Option<u64>,
    standing: Standing,
}

/// The program at an end.
enum Drive {
    /// Called here.
    Attached(Box<dyn Endpoint>),
    /// The caller of the run takes the events.
    Pulled,
    /// The attached program is being called.
    Busy,
}

/// Datagrams of one transmission as they reach the network.
struct Outgoing<'a> {
    from: SocketAddr,
    transmit: &'a Transmit,
    bytes: &'a [u8],
    /// Bytes of each datagram but the last.
    segment: usize,
}

/// A datagram that has arrived.
struct ArrivedDatagram {
    /// The end that it reaches.
    side: Side,
    /// Destination on the wire.
    to: SocketAddr,
    place: Place,
    size: u32,
    ecn: Ecn,
}

impl EndpointFlow {
    /// Member `member` of the group `flow`, which begins and stops at the ends of `span`.
    pub fn new(spec: &EndpointSpec, flow: &FlowSpec, member: u32, span: (Instant, Instant)) -> Self {
        let mut path_events = spec.events.as_ref().map_or_else(Vec::new, |events| events.0.clone());
        path_events.reverse();
        Self {
            mtu: spec.mtu,
            report_delay: spec.reports_oversize().then(|| flow.round_trip(member)),
            socket_buffer: spec.socket_buffer.zip(flow.access_rate),
            gso: spec.gso,
            tags: spec.tags.as_ref().map_or(0, Vec::len),
            path_events,
            ..Self::between_hosts(span)
        }
    }

    /// A pair of ends on a path without properties of its own.
    pub fn between_hosts((start, stop): (Instant, Instant)) -> Self {
        Self {
            ends: [End::new(), End::new()],
            start,
            stop,
            mtu: MAX_PACKET as u32,
            report_delay: None,
            socket_buffer: None,
            gso: false,
            tags: 0,
            path_events: Vec::new(),
            down_until: Instant::ZERO,
            sink: DatagramSink::default(),
            arrived: 0,
            buffer: Vec::new(),
        }
    }

    /// Attaches the programs of both ends.
    pub fn attach(&mut self, [source, sink]: [Box<dyn Endpoint>; 2]) {
        self.ends[Side::Source as usize].drive = Drive::Attached(source);
        self.ends[Side::Sink as usize].drive = Drive::Attached(sink);
    }

    /// Sets the deadline of an end without a program.
    pub fn set_wake(&mut self, side: Side, at: Instant) {
        self.ends[side as usize].wake = at;
    }

    /// Sets the state of an end without a program.
    pub fn set_standing(&mut self, side: Side, standing: Standing) {
        self.ends[side as usize].standing = standing;
    }

    /// Sends datagrams of the end that `host` is of, now or at the departure time given.
    pub fn send(
        &mut self,
        now: Instant,
        transmit: &Transmit,
        bytes: &[u8],
        host: &mut impl Host,
    ) -> Result<(), SendError> {
        let parts = host.program_parts();
        let from = parts.hosts.leave(parts.end, transmit.local, transmit.remote)?;
        let segment = transmit.segment_size.unwrap_or(bytes.len());
        let longest = if segment < bytes.len() { MAX_PAYLOAD * MAX_SEGMENTS as usize } else { MAX_PAYLOAD };
        if bytes.len() > longest || segment > MAX_PAYLOAD {
            return Err(SendError::TooLong(segment.min(bytes.len()), MAX_PAYLOAD));
        }
        if transmit.segment_size.is_some() && (segment == 0 || bytes.len().div_ceil(segment) > MAX_SEGMENTS as usize) {
            return Err(SendError::Segments(bytes.len(), segment));
        }
        if usize::from(transmit.tag) > self.tags {
            return Err(SendError::Tag(transmit.tag, self.tags));
        }
        if !self.has_room(now, host) {
            return Err(SendError::WouldBlock);
        }
        let side = host.program_parts().end.side;
        let end = &mut self.ends[side as usize];
        // Behind those of its 5-tuple that still wait, so that a path delivers them in order.
        let same = |(_, other, _): &&(Instant, Transmit, Vec<u8>)| {
            (other.local, other.remote) == (transmit.local, transmit.remote)
        };
        let last = end.timed.iter().rev().find(same).map_or(now, |&(at, ..)| at);
        let at = transmit.at.unwrap_or(now).max(now).max(last);
        if at > now {
            let place = end.timed.partition_point(|&(other, ..)| other <= at);
            end.timed.insert(place, (at, *transmit, bytes.to_vec()));
            return Ok(());
        }
        self.leave(now, Outgoing { from, transmit, bytes, segment }, host);
        Ok(())
    }

    /// Whether the host of an end accepts a datagram; if not, the end is notified when it does.
    #[inline(always)]
    pub fn has_room(&mut self, now: Instant, host: &mut impl Host) -> bool {
        let Some((bytes, rate)) = self.socket_buffer else { return true };
        self.has_room_in_buffer(now, (bytes, rate), host)
    }

    #[inline(never)]
    fn has_room_in_buffer(&mut self, now: Instant, (bytes, rate): (u32, Rate), host: &mut impl Host) -> bool {
        let side = host.program_parts().end.side;
        let (drain, span) = (host.drain_time(), rate.time_for(bytes.into()));
        let has_room = drain <= now + span;
        self.ends[side as usize].room_at = if has_room { Instant::NEVER } else { drain - span };
        has_room
    }

    /// Lets datagrams leave their host: together if the host has segmentation offload, else one by one.
    fn leave(&mut self, now: Instant, outgoing: Outgoing<'_>, host: &mut impl Host) {
        let Outgoing { from, transmit, bytes, segment } = outgoing;
        let headers = if from.is_ipv4() { UDP_IPV4 } else { UDP_IPV6 };
        let passes = segment as u32 + headers <= self.mtu && now >= self.down_until;
        let fits = bytes.len() + headers as usize * bytes.len().div_ceil(segment.max(1)) <= MAX_PACKET;
        if self.gso && passes && fits && bytes.len() > segment && host.keeps_super_packets() {
            return self.transmit(now, outgoing, headers, host);
        }
        let mut rest = bytes;
        loop {
            let (one, more) = rest.split_at(segment.min(rest.len()));
            let one = Outgoing { from, transmit, bytes: one, segment: one.len() };
            if one.bytes.len() as u32 + headers > self.mtu {
                self.refuse_oversized(now, &one, host);
            } else if now < self.down_until {
                self.lose(now, &one, host);
            } else {
                self.transmit(now, one, headers, host);
            }
            rest = more;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Passes datagrams to the network as one packet.
    fn transmit(&mut self, now: Instant, outgoing: Outgoing<'_>, headers: u32, host: &mut impl Host) {
        let Outgoing { from, transmit, bytes, segment } = outgoing;
        let count = if bytes.len() <= segment { 1 } else { bytes.len().div_ceil(segment.max(1)) as u32 };
        let mut parts = host.program_parts();
        record(now, &outgoing, &mut parts);
        let end = &mut self.ends[parts.end.side as usize];
        let payload = Payload {
            bytes: Vec::new(),
            from,
            to: transmit.remote,
            sent_at: now,
            ecn: transmit.ecn,
            tag: transmit.tag,
            number: end.sent,
            group: parts.group,
            from_source: parts.end.side == Side::Source,
            segment: segment as u32,
            datagrams: count,
            carriers: 0,
            arrived: 0,
        };
        end.sent += u64::from(count);
        let index = parts.payloads.insert(payload, bytes);
        let flow = parts.hosts.flow(parts.end.slot, (from, transmit.remote), parts.flow, parts.next_flow);
        let mut header = Header { seq: Place { index, offset: 0 }.seq(), ..Header::default() };
        let mut of_super_packet = 0;
        if count > 1 {
            // An offset in bytes, as links that cut and merge super-packets expect it of TCP.
            (header.len, header.flags, of_super_packet) = (bytes.len() as u16, Flags::ACK, segment as u16);
        }
        let len = bytes.len() as u32 + count * headers;
        host.transmit_payload(&PayloadPacket { header, len, segment: of_super_packet, ecn: transmit.ecn, flow });
    }

    /// Loses a datagram that leaves its host: while the path is down, or because it is too big for it.
    fn lose(&mut self, now: Instant, outgoing: &Outgoing<'_>, host: &mut impl Host) {
        let mut parts = host.program_parts();
        record(now, outgoing, &mut parts);
        self.ends[parts.end.side as usize].sent += 1;
        parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, outgoing.transmit.tag).lost += 1;
    }

    /// Drops a packet above the MTU; its sender gets a message, or not.
    fn refuse_oversized(&mut self, now: Instant, outgoing: &Outgoing<'_>, host: &mut impl Host) {
        self.lose(now, outgoing, host);
        let (parts, transmit) = (host.program_parts(), outgoing.transmit);
        parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, transmit.tag).too_big += 1;
        if let Some(delay) = self.report_delay {
            let message = OtherEvent::TooBig { mtu: self.mtu, remote: transmit.remote };
            self.ends[parts.end.side as usize].messages.push_back((now + delay, message));
        }
    }

    /// Runs the first thing that is due at one end. The timer fires again for the next one, so that a program acts
    /// between them whether it is called or takes its events.
    fn run_timer(&mut self, now: Instant, side: Side, host: &mut impl Host) {
        let end = &mut self.ends[side as usize];
        if !end.has_begun && now >= self.start {
            end.has_begun = true;
            self.notify(now, side, EndEvent::Begin, host);
        } else if let Some((_, message)) = pop_due(&mut end.messages, |&(at, _)| at <= now) {
            self.notify(now, side, EndEvent::Other(message), host);
        } else if let Some((_, transmit, bytes)) = pop_due(&mut end.timed, |&(at, ..)| at <= now) {
            let parts = host.program_parts();
            // The addresses were valid when the datagram was passed down; a NAT may have rebound them since.
            if let Ok(from) = parts.hosts.leave(parts.end, transmit.local, transmit.remote) {
                let segment = transmit.segment_size.unwrap_or(bytes.len());
                self.leave(now, Outgoing { from, transmit: &transmit, bytes: &bytes, segment }, host);
            }
        } else if end.room_at <= now {
            end.room_at = Instant::NEVER;
            self.notify(now, side, EndEvent::Other(OtherEvent::Room), host);
        } else if !end.has_stopped && now >= self.stop {
            end.has_stopped = true;
            self.notify(now, side, EndEvent::Other(OtherEvent::Stop), host);
        } else {
            self.wake(now, side, host);
        }
    }

    fn wake(&mut self, now: Instant, side: Side, host: &mut impl Host) {
        let end = &mut self.ends[side as usize];
        // Timers fire early if their deadline has moved later since they were set; then it remains.
        if end.wake <= now {
            end.wake = Instant::NEVER;
        }
        let (at, wakes) = &mut end.wakes;
        *wakes = if *at == now { *wakes + 1 } else { 1 };
        *at = now;
        if *wakes > MAX_WAKES {
            let parts = host.program_parts();
            let at = now.as_nanos();
            let text = format!(
                "woken {MAX_WAKES} times at {at} ns; let the deadline pass, or send what is due, when it is woken"
            );
            parts.hosts.fault = Some((parts.end, text));
            return host.pause();
        }
        self.notify(now, side, EndEvent::Wake, host);
    }

    /// Calls the program of an end, or queues the event for the caller of the run.
    fn notify(&mut self, now: Instant, side: Side, event: EndEvent, host: &mut impl Host) {
        match std::mem::replace(&mut self.ends[side as usize].drive, Drive::Busy) {
            Drive::Attached(mut program) => {
                let mut effects = Vec::new();
                let addresses = self.addresses(side, host);
                let mut cx = Cx::new(now, addresses, &mut effects);
                match event {
                    EndEvent::Begin => program.begin(&mut cx),
                    EndEvent::Wake => program.on_wake(&mut cx),
                    EndEvent::Other(other) => program.on_other(&mut cx, other),
                    EndEvent::Datagram { .. } => unreachable!("datagrams are delivered with their bytes"),
                }
                self.finish_call(now, (side, program), &mut effects, host);
            }
            other => {
                let parts = host.program_parts();
                parts.hosts.post(parts.end, event, None);
                self.ends[side as usize].drive = other;
                host.pause();
            }
        }
    }

    /// Applies the effects of a call, and lets the program send.
    fn finish_call(
        &mut self,
        now: Instant,
        (side, mut program): (Side, Box<dyn Endpoint>),
        effects: &mut Vec<Effect>,
        host: &mut impl Host,
    ) {
        if !effects.is_empty() {
            effects.drain(..).for_each(|effect| apply(now, side, effect, host));
        }
        let mut bytes = std::mem::take(&mut self.buffer);
        while self.has_room(now, host) {
            bytes.clear();
            let Some(transmit) = program.poll_transmit(now, &mut bytes) else { break };
            if let Err(error) = self.send(now, &transmit, &bytes, host) {
                let parts = host.program_parts();
                parts.hosts.fault = Some((parts.end, error.to_string()));
                host.pause();
                break;
            }
        }
        self.buffer = bytes;
        let end = &mut self.ends[side as usize];
        end.wake = program.wake_at().map_or(Instant::NEVER, |at| at.max(now));
        end.drive = Drive::Attached(program);
    }

    /// Delivers a packet to one end: its datagrams one by one.
    fn deliver(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        let Place { index, offset } = Place::of(header.seq);
        let payload = host.program_parts().payloads.get(index);
        let to = payload.to;
        let (end, each) = match header.len {
            0 => (payload.bytes.len() as u32, payload.bytes.len() as u32),
            len => (offset + u32::from(len), payload.segment),
        };
        let mut at = offset;
        loop {
            let size = each.min(end - at);
            let (side, place) = (Side::of(!packet.to_sink), Place { index, offset: at });
            self.deliver_one(now, ArrivedDatagram { side, to, place, size, ecn: packet.ecn }, host);
            at += size;
            if at >= end {
                break;
            }
        }
        host.program_parts().payloads.release(index);
    }

    /// Delivers one datagram.
    fn deliver_one(&mut self, now: Instant, arrived: ArrivedDatagram, host: &mut impl Host) {
        let ArrivedDatagram { side, to, place, size, ecn } = arrived;
        let parts = host.program_parts();
        let local = parts.hosts.enter(parts.end, to);
        let payload = parts.payloads.get_mut(place.index);
        let (number, sent_at) = (payload.number + u64::from(payload.datagram_at(place.offset)), payload.sent_at);
        let (from, tag, is_marked) = (payload.from, payload.tag, ecn == Ecn::Ce && payload.ecn != Ecn::Ce);
        let is_new = payload.arrive(place.offset, 1) > 0;
        let counts = parts.ledger.endpoint(now, parts.group).sent_by(side.peer(), tag);
        let Some(local) = local else {
            if is_new {
                (counts.no_endpoint, counts.lost) = (counts.no_endpoint + 1, counts.lost + 1);
            }
            return;
        };
        if is_new {
            counts.arrived(now - sent_at, size);
            let end = &mut self.ends[side as usize];
            counts.reordered += u64::from(end.highest.is_some_and(|highest| number < highest));
            end.highest = end.highest.max(Some(number));
            if side == Side::Sink {
                self.arrived += u64::from(size);
                self.sink.on_datagrams(now, sent_at, number, 1);
            }
        } else {
            counts.duplicates += 1;
        }
        counts.marked += u64::from(is_marked);
        match std::mem::replace(&mut self.ends[side as usize].drive, Drive::Busy) {
            Drive::Attached(mut program) => {
                let mut effects = Vec::new();
                let addresses = self.addresses(side, host);
                let parts = host.program_parts();
                let range = place.offset as usize..(place.offset + size) as usize;
                let mut bytes = &parts.payloads.get(place.index).bytes[range];
                let flipped = std::mem::take(&mut parts.hosts.damage).then(|| with_flipped_bit(bytes, number));
                bytes = flipped.as_deref().unwrap_or(bytes);
                let received = Received { bytes, from, local, ecn, tag };
                program.on_datagram(&mut Cx::new(now, addresses, &mut effects), received);
                self.finish_call(now, (side, program), &mut effects, host);
            }
            other => {
                let parts = host.program_parts();
                parts.payloads.retain(place.index);
                let event = EndEvent::Datagram { from, local, ecn, tag };
                parts.hosts.post(parts.end, event, Some((place, size)));
                self.ends[side as usize].drive = other;
                host.pause();
            }
        }
    }

    /// Addresses of an end and of its peer, which do not change.
    #[inline]
    fn addresses(&mut self, side: Side, host: &mut impl Host) -> [SocketAddr; 2] {
        *self.ends[side as usize].addresses.get_or_insert_with(|| host.program_parts().addresses())
    }

    /// Applies the next event on the path if it is due. Returns whether it was; no program notices.
    #[inline]
    fn apply_path_event(&mut self, now: Instant, host: &mut impl Host) -> bool {
        let Some(event) = self.path_events.last().copied().filter(|event| event.at <= now) else { return false };
        self.path_events.pop();
        let parts = host.program_parts();
        match event.effect {
            PathEffect::RebindPort => parts.hosts.rebind(parts.end.slot, false),
            PathEffect::RebindAddress => parts.hosts.rebind(parts.end.slot, true),
            PathEffect::Down(span) => self.down_until = self.down_until.max(now + span),
        }
        true
    }

    fn deadline(&self, side: Side) -> Instant {
        let end = &self.ends[side as usize];
        let begin = if end.has_begun { Instant::NEVER } else { self.start };
        let stop = if end.has_stopped { Instant::NEVER } else { self.stop };
        let message = end.messages.front().map_or(Instant::NEVER, |&(at, _)| at);
        let timed = end.timed.front().map_or(Instant::NEVER, |&(at, ..)| at);
        begin.min(stop).min(message).min(timed).min(end.room_at).min(end.wake)
    }
}

/// Removes the first element of a queue if it is due.
fn pop_due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}

/// Records datagrams that leave their host.
#[inline]
fn record(now: Instant, outgoing: &Outgoing<'_>, parts: &mut ProgramParts<'_>) {
    let &Outgoing { from, transmit, bytes, segment } = outgoing;
    let counts = parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, transmit.tag);
    let mut rest = bytes.len();
    loop {
        let one = rest.min(segment);
        counts.sent += 1;
        counts.sent_bytes += one as u64;
        let (end, to) = (parts.end, transmit.remote);
        parts.hosts.decisions.add(Decision {
            at: now,
            end,
            from,
            to,
            bytes: one as u32,
            ecn: transmit.ecn,
            tag: transmit.tag,
        });
        rest -= one;
        if rest == 0 {
            return;
        }
    }
}

/// Applies a report of a program to the statistics of its group.
pub(crate) fn apply(now: Instant, side: Side, effect: Effect, host: &mut impl Host) {
    match effect {
        Effect::Offered(bytes) => host.offered(bytes),
        Effect::Completed(begun, bytes) => host.completed(begun.min(now), bytes),
        Effect::Closed => host.closed(),
        Effect::Note(name, value) => {
            let parts = host.program_parts();
            parts.ledger.endpoint(now, parts.group).note(side, name, value);
        }
    }
}

/// A copy with one bit flipped, which depends on the datagram's number only.
pub(crate) fn with_flipped_bit(bytes: &[u8], number: u64) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    let bits = 8 * copy.len() as u64;
    if bits > 0 {
        let bit = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bits;
        copy[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
    copy
}

impl End {
    fn new() -> Self {
        Self {
            drive: Drive::Pulled,
            addresses: None,
            has_begun: false,
            has_stopped: false,
            wake: Instant::NEVER,
            room_at: Instant::NEVER,
            wakes: (Instant::ZERO, 0),
            messages: VecDeque::new(),
            timed: VecDeque::new(),
            sent: 0,
            highest: None,
            standing: Standing::default(),
        }
    }

    /// State of the program.
    fn standing(&self) -> Standing {
        match &self.drive {
            Drive::Attached(program) => program.standing(),
            _ => self.standing,
        }
    }
}

impl Endpoints for EndpointFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        if !self.apply_path_event(now, host) {
            self.run_timer(now, Side::Source, host);
        }
    }

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        self.run_timer(now, Side::Sink, host);
    }

    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        self.deliver(now, header, packet, host);
    }

    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        self.deliver(now, header, packet, host);
    }

    fn source_deadline(&self) -> Instant {
        let event = self.path_events.last().map_or(Instant::NEVER, |event| event.at);
        self.deadline(Side::Source).min(event)
    }

    fn sink_deadline(&self) -> Instant {
        self.deadline(Side::Sink)
    }

    fn status(&self) -> Status {
        let [source, sink] = [Side::Source, Side::Sink].map(|side| self.ends[side as usize].standing());
        let delivered = sink.delivered.unwrap_or(self.arrived);
        Status {
            retransmissions: source.lost,
            cwnd: source.cwnd.unwrap_or(f64::NAN),
            srtt_ms: source.srtt.map_or(f64::NAN, |srtt| srtt.as_secs_f64() * 1e3),
            in_flight: source.in_flight,
            ..self.sink.status(Delivered { arrived: delivered, delivered }, self.ends[Side::Source as usize].sent)
        }
    }

    fn on_window_start(&mut self) {
        self.sink.begin(self.ends[Side::Source as usize].sent);
    }

    fn strays(&self, number: usize) -> u64 {
        self.sink.strays(number)
    }
}

/// UDP and IP headers.
const UDP_IPV4: u32 = 28;
const UDP_IPV6: u32 = 48;

/// Maximum payload of a UDP datagram, and length of an IP packet.
const MAX_PAYLOAD: usize = 65_507;
const MAX_PACKET: usize = 65_535;

/// Maximum wake-ups of an end at one instant.
const MAX_WAKES: u32 = 1_000_000;
