//! Modified and invalid acknowledgments of TCP.

use super::ends::MSS;
use crate::{FIRST_BYTE, Flags, Header, Sack};
use sojourn_aqm::Rng;

/// Modifies an acknowledgment in ways that receivers do not but that remain true: it covers less than has arrived,
/// reorders blocks, adds a D-SACK or an ECN echo, or goes back behind an earlier one.
pub(super) fn mangled(mut header: Header, sack: bool, rng: &mut Rng) -> Header {
    let mut blocks = header.sack.blocks().to_vec();
    let max = blocks.len() as u64;
    match (rng.below(8), max) {
        (0, 1..) => drop(blocks.remove(rng.below(max) as usize)),
        (1, 2..) => blocks.reverse(),
        (2, 1..) => {
            let block = &mut blocks[rng.below(max) as usize];
            block.0 = (block.0 + MSS * rng.below(3)).min(block.1);
        }
        (3, 1..) => {
            let block = &mut blocks[rng.below(max) as usize];
            block.1 = block.1.saturating_sub(MSS / 2 * (1 + rng.below(4))).max(block.0);
        }
        (4, 1..) => blocks.insert(0, blocks[max as usize - 1]),
        (5, _) if sack && header.ack > 3 * MSS => blocks.insert(0, (header.ack - MSS, header.ack)),
        // Without negotiated SACK the sender ignores blocks; otherwise this one would be false.
        (5, _) if !sack => blocks.push((header.ack + MSS, header.ack + 2 * MSS)),
        (6, _) => header.flags = header.flags.with(Flags::ECE),
        (7, _) => header.ack = header.ack.saturating_sub(MSS * rng.below(3)).max(FIRST_BYTE),
        _ => {}
    }
    header.sack = Sack::default();
    blocks.into_iter().for_each(|block| header.sack.push(block));
    header
}

/// Invalid acknowledgments, which a sender must ignore: of data never sent, or with a SYN after the handshake. `nxt` is
/// the next sequence number to be sent.
pub(super) fn invalid(header: Header, nxt: u64, rng: &mut Rng) -> Header {
    match rng.below(3) {
        0 => Header { ack: nxt + 1 + rng.below(3 * MSS), ..header },
        1 => Header { ack: header.ack.max(1), flags: Flags::ACK, ..header },
        _ => Header { flags: header.flags.with(Flags::SYN), ..header },
    }
}
