//! Where the links of a network lie.

use crate::link::Link;
use crate::wlan::{Air, Wlan};
use std::ops::{Index, IndexMut};

/// All links by their number. The two of a dumbbell are an array: with a length that the compiler knows, every packet
/// costs a twentieth fewer instructions than with a list.
pub(crate) trait LinkList: IndexMut<usize, Output = Link> + Send {
    /// How many they are, where that never changes.
    const COUNT: Option<u32>;

    /// Whether there may be several hops.
    const IS_ROW: bool = Self::COUNT.is_none();

    /// What they share besides the packets.
    type Air: Air;

    /// Two links of each hop; of a cell one for each sender.
    fn of(links: Vec<Link>) -> Self;
    fn as_slice(&self) -> &[Link];
    fn as_mut_slice(&mut self) -> &mut [Link];
    fn into_vec(self) -> Vec<Link>;
}

impl LinkList for [Link; 2] {
    const COUNT: Option<u32> = Some(2);

    type Air = ();

    fn of(links: Vec<Link>) -> Self {
        links.try_into().unwrap_or_else(|_| unreachable!("a dumbbell has two links"))
    }
    fn as_slice(&self) -> &[Link] {
        self
    }
    fn as_mut_slice(&mut self) -> &mut [Link] {
        self
    }
    fn into_vec(self) -> Vec<Link> {
        self.into()
    }
}

impl LinkList for Vec<Link> {
    const COUNT: Option<u32> = None;

    type Air = ();

    fn of(links: Vec<Link>) -> Self {
        links
    }
    fn as_slice(&self) -> &[Link] {
        self
    }
    fn as_mut_slice(&mut self) -> &mut [Link] {
        self
    }
    fn into_vec(self) -> Vec<Link> {
        self
    }
}

/// The queues of a wireless LAN: the access point's, then those of the stations.
pub(crate) struct Cell(Vec<Link>);

impl LinkList for Cell {
    const COUNT: Option<u32> = None;
    const IS_ROW: bool = false;

    type Air = Box<Wlan>;

    fn of(links: Vec<Link>) -> Self {
        Self(links)
    }
    fn as_slice(&self) -> &[Link] {
        &self.0
    }
    fn as_mut_slice(&mut self) -> &mut [Link] {
        &mut self.0
    }
    fn into_vec(self) -> Vec<Link> {
        self.0
    }
}

impl Index<usize> for Cell {
    type Output = Link;

    fn index(&self, link: usize) -> &Link {
        &self.0[link]
    }
}

impl IndexMut<usize> for Cell {
    fn index_mut(&mut self, link: usize) -> &mut Link {
        &mut self.0[link]
    }
}
