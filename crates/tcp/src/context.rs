//! Context of an event: the parts of a sender that its mechanisms read and change.

use crate::HostTime;
use crate::control::Control;
use crate::ecn::EcnSender;
use crate::kind::AckKind;
use crate::queue::SendQueue;
use crate::rate_sample::RateSampler;
use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::timer::RetransmitTimer;

/// Context of recovery, besides its own state.
pub(crate) struct Cx<'a> {
    pub now: HostTime,
    pub queue: &'a SendQueue,
    /// The right edge of the receiver's window.
    pub right_edge: u64,
    pub board: &'a mut Scoreboard,
    pub control: &'a mut Control,
    pub ecn: &'a mut EcnSender,
    pub rtt: &'a RoundTrip,
    pub timer: &'a mut RetransmitTimer,
}

impl Cx<'_> {
    /// Whether a new segment could be sent at once.
    #[inline(always)]
    pub fn may_send_now(&self) -> bool {
        self.board.in_flight() < self.control.window.cwnd && self.queue.has_sendable(self.right_edge)
    }

    /// Whether the oldest segment has been outstanding for longer than the time-out.
    #[inline(always)]
    pub fn head_timed_out(&self) -> bool {
        self.board.head().is_some_and(|head| self.rtt.has_timed_out(self.now, head))
    }
}

/// The transmission that recovery requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    Nothing,
    /// Segments marked lost.
    Lost,
    /// Segments marked lost, with this many segments beyond the window.
    LostBeyond(u32),
    /// The oldest segment, regardless of the window.
    Head,
    /// The oldest segment, and no new data after it.
    HeadOnly,
    /// Segments marked lost and then new data, as far as ns-2's `pipe_` has room.
    ByPipe,
    /// Neither retransmissions nor new data.
    Hold,
    /// New data, to find out whether the time-out was spurious (F-RTO).
    New,
}

/// Action of ns-2 on an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckAction {
    /// The window grows.
    pub grows: bool,
    pub rexmit: Rexmit,
}

/// State of the sender before an acknowledgment is processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorState {
    pub una: u64,
    pub in_flight: u32,
    pub fackets: u32,
    pub sacked: u32,
    pub lost: u64,
}

impl PriorState {
    #[inline(always)]
    pub fn of<K: AckKind>(queue: &SendQueue, board: &Scoreboard) -> Self {
        Self {
            una: queue.una(),
            in_flight: if K::FAST_PATH { board.packets_out() } else { board.in_flight() },
            fackets: board.fackets_out,
            sacked: board.sacked_out,
            lost: board.lost_total,
        }
    }
}

/// The state that an acknowledgment changes, besides recovery.
pub(crate) struct AckContext<'a> {
    pub queue: &'a SendQueue,
    pub board: &'a mut Scoreboard,
    pub rtt: &'a mut RoundTrip,
    pub sampler: Option<&'a mut RateSampler>,
}
