//! Events at queues, as probes see them, and the codes of fates in tables.

use crate::packet::Handle;
use sojourn_aqm::{DropReason, Instant, Meta};

/// A packet at a queue at an instant.
#[derive(Clone, Copy)]
pub struct QueueEvent<'a> {
    /// Instant of the event.
    pub at: Instant,
    /// Number of the queue.
    pub link: usize,
    /// Number of the packet.
    pub packet: Handle,
    /// Its metadata.
    pub meta: &'a Meta,
}

/// Codes of the column `fate`.
pub(crate) const SENT: u8 = 0;
pub(crate) const SENT_MARKED: u8 = 1;

/// The code of a drop in the column `fate`: in the order of [`DropReason`], but that 6 is "unknown", which only logs of other
/// programs have.
pub const fn fate_of_drop(reason: DropReason) -> u8 {
    match reason {
        DropReason::Replaced => 7,
        _ => 2 + reason as u8,
    }
}
