//! QUIC as a transport: one stream of data over packets that are never retransmitted.
//!
//! Source: RFC 9000 (packets, acknowledgments, ECN), RFC 9002 (loss detection and congestion control, whose names are
//! kept).
//!
//! | Module | Contents |
//! |---|---|
//! | `sender` | life cycle of the connection, packet scheduling |
//! | `control` | processing of an acknowledgment in the order of RFC 9002's pseudocode |
//! | `recovery`, `rtt` | packets in flight, loss detection, the single timer (appendix A) |
//! | `congestion`, `newreno`, `registered` | windows in bytes and of the registry's controls (appendix B), pacing |
//! | `ecn` | ECN validation (RFC 9000 §13.4.2) |
//! | `stream` | new data, and lost data that is sent in new packets |
//! | `receiver`, `ack`, `ranges` | acknowledgment scheduling and ranges at the receiver |
//!
//! QUIC has endpoints of its own: TCP's sender is three state machines of kernels around one retransmission queue in
//! sequence order, and QUIC has neither retransmissions nor an order. They are in this crate because the controls,
//! pacer and rate samples that both use are not public.
//!
//! A packet's [`Header`](crate::Header) has no flags, so that middleboxes do not treat it as TCP. `seq` is the packet
//! number, `ack` the stream offset, `len` the number of stream bytes, `ts_val` the kind of packet, and `ts_ecr` the
//! peer's packet that it acknowledges. An ACK frame waits at its sender until its packet arrives:
//! [`Receiver::take_frame`].
//!
//! # Not implemented
//!
//! - Keys and certificates: the handshake is one datagram of 1,200 bytes in each direction, like a resumed session
//!   without early data. It is confirmed when the response arrives.
//! - Flow control: the receiver consumes data at once and updates its limits in time.
//! - Multiple streams, migration, path MTU discovery, closing: a transfer ends when its end is acknowledged.

mod ack;
mod congestion;
mod control;
mod ecn;
mod newreno;
mod ranges;
mod receiver;
mod recovery;
mod registered;
mod rtt;
mod sender;
mod stream;
#[cfg(test)]
mod tests;

pub use ack::{AckFrame, EcnCounts};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::cc::AnyCc;
use sojourn_aqm::Duration;

/// Name and summary of every QUIC stack.
pub const NAMES: &[(&str, &str)] = &[(
    "quic-rfc9002",
    "QUIC (RFC 9000, RFC 9002): packet and time threshold, PTO, paced, IW 10, headers of 1-RTT packets over UDP",
)];

/// Whether `stack` is a QUIC stack.
pub fn is_known(stack: &str) -> bool {
    NAMES.iter().any(|&(name, _)| name == stack)
}

/// Configuration of both ends of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// Congestion control. NewReno is that of RFC 9002, in bytes; the others are TCP's and count packets.
    pub cc: AnyCc,
    /// UDP payload of a full packet in bytes (`max_datagram_size`), at least [`MIN_DATAGRAM`].
    pub max_datagram_size: u32,
    /// Whether packets are sent ECN-capable.
    pub ecn: bool,
    /// Initial window in packets; by default ten packets, limited to 14,720 bytes or two packets.
    pub initial_window: Option<u32>,
    /// Whether the receiver acknowledges every second packet; otherwise every packet.
    pub delayed_ack: bool,
}

/// Whether a control works over QUIC: all except those that measure one-way delays by TCP timestamps.
pub fn fits(cc: &AnyCc) -> bool {
    !matches!(cc, AnyCc::Ledbat(_))
}

/// UDP payload that every QUIC path supports (RFC 9000 §14), and size of handshake datagrams.
pub const MIN_DATAGRAM: u32 = 1200;

/// Size of IPv4 and UDP headers.
pub const UDP_IP: u32 = 28;

/// Overhead of a 1-RTT packet without its packet number and frames: first byte, connection ID of eight bytes,
/// authentication tag.
const SHORT_HEADER: u32 = 1 + 8 + 16;

/// Maximum delay of an acknowledgment at the receiver (RFC 9000 §18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Bits of `ts_val`: kind of packet.
mod kind {
    /// Datagram of the handshake.
    pub const INITIAL: u32 = 1;
    /// Packet with a STREAM frame.
    pub const STREAM: u32 = 2;
    /// STREAM frame with the FIN bit.
    pub const FIN: u32 = 4;
    /// Packet with an ACK frame, which its sender keeps.
    pub const ACK: u32 = 8;
    /// Packet with a PING frame, which elicits an acknowledgment.
    pub const PING: u32 = 16;
}

/// Bytes of a variable-length integer (RFC 9000 §16).
fn varint(number: u64) -> u32 {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Bytes of a packet number, given the largest acknowledged one (RFC 9000 §A.2: the encoding covers twice as many
/// numbers as are unacknowledged).
fn number_bytes(number: u64, largest_acked: Option<u64>) -> u32 {
    let unacknowledged = largest_acked.map_or(number + 1, |acked| number - acked);
    let bits = unacknowledged.ilog2() + 1 + u32::from(!unacknowledged.is_power_of_two());
    bits.div_ceil(8).clamp(1, 4)
}

/// Whether `cc` is NewReno, for which QUIC uses RFC 9002's instead of the registry's.
fn is_newreno(cc: &AnyCc) -> bool {
    matches!(cc, AnyCc::NewReno(_))
}

/// Whether packets are to be sent ECN-capable.
fn wants_ecn(config: &Config) -> bool {
    config.ecn || config.cc.needs().ecn
}
