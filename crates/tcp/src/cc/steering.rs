//! What a control may ask of its sender beyond growth and reduction: samples, pacing, codepoints, and to set the window
//! and the pacing rate itself.

use super::Window;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant, Rate};

/// What a control asks of its sender, once, before the connection is opened. By default nothing, which costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// [`acked`](super::WindowControl::acked) is called for every acknowledgment, also one of nothing new.
    pub reports: bool,
    /// [`grow`](super::WindowControl::grow) is called also if the window was not used up (Linux calls `cong_avoid` all the
    /// same, and most controls do nothing then).
    pub grows_unlimited: bool,
    /// Without SACK the first partial acknowledgment ends recovery (Reno; NewReno stays, RFC 6582).
    pub partial_ack_ends_recovery: bool,
    /// The counts of delivered and marked packets for each acknowledgment:
    /// [`delivered`](super::DeliveryControl::delivered) is called.
    pub samples: bool,
    /// It sets the window and the pacing rate itself: [`steer`](super::SteeringControl::steer) is called in place of
    /// growth and reduction, with a sample.
    pub steers: bool,
    /// Each segment that is marked lost is told: [`lost`](super::SteeringControl::lost) is called. For a control that
    /// steers.
    pub losses: bool,
    /// The send buffer has room for three windows and not for two, since the control may go into slow start within a recovery
    /// (`bbr_sndbuf_expand`).
    pub wide_buffer: bool,
    /// Over QUIC a recovery lasts until a round trip brings no loss, as in Google's QUIC, and not for one round trip: it keeps
    /// to packet conservation in the first one only, as over TCP. For a control that steers.
    pub long_recovery: bool,
    /// Segments leave at a pacing rate: what the control sets, or 200 % of the window per RTT in the first half of slow
    /// start and 120 % after it.
    pub paces: bool,
    /// ECN is negotiated, whatever is configured (Linux `TCP_CONG_NEEDS_ECN`).
    pub ecn: bool,
    /// The receiver echoes the mark of each packet instead of latching it (RFC 8257 §3.2); see
    /// [`Receiver::serving`](crate::Receiver::serving).
    pub echo_per_packet: bool,
    /// Accurate ECN (RFC 9768), where the receiver has it: the number of marked packets with each acknowledgment.
    pub accurate_ecn: bool,
    /// What is ECN-capable is sent as ECT(1), as L4S asks (RFC 9331); else as the stack says.
    pub ect1: bool,
    /// SYN, pure acknowledgments and retransmissions are ECN-capable too, whatever the stack says.
    pub ect_on_control: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self::NONE
    }
}

impl Needs {
    /// Nothing is asked for.
    pub const NONE: Self = Self {
        reports: false,
        grows_unlimited: false,
        partial_ack_ends_recovery: false,
        samples: false,
        steers: false,
        losses: false,
        wide_buffer: false,
        long_recovery: false,
        paces: false,
        ecn: false,
        echo_per_packet: false,
        accurate_ecn: false,
        ect1: false,
        ect_on_control: false,
    };

    /// Whether `stack` has what is asked for. Reports, samples, pacing, steering and accurate ECN need a stack that decides
    /// on recovery first, then on the window, then sends (`linux-3.13` and later).
    pub fn is_met_by(&self, stack: &Stack) -> bool {
        stack.recovers_first() || !(self.reports || self.samples || self.steers || self.paces || self.accurate_ecn)
    }
}

/// A segment that was marked lost (Linux `skb_marked_lost` of BBRv3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Packets in flight once it had been sent.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent, up to and with itself.
    pub lost: u32,
    /// The application may have limited the rate when it was sent.
    pub is_app_limited: bool,
    /// The segment before it in sequence is lost too: they are one range.
    pub continues: bool,
}

/// The state of a connection, for a control that asked for samples.
#[derive(Debug)]
pub struct Flight<'a> {
    /// The time of the event.
    pub now: Instant,
    /// Where congestion avoidance stands.
    pub state: CaState,
    /// Everything before this sequence number is acknowledged.
    pub una: u64,
    /// The next sequence number to be sent.
    pub nxt: u64,
    /// Segments that were sent and are not acknowledged.
    pub packets_out: u32,
    /// … of which so many are believed to be in the network.
    pub in_flight: u32,
    /// Whether the window, and not the application or the receiver, limits what is sent.
    pub is_cwnd_limited: bool,
    /// Packets delivered since the start of the connection, the SYN included.
    pub delivered: u64,
    /// … and those of them that carried a congestion mark.
    pub delivered_ce: u64,
    /// When something was last delivered.
    pub delivered_at: Instant,
    /// Packets marked lost since the start of the connection.
    pub lost: u64,
    /// Whether the application limits the rate at the moment.
    pub is_app_limited: bool,
    /// Smoothed RTT with its fraction of a microsecond; zero before the first sample.
    pub srtt: Duration,
    /// Least RTT of the last 300 s.
    pub min_rtt: Option<Duration>,
    /// When the next burst may leave; in the past where nothing holds it.
    pub next_departure: Instant,
    /// The pacing rate in payload bits per second; none as long as nothing is held back. A control that steers and paces
    /// sets it.
    pub pacing_rate: Option<Rate>,
    /// The window; a control that steers sets it, and may change the size of new segments with it.
    pub window: &'a mut Window,
    pub(crate) limits_by_application: bool,
}

impl Flight<'_> {
    /// What is sent from now on is to count as limited by the application, until what is in flight is delivered: the
    /// control itself sends less than it could.
    pub fn mark_app_limited(&mut self) {
        self.limits_by_application = true;
    }
}
