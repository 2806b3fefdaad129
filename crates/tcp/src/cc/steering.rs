//! Services that a control requests from its sender beyond growth and reduction: samples, pacing, codepoints, and
//! setting the window and the pacing rate itself.

use super::Window;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant, Rate};

/// Services that a control requests from its sender. Queried once, when the sender is built, so that a control without
/// requests costs one test of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// [`on_ack`](super::WindowControl::on_ack) is called for every acknowledgment, duplicates included, before
    /// recovery and the window act on it (Linux `pkts_acked` and `in_ack_event`).
    pub reports: bool,
    /// [`grow`](super::WindowControl::grow) is called even if the window was not the limit. Linux always calls
    /// `cong_avoid`, and most controls return early then.
    pub grows_unlimited: bool,
    /// Without SACK the first partial acknowledgment ends recovery (Reno; NewReno stays, RFC 6582).
    pub partial_ack_ends_recovery: bool,
    /// Counts of delivered and marked packets per acknowledgment:
    /// [`on_delivered`](super::DeliveryControl::on_delivered) is called.
    pub samples: bool,
    /// [`observe`](super::CongestionControl::observe) is called before the callbacks of an acknowledgment or of an
    /// expired timer, with stacks that count deliveries.
    pub flight: bool,
    /// [`on_sent`](super::DeliveryControl::on_sent) is called after each event that has sent data.
    pub sent: bool,
    /// The control sets the window and the pacing rate itself: [`steer`](super::SteeringControl::steer) is called with
    /// a rate sample instead of growth and reduction.
    pub steers: bool,
    /// [`on_loss`](super::SteeringControl::on_loss) is called for each segment marked lost. For a control that steers.
    pub losses: bool,
    /// The send buffer holds three windows instead of two, because the control may enter slow start during recovery
    /// (`bbr_sndbuf_expand`).
    pub wide_buffer: bool,
    /// Over QUIC a recovery lasts until a round trip has no loss, as in Google's QUIC, instead of one round trip;
    /// packets are conserved in the first one only, as over TCP. For a control that steers.
    pub long_recovery: bool,
    /// Segments are paced: at the rate that the control sets, or at 200 % of the window per RTT in the first half of
    /// slow start and 120 % after it.
    pub paces: bool,
    /// ECN is negotiated regardless of the configuration (Linux `TCP_CONG_NEEDS_ECN`). Both hosts run the same control,
    /// so its receiver echoes per packet (DCTCP) or counts marks (Prague).
    pub ecn: bool,
    /// The receiver echoes the mark of each packet instead of latching ECE (RFC 8257 §3.2); see
    /// [`Receiver::serving`](crate::Receiver::serving).
    pub echo_per_packet: bool,
    /// Accurate ECN (RFC 9768), if the receiver supports it: each acknowledgment carries the number of marked packets.
    pub accurate_ecn: bool,
    /// ECN-capable packets are sent as ECT(1), as L4S requires (RFC 9331); otherwise the stack chooses the codepoint.
    pub ect1: bool,
    /// SYN, pure acknowledgments and retransmissions are ECN-capable too, regardless of the stack.
    pub ect_on_control: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self::NONE
    }
}

impl Needs {
    /// No requests.
    pub const NONE: Self = Self {
        reports: false,
        grows_unlimited: false,
        partial_ack_ends_recovery: false,
        samples: false,
        flight: false,
        sent: false,
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

    /// Whether `stack` provides these services. Reports, samples, pacing, steering and accurate ECN need a stack that
    /// decides on recovery first, then on the window, then sends (`linux-3.13` and later).
    pub fn is_met_by(&self, stack: &Stack) -> bool {
        let needs_recovery_first =
            self.reports || self.samples || self.sent || self.steers || self.paces || self.accurate_ecn;
        stack.recovers_first() || !needs_recovery_first
    }
}

/// A segment marked lost (Linux `skb_marked_lost` of BBRv3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Packets in flight right after its transmission.
    pub tx_in_flight: u32,
    /// Packets marked lost since its transmission, this one included.
    pub lost: u32,
    /// Whether the application may have limited the rate when it was sent.
    pub is_app_limited: bool,
    /// Whether the preceding segment in sequence order is lost too, so that both form one range.
    pub continues: bool,
}

/// State of a connection, for a control that requests samples.
#[derive(Debug)]
pub struct Flight<'a> {
    /// Time of the event.
    pub now: Instant,
    /// State of congestion avoidance.
    pub state: CaState,
    /// Cumulative acknowledgment: all data before this sequence number has arrived.
    pub una: u64,
    /// Next sequence number to be sent.
    pub nxt: u64,
    /// Segments sent and not acknowledged.
    pub packets_out: u32,
    /// Segments estimated to be in the network (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// Whether the window limits transmission, and not the application or the receiver.
    pub is_cwnd_limited: bool,
    /// Packets delivered since the start of the connection, the SYN included.
    pub delivered: u64,
    /// Delivered packets that carried a CE mark.
    pub delivered_ce: u64,
    /// Time of the last delivery.
    pub delivered_at: Instant,
    /// Packets marked lost since the start of the connection.
    pub lost: u64,
    /// Whether the application currently limits the rate.
    pub is_app_limited: bool,
    /// Smoothed RTT with sub-microsecond precision; zero before the first sample.
    pub srtt: Duration,
    /// Minimum RTT of the last 300 s.
    pub min_rtt: Option<Duration>,
    /// Earliest departure time of the next burst; in the past if pacing does not delay it.
    pub next_departure: Instant,
    /// Pacing rate in payload bit/s; none while nothing is paced. Set by a control that steers and paces.
    pub pacing_rate: Option<Rate>,
    /// The window; a control that steers sets it, and may change the size of new segments in it.
    pub window: &'a mut Window,
    pub(crate) limits_by_application: bool,
}

impl Flight<'_> {
    /// Marks new transmissions as application-limited until the data in flight is delivered, because the control itself
    /// sends less than it could.
    pub fn mark_app_limited(&mut self) {
        self.limits_by_application = true;
    }
}
