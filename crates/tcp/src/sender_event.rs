//! What a sender does, told to a host that watches it.
//!
//! An event of a sender is one call of its host: an acknowledgment that arrives, a timer, an application that writes or
//! room below. In each event the host is told, by [`Wire::tell`], what came, what went out, which losses were marked, and
//! last how the sender stands.

use crate::Header;
use crate::quic::AckFrame;
use crate::segment::LossMark;
use crate::state::CaState;
use crate::timer::TimerPurpose;
use sojourn_aqm::{Duration, Ecn, Instant, Rate};

/// Something that a sender does, or that happens to it.
#[derive(Clone, Copy, Debug)]
pub enum SenderEvent<'a> {
    /// A segment of the receiver has come, of so many IP bytes, and nothing was done about it yet.
    #[allow(missing_docs)]
    Received { header: &'a Header, len: u32 },
    /// The timer has expired, which was set for this purpose.
    Expired(TimerPurpose),
    /// A segment goes out, `again` if it has been sent before: its header, its IP bytes and its codepoint.
    #[allow(missing_docs)]
    Sent { header: &'a Header, len: u32, ecn: Ecn, is_retransmission: bool },
    /// An ACK frame of QUIC has come, in packet `number` of the other side, of so many IP bytes.
    #[allow(missing_docs)]
    Acknowledged { number: u64, frame: &'a AckFrame, len: u32 },
    /// What the sender believes lost has changed.
    LossMarked(LossMark),
    /// The event is over.
    State(&'a SenderState),
}

/// How a sender stands after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Where congestion avoidance stands.
    pub state: CaState,
    /// The oldest sequence number that is not acknowledged (SND.UNA).
    pub una: u64,
    /// The next sequence number to be sent (SND.NXT).
    pub nxt: u64,
    /// The sequence number behind the last one that the receiver takes.
    pub right_edge: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; [`Window::INFINITE_SSTHRESH`](crate::cc::Window::INFINITE_SSTHRESH) before it was
    /// set.
    pub ssthresh: u32,
    /// Segments in the network, by the sender's belief.
    pub in_flight: u32,
    /// The pacing rate, in bits of payload per second; none where nothing is held.
    pub pacing: Option<Rate>,
    /// Smoothed round-trip time in seconds; zero before the first sample.
    pub srtt_s: f64,
    /// The least round-trip time that the control, or else RACK, keeps.
    pub min_rtt: Option<Duration>,
    /// What the timer is set for, and when it expires.
    pub timer: Option<(TimerPurpose, Instant)>,
}
