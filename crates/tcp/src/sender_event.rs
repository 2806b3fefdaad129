//! Events of a sender, reported to a host that observes it.
//!
//! One event is one call by the host: an arriving acknowledgment, a timer, a write by the application, or room below.
//! In each event the host is notified ([`Wire::notify`](crate::Wire::notify)) of the arrival, of transmissions, of loss
//! marks, and at the end of the sender's state.

use crate::Header;
use crate::quic::AckFrame;
use crate::segment::LossMark;
use crate::state::CaState;
use crate::timer::TimerPurpose;
use sojourn_aqm::{Duration, Ecn, Instant, Rate};

/// An action of the sender, or its cause.
#[derive(Clone, Copy, Debug)]
pub enum SenderEvent<'a> {
    /// A segment of the receiver has arrived, with `len` IP bytes; it was not processed yet.
    #[allow(missing_docs)]
    Received { header: &'a Header, len: u32 },
    /// The timer has expired; its purpose.
    Expired(TimerPurpose),
    /// A segment is sent: header, IP bytes, codepoint, and whether it is a retransmission.
    #[allow(missing_docs)]
    Sent { header: &'a Header, len: u32, ecn: Ecn, is_retransmission: bool },
    /// A QUIC ACK frame has arrived, in the peer's packet `number`, with `len` IP bytes.
    #[allow(missing_docs)]
    Acknowledged { number: u64, frame: &'a AckFrame, len: u32 },
    /// The loss marks have changed.
    LossMarked(LossMark),
    /// The event is over; the state after it.
    State(&'a SenderState),
}

/// State of a sender after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// State of congestion avoidance.
    pub state: CaState,
    /// The oldest unacknowledged sequence number (SND.UNA).
    pub una: u64,
    /// The next sequence number to be sent (SND.NXT).
    pub nxt: u64,
    /// Right edge of the receiver's window.
    pub right_edge: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; initially [`Window::INFINITE_SSTHRESH`](crate::cc::Window::INFINITE_SSTHRESH).
    pub ssthresh: u32,
    /// Segments in flight, by the sender's estimate.
    pub in_flight: u32,
    /// Pacing rate, in bits of payload per second; `None` without pacing.
    pub pacing: Option<Rate>,
    /// Smoothed round-trip time in seconds; zero before the first sample.
    pub srtt_s: f64,
    /// Minimum RTT, kept for the control or else by RACK.
    pub min_rtt: Option<Duration>,
    /// Purpose of the timer, and when it expires.
    pub timer: Option<(TimerPurpose, Instant)>,
}
