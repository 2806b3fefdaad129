//! Result of a call of a link.

use crate::packet::{Handle, Packet};
use sojourn_aqm::{Instant, Meta};

/// A packet that arrives at a server, with its metadata for the queue.
pub(crate) struct QueueEntry {
    pub meta: Meta,
    pub handle: Handle,
    pub packet: Packet,
}

/// The departing packet, if any, and the next call.
#[must_use]
pub(crate) struct ServiceResult {
    pub departure: Option<Departure>,
    pub next_call: NextCall,
}

/// A packet that has left the server and is not lost.
pub(crate) struct Departure {
    /// When it reaches the far end.
    pub at: Instant,
    pub handle: Handle,
    pub packet: Packet,
    /// Whether the packet may overtake others or be overtaken.
    pub overtakes: bool,
}

/// When to call the link next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCall {
    /// As scheduled before.
    Unchanged,
    /// At this time instead; [`Instant::NEVER`] for the next arrival.
    At(Instant),
    /// At once: another packet may leave now.
    Now,
}

impl ServiceResult {
    /// A result without a departure.
    pub const fn nothing(next_call: NextCall) -> Self {
        Self { departure: None, next_call }
    }
}
