//! What a call of a link leads to.

use crate::packet::{Handle, Packet};
use sojourn_aqm::{Instant, Meta};

/// A packet that arrives at a server, as its queue is to see it.
pub(crate) struct QueueEntry {
    pub meta: Meta,
    pub handle: Handle,
    pub packet: Packet,
}

/// What a call of a link has led to.
#[must_use]
pub(crate) struct ServiceResult {
    pub departure: Option<Departure>,
    pub next_call: NextCall,
}

/// A packet that has left the server and was not lost.
pub(crate) struct Departure {
    /// When it reaches the far end.
    pub at: Instant,
    pub handle: Handle,
    pub packet: Packet,
    /// Whether it may overtake others, or be overtaken.
    pub overtakes: bool,
}

/// When a link wants to be called next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCall {
    /// As it has said before.
    Unchanged,
    /// Then and not before; [`Instant::NEVER`] until something arrives.
    At(Instant),
    /// Now: another packet may leave at once.
    Now,
}

impl ServiceResult {
    /// Nothing leaves.
    pub const fn nothing(again: NextCall) -> Self {
        Self { departure: None, next_call: again }
    }
}
