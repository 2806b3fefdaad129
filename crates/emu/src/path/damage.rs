//! Packets with a flipped bit, as netem damages them: their sums are complete before, so that whoever receives one can tell.

use super::head::own_head;
use super::header::{NEEDS_CSUM, VNET, fold, sum};
use super::packets::{Flip, Packet, Page};

/// A packet alone with `flip`: a virtio header that asks for nothing, and IP.
pub fn damaged(page: &Page, packet: &Packet, flip: Flip) -> Vec<u8> {
    let about = &page.headers;
    let mut frame = vec![0; VNET + about.end];
    own_head(page, packet, &mut frame[VNET..]);
    frame.extend_from_slice(page.payload(packet));
    let ip = &mut frame[VNET..];
    let vnet = &page.vnet;
    let (from, offset) =
        if page.split { (about.at, about.checksum_offset()) } else { (vnet.csum_start.into(), vnet.csum_offset) };
    let field = from + offset as usize;
    let incomplete = page.split || vnet.flags & NEEDS_CSUM != 0;
    if incomplete && field + 2 <= ip.len() {
        // What is there is the sum of the pseudo-header (`skb_checksum_help`).
        let whole = !fold(sum(&ip[from..]));
        ip[field..field + 2].copy_from_slice(&whole.to_be_bytes());
    }
    let place = flip.byte as usize % ip.len();
    ip[place] ^= 1 << flip.bit;
    frame
}
