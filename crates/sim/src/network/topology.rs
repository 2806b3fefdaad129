//! Topologies, for which the network is monomorphised.

use crate::event::{CellEvents, DumbbellEvents, EventSet, GraphEvents};
use crate::wlan::{Cells, WlanSet};
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// The shape of a network. Each is compiled separately, without code for parts that it cannot contain.
pub(crate) trait Topology: 'static {
    /// A list with an element per link.
    type List<X>: LinkList<X>;

    /// The wireless LANs.
    type Air: WlanSet;

    /// The event set.
    type Events: EventSet;

    /// Number of links, if it is constant.
    const LINKS: Option<u32>;

    /// Whether a path may have more than one link.
    const HAS_PATHS: bool;

    /// Whether there are wireless LANs.
    const HAS_CELLS: bool;

    /// Whether senders of a host may share its device.
    const HAS_DEVICES: bool;

    /// Whether arrivals at the first link wait for a decision from outside.
    const HOLDS: bool = false;
}

/// A list of fixed length.
pub(crate) trait LinkList<X>: IndexMut<usize, Output = X> + DerefMut<Target = [X]> {
    fn of(elements: Vec<X>) -> Self;
}

/// One bottleneck with its two directions. They are an array: with a constant length each packet takes 5 % fewer
/// instructions than with a list.
pub(crate) struct Dumbbell;

/// Any links, and paths over them. `HOLDS`: arrivals at the first link wait for a decision from outside; only then is
/// there code for senders that share a device.
#[cfg_attr(not(feature = "engines"), allow(dead_code))]
pub(crate) struct Graph<const HOLDS: bool>;

/// A graph with wireless LANs and with senders that share their host's device. Runs with shared devices use this type
/// even without wireless LANs, so that `Graph` has no check for a device: that cost 5 % of its instructions per packet.
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
