//! Flows whose ends are programs outside the simulator: attached ones are called here, events of the others wait in the
//! run's [`Hosts`](crate::hosts::Hosts).
//!
//! Header: `seq` is the place of the payload; super-packets have the payload bytes in `len`.

mod schedule;
mod sending;

use super::host::{Endpoints, Host};
use super::udp::DatagramSink;
use crate::endpoint::{Cx, Effect, EndEvent, Endpoint, OtherEvent, Received, Side, Standing, Transmit};
use crate::hosts::PendingEvent;
use crate::packet::ReceivedPacket;
use crate::payload::{PayloadInfo, Payloads, Place, ReceivedBytes};
use crate::scenario::{EndpointSpec, FlowSpec};
use crate::status::{Payload as Delivered, Status};
use schedule::{PathAction, PathSchedule};
use sending::{MAX_PACKET, Outgoing};
use sojourn_aqm::{Duration, Ecn, Instant, Rate};
use sojourn_tcp::Header;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A pair of ends.
pub(crate) struct EndpointFlow {
    ends: [End; 2],
    mtu: u32,
    /// Delay of the message about an oversized packet, if there is one.
    report_delay: Option<Duration>,
    gso: bool,
    /// Whether the programs send whole IP packets.
    is_ip: bool,
    tags: usize,
    /// Bytes that the source's host queues, and the rate of its access link.
    socket_buffer: Option<(u32, Rate)>,
    schedule: PathSchedule,
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
    /// The attached program, except while it is called; without one, the caller of the run takes the events.
    program: Option<Box<dyn Endpoint>>,
    /// Its own address and its peer's, once they were asked for.
    addresses: Option<[SocketAddr; 2]>,
    /// When the flow starts and when it stops; never once the program knows.
    start: Instant,
    stop: Instant,
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

/// A datagram that has arrived.
struct ArrivedDatagram {
    /// The end that it reaches.
    side: Side,
    place: Place,
    size: u32,
    ecn: Ecn,
}

impl EndpointFlow {
    /// Member `member` of the group `flow`, which begins and stops at the ends of `span`.
    pub fn new(spec: &EndpointSpec, flow: &FlowSpec, member: u32, span: (Instant, Instant)) -> Self {
        Self {
            mtu: spec.mtu,
            report_delay: spec.reports_oversize().then(|| flow.round_trip(member)),
            socket_buffer: spec.socket_buffer.zip(flow.access_rate),
            gso: spec.gso,
            is_ip: spec.is_ip(),
            tags: spec.tags.as_ref().map_or(0, Vec::len),
            schedule: PathSchedule::new(spec),
            ..Self::between_hosts(span)
        }
    }

    /// A pair of ends on a path without properties of its own.
    pub fn between_hosts(span: (Instant, Instant)) -> Self {
        Self {
            ends: [End::new(span), End::new(span)],
            mtu: MAX_PACKET as u32,
            report_delay: None,
            socket_buffer: None,
            gso: false,
            is_ip: false,
            tags: 0,
            schedule: PathSchedule::default(),
            down_until: Instant::ZERO,
            sink: DatagramSink::default(),
            arrived: 0,
            buffer: Vec::new(),
        }
    }

    /// Attaches the programs of both ends.
    pub fn attach(&mut self, [source, sink]: [Box<dyn Endpoint>; 2]) {
        self.ends[Side::Source as usize].program = Some(source);
        self.ends[Side::Sink as usize].program = Some(sink);
    }

    /// Sets the deadline of an end without a program.
    pub fn set_wake(&mut self, side: Side, at: Instant) {
        self.ends[side as usize].wake = at;
    }

    /// Sets the state of an end without a program.
    pub fn set_standing(&mut self, side: Side, standing: Standing) {
        self.ends[side as usize].standing = standing;
    }

    /// Runs the first thing that is due at one end. The timer fires again for the next one, so that a program acts
    /// between them whether it is called or takes its events.
    fn run_timer(&mut self, now: Instant, side: Side, host: &mut impl Host) {
        let end = &mut self.ends[side as usize];
        if end.start <= now {
            end.start = Instant::NEVER;
            self.notify(now, EndEvent::Begin, host);
        } else if let Some((_, message)) = pop_due(&mut end.messages, |&(at, _)| at <= now) {
            self.notify(now, EndEvent::Other(message), host);
        } else if let Some((_, transmit, bytes)) = pop_due(&mut end.timed, |&(at, ..)| at <= now) {
            let parts = host.program_parts();
            // The addresses were valid when the datagram was passed down; a NAT may have rebound them since.
            if let Ok(from) = parts.hosts.leave(parts.end, &transmit) {
                let segment = transmit.segment_size.unwrap_or(bytes.len());
                self.leave(now, Outgoing { from: &from, transmit: &transmit, bytes: &bytes, segment }, host);
            }
        } else if end.room_at <= now {
            end.room_at = Instant::NEVER;
            self.notify(now, EndEvent::Other(OtherEvent::Room), host);
        } else if end.stop <= now {
            end.stop = Instant::NEVER;
            self.notify(now, EndEvent::Other(OtherEvent::Stop), host);
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
        self.notify(now, EndEvent::Wake, host);
    }

    /// Calls the program of an end, or queues the event for the caller of the run.
    fn notify(&mut self, now: Instant, event: EndEvent, host: &mut impl Host) {
        let is_called = self.call(now, host, |program, cx, _| match event {
            EndEvent::Begin => program.begin(cx),
            EndEvent::Wake => program.on_wake(cx),
            EndEvent::Other(other) => program.on_other(cx, other),
            EndEvent::Datagram { .. } => unreachable!("datagrams are delivered with their bytes"),
        });
        if !is_called {
            post(host, event, None, false);
        }
    }

    /// Calls the attached program of the end that `host` is of, applies its reports, and lets it send. Returns whether
    /// there is one.
    #[inline]
    fn call<H: Host>(
        &mut self,
        now: Instant,
        host: &mut H,
        act: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>, &Payloads),
    ) -> bool {
        let side = host.end().side;
        let Some(mut program) = self.ends[side as usize].program.take() else { return false };
        let mut effects = Vec::new();
        let addresses = self.addresses(side, host);
        act(&mut *program, &mut Cx::new(now, addresses, &mut effects), host.payloads());
        if !effects.is_empty() {
            effects.into_iter().for_each(|effect| apply(now, effect, host));
        }
        let mut bytes = std::mem::take(&mut self.buffer);
        while self.has_room(now, host) {
            bytes.clear();
            let polled = program.poll_transmit(now, &mut bytes);
            let Some(transmit) = &polled else { break };
            if let Err(error) = self.send(now, transmit, &bytes, host) {
                let parts = host.program_parts();
                parts.hosts.fault = Some((parts.end, error.to_string()));
                host.pause();
                break;
            }
        }
        self.buffer = bytes;
        let end = &mut self.ends[side as usize];
        end.wake = program.wake_at().map_or(Instant::NEVER, |at| at.max(now));
        end.program = Some(program);
        true
    }

    /// Delivers a packet to one end: its datagrams one by one.
    fn deliver(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        let Place { index, offset } = Place::of(header.seq);
        let payload = host.payloads().get(index);
        let (end, each) = match header.len {
            0 => (payload.bytes.len() as u32, payload.bytes.len() as u32),
            len => (offset + u32::from(len), payload.info.segment),
        };
        let mut at = offset;
        loop {
            let size = each.min(end - at);
            let (side, place) = (Side::of(!packet.to_sink), Place { index, offset: at });
            self.deliver_one(now, ArrivedDatagram { side, place, size, ecn: packet.ecn }, host);
            at += size;
            if at >= end {
                break;
            }
        }
        host.payloads().release(index);
    }

    /// Delivers one datagram.
    fn deliver_one(&mut self, now: Instant, arrived: ArrivedDatagram, host: &mut impl Host) {
        let ArrivedDatagram { side, place, size, ecn } = arrived;
        let parts = host.program_parts();
        let is_damaged = std::mem::take(&mut parts.hosts.damage);
        let payload = parts.payloads.get_mut(place.index);
        let (number, is_new) = (payload.number_at(place.offset), payload.arrive(place.offset));
        let &PayloadInfo { from, ref to, sent_at, ecn: sent_ecn, tag, .. } = &payload.info;
        let is_marked = ecn == Ecn::Ce && sent_ecn != Ecn::Ce;
        let local = parts.hosts.enter(parts.end, to);
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
        let is_called = self.call(now, host, |program, cx, payloads| {
            let payload = payloads.get(place.index);
            let bytes = &*payload.received(ReceivedBytes { place, size, ecn, is_damaged });
            program.on_datagram(cx, Received { bytes, from, local, ecn, tag });
        });
        if !is_called {
            host.payloads().retain(place.index);
            post(host, EndEvent::Datagram { from, local, ecn, tag }, Some((place, size)), is_damaged);
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
        let Some(action) = self.schedule.take_due(now) else { return false };
        match action {
            PathAction::Rebind { moves } => {
                let parts = host.program_parts();
                parts.hosts.rebind(parts.end.slot, moves);
            }
            PathAction::Switch(path) => host.switch_path(path),
            PathAction::Down(span) => self.down_until = self.down_until.max(now + span),
        }
        true
    }

    fn deadline(&self, side: Side) -> Instant {
        let end = &self.ends[side as usize];
        let message = end.messages.front().map_or(Instant::NEVER, |&(at, _)| at);
        let timed = end.timed.front().map_or(Instant::NEVER, |&(at, ..)| at);
        end.start.min(end.stop).min(message).min(timed).min(end.room_at).min(end.wake)
    }
}

/// Queues an event of the end that `host` is of, for the caller of the run.
fn post(host: &mut impl Host, event: EndEvent, payload: Option<(Place, u32)>, is_damaged: bool) {
    let parts = host.program_parts();
    parts.hosts.events.push_back(PendingEvent { end: parts.end, event, payload, is_damaged });
    host.pause();
}

/// Removes the first element of a queue if it is due.
fn pop_due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}

/// Applies a report of a program to the statistics of its group.
fn apply(now: Instant, effect: Effect, host: &mut impl Host) {
    match effect {
        Effect::Offered(bytes) => host.offered(bytes),
        Effect::Completed(begun, bytes) => host.completed(begun.min(now), bytes),
        Effect::Closed => host.closed(),
        Effect::Note(name, value) => host.program_parts().note(now, name, value),
    }
}

impl End {
    fn new((start, stop): (Instant, Instant)) -> Self {
        Self {
            program: None,
            addresses: None,
            start,
            stop,
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
        self.program.as_ref().map_or(self.standing, |program| program.standing())
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
        self.deadline(Side::Source).min(self.schedule.due())
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

/// Maximum wake-ups of an end at one instant.
const MAX_WAKES: u32 = 1_000_000;
