//! Both ends of a connection, over TCP and over QUIC.

use super::disturbance;
use crate::cc::AnyCc;
use crate::stack::Stack;
use crate::{Header, Receiver, ReceiverConfig, Sender, SenderConfig, Wire, quic};
use sojourn_aqm::{Ecn, Instant, Rate, Rng};

/// Events of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Opens(Option<u64>),
    Connects,
    Writes(u64),
    Receives(Header),
    Wakes,
}

/// Packets of an event.
pub(crate) type Sent = Vec<(Header, Ecn)>;

/// A connection with so many packets in flight ends: its window has no bound.
pub(super) const RUNAWAY: u32 = 10_000;

/// Collects the packets of an event, and has no room for more than [`RUNAWAY`].
#[derive(Default)]
struct Outbox(Sent);

impl Wire for Outbox {
    fn transmit(&mut self, header: &Header, _: u32, ecn: Ecn) {
        self.0.push((*header, ecn));
    }

    fn has_room(&self) -> bool {
        self.0.len() < RUNAWAY as usize
    }
}

/// A sender and its receiver.
pub(crate) trait Ends: std::fmt::Debug + Send {
    /// Carries out an event at the sender; returns the packets that it sends.
    fn carry_out(&mut self, now: Instant, event: Event) -> Sent;
    /// A packet arrives at the receiver.
    fn receive(&mut self, now: Instant, header: &Header, ecn: Ecn) -> Sent;
    /// The receiver's timer expires.
    fn wake_receiver(&mut self, now: Instant) -> Sent;
    /// Deadlines of the sender and of the receiver.
    fn deadlines(&self) -> [Instant; 2];
    /// Whether the application can write in pieces.
    fn takes_writes(&self) -> bool;
    /// Congestion window in packets.
    fn cwnd(&self) -> u32;
    /// Packets in flight.
    fn in_flight(&self) -> u32;
    /// Bytes that have arrived without a gap.
    fn delivered(&self) -> u64;
    /// Whether all data is acknowledged.
    fn is_finished(&self) -> bool;
    /// Modifies an acknowledgment so that it remains true.
    fn mangled(&self, header: Header, _rng: &mut Rng) -> Header {
        header
    }
    /// An acknowledgment that the sender must ignore.
    fn invalid(&self, header: Header, _rng: &mut Rng) -> Header {
        header
    }
}

/// A connection over TCP.
#[derive(Debug)]
pub(crate) struct TcpEnds {
    pub sender: Sender,
    pub receiver: Receiver,
    pub sack: bool,
}

impl TcpEnds {
    /// A connection with random options of `stack`.
    pub fn draw(cc: AnyCc, stack: &'static Stack, rng: &mut Rng) -> Self {
        let shares = [0.9, 0.7, 0.3, 0.1, 0.2, 0.2, 0.2, 0.1];
        let [sack, delayed_ack, ecn, counts_bytes, offloads, paced, buffered, nagle] =
            shares.map(|share| rng.uniform() < share);
        let (initial_window, mss, needs) = (None, MSS as u32, cc.needs());
        let receive_window = (rng.below(3) == 0).then(|| 5_000 + rng.below(90_000));
        let mut sender = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window, receive_window });
        if counts_bytes && stack.has_byte_counting() {
            sender = sender.with_byte_counting(2);
        }
        if offloads && stack.has_segmentation_offload() {
            sender = sender.with_segmentation_offload();
        }
        if paced && stack.may_be_paced() {
            sender = sender.with_pacing(Some(Rate::from_bps(3_000_000 + rng.below(90_000_000))), stack);
        }
        if buffered && stack.has_send_buffer() {
            sender = sender.with_send_buffer(20_000 + rng.below(400_000));
        }
        if nagle {
            sender = sender.with_nagle();
        }
        let config = ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window };
        Self { sender, receiver: Receiver::new(config).serving(&needs), sack }
    }

    /// A connection with the usual options of `stack`.
    pub fn plain(cc: AnyCc, stack: &'static Stack, ecn: bool) -> Self {
        let (mss, sack, initial_window, receive_window, needs) = (MSS as u32, true, None, None, cc.needs());
        let config = ReceiverConfig { stack, mss, sack, delayed_ack: true, ecn, receive_window };
        let sender = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window, receive_window });
        Self { sender, receiver: Receiver::new(config).serving(&needs), sack }
    }

    /// Sets the random stream of the congestion control.
    pub fn with_rng(self, rng: Rng) -> Self {
        Self { sender: self.sender.with_rng(rng), ..self }
    }
}

impl Ends for TcpEnds {
    fn carry_out(&mut self, now: Instant, event: Event) -> Sent {
        sent(|wire| match event {
            Event::Opens(bytes) => self.sender.open(now, bytes, wire),
            Event::Connects => self.sender.connect(now, wire),
            Event::Writes(bytes) => self.sender.write(now, bytes, wire),
            Event::Wakes => self.sender.on_timer(now, wire),
            Event::Receives(header) => self.sender.on_segment(now, &header, wire),
        })
    }

    fn receive(&mut self, now: Instant, header: &Header, ecn: Ecn) -> Sent {
        sent(|wire| self.receiver.on_segment(now, header, ecn, wire))
    }

    fn wake_receiver(&mut self, now: Instant) -> Sent {
        sent(|wire| self.receiver.on_timer(now, wire))
    }

    fn deadlines(&self) -> [Instant; 2] {
        [self.sender.deadline(), self.receiver.deadline()]
    }

    fn takes_writes(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u32 {
        self.sender.window().cwnd
    }

    fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn is_finished(&self) -> bool {
        self.sender.is_finished()
    }

    fn mangled(&self, header: Header, rng: &mut Rng) -> Header {
        disturbance::mangled(header, self.sack, rng)
    }

    fn invalid(&self, header: Header, rng: &mut Rng) -> Header {
        disturbance::invalid(header, self.sender.nxt(), rng)
    }
}

/// A connection over QUIC.
#[derive(Debug)]
pub(crate) struct QuicEnds {
    sender: quic::Sender,
    receiver: quic::Receiver,
}

impl QuicEnds {
    /// A connection of `quic-rfc9002`; the congestion control draws from `rng`.
    pub fn new(cc: AnyCc, (ecn, delayed_ack): (bool, bool), rng: Rng) -> Self {
        let config = quic::Config { cc, max_datagram_size: MSS as u32, ecn, initial_window: None, delayed_ack };
        Self { sender: quic::Sender::new(&config).with_rng(rng), receiver: quic::Receiver::new(delayed_ack) }
    }
}

impl Ends for QuicEnds {
    fn carry_out(&mut self, now: Instant, event: Event) -> Sent {
        sent(|wire| match event {
            Event::Opens(bytes) => self.sender.open(now, bytes, wire),
            Event::Receives(header) if quic::Receiver::is_of_handshake(&header) => {
                self.sender.on_handshake(now, &header, wire);
            }
            Event::Receives(header) => {
                if let Some(frame) = self.receiver.take_frame(&header) {
                    self.sender.on_ack(now, (&header, ACK_BYTES), &frame, wire);
                    self.receiver.recycle_frame(frame);
                }
            }
            Event::Wakes => self.sender.on_timer(now, wire),
            Event::Connects | Event::Writes(_) => unreachable!("the world writes over TCP only"),
        })
    }

    fn receive(&mut self, now: Instant, header: &Header, ecn: Ecn) -> Sent {
        sent(|wire| self.receiver.on_packet(now, header, ecn, wire))
    }

    fn wake_receiver(&mut self, now: Instant) -> Sent {
        sent(|wire| self.receiver.on_timer(now, wire))
    }

    fn deadlines(&self) -> [Instant; 2] {
        [self.sender.deadline(), self.receiver.deadline()]
    }

    fn takes_writes(&self) -> bool {
        false
    }

    fn cwnd(&self) -> u32 {
        self.sender.window().0 as u32
    }

    fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn is_finished(&self) -> bool {
        self.sender.is_finished()
    }
}

/// What `act` sends.
fn sent(act: impl FnOnce(&mut Outbox)) -> Sent {
    let mut wire = Outbox::default();
    act(&mut wire);
    wire.0
}

/// Payload of a full segment.
pub(super) const MSS: u64 = 1448;
/// IP length of a QUIC packet with an ACK frame; only observers read it.
const ACK_BYTES: u32 = 70;
