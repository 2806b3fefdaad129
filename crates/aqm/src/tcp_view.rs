//! A packet's TCP header, for queue disciplines that need it (ACK filters).
//!
//! It is not part of [`Meta`](crate::Meta), because most disciplines do not read it. One that does queries the
//! [`Sink`](crate::Sink) of the call with the host's handle of a packet, so a view costs only if it is used.

mod wire;

/// A TCP header as on the wire: sequence numbers wrap at 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpView {
    /// First sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Header bits from NS/AE to FIN, in bytes 13 and 14; see the constants.
    pub flags: u16,
    /// TSval and TSecr, if the header has a timestamp option.
    pub timestamps: Option<(u32, u32)>,
    /// The SACK option.
    pub sack: SackBlocks,
    /// Whether it has options other than SACK, timestamps, MD5 and padding.
    pub other_options: bool,
    /// Sequence space of the numbers within a flow: numbers of different spaces are unrelated. On the wire each pair of
    /// ports has one, so this is a digest of them; a simulator whose two halves of a connection count separately
    /// distinguishes them.
    pub space: u8,
}

/// The blocks of a SACK option in order: left edge and right edge (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); Self::MAX_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Maximum number of blocks in a header.
    pub const MAX_BLOCKS: usize = 4;

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count as usize]
    }
}

impl FromIterator<(u32, u32)> for SackBlocks {
    /// Blocks that do not fit are omitted.
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(blocks: I) -> Self {
        let mut sack = Self::default();
        for (place, block) in sack.blocks.iter_mut().zip(blocks) {
            *place = block;
            sack.count += 1;
        }
        sack
    }
}

impl TcpView {
    /// No more data from the sender.
    pub const FIN: u16 = 0x001;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x002;
    /// Reset the connection.
    pub const RST: u16 = 0x004;
    /// Push.
    pub const PSH: u16 = 0x008;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 0x010;
    /// The urgent pointer is valid.
    pub const URG: u16 = 0x020;
    /// ECN echo.
    pub const ECE: u16 = 0x040;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x080;
    /// Accurate ECN (once NS).
    pub const AE: u16 = 0x100;

    /// Whether sequence number `a` precedes `b`, by less than half the space (Linux's `before`).
    pub const fn is_before(a: u32, b: u32) -> bool {
        (a.wrapping_sub(b) as i32) < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_order_and_a_fifth_does_not_fit() {
        let blocks = [(9, 11), (1, 3), (5, 6), (20, 22), (30, 31)];
        assert_eq!(SackBlocks::from_iter(blocks).as_slice(), &blocks[..4]);
        assert_eq!(SackBlocks::default().as_slice(), []);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let before = [(1, 2), (2, 1), (5, 5), (u32::MAX - 3, 4), (4, u32::MAX - 3)];
        assert_eq!(before.map(|(a, b)| TcpView::is_before(a, b)), [true, false, false, true, false]);
    }
}
