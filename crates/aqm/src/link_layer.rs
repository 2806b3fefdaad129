//! What link layers make of packets, and the kinds of link that tc knows by name. Source: `sch_cake.c`, tc-cake(8).

use crate::choice;

choice! {
    /// What the link layer makes of a packet with its overhead.
    pub enum CellFraming {
        /// Bytes as they are.
        Plain = "noatm",
        /// Cells of 53 bytes, each with 48 of the packet.
        Atm = "atm",
        /// 64b/65b coding: one byte for every 64, begun or full.
        Ptm = "ptm",
    }
}

impl CellFraming {
    /// Bytes on the wire for `len` bytes with their overhead.
    #[inline]
    pub const fn wire(self, len: u32) -> u32 {
        match self {
            CellFraming::Plain => len,
            CellFraming::Atm => len.div_ceil(48) * 53,
            CellFraming::Ptm => len + len.div_ceil(64),
        }
    }
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPreset {
    /// tc's word.
    pub word: &'static str,
    /// Its layer.
    pub layer: CellFraming,
    /// Bytes that it adds to an IP packet.
    pub overhead: u32,
    /// Least size with them; 0 for none.
    pub mpu: u32,
}

/// Every kind whose overhead is known.
pub const KINDS: &[LinkPreset] = &[
    kind("docsis", CellFraming::Plain, 18, 64),
    kind("pppoe-ptm", CellFraming::Ptm, 30, 0),
    kind("bridged-ptm", CellFraming::Ptm, 22, 0),
    kind("pppoa-vcmux", CellFraming::Atm, 10, 0),
    kind("pppoa-llc", CellFraming::Atm, 14, 0),
    kind("pppoe-vcmux", CellFraming::Atm, 32, 0),
    kind("pppoe-llcsnap", CellFraming::Atm, 40, 0),
    kind("bridged-vcmux", CellFraming::Atm, 24, 0),
    kind("bridged-llcsnap", CellFraming::Atm, 32, 0),
    kind("ipoa-vcmux", CellFraming::Atm, 8, 0),
    kind("ipoa-llcsnap", CellFraming::Atm, 16, 0),
];

/// ATM with more than any kind adds.
pub const CONSERVATIVE: LinkPreset = kind("conservative", CellFraming::Atm, 48, 0);

const fn kind(word: &'static str, layer: CellFraming, overhead: u32, mpu: u32) -> LinkPreset {
    LinkPreset { word, layer, overhead, mpu }
}
