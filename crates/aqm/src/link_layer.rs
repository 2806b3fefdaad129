//! Framing of link layers, and tc's named kinds of links. Source: `sch_cake.c`, tc-cake(8).

use crate::choice;

choice! {
    /// Framing of a packet, overhead included, by the link layer.
    pub enum CellFraming {
        /// No framing.
        Plain = "noatm",
        /// Cells of 53 bytes with 48 bytes of payload.
        Atm = "atm",
        /// 64b/65b coding: one byte more per 64 bytes, rounded up.
        Ptm = "ptm",
    }
}

impl CellFraming {
    /// Bytes on the wire for `len` bytes, which include the overhead.
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
    /// Framing.
    pub layer: CellFraming,
    /// Overhead in bytes, added to an IP packet.
    pub overhead: u32,
    /// Minimum size, overhead included; 0 for none.
    pub mpu: u32,
}

/// Kinds of links with a known overhead.
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

/// ATM with more overhead than any kind.
pub const CONSERVATIVE: LinkPreset = kind("conservative", CellFraming::Atm, 48, 0);

const fn kind(word: &'static str, layer: CellFraming, overhead: u32, mpu: u32) -> LinkPreset {
    LinkPreset { word, layer, overhead, mpu }
}
