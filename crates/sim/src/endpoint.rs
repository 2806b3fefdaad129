//! Endpoints: programs outside the simulator at the two ends of a flow (`kind = "endpoint"`).
//!
//! An attached program implements [`Endpoint`] and is called by the run. Without one, a caller takes the events of the
//! end one by one ([`Simulation::next_event`](crate::Simulation::next_event)) and sends between them. Both have the same
//! order of events: the program acts at the instant of the event, before anything else happens.

use sojourn_aqm::{Duration, Ecn, Instant};
use std::net::{Ipv4Addr, SocketAddr};

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndId {
    /// Slot of the flow.
    pub(crate) slot: u32,
    /// Its end.
    pub side: Side,
}

/// End of a flow. Both may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Sender of the flow's data.
    Source,
    /// Receiver of the flow's data.
    Sink,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Source, Self::Sink];

    /// Name in files, tables and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Sink => "sink",
        }
    }

    /// The peer's end.
    #[inline]
    pub const fn peer(self) -> Self {
        match self {
            Self::Source => Self::Sink,
            Self::Sink => Self::Source,
        }
    }

    #[inline]
    pub(crate) const fn of(is_source: bool) -> Self {
        if is_source { Self::Source } else { Self::Sink }
    }
}

/// A program at one end of a flow, without I/O of its own: events in; datagrams and the next deadline out.
///
/// After every call but the last two, [`Endpoint::poll_transmit`] is called until it returns `None` or the host accepts
/// no more, and then [`Endpoint::wake_at`]. Times are those of the run.
pub trait Endpoint: Send {
    /// The flow starts.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }

    /// A datagram arrives.
    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>);

    /// The deadline of [`Endpoint::wake_at`] has passed. A deadline that is moved later may still wake the program at
    /// its former time.
    fn on_wake(&mut self, cx: &mut Cx<'_>);

    /// Anything else happens.
    fn on_other(&mut self, cx: &mut Cx<'_>, event: OtherEvent) {
        let _ = (cx, event);
    }

    /// Writes the bytes of the next datagram, or of several of one size, into `into`, which is empty; `None` if nothing
    /// is to be sent now.
    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit>;

    /// When the program wants to be woken; `None` for never. Times in the past mean now.
    fn wake_at(&mut self) -> Option<Instant>;

    /// State for tables and summaries.
    fn standing(&self) -> Standing {
        Standing::default()
    }
}

/// Services of the run for a program that is called.
#[derive(Debug)]
pub struct Cx<'a> {
    now: Instant,
    addresses: [SocketAddr; 2],
    effects: &'a mut Vec<Effect>,
}

/// A report of a program to the statistics of its group.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A transfer of so many bytes starts.
    Offered(u64),
    /// A transfer that started then has arrived, so many bytes.
    Completed(Instant, u64),
    /// The connection is closed.
    Closed,
    /// A value by name.
    Note(&'static str, f64),
}

impl<'a> Cx<'a> {
    /// Services for a call at `now`; `addresses` are the end's own and its peer's. Reports are added to `effects`.
    #[inline]
    pub fn new(now: Instant, addresses: [SocketAddr; 2], effects: &'a mut Vec<Effect>) -> Self {
        Self { now, addresses, effects }
    }

    /// Address of the end.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Address of the other end of the flow.
    pub fn peer(&self) -> SocketAddr {
        self.addresses[1]
    }

    /// Time of the run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A transfer of `bytes` starts; 0 if its size is unknown.
    pub fn offered(&mut self, bytes: u64) {
        self.effects.push(Effect::Offered(bytes));
    }

    /// The last of `bytes` of a transfer that started at `begun` has arrived: its completion time counts for the group.
    pub fn completed(&mut self, begun: Instant, bytes: u64) {
        self.effects.push(Effect::Completed(begun, bytes));
    }

    /// The connection is closed.
    pub fn closed(&mut self) {
        self.effects.push(Effect::Closed);
    }

    /// Adds a value to the statistics of the end's `name`, e.g. its window at this instant.
    pub fn note(&mut self, name: &'static str, value: f64) {
        self.effects.push(Effect::Note(name, value));
    }
}

/// A datagram as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Payload above UDP; the IP packet if the group has `layer = "ip"`.
    pub bytes: &'a [u8],
    /// Source address on the wire, behind any NAT.
    pub from: SocketAddr,
    /// The local address that it was sent to.
    pub local: SocketAddr,
    /// ECN field as received.
    pub ecn: Ecn,
    /// Number of the tag that its sender gave it; 0 for none.
    pub tag: u8,
}

/// How a datagram is to be sent, or several of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination.
    pub remote: SocketAddr,
    /// Local address; by default that of the end.
    pub local: Option<SocketAddr>,
    /// ECN field.
    pub ecn: Ecn,
    /// Bytes of each datagram but the last, if the bytes are several datagrams; at most 64.
    pub segment_size: Option<usize>,
    /// Earliest departure (`SO_TXTIME`); by default now. Datagrams of one 5-tuple leave in order.
    pub at: Option<Instant>,
    /// Number of a tag of the group; 0 for none.
    pub tag: u8,
}

impl Transmit {
    /// One datagram to `remote`, not ECN-capable, now.
    pub fn to(remote: SocketAddr) -> Self {
        Self { remote, local: None, ecn: Ecn::NotEct, segment_size: None, at: None, tag: 0 }
    }

    /// One IP packet of a host with `layer = "ip"`, now; addresses and the ECN field are those of its header.
    pub fn packet() -> Self {
        Self::to(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))
    }
}

/// Event of an end other than datagrams and deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherEvent {
    /// The host accepts datagrams again.
    Room,
    /// The group's `stop`: the application has no more data.
    Stop,
    /// A packet was too big for the path, whose MTU in IP bytes this is.
    TooBig {
        /// IP bytes of the largest packet that passes.
        mtu: u32,
        /// Destination of the packet.
        remote: SocketAddr,
    },
}

/// Event of an end that no program is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndEvent {
    /// The flow starts.
    Begin,
    /// The deadline has passed and is cleared. A deadline that was moved later may still wake the end at its former time;
    /// then it remains.
    Wake,
    /// A datagram has arrived.
    Datagram {
        /// Source address on the wire.
        from: SocketAddr,
        /// The local address that it was sent to.
        local: SocketAddr,
        /// ECN field as received.
        ecn: Ecn,
        /// Number of the tag that its sender gave it; 0 for none.
        tag: u8,
    },
    /// Anything else.
    Other(OtherEvent),
}

impl EndEvent {
    /// Whether a timer of the end has fired.
    pub(crate) fn is_of_timer(&self) -> bool {
        !matches!(self, Self::Datagram { .. })
    }
}

/// State of a program for tables and summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Congestion window in packets.
    pub cwnd: Option<f64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets that it considers lost.
    pub lost: u64,
    /// Application bytes that it has received in order; by default the payload of all datagrams counts.
    pub delivered: Option<u64>,
}

/// Error of a datagram that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The host's queue is full; [`OtherEvent::Room`] follows.
    #[error("the host accepts no datagram now; wait for room")]
    WouldBlock,
    /// A payload that no IP packet can have.
    #[error("a datagram of {0} B; at most {1} B")]
    TooLong(usize, usize),
    /// A payload of no bytes with a segment size, a segment size of 0, or too many datagrams.
    #[error("{0} B in segments of {1} B; at least 1 B each, and at most 64 datagrams")]
    Segments(usize, usize),
    /// A tag that the group does not have.
    #[error("tag {0}; the group has {1} in its key tags")]
    Tag(u8, usize),
    /// Addresses of two families.
    #[error("from {0} to {1}; write both as IPv4 or both as IPv6")]
    Family(SocketAddr, SocketAddr),
    /// A datagram without a destination.
    #[error("no destination; give the address of the other end, or write layer = \"ip\" to send IP packets")]
    Remote,
    /// Bytes that are no IP packet, from a host with `layer = "ip"`.
    #[error("no IP packet: {0}; the group has layer = \"ip\", so send whole packets of IPv4 or IPv6, one per call")]
    Packet(&'static str),
    /// A local address that the host does not have.
    #[error("from {0}, but the host has the address {1}; send from that one")]
    Local(SocketAddr, std::net::IpAddr),
}
