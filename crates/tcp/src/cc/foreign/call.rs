//! Calls of a user's congestion control.

use super::view::{AckView, FlightView, LossView, SampleView};
use crate::state::CaState;

/// Declares the calls: variant, arguments, name in `sojourn_cc.h`.
macro_rules! calls {
    ($( $(#[doc = $doc:literal])+ $variant:ident $( ( $type:ty ) )? = $name:literal; )+) => {
        /// A call of a user's control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Call { $( $(#[doc = $doc])+ $variant $( ($type) )?, )+ }

        /// A call without its arguments.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CallKind { $( $(#[doc = $doc])+ $variant, )+ }

        impl CallKind {
            /// All kinds, in order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// Name as in `sojourn_cc.h`.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }

        impl Call {
            /// The call without its arguments.
            pub fn kind(&self) -> CallKind {
                match self { $( calls!(@pattern $variant $( $type )?) => CallKind::$variant, )+ }
            }
        }
    };
    (@pattern $variant:ident $type:ty) => { Self::$variant(_) };
    (@pattern $variant:ident) => { Self::$variant };
}

calls! {
    /// Returns the threshold after a congestion event (Linux `ssthresh`).
    Ssthresh(SsthreshCause) = "ssthresh";
    /// Grows the window on an acknowledgment (Linux `cong_avoid`).
    Grow(AckView) = "grow";
    /// Takes the RTT of an acknowledgment of new data (Linux `pkts_acked`).
    Acked(AckView) = "acked";
    /// Takes any acknowledgment, before recovery and the window act on it; with the need `reports`.
    Report(AckView) = "report";
    /// Takes the counts of packets that an acknowledgment delivered (Linux `in_ack_event`); with the need `samples`.
    Delivered(DeliveryCounts) = "delivered";
    /// Congestion avoidance enters a state (Linux `set_state`).
    State(CaState) = "state";
    /// Data is sent with nothing in flight (Linux `CA_EVENT_TX_START`); the argument is the time of the previous
    /// transmission in nanoseconds, or −1 for a control that steers.
    Idle(i64) = "idle";
    /// A reduction has ended at the threshold (Linux `CA_EVENT_COMPLETE_CWR`).
    Reduced = "reduced";
    /// The retransmission timer expired; over QUIC congestion is persistent (Linux `CA_EVENT_LOSS`).
    TimedOut = "timed_out";
    /// Returns the window after a reduction that turned out to be needless (Linux `undo_cwnd`).
    Undo = "undo";
    /// Returns the lower bound of the window in recovery by rate halving.
    MinCwnd = "min_cwnd";
    /// The connection is established.
    Start = "start";
    /// Sets window and pacing rate on an acknowledgment (Linux `cong_control`).
    Ack(SampleView) = "ack";
    /// A segment was marked lost; with the need `losses`.
    Lost(LossView) = "lost";
    /// A tail loss probe has repaired a loss; the argument is 1 if the application may have limited the rate then.
    Repaired(u32) = "repaired";
    /// A congestion event, for a control that steers.
    Congestion(CongestionCause) = "congestion";
    /// An event has sent this many bytes; with the need `sent`.
    Sent(u32) = "sent";
}

impl Call {
    /// Value of the call for a control that does not take it, with the view that the call would see; `steers` by the
    /// control's face. Zero if the call has no value.
    pub fn default_value(&self, view: &FlightView, steers: bool) -> u32 {
        let window = view.window();
        match self {
            // Half of the window, as RFC 5681 requires.
            Self::Ssthresh(SsthreshCause::Reduction) if !steers => (window.cwnd / 2).max(2),
            Self::Undo if steers => window.cwnd,
            Self::Undo if view.prior_cwnd > 0 => window.cwnd.max(view.prior_cwnd),
            Self::Undo => window.cwnd.max(window.reduced_ssthresh().saturating_mul(2)),
            Self::MinCwnd => window.ssthresh / 2,
            _ => 0,
        }
    }
}

/// Packets that an acknowledgment newly delivered, and how many of them carried a CE mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Delivered packets.
    pub packets: u32,
    /// Delivered packets with a CE mark.
    pub ce: u32,
}

/// Cause of a call for the threshold.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SsthreshCause {
    /// A reduction begins, after a loss or a mark.
    Reduction = 0,
    /// Recovery begins with a loss, also within a reduction; 0 leaves the threshold. With the need `causes`.
    Loss = 1,
    /// The retransmission timer expired; 0 means as for a reduction. With the need `causes`.
    TimeOut = 2,
}

/// Kind of a congestion event.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// A packet was lost and recovery begins.
    Loss = 0,
    /// The receiver reported a mark.
    Ecn = 1,
    /// The retransmission timer expired.
    TimeOut = 2,
    /// Congestion is persistent (RFC 9002 §7.6).
    Persistent = 3,
}

/// A set of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSet(u32);

impl CallSet {
    /// The set of `kinds`.
    pub fn of(kinds: impl IntoIterator<Item = CallKind>) -> Self {
        Self(kinds.into_iter().fold(0, |bits, kind| bits | 1 << kind as u32))
    }

    /// Whether the set has `kind`.
    pub fn has(self, kind: CallKind) -> bool {
        self.0 >> kind as u32 & 1 == 1
    }
}
