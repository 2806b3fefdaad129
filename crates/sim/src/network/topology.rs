//! What a network is compiled for.

use crate::event::{CellEvents, DumbbellEvents, EventSet, GraphEvents};
use crate::wlan::{Cells, WlanSet};
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// The shape of a network: each one is compiled apart, and has no code for what it cannot contain.
pub(crate) trait Topology: 'static {
    /// A list with an element for each link.
    type List<X>: LinkList<X>;

    /// What there is besides links.
    type Air: WlanSet;

    /// What keeps the pending events.
    type Events: EventSet;

    /// How many links there are, where that never changes.
    const LINKS: Option<u32>;

    /// Whether a path may have more than one link.
    const HAS_PATHS: bool;

    /// Whether there are wireless LANs.
    const HAS_CELLS: bool;

    /// Whether senders of a host may share its device.
    const HAS_DEVICES: bool;

    /// Whether what arrives at the first link waits for somebody who judges it.
    const HOLDS: bool = false;
}

/// A list that is made once.
pub(crate) trait LinkList<X>: IndexMut<usize, Output = X> + DerefMut<Target = [X]> {
    fn of(elements: Vec<X>) -> Self;
}

/// One bottleneck with its two directions. They are an array: with a length that the compiler knows, every packet costs
/// a twentieth fewer instructions than with a list.
pub(crate) struct Dumbbell;

/// Any links, and paths over them; whether it `HOLDS` what arrives at the first link for somebody who judges it. Only one that
/// does has code for senders that share a device.
#[cfg_attr(not(feature = "engines"), allow(dead_code))]
pub(crate) struct Graph<const HOLDS: bool>;

/// The same with wireless LANs, and with senders that share the device of their host.
pub(crate) struct CellGraph;

impl Topology for Dumbbell {
    type List<X> = Pair<X>;
    type Air = ();
    type Events = DumbbellEvents;
    const LINKS: Option<u32> = Some(2);
    const HAS_PATHS: bool = false;
    const HAS_CELLS: bool = false;
    const HAS_DEVICES: bool = false;
}

impl<const HOLDS: bool> Topology for Graph<HOLDS> {
    type List<X> = Vec<X>;
    type Air = ();
    type Events = GraphEvents;
    const LINKS: Option<u32> = None;
    const HAS_PATHS: bool = true;
    const HAS_CELLS: bool = false;
    const HAS_DEVICES: bool = HOLDS;
    const HOLDS: bool = HOLDS;
}

impl Topology for CellGraph {
    type List<X> = Vec<X>;
    type Air = Cells;
    type Events = CellEvents;
    const LINKS: Option<u32> = None;
    const HAS_PATHS: bool = true;
    const HAS_CELLS: bool = true;
    const HAS_DEVICES: bool = true;
}

impl<X> LinkList<X> for Vec<X> {
    fn of(elements: Vec<X>) -> Self {
        elements
    }
}

/// Two elements.
pub(crate) struct Pair<X>([X; 2]);

impl<X> LinkList<X> for Pair<X> {
    fn of(elements: Vec<X>) -> Self {
        Self(elements.try_into().unwrap_or_else(|_| unreachable!("a dumbbell has two links")))
    }
}

impl<X> Index<usize> for Pair<X> {
    type Output = X;

    #[inline(always)]
    fn index(&self, link: usize) -> &X {
        &self.0[link]
    }
}

impl<X> IndexMut<usize> for Pair<X> {
    #[inline(always)]
    fn index_mut(&mut self, link: usize) -> &mut X {
        &mut self.0[link]
    }
}

impl<X> Deref for Pair<X> {
    type Target = [X];

    fn deref(&self) -> &[X] {
        &self.0
    }
}

impl<X> DerefMut for Pair<X> {
    fn deref_mut(&mut self) -> &mut [X] {
        &mut self.0
    }
}
