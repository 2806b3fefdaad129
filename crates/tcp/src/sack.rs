//! The SACK option (RFC 2018).

use crate::stack;
use std::fmt;

/// Up to three SACK blocks (the number that fits beside timestamps), most recent first; a D-SACK, if any, before them.
#[derive(Clone, Copy)]
pub struct Sack {
    blocks: [SeqRange; Self::MAX_BLOCKS],
    count: u8,
}

/// A range of sequence numbers, the end excluded.
pub type SeqRange = (u64, u64);

impl Sack {
    /// Blocks that fit beside a timestamp option.
    pub const MAX_BLOCKS: usize = 3;
    /// No blocks.
    pub(crate) const NONE: Self = Self { blocks: [(0, 0); Self::MAX_BLOCKS], count: 0 };

    /// The first blocks, as many as fit.
    #[inline(always)]
    pub(crate) fn of(blocks: &[SeqRange]) -> Self {
        let mut sack = Self::NONE;
        sack.count = blocks.len().min(Self::MAX_BLOCKS) as u8;
        for (slot, &block) in sack.blocks.iter_mut().zip(blocks) {
            *slot = block;
        }
        sack
    }

    /// Bytes of a non-empty option, as `stack` sends it.
    #[inline(always)]
    pub(crate) fn ip_len_of(&self, stack: &stack::Stack) -> u32 {
        8 * u32::from(self.count) + if stack.pads_options { SACK_HEADER } else { 0 }
    }

    /// Appends a block; ignored if it does not fit.
    #[inline]
    pub fn push(&mut self, block: SeqRange) {
        if (self.count as usize) < Self::MAX_BLOCKS {
            self.blocks[self.count as usize] = block;
            self.count += 1;
        }
    }

    /// The blocks.
    #[inline]
    pub fn blocks(&self) -> &[SeqRange] {
        &self.blocks[..self.count as usize]
    }

    /// Whether there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes all blocks.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// By hand: the derived default of an array is a loop.
impl Default for Sack {
    #[inline]
    fn default() -> Self {
        Self::NONE
    }
}

/// By hand: entries after the last block are ignored.
impl PartialEq for Sack {
    fn eq(&self, other: &Self) -> bool {
        self.blocks() == other.blocks()
    }
}

impl Eq for Sack {}

impl fmt::Debug for Sack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.blocks()).finish()
    }
}

/// Bytes of the option without its blocks, with padding.
pub(crate) const SACK_HEADER: u32 = 4;
