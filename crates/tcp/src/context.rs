//! Context of an event: the parts of a sender that its mechanisms look at and act on.

use crate::HostTime;
use crate::control::Control;
use crate::ecn::EcnSender;
use crate::kind::AckKind;
use crate::queue::SendQueue;
use crate::rate_sample::RateSampler;
use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::timer::RetransmitTimer;

/// What recovery looks at and acts on, besides its own state.
pub(crate) struct Cx<'a> {
    pub now: HostTime,
    pub queue: &'a SendQueue,
    /// Where the receiver's window ends.
    pub right_edge: u64,
    pub board: &'a mut Scoreboard,
    pub control: &'a mut Control,
    pub ecn: &'a mut EcnSender,
    pub rtt: &'a RoundTrip,
    pub timer: &'a mut RetransmitTimer,
}

impl Cx<'_> {
    /// Whether something new could be sent at once.
    #[inline(always)]
    pub fn may_send_now(&self) -> bool {
        self.board.in_flight() < self.control.window.cwnd && self.queue.has_sendable(self.right_edge)
    }

    /// Whether the oldest segment has been out for longer than the time-out.
    #[inline(always)]
    pub fn head_timed_out(&self) -> bool {
        self.board.head().is_some_and(|head| self.rtt.has_timed_out(self.now, head))
    }
}

/// What recovery wants to be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    Nothing,
    /// What is marked lost.
    Lost,
    /// The same, with so many segments more than the window allows.
    LostBeyond(u32),
    /// The oldest segment, whatever the window.
    Head,
    /// The same, and nothing new behind it.
    HeadOnly,
    /// What is marked lost and then something new, as far as ns-2's `pipe_` leaves room.
    ByPipe,
    /// Nothing, nor anything new.
    Hold,
    /// Something new, which tells whether the time-out was spurious (F-RTO).
    New,
}

/// What becomes of an acknowledgment in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckAction {
    /// The window grows.
    pub grows: bool,
    pub rexmit: Rexmit,
}

/// How things stood when an acknowledgment arrived.
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

/// What an acknowledgment changes, besides recovery.
pub(crate) struct AckContext<'a> {
    pub queue: &'a SendQueue,
    pub board: &'a mut Scoreboard,
    pub rtt: &'a mut RoundTrip,
    pub sampler: Option<&'a mut RateSampler>,
}
