//! An acknowledgment, as a congestion control sees it.

use crate::state::CaState;
use sojourn_aqm::{Duration, Instant};

/// An acknowledgment, before recovery and the window are considered (Linux `ack_sample` and `in_ack_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Segments that left the retransmission queue, or on which the window grows; 0 for a duplicate, which only controls
    /// with [`Needs::reports`](super::Needs::reports) see.
    pub packets: u32,
    /// RTT of the newest of them; none when one had been retransmitted, or when it was too short for the clock. With
    /// [`Needs::reports`](super::Needs::reports) that of the newest segment that it acknowledges or SACKs and that was sent
    /// once, else by the timestamp that it echoes (Linux `rs->rtt_us`).
    pub rtt: Option<Duration>,
    /// With [`Needs::reports`](super::Needs::reports): time from the segment's transmission to the answer, by the timestamps
    /// of both ends, in ticks of the stack: the delay of the forward path with the receiver's, and the unknown difference
    /// between two clocks. None without timestamps.
    pub one_way: Option<Duration>,
    /// Everything before this sequence number is acknowledged.
    pub una: u64,
    /// The next sequence number to be sent: a round ends when `una` passes what was `nxt` at its start.
    pub nxt: u64,
    /// Congestion avoidance's state before it: no duplicates, no reduction and no recovery in
    /// [`Open`](crate::State::Open).
    pub state: CaState,
    /// With [`Needs::reports`](super::Needs::reports): not predicted by its header (Linux `CA_ACK_SLOWPATH`): a duplicate,
    /// or with SACKs or a mark's echo.
    pub slow_path: bool,
}
