//! Hops: the queues on a path, by how packets enter them.

use super::List;
use crate::link::{Link, Plain};
use crate::wlan::{Air, Place, Wlan};

/// A queue as it is called. The kinds are told apart once per call, so that the code of one kind has no branch for another.
pub(super) enum Hop<'a> {
    /// A link of constant rate and delay, as most are.
    Plain(Plain<'a>),
    /// Any other link.
    Any,
    /// A queue of the wireless LAN of this number.
    Cell(usize, &'a mut Wlan),
}

impl<'a> Hop<'a> {
    /// The queue of number `queue`.
    #[inline(always)]
    pub fn of<A: Air>(queue: usize, links: &'a mut impl List<Link>, air: &'a mut A) -> Self {
        match air.place(queue) {
            Place::Link(link) => links[link].as_plain().map_or(Self::Any, Self::Plain),
            Place::Cell(cell) => Self::Cell(cell, &mut air.cells_mut()[cell]),
        }
    }
}

/// The link of queue `queue`, which is of no wireless LAN.
#[inline(always)]
pub(super) fn link_of<'a>(queue: usize, links: &'a mut impl List<Link>, air: &impl Air) -> &'a mut Link {
    let Place::Link(link) = air.place(queue) else { unreachable!("a queue of a wireless LAN is no link") };
    &mut links[link]
}
