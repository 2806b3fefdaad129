//! Where a link books what happens.

use crate::packet::Packets;

/// What a link gets with each call: it has no other access to the run.
pub(crate) struct LinkContext<'a, P> {
    /// What the books call the link.
    pub link: usize,
    /// All packets in flight.
    pub packets: &'a mut Packets,
    pub probe: &'a mut P,
}
