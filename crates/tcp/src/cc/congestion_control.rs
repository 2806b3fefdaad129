//! The seam between a sender and its congestion control.
//!
//! A control has one of two faces. With [`WindowControl`] the stack recovers, and the control says how the window grows
//! and to what it falls. With [`SteeringControl`] the control sets window and pacing rate itself (Linux `cong_control`).
//! [`CongestionControl`] shows the face, and holds what the host asks once. All of them are object-safe.

use super::{Ack, AnyCc, Flight, LostSegment, Needs, Window};
use crate::rate_sample::RateSample;
use crate::segmentation::MIN_BURST;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Instant, Rate, Rng};
use std::fmt::Debug;

/// A congestion control: one file, and one line in the registry. It implements one of [`WindowControl`] and
/// [`SteeringControl`]; examples are at [`AnyCc::custom`](super::AnyCc::custom).
pub trait CongestionControl: CloneBox + Debug + Send + Sync {
    /// What it asks of its sender beyond the calls that every control gets.
    fn needs(&self) -> Needs {
        Needs::NONE
    }
    /// Learns whose kernel it runs in, before anything else; and again before the connection is opened, if the host paces
    /// what is sent, whether the control needs it or not.
    fn attach(&mut self, _stack: &Stack, _is_paced: bool) {}
    /// Takes its own stream of random numbers, before the connection is opened; without this call a control that draws
    /// numbers has a stream that is the same everywhere.
    fn seed(&mut self, _rng: Rng) {}
    /// What takes its place on a connection that did not agree on ECN; by default it stays.
    fn without_ecn(&self) -> Option<AnyCc> {
        None
    }
    /// Segments of a burst at this pacing rate (Linux `min_tso_segs` and `tso_segs`).
    fn burst(&self, _rate: Option<Rate>) -> BurstSize {
        BurstSize::AtLeast(MIN_BURST)
    }
    /// Its face as a control of the window.
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        None
    }
    /// Its face as a control that sets window and pacing rate itself, exactly if it has [`Needs::steers`].
    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        None
    }
    /// Its face as a control that takes samples and counts besides.
    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        None
    }
}

/// Grows and cuts the window of a stack that recovers from losses by itself.
///
/// For each acknowledgment of new data the sender calls [`acked`](Self::acked), and then, if the window was used up and
/// may grow, [`grow`](Self::grow).
pub trait WindowControl {
    /// The slow-start threshold after a congestion event (Linux `ssthresh`).
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// Grows the window on an acknowledgment (Linux `cong_avoid`). The window was the limit, unless
    /// [`Needs::grows_unlimited`] asks for the other acknowledgments too.
    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool);
    /// Takes the RTT sample of an acknowledgment of new data; may end slow start (Linux `pkts_acked`). With
    /// [`Needs::reports`] called for every acknowledgment.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// The threshold after a loss or a time-out if the control answers it in another way than a mark. [`CongestionEvent::LostSegment`] is
    /// asked for when recovery begins, also within the reduction that a mark began.
    fn event_ssthresh(&mut self, _window: &Window, _cause: CongestionEvent) -> Option<u32> {
        None
    }
    /// Congestion avoidance is in `state` from `now` on, also if only until another one is entered by the same
    /// acknowledgment; `nxt` is the next sequence number to be sent (Linux `set_state`). Only from Linux 3.10 on.
    fn state_changed(&mut self, _state: CaState, _now: Instant, _nxt: u64) {}
    /// An event that is neither an acknowledgment nor a change of state (Linux `cwnd_event`).
    fn event(&mut self, _window: &mut Window, _event: WindowEvent) {}
    /// The window below which rate halving does not go during recovery.
    fn min_cwnd(&mut self, window: &Window) -> u32 {
        window.ssthresh / 2
    }
    /// A reduction turned out to be needless: the window after it if the stack leaves that to the control (Linux
    /// `undo_cwnd`).
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.reduced_ssthresh().saturating_mul(2))
    }
}

/// Sets the window and the pacing rate itself. No growth, no reduction (PRR), no restart after a pause and no decay of an
/// unused window touches the window then. A time-out still sets it to one segment more than what is in flight.
pub trait SteeringControl {
    /// The connection is established, its first RTT known; nothing was sent.
    fn on_established(&mut self, _flight: &mut Flight) {}
    /// Sets the window and the pacing rate. Called once for each acknowledgment that finds something out, after losses
    /// were marked and before anything is sent.
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample);
    /// With [`Needs::losses`]: a segment was marked lost; one call each, before [`steer`](Self::steer) and
    /// [`entered`](Self::entered), with the window as it was when that happened.
    fn on_loss(&mut self, _flight: &mut Flight, _loss: &LostSegment) {}
    /// With [`Needs::losses`]: a loss probe has repaired the loss of one segment, which nobody marked; the application may
    /// have limited the rate when that was sent (Linux `CA_EVENT_TLP_RECOVERY` of BBRv3).
    fn probe_repaired(&mut self, _flight: &mut Flight, _is_app_limited: bool) {}
    /// A reduction begins, and the window is still the one before it (Linux calls `ssthresh`).
    fn before_reduction(&mut self, _window: &Window) {}
    /// Congestion avoidance has entered `state`, after [`before_reduction`](Self::before_reduction) if it is a reduction.
    /// Not called for a state that the same acknowledgment leaves again.
    fn on_state(&mut self, _flight: &mut Flight, _state: CaState) {}
    /// Data is sent into an empty network; also at the start of the connection.
    fn on_restart(&mut self, _flight: &mut Flight) {}
    /// A reduction turned out to be needless: the window after it.
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd
    }
}

/// Takes RTT samples, and counts of delivered and marked packets, for a control with either face.
pub trait DeliveryControl {
    /// An acknowledgment of new data, before [`WindowControl::acked`].
    fn on_ack(&mut self, _ack: &Ack) {}
    /// The connection is established, its first RTT known; nothing was sent. Called unless the control steers.
    fn on_established(&mut self, _flight: &mut Flight) {}
    /// With [`Needs::samples`]: an acknowledgment delivered `packets`, and reports `ce` of them as marked; recovery and the window have not been
    /// considered yet (Linux `in_ack_event`).
    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32);
}

/// The congestion event that a threshold is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// A segment was lost, and recovery begins.
    Loss,
    /// A time-out expired.
    TimeOut,
}

/// An event of [`WindowControl::event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEvent {
    /// Data is sent into an empty network (Linux `CA_EVENT_TX_START`).
    Restarted {
        /// When.
        now: Instant,
        /// When data was last sent before.
        last_sent: Instant,
    },
    /// A reduction has ended, at the threshold unless it was undone (Linux `CA_EVENT_COMPLETE_CWR`).
    Reduced,
    /// A time-out expired and everything outstanding is taken for lost.
    TimedOut,
}

/// The size of a burst, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstSize {
    /// The stack sizes it by rate and RTT, and not below this.
    AtLeast(u32),
    /// The control sizes it.
    Exactly(u32),
}

impl BurstSize {
    /// The minimum if the stack sized it.
    pub fn least(self) -> u32 {
        match self {
            Self::AtLeast(segments) => segments,
            Self::Exactly(_) => MIN_BURST,
        }
    }
}

/// A copy in a box; every control that is [`Clone`] has it.
pub trait CloneBox {
    /// A copy of this control.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> CloneBox for C {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
