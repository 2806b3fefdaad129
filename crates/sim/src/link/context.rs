//! Access of a link to the run.

use crate::packet::Packets;

/// Passed to a link with each call; a link has no other access to the run.
pub(crate) struct LinkContext<'a, P> {
    /// Index of the link in counters and events.
    pub link: usize,
    /// All packets in flight.
    pub packets: &'a mut Packets,
    pub probe: &'a mut P,
}
