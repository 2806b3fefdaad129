//! An acknowledgment as a congestion control sees it.

use crate::state::CaState;
use sojourn_aqm::{Duration, Instant};

/// An acknowledgment before recovery and the window act on it (Linux `ack_sample` and `in_ack_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Arrival time.
    pub now: Instant,
    /// Segments that left the retransmission queue, or by which the window may grow; 0 for a duplicate, which only
    /// controls with [`Needs::reports`](super::Needs::reports) see.
    pub packets: u32,
    /// RTT of the newest of these segments; none if one was retransmitted or if the RTT is below the clock's
    /// resolution. With [`Needs::reports`](super::Needs::reports): RTT of the newest acknowledged or SACKed segment
    /// that was sent once, otherwise by the echoed timestamp (Linux `rs->rtt_us`).
    pub rtt: Option<Duration>,
    /// With [`Needs::reports`](super::Needs::reports): time from the segment's transmission to its acknowledgment by
    /// the timestamps of both ends, in ticks of the stack. It is the one-way delay plus the receiver's delay plus the
    /// unknown offset between the two clocks. None without timestamps.
    pub one_way: Option<Duration>,
    /// Cumulative acknowledgment: all data before this sequence number has arrived (`snd_una`).
    pub una: u64,
    /// Next sequence number to be sent (`snd_nxt`); a round ends when `una` passes the value of `nxt` at its start.
    pub nxt: u64,
    /// State of congestion avoidance before this acknowledgment; [`Open`](CaState::Open) means no duplicates, no
    /// reduction and no recovery.
    pub state: CaState,
    /// With [`Needs::reports`](super::Needs::reports): header prediction failed (Linux `CA_ACK_SLOWPATH`), because the
    /// acknowledgment is a duplicate or carries SACK blocks or an ECN echo.
    pub slow_path: bool,
}
