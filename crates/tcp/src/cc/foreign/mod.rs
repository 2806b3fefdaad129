//! Congestion controls of users: in Python, or in shared libraries.
//!
//! A user's control gets calls with plain integers ([`Call`], [`FlightView`]), which are the structs of
//! `sojourn_cc.h`. [`ForeignControl`] is one control of a connection, [`ControlDefinition`] creates it, and
//! [`AnyCc::foreign`] makes it a congestion control of a sender: it translates the sender's callbacks and checks each
//! result. [`NativeDefinition`] is the opposite direction: a control of the registry behind the same calls.

mod adapter;
mod call;
mod native;
mod view;

pub use adapter::ForeignAdapter;
pub use call::{Call, CallKind, CallSet, CongestionCause, DeliveryCounts, SsthreshCause};
pub use native::{NativeControl, NativeDefinition};
pub use view::{AckView, FlightView, LossView, SampleView};

use super::{AnyCc, Needs};
use std::fmt::Debug;
use std::sync::Arc;

/// A user's congestion control: its calls, its needs, and the way to create it for a connection.
pub trait ControlDefinition: Debug + Send + Sync {
    /// Spelling, for messages: `./libmine.so:mine alpha 3`.
    fn spelling(&self) -> &str;
    /// Services that the control needs.
    fn needs(&self) -> Needs;
    /// Calls that the control takes; others are not made.
    fn calls(&self) -> CallSet;
    /// Whether the threshold after a loss or a time-out is asked for separately.
    fn distinguishes_causes(&self) -> bool {
        false
    }
    /// Whether calls need the lock of an interpreter.
    fn needs_interpreter(&self) -> bool {
        false
    }
    /// Whether the control works over QUIC, which has no timestamps.
    fn fits_quic(&self) -> bool {
        true
    }
    /// Creates the control of a connection.
    ///
    /// # Errors
    /// [`Fault`], which ends the run.
    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault>;
    /// Keeps the text of the first fault of a control of this definition.
    fn record_fault(&self, text: String);
    /// That text.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// Environment of a control, at the time of its first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlHost {
    /// Initial state of the connection's random stream.
    pub random: u64,
    /// Name of the TCP stack; over QUIC the one whose arithmetic a control should have.
    pub stack: &'static str,
    /// Ticks of the stack's clock per second (Linux `HZ`).
    pub ticks_per_second: u32,
    /// Whether the transport is QUIC.
    pub is_quic: bool,
    /// Whether the host paces the connection.
    pub is_paced: bool,
    /// Whether the connection has negotiated ECN, as far as the control needs it.
    pub ecn: bool,
}

/// The control of one connection.
pub trait ForeignControl: Debug + Send + Sync {
    /// Carries out `call`; the control may change the window, pacing rate and burst in `view`. Returns the value of a
    /// call that has one, otherwise 0.
    ///
    /// # Errors
    /// [`Fault`], which ends the run.
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault>;
    /// A copy in the same state.
    ///
    /// # Errors
    /// [`Fault`] if the control cannot be copied.
    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault>;
}

/// Failure of a user's control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A broken rule or an error of the control.
    Text(String),
    /// The host of the control reports the failure by itself, as a pending exception.
    Pending,
}

impl AnyCc {
    /// A control of a user.
    pub fn foreign(definition: Arc<dyn ControlDefinition>) -> Self {
        Self::custom(ForeignAdapter::new(definition))
    }
}
