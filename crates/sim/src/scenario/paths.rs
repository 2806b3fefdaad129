//! The links that a flow's packets cross, by their numbers: link 2i is the forward direction of hop i, link 2i + 1 its
//! reverse direction.

use super::Direction;
use std::sync::Arc;

/// The links on the way of a flow's packets, each list in the order in which they are crossed. Both are empty in a
/// wireless LAN, where the cell knows the queue of each flow's station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// What the data cross, from the flow's source to its sink.
    pub data: Arc<[u16]>,
    /// What the acknowledgments cross, from the sink to the source.
    pub acks: Arc<[u16]>,
}

impl Paths {
    /// Along a row from hop `first` to hop `last`, and back in the opposite order; data of reverse flows go back.
    pub(super) fn along_row((first, last): (usize, usize), direction: Direction) -> Self {
        let out = (first..=last).map(|hop| 2 * hop as u16).collect();
        let back = (first..=last).rev().map(|hop| 2 * hop as u16 + 1).collect();
        match direction {
            Direction::Forward => Self { data: out, acks: back },
            Direction::Reverse => Self { data: back, acks: out },
        }
    }

    /// Where the cell decides.
    pub(super) fn in_a_cell() -> Self {
        Self { data: [].into(), acks: [].into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_crossed_in_its_order_and_back() {
        type Case = ((usize, usize), &'static [u16], &'static [u16]);
        let cases: [Case; 4] =
            [((0, 0), &[0], &[1]), ((1, 1), &[2], &[3]), ((0, 2), &[0, 2, 4], &[5, 3, 1]), ((1, 2), &[2, 4], &[5, 3])];
        for (hops, out, back) in cases {
            let forward = Paths::along_row(hops, Direction::Forward);
            assert_eq!((&*forward.data, &*forward.acks), (out, back), "{hops:?}");
            let reverse = Paths::along_row(hops, Direction::Reverse);
            assert_eq!((&*reverse.data, &*reverse.acks), (back, out), "{hops:?}");
        }
    }
}
