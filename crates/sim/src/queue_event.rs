//! Events at queues as probes get them, and the codes of fates in tables.

use crate::packet::Handle;
use sojourn_aqm::{DropReason, Instant, Meta};

/// An event of a packet at a queue.
#[derive(Clone, Copy)]
pub struct QueueEvent<'a> {
    /// Time of the event.
    pub at: Instant,
    /// Number of the queue.
    pub link: usize,
    /// Number of the packet.
    pub packet: Handle,
    /// Metadata of the packet.
    pub meta: &'a Meta,
}

/// Codes of the column `fate`.
pub(crate) const SENT: u8 = 0;
pub(crate) const SENT_MARKED: u8 = 1;

/// Code of a drop in the column `fate`: in the order of [`DropReason`], except that 6 is "unknown", which only logs of
/// other programs have.
pub const fn fate_of_drop(reason: DropReason) -> u8 {
    match reason {
        DropReason::Replaced => 7,
        _ => 2 + reason as u8,
    }
}
