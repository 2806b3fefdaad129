//! Size of a packet on the wire (`cake_calc_overhead`), and tc's keywords for link layers.

use crate::link_layer::{CellFraming, KINDS};

/// Conversion from the size of a packet in the queue to its size on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    /// Bytes of a packet before its IP header.
    pub header: u32,
    pub overhead: i32,
    pub mpu: u32,
    pub layer: CellFraming,
}

impl Overhead {
    /// Size of the packet from its IP header on.
    #[inline]
    pub fn network(&self, len: u32) -> u32 {
        len.saturating_sub(self.header)
    }

    /// Adjusted size of a packet of `len` bytes in the queue, or of a super-packet of `segments` segments of assumed
    /// equal length.
    #[inline]
    pub fn of_packet(&self, len: u32, segments: u16) -> u32 {
        if segments <= 1 {
            return self.adjusted(self.network(len));
        }
        let others = u32::from(segments) - 1;
        let each = len / (others + 1);
        others * self.adjusted(self.network(each)) + self.adjusted(self.network(len - others * each))
    }

    /// Adjusted size of a packet of `network` bytes.
    #[inline]
    pub fn adjusted(&self, network: u32) -> u32 {
        self.layer.wire(network.saturating_add_signed(self.overhead).max(self.mpu))
    }
}

/// tc keyword for a kind of link: the layer if it sets one, bytes added to the overhead, and the minimum size if it
/// sets one.
#[derive(Clone, Copy)]
pub(super) struct Keyword {
    pub word: &'static str,
    pub layer: Option<CellFraming>,
    pub adds: i32,
    pub mpu: Option<u32>,
}

const fn keyword(word: &'static str, layer: Option<CellFraming>, adds: i32, mpu: Option<u32>) -> Keyword {
    Keyword { word, layer, adds, mpu }
}

/// tc's keywords for kinds of link. They add up, but `conservative` and `raw` replace the previous ones.
pub(super) fn keywords() -> impl Iterator<Item = Keyword> + Clone {
    let kinds = KINDS.iter().map(|kind| {
        let mpu = (kind.mpu > 0).then_some(kind.mpu);
        keyword(kind.word, Some(kind.layer), kind.overhead as i32, mpu)
    });
    PARTS.iter().copied().chain(kinds)
}

/// Keywords that set only a part.
const PARTS: &[Keyword] = &[
    keyword("noatm", Some(CellFraming::Plain), 0, None),
    keyword("atm", Some(CellFraming::Atm), 0, None),
    keyword("ptm", Some(CellFraming::Ptm), 0, None),
    keyword("ethernet", None, 38, Some(84)),
    keyword("ether-vlan", None, 4, None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_on_the_wire() {
        let raw = Overhead { header: 0, overhead: 0, mpu: 0, layer: CellFraming::Plain };
        let atm = |len| Overhead { layer: CellFraming::Atm, ..raw }.adjusted(len);
        let ptm = |len| Overhead { layer: CellFraming::Ptm, ..raw }.adjusted(len);
        assert_eq!([40, 48, 49, 96, 1500, 1514].map(atm), [53, 53, 106, 106, 1696, 1696]);
        assert_eq!([64, 65, 128, 1500, 1514].map(ptm), [65, 67, 130, 1524, 1538]);
        // The minimum size applies after the overhead, before the layer.
        let docsis = Overhead { header: 14, overhead: 18, mpu: 64, layer: CellFraming::Plain };
        assert_eq!([60, 77, 1514].map(|len| docsis.adjusted(docsis.network(len))), [64, 81, 1518]);
        // Three segments of 1500 B and 14 of Ethernet, and one of 60 and 44, each padded.
        assert_eq!([(4542, 3), (104, 2), (77, 1)].map(|(len, n)| docsis.of_packet(len, n)), [3 * 1518, 2 * 64, 81]);
        let less = Overhead { overhead: -64, mpu: 0, ..docsis };
        assert_eq!([13, 60, 99].map(|len| less.adjusted(less.network(len))), [0, 0, 21]);
    }
}
