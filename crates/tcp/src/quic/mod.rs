//! QUIC as a transport: one stream of data over packets that are never sent twice.
//!
//! Source: RFC 9000 (packets, acknowledgments, ECN), RFC 9002 (loss detection and congestion control, whose names are kept).
//!
//! | What | Where |
//! |---|---|
//! | the connection's life, what is sent when | `sender` |
//! | what an acknowledgment does, in the order of RFC 9002's pseudo code | `control` |
//! | packets that are out, losses, the one timer (appendix A) | `recovery`, `rtt` |
//! | windows, in bytes and of the registry's controls (appendix B), pacing | `congestion`, `newreno`, `registered` |
//! | validation of ECN (RFC 9000 §13.4.2) | `ecn` |
//! | bytes to be sent, also again, in new packets | `stream` |
//! | the receiver: when it acknowledges, and which ranges | `receiver`, `ack`, `ranges` |
//!
//! A packet's [`Header`](crate::Header) has no flags, so that nobody on the way takes it for TCP. `seq` is the packet number, `ack` the offset
//! in the stream, `len` its bytes, `ts_val` what kind of packet it is, and `ts_ecr` the packet of the other side that it
//! acknowledges. An ACK frame waits at its sender until its packet arrives: [`Receiver::take`].
//!
//! # What is left out
//!
//! - Keys and certificates: the handshake is a datagram of 1,200 bytes each way, which is a session that is resumed, without
//!   early data. It is confirmed when the answer has come.
//! - Flow control: the receiver takes everything at once, and says so in time.
//! - More than one stream, migration, path MTU discovery, closing: a transfer ends when its end is acknowledged.

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

/// Whether a stack of that name is QUIC.
pub fn is_known(stack: &str) -> bool {
    NAMES.iter().any(|&(name, _)| name == stack)
}

/// What both ends of a connection are made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The congestion control. NewReno is that of RFC 9002, in bytes; the others are those of TCP and count packets.
    pub cc: AnyCc,
    /// UDP payload of a full packet in bytes (`max_datagram_size`), at least [`MIN_DATAGRAM`].
    pub max_datagram_size: u32,
    /// Whether packets are sent ECN-capable.
    pub ecn: bool,
    /// Initial window in packets; ten when absent, and at most 14,720 bytes or two packets.
    pub initial_window: Option<u32>,
    /// Whether the receiver acknowledges every second packet, or else each.
    pub delayed_ack: bool,
}

/// Whether a control finds in QUIC what it needs: all but those that measure one-way delays by TCP's timestamps.
pub fn fits(cc: &AnyCc) -> bool {
    !matches!(cc, AnyCc::Ledbat(_))
}

/// UDP payload that every path of QUIC carries (RFC 9000 §14), and of the datagrams of a handshake.
pub const MIN_DATAGRAM: u32 = 1200;

/// IPv4 and UDP headers.
pub const UDP_IP: u32 = 28;

/// A 1-RTT packet beside its packet number and its frames: the first byte, a connection ID of eight, the tag of its
/// encryption.
const SHORT_HEADER: u32 = 1 + 8 + 16;

/// Longest time for which a receiver holds an acknowledgment back (RFC 9000 §18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Bits of `ts_val`: what a packet is.
mod kind {
    /// A datagram of the handshake.
    pub const INITIAL: u32 = 1;
    /// It has a STREAM frame.
    pub const STREAM: u32 = 2;
    /// … which is the last one.
    pub const FIN: u32 = 4;
    /// It has an ACK frame, which the other side keeps.
    pub const ACK: u32 = 8;
    /// It has a PING frame, so that it is acknowledged.
    pub const PING: u32 = 16;
}

/// Bytes of a number as QUIC writes it (RFC 9000 §16).
fn varint(number: u64) -> u32 {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Bytes of a packet number, when everything below `acked` is known to have arrived (RFC 9000 §A.2: twice as many numbers as
/// are unacknowledged).
fn number_bytes(number: u64, largest_acked: Option<u64>) -> u32 {
    let unacknowledged = largest_acked.map_or(number + 1, |acked| number - acked);
    let bits = unacknowledged.ilog2() + 1 + u32::from(!unacknowledged.is_power_of_two());
    bits.div_ceil(8).clamp(1, 4)
}

/// Whether NewReno of RFC 9002 takes the place of what the registry has under that name.
fn is_newreno(cc: &AnyCc) -> bool {
    matches!(cc, AnyCc::NewReno(_))
}

/// Whether packets are to be sent ECN-capable.
fn wants_ecn(config: &Config) -> bool {
    config.ecn || config.cc.needs().ecn
}
