//! The SACK option (RFC 2018).

use crate::stack;
use std::fmt;

/// Up to three SACK blocks (what fits beside timestamps), most recent first; a D-SACK, if any, before them.
#[derive(Clone, Copy)]
pub struct Sack {
    blocks: [SeqRange; Self::MAX_BLOCKS],
    count: u8,
}

/// A range of sequence numbers: first, and one past the last.
pub type SeqRange = (u64, u64);

impl Sack {
    /// Blocks that fit beside a timestamp option.
    pub const MAX_BLOCKS: usize = 3;
    /// No blocks.
    pub(crate) const NONE: Self = Self { blocks: [(0, 0); Self::MAX_BLOCKS], count: 0 };

    /// Those that fit of `blocks`, from the first on.
    #[inline(always)]
    pub(crate) fn of(blocks: &[SeqRange]) -> Self {
        let mut sack = Self::NONE;
        sack.count = blocks.len().min(Self::MAX_BLOCKS) as u8;
        for (told, &block) in sack.blocks.iter_mut().zip(blocks) {
            *told = block;
        }
        sack
    }

    /// Bytes of the option, which is not empty, as `stack` sends it.
    #[inline(always)]
    pub(crate) fn ip_len_of(&self, stack: &stack::Stack) -> u32 {
        8 * u32::from(self.count) + if stack.pads_options { SACK_HEADER } else { 0 }
    }

    /// Adds a block behind the others; one that does not fit is left out.
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

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes all blocks away.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// A constant: the default of an array is made by a loop.
impl Default for Sack {
    #[inline]
    fn default() -> Self {
        Self::NONE
    }
}

/// What lies behind the blocks means nothing.
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

/// What the option takes beside its blocks, padded.
pub(crate) const SACK_HEADER: u32 = 4;
