//! Hops: the queues on a path, by the way a packet is handed to them.

use super::LinkList;
use crate::link::{Link, PlainLink};
use crate::wlan::{QueueOwner, Wlan, WlanSet};

/// A queue to call. The kind is matched once per call, so the code of one kind has no branch for another.
pub(super) enum HopKind<'a> {
    /// A link of constant rate and delay: the usual kind.
    Plain(PlainLink<'a>),
    /// Any other link.
    Any,
    /// A queue of the wireless LAN with this number.
    Cell(usize, &'a mut Wlan),
}

impl<'a> HopKind<'a> {
    /// The queue with number `queue`.
    #[inline(always)]
    pub fn of<A: WlanSet>(queue: usize, links: &'a mut impl LinkList<Link>, air: &'a mut A) -> Self {
        match air.owner(queue) {
            QueueOwner::Link(link) => links[link].as_plain().map_or(Self::Any, Self::Plain),
            QueueOwner::Cell(cell) => Self::Cell(cell, &mut air.cells_mut()[cell]),
        }
    }
}

/// The link of queue `queue`, which must not belong to a wireless LAN.
#[inline(always)]
pub(super) fn link_of<'a>(queue: usize, links: &'a mut impl LinkList<Link>, air: &impl WlanSet) -> &'a mut Link {
    let QueueOwner::Link(link) = air.owner(queue) else { unreachable!("a queue of a wireless LAN is no link") };
    &mut links[link]
}
