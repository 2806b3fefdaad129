//! Where the links of a network lie.

use crate::link::Link;
use std::ops::IndexMut;

/// All links by their number. The two of a dumbbell are an array: with a length that the compiler knows, every packet
/// costs a twentieth fewer instructions than with a list.
pub(crate) trait LinkList: IndexMut<usize, Output = Link> + Send {
    /// How many they are, where that never changes.
    const COUNT: Option<u32>;

    /// Whether there may be several hops.
    const IS_ROW: bool = Self::COUNT.is_none();

    /// Two links of each hop.
    fn of(links: Vec<Link>) -> Self;
    fn as_slice(&self) -> &[Link];
    fn as_mut_slice(&mut self) -> &mut [Link];
    fn into_vec(self) -> Vec<Link>;
}

impl LinkList for [Link; 2] {
    const COUNT: Option<u32> = Some(2);

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
