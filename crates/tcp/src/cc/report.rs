//! What a control that asks for reports hears of each acknowledgment.

use crate::state::State;
use sojourn_aqm::{Duration, Instant};

/// An acknowledgment, whatever it tells, before recovery and the window are considered (Linux `pkts_acked` and
/// `in_ack_event`, which come one after the other).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When it arrived.
    pub now: Instant,
    /// Segments that left the retransmission queue; 0 for a duplicate.
    pub packets: u32,
    /// RTT of the newest segment that it acknowledges or SACKs and that was sent once, else by the timestamp that it
    /// echoes (Linux `rs->rtt_us`); none if it tells of none.
    pub rtt: Option<Duration>,
    /// Time from the segment's transmission to the answer, by the timestamps of both ends, in ticks of the stack: the delay
    /// of the forward path with the receiver's, and the unknown difference between two clocks. None without timestamps.
    pub one_way: Option<Duration>,
    /// Everything before this sequence number is acknowledged.
    pub una: u64,
    /// The next sequence number to be sent.
    pub nxt: u64,
    /// Where congestion avoidance stood before it.
    pub state: State,
    /// Not predicted by its header (Linux `CA_ACK_SLOWPATH`): a duplicate, or with SACKs or a mark's echo.
    pub slow_path: bool,
}
