//! Configuration of a sender.

use crate::cc::AnyCc;
use crate::stack::Stack;

/// Configuration of a sender.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The stack's mechanisms.
    pub stack: &'static Stack,
    /// The congestion control.
    pub cc: AnyCc,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// Whether SACK is negotiated.
    pub sack: bool,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Initial window in segments; `None` for the stack's.
    pub initial_window: Option<u32>,
    /// The receiver's window in bytes; `None` for the stack's.
    pub receive_window: Option<u64>,
}
