//! Interface between a sender and its congestion control.
//!
//! A control implements one of two interfaces. With [`WindowControl`] the stack recovers from losses, and the control
//! decides how the window grows and what it falls to. With [`SteeringControl`] the control sets window and pacing rate
//! itself (Linux `cong_control`). [`CongestionControl`] returns the one that it implements and holds what the host
//! queries once. All of them are object-safe.

use super::{Ack, AnyCc, Flight, LostSegment, Needs, Window};
use crate::rate_sample::RateSample;
use crate::segmentation::MIN_BURST;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Instant, Rate, Rng};
use std::fmt::Debug;

/// A congestion control: one file and one line in the registry. It implements either [`WindowControl`] or
/// [`SteeringControl`]; examples are at [`AnyCc::custom`](super::AnyCc::custom).
pub trait CongestionControl: CloneBox + Debug + Send + Sync {
    /// Services that the control needs beyond the callbacks that every control gets.
    fn needs(&self) -> Needs {
        Needs::NONE
    }
    /// Sets the stack, before any other callback; called again before the connection is opened if the host paces,
    /// whether the control needs pacing or not.
    fn attach(&mut self, _stack: &Stack, _is_paced: bool) {}
    /// Notifies the control that the transport is QUIC, after [`attach`](Self::attach).
    fn attach_quic(&mut self) {}
    /// Sets the control's random stream before the connection is opened. Without this call a control that draws random
    /// numbers draws the same ones on every connection.
    fn seed(&mut self, _rng: Rng) {}
    /// Replacement for a connection that did not negotiate ECN; by default the control stays.
    fn without_ecn(&self) -> Option<AnyCc> {
        None
    }
    /// Segments per burst at this pacing rate (Linux `min_tso_segs` and `tso_segs`).
    fn burst(&self, _rate: Option<Rate>) -> BurstSize {
        BurstSize::AtLeast(MIN_BURST)
    }
    /// With [`Needs::flight`]: state of the connection before the callbacks of an acknowledgment or of an expired
    /// timer, if the stack counts deliveries.
    fn observe(&mut self, _flight: &Flight) {}
    /// Interface of a control that grows and reduces the window.
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        None
    }
    /// Interface of a control that sets window and pacing rate itself; present exactly with [`Needs::steers`].
    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        None
    }
    /// Interface of a control that also takes samples and delivery counts.
    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        None
    }
}

/// Grows and reduces the window; the stack recovers from losses by itself.
///
/// For each acknowledgment of new data the sender calls [`on_ack`](Self::on_ack) and then, if the window was the limit
/// and may grow, [`grow`](Self::grow).
pub trait WindowControl {
    /// Slow-start threshold after a congestion event (Linux `ssthresh`).
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// Grows the window on an acknowledgment (Linux `cong_avoid`). Called only if the window was the limit, unless the
    /// control has [`Needs::grows_unlimited`].
    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool);
    /// Takes the RTT sample of an acknowledgment of new data; may end slow start (Linux `pkts_acked`). With
    /// [`Needs::reports`] called for every acknowledgment. `ack` is a reference that the caller builds in a closure, so
    /// Reno does not pay for the samples that CUBIC needs.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Threshold after a loss or a time-out if the control responds to it differently than to a mark. Called with
    /// [`CongestionEvent::Loss`] when recovery begins, also during the reduction that a mark began.
    fn event_ssthresh(&mut self, _window: &Window, _cause: CongestionEvent) -> Option<u32> {
        None
    }
    /// Congestion avoidance enters `state` at `now`, even if the same acknowledgment leaves it again; `nxt` is the next
    /// sequence number to be sent (Linux `set_state`). Called since Linux 3.10.
    fn state_changed(&mut self, _window: &mut Window, _state: CaState, _now: Instant, _nxt: u64) {}
    /// An event other than an acknowledgment or a change of state (Linux `cwnd_event`).
    fn event(&mut self, _window: &mut Window, _event: WindowEvent) {}
    /// Lower bound of the window during rate halving in recovery.
    fn min_cwnd(&mut self, window: &Window) -> u32 {
        window.ssthresh / 2
    }
    /// Window after a spurious reduction before which it was `prior_cwnd`, if the control decides that by itself; by
    /// default stacks since Linux 4.14 return to the larger of both.
    fn undo_from(&mut self, _window: &Window, _prior_cwnd: u32) -> Option<u32> {
        None
    }
    /// Window after a spurious reduction, if the stack leaves that to the control (Linux `undo_cwnd`).
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.reduced_ssthresh().saturating_mul(2))
    }
}

/// Sets the window and the pacing rate itself. Growth, reduction (PRR), restart after idle and decay of an unused
/// window do not touch the window. A time-out still sets it to one segment more than the data in flight.
pub trait SteeringControl {
    /// Called when the connection is established and its first RTT is known, before any data is sent.
    fn on_established(&mut self, _flight: &mut Flight) {}
    /// Sets the window and the pacing rate. Called once for each acknowledgment that delivers data or reports losses or
    /// marks, after losses are marked and before anything is sent.
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample);
    /// With [`Needs::losses`]: a segment was marked lost. Called once per segment, before [`steer`](Self::steer) and
    /// [`on_state`](Self::on_state), with the window at the time of the marking.
    fn on_loss(&mut self, _flight: &mut Flight, _loss: &LostSegment) {}
    /// With [`Needs::losses`]: a tail loss probe has repaired the loss of one segment that was never marked;
    /// `is_app_limited` if the application may have limited the rate when that segment was sent (Linux
    /// `CA_EVENT_TLP_RECOVERY` of BBRv3).
    fn probe_repaired(&mut self, _flight: &mut Flight, _is_app_limited: bool) {}
    /// A reduction begins; the window is still the old one (Linux calls `ssthresh`).
    fn before_reduction(&mut self, _window: &Window) {}
    /// Congestion avoidance has entered `state`, after [`before_reduction`](Self::before_reduction) if it is a
    /// reduction. Not called for a state that the same acknowledgment leaves again, but called if a reduction ends and
    /// another begins with one acknowledgment: Prague reduces once per such event.
    fn on_state(&mut self, _flight: &mut Flight, _state: CaState) {}
    /// Data is sent with nothing in flight, also at the start of the connection (Linux `CA_EVENT_TX_START`).
    fn on_restart(&mut self, _flight: &mut Flight) {}
    /// Window after a spurious reduction.
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd
    }
}

/// Takes RTT samples and the counts of delivered and marked packets, for a control of either kind.
pub trait DeliveryControl {
    /// An acknowledgment of new data, before [`WindowControl::on_ack`].
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Called when the connection is established and its first RTT is known, before any data is sent; not for a control
    /// that steers.
    fn on_established(&mut self, _flight: &mut Flight) {}
    /// With [`Needs::samples`]: an acknowledgment delivered `packets` packets, `ce` of them with a CE mark; recovery
    /// and the window have not acted on it yet (Linux `in_ack_event`).
    fn on_delivered(&mut self, _flight: &mut Flight, _packets: u32, _ce: u32) {}
    /// With [`Needs::sent`]: an event has sent `bytes` of payload, new or again, which are in flight; over QUIC a packet
    /// was sent.
    fn on_sent(&mut self, _flight: &mut Flight, _bytes: u32) {}
}

/// The cause of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// A segment was lost and recovery begins.
    Loss,
    /// The retransmission timer expired.
    TimeOut,
}

/// Events of [`WindowControl::event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEvent {
    /// Data is sent with nothing in flight (Linux `CA_EVENT_TX_START`).
    Restarted {
        /// Time of the transmission.
        now: Instant,
        /// Time of the previous transmission.
        last_sent: Instant,
    },
    /// A reduction has ended at the threshold, unless it was undone (Linux `CA_EVENT_COMPLETE_CWR`).
    Reduced,
    /// The retransmission timer expired, and everything outstanding is considered lost (Linux `CA_EVENT_LOSS`).
    TimedOut,
}

/// Size of a burst, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstSize {
    /// The stack sizes the burst by rate and RTT, and not below this.
    AtLeast(u32),
    /// The control sizes it.
    Exactly(u32),
}

impl BurstSize {
    /// Minimum burst if the stack sizes it.
    pub fn min_segments(self) -> u32 {
        match self {
            Self::AtLeast(segments) => segments,
            Self::Exactly(_) => MIN_BURST,
        }
    }
}

/// Clone into a box; implemented for every control that is [`Clone`].
pub trait CloneBox {
    /// A boxed clone of this control.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> CloneBox for C {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
