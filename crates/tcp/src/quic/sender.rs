//! Sending endpoint: packet scheduling and contents.
//!
//! RFC 9002 §7.7: the first ten packets are not paced; each later packet is a burst of its own.

use super::control::PathControl;
use super::recovery::SentPacket;
use super::stream::{Chunk, Stream};
use super::{AckFrame, Config, MAX_ACK_DELAY, MIN_DATAGRAM, SHORT_HEADER, UDP_IP, kind, number_bytes, varint};
use crate::cc::Window;
use crate::segment::LossMark;
use crate::sender_event::{SenderEvent, SenderState};
use crate::state::CaState;
use crate::stats::SenderStats;
use crate::timer::TimerPurpose;
use crate::{FIRST_BYTE, Flags, Header, Sack, Wire};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};

/// Sending endpoint of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    phase: Phase,
    control: PathControl,
    stream: Stream,
    max_datagram_size: u32,
    /// Packet with a PING that is to be acknowledged, and its arrival time.
    ping_to_ack: Option<(u64, Instant)>,
    stats: SenderStats,
}

#[derive(Clone, Debug)]
enum Phase {
    Closed,
    /// Transmission times of the handshake datagrams, and the time of the next one.
    Handshake {
        sent: Vec<Instant>,
        due: Instant,
    },
    Open,
}

/// Stream data of a packet.
#[derive(Clone, Copy, Debug)]
enum Payload {
    /// The next data of the stream.
    New,
    /// The data of an outstanding packet, for a probe.
    Retransmission(Chunk),
}

impl Sender {
    /// A closed connection.
    pub fn new(config: &Config) -> Self {
        Self {
            phase: Phase::Closed,
            control: PathControl::new(config),
            stream: Stream::default(),
            max_datagram_size: config.max_datagram_size,
            ping_to_ack: None,
            stats: SenderStats::default(),
        }
    }

    /// Sets the random stream of the congestion control.
    pub fn with_rng(mut self, rng: Rng) -> Self {
        self.control.congestion.seed(rng);
        self
    }

    /// Opens the connection with `bytes` to send; `None` for an unlimited source.
    pub fn open(&mut self, now: Instant, bytes: Option<u64>, wire: &mut impl Wire) {
        self.stream.open(bytes);
        self.phase = Phase::Handshake { sent: Vec::new(), due: now };
        self.send_initial(now, wire);
        self.report_state(wire);
    }

    /// The application stops: only lost data and the end of the stream are still sent.
    pub fn close(&mut self, now: Instant, wire: &mut impl Wire) {
        self.stream.close();
        self.on_room(now, wire);
    }

    /// The host has room for packets again.
    pub fn on_room(&mut self, now: Instant, wire: &mut impl Wire) {
        if matches!(self.phase, Phase::Open) {
            self.send(now, wire);
            self.report_state(wire);
        }
    }

    /// The response to the handshake arrives.
    pub fn on_handshake(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
        let Phase::Handshake { sent, .. } = &self.phase else { return };
        let Some(&at) = sent.get(header.ack as usize) else { return };
        self.phase = Phase::Open;
        self.control.open(now, now - at);
        self.send(now, wire);
        self.report_state(wire);
    }

    /// A packet of the receiver with an ACK frame arrives; `len` is its IP length in bytes.
    pub fn on_ack(&mut self, now: Instant, (header, len): (&Header, u32), frame: &AckFrame, wire: &mut impl Wire) {
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        wire.notify(|| SenderEvent::Acknowledged { number: header.seq, frame, len });
        if header.ts_val & kind::PING != 0 {
            self.ping_to_ack = Some((header.seq, now));
        }
        if self.control.on_ack(now, frame) {
            self.control.recovery.acked.iter().for_each(|packet| self.stream.on_acked(&packet.chunk));
        }
        if wire.observes_sender() {
            let header = self.view();
            wire.notify(|| SenderEvent::Received { header: &header, len });
        }
        self.send_after_losses(now, wire);
        self.report_state(wire);
    }

    /// Handles the expiry of [`Self::deadline`]; an early call does nothing.
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        match &self.phase {
            Phase::Closed => return,
            Phase::Handshake { due, .. } if *due > now => return,
            Phase::Handshake { .. } => {
                wire.notify(|| SenderEvent::Expired(TimerPurpose::LossProbe));
                self.stats.timeouts += 1;
                self.control.on_pto();
                self.send_initial(now, wire);
            }
            Phase::Open => {
                if self.control.congestion.pacer.on_wakeup(now) {
                    self.send(now, wire);
                }
                self.on_expiry(now, wire);
            }
        }
        self.report_state(wire);
    }

    /// Time at which to call [`Self::on_timer`].
    pub fn deadline(&self) -> Instant {
        match &self.phase {
            Phase::Closed => Instant::NEVER,
            Phase::Handshake { due, .. } => *due,
            Phase::Open => {
                let timer = self.control.recovery.timer().map_or(Instant::NEVER, |(_, at)| at);
                self.control.congestion.pacer.wakeup().min(timer)
            }
        }
    }

    /// Counters: data packets, packets with retransmitted stream data, probe time-outs.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Congestion window and slow-start threshold in full packets; the threshold is infinite before a congestion event.
    pub fn window(&self) -> (f64, f64) {
        let (congestion, packet) = (&self.control.congestion, f64::from(self.datagram()));
        let ssthresh = congestion.ssthresh().map_or(f64::INFINITY, |bytes| bytes as f64 / packet);
        (congestion.window() as f64 / packet, ssthresh)
    }

    /// Smoothed RTT in seconds; zero before the first sample.
    pub fn srtt_s(&self) -> f64 {
        let rtt = &self.control.recovery.rtt;
        rtt.first_sample().map_or(0.0, |_| rtt.smoothed().as_secs_f64())
    }

    /// Sum of all RTT samples in nanoseconds, and their number.
    pub fn rtt_total(&self) -> (u64, u64) {
        self.control.recovery.rtt.total()
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.control.congestion.in_flight()
    }

    /// Whether all data and the end of the stream are acknowledged.
    pub fn is_finished(&self) -> bool {
        self.stream.is_finished()
    }

    /// Handles the loss detection timer if it has expired (`OnLossDetectionTimeout`).
    fn on_expiry(&mut self, now: Instant, wire: &mut impl Wire) {
        let Some((purpose, _)) = self.control.recovery.timer().filter(|&(_, at)| at <= now) else { return };
        wire.notify(|| SenderEvent::Expired(purpose));
        if purpose == TimerPurpose::Reordering {
            self.control.on_loss_time(now);
            return self.send_after_losses(now, wire);
        }
        self.stats.timeouts += 1;
        let oldest: [_; PROBES] = {
            let mut out = self.control.recovery.out().map(|packet| packet.chunk);
            std::array::from_fn(|_| out.next())
        };
        for chunk in oldest {
            match chunk {
                // RFC 9002 §6.2.4: probes carry new data if there is any, otherwise data of the oldest packets. The
                // window does not limit them.
                _ if self.stream.has_data() => self.send_packet(now, Payload::New, wire),
                Some(chunk) => self.send_packet(now, Payload::Retransmission(chunk), wire),
                None => {}
            }
        }
        self.control.on_pto();
    }

    /// Queues lost data for new packets and sends as the window allows.
    fn send_after_losses(&mut self, now: Instant, wire: &mut impl Wire) {
        for packet in &self.control.recovery.lost {
            let Chunk { offset, .. } = packet.chunk;
            let end = packet.chunk.end() + u64::from(packet.chunk.fin);
            wire.notify(|| SenderEvent::LossMarked(LossMark::Original((offset + FIRST_BYTE, end + FIRST_BYTE))));
            self.stream.on_lost(packet.chunk);
        }
        self.control.recovery.lost.clear();
        self.send(now, wire);
    }

    /// Sends as window and pacing allow.
    fn send(&mut self, now: Instant, wire: &mut impl Wire) {
        let is_app_limited = loop {
            if !self.stream.has_data() {
                break true;
            }
            if !self.control.congestion.has_room(self.datagram()) || !wire.has_room() {
                break false;
            }
            if self.control.congestion.pacer.must_wait(now) {
                break false;
            }
            self.send_packet(now, Payload::New, wire);
        };
        self.control.congestion.on_blocked(is_app_limited);
    }

    fn send_packet(&mut self, now: Instant, payload: Payload, wire: &mut impl Wire) {
        let recovery = &self.control.recovery;
        let (number, largest_acked) = (recovery.next_number(), recovery.largest_acked());
        let (offset, is_retransmission) = match payload {
            Payload::New => self.stream.upcoming(),
            Payload::Retransmission(chunk) => (chunk.offset, true),
        };
        let stream_header = STREAM_HEADER + if offset > 0 { varint(offset) } else { 0 };
        let headers = SHORT_HEADER + number_bytes(number, largest_acked) + stream_header;
        // An ACK frame goes only with new data, so that lost data fits into its packet unchanged.
        let pinged = if is_retransmission { None } else { self.ping_to_ack.take() };
        let ack_bytes = pinged.map_or(0, |(number, arrived)| ack_of_one(number, now - arrived).bytes());
        let room = self.datagram() - headers - ack_bytes;
        let chunk = match payload {
            Payload::New => self.stream.take(room),
            Payload::Retransmission(chunk) => {
                Chunk { len: chunk.len.min(room), fin: chunk.fin && chunk.len <= room, ..chunk }
            }
        };
        let size = headers + ack_bytes + chunk.len;
        let ecn = self.control.ecn.mark();
        self.stats.sent += 1;
        self.stats.retransmissions += u64::from(is_retransmission);
        self.control.on_sent(SentPacket::new(number, size, now, ecn != Ecn::NotEct, chunk));
        if wire.observes_sender() {
            let flags = Flags::default().with_if(Flags::FIN, chunk.fin);
            let header = Header { seq: chunk.offset + FIRST_BYTE, len: chunk.len as u16, flags, ..Header::default() };
            wire.notify(|| SenderEvent::Sent { header: &header, len: size + UDP_IP, ecn, is_retransmission });
        }
        let header = Header {
            seq: number,
            ack: chunk.offset,
            len: chunk.len as u16,
            ts_val: kind::STREAM | if chunk.fin { kind::FIN } else { 0 },
            ts_ecr: pinged.map_or(0, |(number, _)| number as u32 + 1),
            ..Header::default()
        };
        wire.transmit(&header, size + UDP_IP, ecn);
    }

    /// The client's part of the handshake, padded.
    fn send_initial(&mut self, now: Instant, wire: &mut impl Wire) {
        // The receiver does not delay acknowledgments of handshake packets.
        let next = now + self.control.recovery.backed_off(Duration::ZERO);
        let Phase::Handshake { sent, due } = &mut self.phase else { return };
        let number = sent.len() as u64;
        sent.push(now);
        *due = next;
        let (len, is_retransmission) = (MIN_DATAGRAM + UDP_IP, number > 0);
        let view = Header::default();
        wire.notify(|| SenderEvent::Sent { header: &view, len, ecn: Ecn::NotEct, is_retransmission });
        let header = Header { seq: number, ts_val: kind::INITIAL, ..Header::default() };
        wire.transmit(&header, len, Ecn::NotEct);
    }

    /// The receiver's state of the stream as a TCP acknowledgment with SACK blocks.
    fn view(&self) -> Header {
        let mut sack = Sack::default();
        self.stream.beyond().for_each(|(from, to)| sack.push((from + FIRST_BYTE, to + FIRST_BYTE)));
        Header { ack: self.stream.una() + FIRST_BYTE, sack, ..Header::default() }
    }

    /// Reports the sender's state after an event to a host that observes it.
    fn report_state(&self, wire: &mut impl Wire) {
        if !wire.observes_sender() {
            return;
        }
        let (congestion, recovery) = (&self.control.congestion, &self.control.recovery);
        let packet = u64::from(self.datagram());
        let snapshot = SenderState {
            state: congestion.state(),
            una: self.stream.una() + FIRST_BYTE,
            nxt: self.stream.nxt() + FIRST_BYTE,
            right_edge: u64::MAX,
            mss: packet as u32,
            cwnd: (congestion.window() / packet) as u32,
            ssthresh: congestion.ssthresh().map_or(Window::INFINITE_SSTHRESH, |bytes| (bytes / packet) as u32),
            in_flight: congestion.in_flight(),
            pacing: congestion.pacer.rate(),
            srtt_s: self.srtt_s(),
            min_rtt: congestion.min_rtt().or(recovery.rtt.min()),
            timer: match &self.phase {
                Phase::Closed => None,
                Phase::Handshake { due, .. } => Some((TimerPurpose::LossProbe, *due)),
                Phase::Open => recovery.timer(),
            },
        };
        wire.notify(|| SenderEvent::State(&snapshot));
    }

    /// UDP payload of a full packet.
    fn datagram(&self) -> u32 {
        self.control.congestion.datagram(self.max_datagram_size)
    }

    /// State of congestion avoidance.
    pub fn state(&self) -> CaState {
        self.control.congestion.state()
    }
}

/// ACK frame for a packet with a PING; other packets of the receiver are not ack-eliciting.
fn ack_of_one(number: u64, delay: Duration) -> AckFrame {
    AckFrame { ranges: vec![(number, number)], delay: super::ack::round_delay(delay.min(MAX_ACK_DELAY)), ecn: None }
}

/// Size of a STREAM frame without length and offset: type and stream ID.
const STREAM_HEADER: u32 = 2;

/// Packets sent per probe time-out (RFC 9002 §6.2.4 allows two).
const PROBES: usize = 2;
